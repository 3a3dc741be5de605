"""The lit suite: tools come from build/bin, FileCheck and not from LLVM's packages.

Substitutions: %python (numpy and ml_dtypes), %source and %build (the two roots), %cc and %cxx.
Features of the build:  ptxas, nvdisasm, xla, nccl, mpi.
Features of the host:   cpu-target (programs for the CPU can be run), numpy, jax, gpu, gpu-sm90, gpus-2.
"""

import os
import shutil
import subprocess

import lit.formats
import lit.util

config.name = "MoE"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".py"]
config.excludes = [
    "jax",  # data
    "Inputs",
    "Unit",
    "Install",
    "fuzz",
    "lit.cfg.py",
    "harness.py",
    "functions.py",
    "reference.py",
    "texts.py",
]
config.test_source_root = os.path.join(config.moe_source_dir, "test")
config.test_exec_root = os.path.join(config.moe_build_dir, "test")

tools = os.path.join(config.moe_build_dir, "bin")
folders = [tools, config.llvm_tools_dir, os.environ["PATH"], *filter(None, config.moe_cuda_folders)]
config.environment["PATH"] = os.pathsep.join(folders)
config.environment["MOE_SOURCE_DIR"] = config.moe_source_dir
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
config.environment["MOE_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for variable in ("MOE_SEED", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

config.substitutions += [
    ("%python", config.moe_python),
    ("%source", config.moe_source_dir),
    ("%build", config.moe_build_dir),
    ("%cxx", config.moe_cxx),
    ("%cc", config.moe_c),
]

# A test that hangs is a failure, where the machine has what lit needs to end it.
if lit.util.killProcessAndChildrenIsSupported()[0]:
    lit_config.maxIndividualTestTime = 300


def output(*command):
    """Standard output of a command, or nothing if it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


features = set(filter(None, config.moe_built_features))
if all(os.path.exists(os.path.join(tools, tool)) for tool in ("moe-compile", "moe-run")):
    features.add("cpu-target")
if output(config.moe_python, "-c", "import numpy, ml_dtypes; print('yes')"):
    features.add("numpy")
if output(config.moe_python, "-c", "import importlib.util as u; print(u.find_spec('jax') or '')").strip():
    features.add("jax")
if shutil.which("nvidia-smi"):
    gpus = output("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").split()
    if gpus:
        features.add("gpu")
    if "9.0" in gpus:
        features.add("gpu-sm90")
    if len(gpus) >= 2:
        features.add("gpus-2")
config.available_features = features
