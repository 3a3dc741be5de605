// RUN: moe-opt %s --convert-kernels-to-llvm | FileCheck %s

// Nothing may be left that LLVM turns into a call of a library: polynomials for functions, integers for bf16.
module @kernels {
  func.func @k(%context: !llvm.ptr, %x: memref<?x16xbf16, strided<[?, 1]>>, %begin: index, %end: index) {
    %c0 = arith.constant 0 : index
    %half = arith.constant dense<0.5> : vector<16xbf16>
    %v = vector.load %x[%begin, %c0] : memref<?x16xbf16, strided<[?, 1]>>, vector<16xbf16>
    %h = arith.mulf %v, %half : vector<16xbf16>
    %f = arith.extf %h : vector<16xbf16> to vector<16xf32>
    %0 = math.exp %f : vector<16xf32>
    %1 = math.tanh %0 : vector<16xf32>
    %2 = math.erf %1 : vector<16xf32>
    %3 = math.log1p %2 : vector<16xf32>
    %4 = math.rsqrt %3 : vector<16xf32>
    %5 = math.exp2 %4 : vector<16xf32>
    %s = vector.extract %5[0] : f32 from vector<16xf32>
    %6 = math.log %s : f32
    %7 = vector.broadcast %6 : f32 to vector<16xf32>
    %8 = arith.maximumf %7, %5 : vector<16xf32>
    %t = arith.truncf %8 : vector<16xf32> to vector<16xbf16>
    vector.store %t, %x[%begin, %c0] : memref<?x16xbf16, strided<[?, 1]>>, vector<16xbf16>
    return
  }
}
// CHECK-NOT: bf16
// CHECK-NOT: math.
// CHECK-NOT: llvm.intr.{{exp|log|tanh|pow|maximum}}
// CHECK: llvm.load {{.*}} -> vector<16xi16>
// CHECK: llvm.intr.sqrt
// CHECK: llvm.store {{.*}} : vector<16xi16>, !llvm.ptr
