"""Cases of public bug reports that the compiler alone answers: exit 0, or exit 1 and an error; never a signal."""

import re
from pathlib import Path

import texts
from harness import bf16, compile, f32, refused, tool

ROOT = Path(__file__).resolve().parents[3]


def passes() -> list[str]:
    """Our passes, from the files that define them, with what each runs on."""
    found = []
    for file in sorted((ROOT / "include" / "moe").rglob("Passes.td")):
        found += re.findall(r':\s*Pass<"([\w-]+)"', file.read_text())
    assert len(found) >= 8, found
    return found


def case_04_addresses_are_64_bit() -> None:
    """Rows times columns passes 2^31: every address that a kernel computes has 64-bit indices."""
    text = texts.plan_and_gather(1, 299_600, 7168, bf16, capacity=16)
    lowered = tool("moe-compile", "-", "--compile-to=kernels", text=text).stdout
    addresses = re.findall(r"llvm\.getelementptr .*", lowered)
    assert addresses, lowered
    for address in addresses:
        assert not re.search(r"\bi(8|16|32)\)? *-> *!llvm", address.split(":")[-1].replace("(!llvm.ptr, i64)", "")), (
            address
        )
    assert not re.search(r"llvm\.(mul|shl) .*: i32", lowered), "an offset is computed in 32 bits"


def case_25_every_dimension_is_dynamic() -> None:
    ragged = "tensor<?x?xf32, #moe.ragged<groups = 4>>"
    text = f"""
    func.func @main(%x: {ragged}, %w: tensor<?x?x?xf32>, %sizes: tensor<?xi32>, %m: index) -> {ragged} {{
      %p = moe.plan_from_sizes %sizes rows %m : tensor<?xi32> -> !moe.plan<groups = 4>
      %y = moe.ragged_matmul %x, %w plan %p : {ragged}, tensor<?x?x?xf32>, !moe.plan<groups = 4> -> {ragged}
      return %y : {ragged}
    }}"""
    for options in (["moe-opt", "--convert-moe-to-tile", "-"], ["moe-compile", "-", "-o", "/dev/null"]):
        done = tool(*options, text=text)
        assert done.returncode == 0 or done.stderr.count("error:") == 1, done.stderr
    everything = "tensor<?x?x?xf32>"
    text = f"""
    func.func @main(%x: {everything}, %w: {everything}) -> {everything} {{
      %y = moe.ragged_matmul %x, %w {{mode = #moe.mode<batch>}} : {everything}, {everything} -> {everything}
      return %y : {everything}
    }}"""
    for options in (["moe-opt", "--convert-moe-to-tile", "-"], ["moe-compile", "-", "-o", "/dev/null"]):
        done = tool(*options, text=text)
        assert done.returncode == 0 or done.stderr.count("error:") == 1, done.stderr


def case_26_a_shape_with_too_few_entries() -> None:
    text = """
    func.func @main(%x: tensor<8x16xf32>, %w: tensor<4x16x8xf32>, %b: tensor<4x3xi64>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %r = tile.ragged_gemm lhs(%x : tensor<8x16xf32>) rhs(%w : tensor<4x16x8xf32>) bounds(%b : tensor<4x3xi64>)
          outs(%y : tensor<8x8xf32>) {
      ^bb0(%acc: f32):
        tile.yield %acc : f32
      } -> tensor<8x8xf32>
      return %r : tensor<8x8xf32>
    }"""
    done = tool("moe-opt", "-", text=text)
    assert done.returncode == 1 and "bounds" in done.stderr and "3]" in done.stderr and "2]" in done.stderr, done.stderr


def case_27_a_kernel_without_a_target() -> None:
    done = tool("moe-opt", "--gpu-module-to-binary", "-", text="gpu.module @m { gpu.func @k() kernel { gpu.return } }")
    assert done.returncode == 1 and "error:" in done.stderr and "target" in done.stderr, done.stderr
    message = refused(texts.forward(8, 16, 8, 2, f32), "--target=rocm")
    assert "target is 'rocm', expected cpu or cuda" in message, message
    message = refused(texts.forward(8, 16, 8, 2, f32), "--cpu=x86-64-v9")
    assert "x86-64-v9" in message, message


def case_32_an_unknown_option_is_named() -> None:
    for name in passes():
        for option in ("nope", "nope=1"):
            done = tool("moe-opt", f"--{name}={option}", "-", text="module {}")
            assert done.returncode == 1 and "nope" in done.stderr, f"{name}: {done.stderr}"
    for command in ("moe-opt", "moe-compile", "moe-run", "moe-objdump"):
        done = tool(command, "file", "--nope")
        assert done.returncode == 1 and "nope" in done.stderr, f"{command}: {done.stderr}"


def case_a_buffer_of_rank_0() -> None:
    text = """
    func.func @main(%a: memref<f32, 3>, %v: f32) {
      memref.store %v, %a[] : memref<f32, 3>
      return
    }"""
    before = tool("moe-opt", "-", text=text).stdout
    for name in passes():
        if name != "prog-plan-arena":  # runs on programs only
            done = tool("moe-opt", f"--{name}", "-", text=text)
            assert "error:" in done.stderr if done.returncode else done.stdout == before, f"{name}: {done.stderr}"


def case_an_empty_module() -> None:
    for name in passes():
        if name != "prog-plan-arena":
            done = tool("moe-opt", f"--{name}", "-", text="module {}")
            assert done.returncode == 0 or "error:" in done.stderr, f"{name}: {done.stderr}"
    done = tool("moe-compile", "-", "-o", "/dev/null", text="module {}")
    assert done.returncode == 0 or "error:" in done.stderr, done.stderr


def case_a_failed_compile_leaves_nothing_behind() -> None:
    refused(texts.forward(8, 16, 8, 3, bf16).replace("tensor<3xi32>", "tensor<4xi32>"))
    compile(texts.forward(8, 16, 8, 3, bf16))
