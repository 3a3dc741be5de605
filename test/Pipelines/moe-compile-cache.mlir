// The cache on disk: one file a program, taken again, rebuilt when altered, limited in size.
// RUN: rm -rf %t && mkdir %t
// RUN: env MOE_CACHE_DIR=%t/cache moe-compile %s --cache --cpu=x86-64-v3 -o %t/1.moe
// RUN: moe-compile %s --cpu=x86-64-v3 -o %t/plain.moe
// RUN: cmp %t/1.moe %t/plain.moe
// RUN: find %t/cache -name "llvmcache-*" | count 1

// A hit reads the file and nothing else.
// RUN: env MOE_CACHE_DIR=%t/cache %python -c "import sys; f = open(sys.argv[1], 'r+b'); f.seek(100); f.write(b'altered')" %t/1.moe
// RUN: not moe-objdump %t/1.moe
// RUN: env MOE_CACHE_DIR=%t/cache moe-compile %s --cache --cpu=x86-64-v3 -o %t/2.moe
// RUN: cmp %t/2.moe %t/plain.moe
// RUN: find %t/cache -name "llvmcache-*" | count 1

// What was altered or cut is built again.
// RUN: %python -c "import glob, shutil, sys; shutil.copy(sys.argv[2], *glob.glob(sys.argv[1] + '/llvmcache-*'))" %t/cache %t/1.moe
// RUN: env MOE_CACHE_DIR=%t/cache moe-compile %s --cache --cpu=x86-64-v3 -o %t/3.moe
// RUN: cmp %t/3.moe %t/plain.moe
// RUN: %python -c "import glob, sys; open(*glob.glob(sys.argv[1] + '/llvmcache-*'), 'w')" %t/cache
// RUN: env MOE_CACHE_DIR=%t/cache moe-compile %s --cache --cpu=x86-64-v3 -o %t/4.moe
// RUN: cmp %t/4.moe %t/plain.moe
// RUN: %python -c "import glob, os, sys; sys.exit(not os.path.getsize(*glob.glob(sys.argv[1] + '/llvmcache-*')))" %t/cache

// Another option is another program. Without room for both the older one goes.
// RUN: env MOE_CACHE_DIR=%t/cache moe-compile %s --cache --cpu=x86-64-v3 --disable-fusion=gather -o %t/5.moe
// RUN: find %t/cache -name "llvmcache-*" | count 2
// RUN: env MOE_CACHE_DIR=%t/cache MOE_CACHE_SIZE=1 moe-compile %s --cache --cpu=x86-64-v3 --disable-fusion=weights -o %t/6.moe
// RUN: cmp %t/6.moe %t/plain.moe
// RUN: find %t/cache -name "llvmcache-*" | count 0

// Without MOE_CACHE_DIR it is in the user's cache directory.
// RUN: env -u MOE_CACHE_DIR XDG_CACHE_HOME=%t/home moe-compile %s --cache --cpu=x86-64-v3 -o %t/7.moe
// RUN: find %t/home/moe-mlir -name "llvmcache-*" | count 1

// A directory that cannot be written costs the cache alone; what is said wrongly is named.
// RUN: env MOE_CACHE_DIR=%s/cache moe-compile %s --cache --cpu=x86-64-v3 -o %t/8.moe 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: cmp %t/8.moe %t/plain.moe
// RUN: not env MOE_CACHE_SIZE=lots moe-compile %s --cache -o %t/no.moe 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not moe-compile %s --cache --remarks -o %t/no.moe 2>&1 | FileCheck %s --check-prefix=WHOLE

// UNWRITABLE: warning: the program is not kept in the cache: cannot make directory '{{.*}}moe-compile-cache.mlir/cache': Not a directory
// SIZE: error: MOE_CACHE_SIZE is 'lots', expected a number of bytes above 0, such as 500m
// WHOLE: error: --cache is for whole programs, without --dump-dir and --remarks

func.func @logits(%x: tensor<?x64xf32>, %w: tensor<64x8xf32>) -> tensor<?x8xf32> {
  %l = moe.logits %x, %w : tensor<?x64xf32>, tensor<64x8xf32> -> tensor<?x8xf32>
  return %l : tensor<?x8xf32>
}
