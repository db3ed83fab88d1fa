"""`crosswarp lint` on Gluon: each change of its API that breaks a caller, with the releases and what to write instead."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from crosswarp.matrix.facts import language_table
from crosswarp.matrix.linting import lint

TABLE = language_table.load()
ALL = tuple(TABLE)
SINCE_3_5 = ALL[ALL.index("3.5.1") :]
HEAD = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import ampere, blackwell, hopper
from triton.experimental.gluon.language.amd import AMDMFMALayout

"""


def of(*ends):
    """The releases from 3.5.1 on of some runs: of("3.6.0..3.7.1", "3.9.0")."""
    return tuple(language_table.spread(" ".join(ends), SINCE_3_5))


def found(tmp_path, text, releases=SINCE_3_5):
    (tmp_path / "file.py").write_text(text)
    told = lint.lint([tmp_path], releases, table=TABLE, shown=lambda path: path.name)
    assert not told.unreadable
    return told.findings


def kernel(body, head=HEAD):
    return f"{head}@gluon.jit\ndef kernel(x, y, FLAG: gl.constexpr):\n    {body}\n"


# The code of a kernel, the subject below Gluon's language, the releases, and words of the advice.
DRIFT = [
    ("gl.warp_specialize((x,), kernel, (x,), [kernel], [1], [24])", "warp_specialize()", of("3.6.0..3.9.0"), "pairs|[(function"),
    ("gl.warp_specialize([(kernel, (x,))], [1], [24])", "warp_specialize(worker_partitions)", of("3.5.1"), "[(function"),
    ("hopper.mbarrier.arrive(x, 1, True)", "nvidia.hopper.mbarrier.arrive()", SINCE_3_5, "by keyword"),
    ("gl.BlockedLayout([1], [32], [4], [0], ctas_per_cga=[1])", "BlockedLayout(ctas_per_cga)", of("3.6.0..3.9.0"), "cga_layout"),
    ("gl.BlockedLayout([1], [32], [4], [0], cga_layout=[])", "BlockedLayout(cga_layout)", of("3.5.1"), "ctas_per_cga"),
    ("gl.SwizzledSharedLayout(1, 1, 1, order=[0], cta_order=[0])", "SwizzledSharedLayout(cta_order)", of("3.6.0..3.9.0"), "cga_layout"),
    ("gl.NVMMASharedLayout.get_default_for([1], x, cta_split_num=[1])", "NVMMASharedLayout.get_default_for(cta_split_num)", of("3.6.0..3.9.0"), "cga_layout"),
    ("blackwell.TensorMemoryLayout([1, 1], unpacked=True)", "nvidia.blackwell.TensorMemoryLayout(unpacked)", of("3.6.0..3.9.0"), "col_stride"),
    ("blackwell.TensorMemoryLayout([1, 1], col_stride=1)", "nvidia.blackwell.TensorMemoryLayout(col_stride)", of("3.5.1"), "unpacked"),
    ("blackwell.get_tmem_32x32b_reg_layout(1, 1, [1], 4)", "nvidia.blackwell.get_tmem_32x32b_reg_layout", of("3.6.0..3.9.0"), "get_tmem_reg_layout"),
    ("blackwell.get_tmem_reg_layout(x, [1], y, 4)", "nvidia.blackwell.get_tmem_reg_layout", of("3.5.1", "3.8.0..3.9.0"), "get_reg_layout"),
    ("x.get_reg_layout()", "nvidia.blackwell.tensor_memory_descriptor.get_reg_layout", of("3.5.1..3.7.1"), "get_tmem_reg_layout"),
    ("AMDMFMALayout(version=3, instr_shape=[16, 16], transposed=True, warps_per_cta=[1, 1])", "amd.AMDMFMALayout(instr_shape)", of("3.6.0..3.9.0"), "[M, N, K]"),
    ("AMDMFMALayout(version=3, instr_shape=[16, 16, 16], transposed=True, warps_per_cta=[1, 1])", "amd.AMDMFMALayout(instr_shape)", of("3.5.1"), "[M, N]"),
    ("AMDMFMALayout(3, [16, 16, FLAG], True, [1, 1])", "amd.AMDMFMALayout(instr_shape)", of("3.5.1"), "[M, N]"),
    ("gl.amd.cdna4.async_copy.async_wait(0)", "amd.cdna4.async_copy.async_wait", of("3.6.0..3.9.0"), "wait_group"),
    ("gl.thread_barrier()", "thread_barrier", of("3.7.1..3.9.0"), "gl.barrier()"),
    ("gl.barrier()", "barrier", of("3.5.1..3.6.0"), "thread_barrier"),
    ("hopper.mbarrier.expect(x, bytes=4)", "nvidia.hopper.mbarrier.expect(bytes)", of("3.7.1..3.9.0"), "by position"),
    ("hopper.mbarrier.sync_cluster_init()", "nvidia.hopper.mbarrier.sync_cluster_init", of("3.5.1..3.6.0", "3.8.0..3.9.0"), "cluster"),
    ("hopper.tma.async_copy_global_to_shared(x, [0], y, y)", "nvidia.hopper.tma.async_copy_global_to_shared", of("3.9.0"), "async_load"),
    ("hopper.tma.async_copy_shared_to_global(x, [0], y)", "nvidia.hopper.tma.async_copy_shared_to_global", of("3.9.0"), "async_store"),
    ("ampere.async_copy.async_copy_global_to_shared(x, y)", "nvidia.ampere.async_copy.async_copy_global_to_shared", of("3.9.0"), "async_load"),
    ("hopper.tma.async_load(x, [0], y, y)", "nvidia.hopper.tma.async_load", of("3.5.1..3.7.1"), "async_copy_global_to_shared"),
    ("x._reinterpret(gl.float32, [1], y)", "shared_memory_descriptor._reinterpret", of("3.9.0"), "reinterpret"),
    ("x.reinterpret(gl.float32, [1], y)", "shared_memory_descriptor.reinterpret", of("3.5.1..3.8.0"), "_reinterpret"),
    ("gl.allocate_shared_memory(x, [32, 32], FLAG).index(0).reshape([1024], FLAG)", "shared_memory_descriptor.reshape()", SINCE_3_5, "the shape alone"),
    ("blackwell.allocate_tensor_memory(x, [128, 64], FLAG).load()", "nvidia.blackwell.tensor_memory_descriptor.load(layout)", of("3.5.1..3.7.1"), "get_tmem_reg_layout"),
    ("gl.load(x, boundary_check=(0,))", "load(boundary_check)", of("3.9.0"), ""),
    ("ampere.mma_v2(x, y, y)", "nvidia.ampere.mma_v2", of("3.5.1"), "3.6"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "subject", "releases", "instead"), DRIFT)
def test_each_change_is_found_with_what_to_write(tmp_path, body, subject, releases, instead):
    (one,) = found(tmp_path, kernel(body))
    assert (one.subject, one.releases) == (
        f"triton.experimental.gluon.language.{subject}",
        releases,
    )
    assert one.where.value == "compile fails"
    assert any(word in one.message for word in instead.split("|")), one.message
    assert "gl." in one.message or "the method" in one.message


def test_a_method_in_a_chain_over_several_lines(tmp_path):
    text = kernel("(\n        x.index(0)\n        ._reinterpret(gl.float32, [1], y)\n    )")
    (one,) = found(tmp_path, text)
    assert text.splitlines()[one.line - 1][one.column - 1 :].startswith("_reinterpret(")


@pytest.mark.parametrize(
    ("text", "subject", "releases"),
    [
        ("import triton.experimental.gluon.language.amd.gfx1250.tdm", "amd.gfx1250.tdm", of("3.9.0")),
        ("from triton.experimental.gluon.language.amd.gfx1250.tdm import async_load", "amd.gfx1250.tdm", of("3.9.0")),
        ("from triton.experimental.gluon.language.nvidia.blackwell import float2", "nvidia.blackwell.float2", of("3.8.0..3.9.0")),
    ],
)  # fmt: skip
def test_modules_that_came_and_went(tmp_path, text, subject, releases):
    told = {one.subject: one.releases for one in found(tmp_path, text, of("3.6.0..3.9.0"))}
    assert told == {f"triton.experimental.gluon.language.{subject}": releases}


@pytest.mark.parametrize(
    "text",
    [
        # A name of the module that it now only hands on.
        "from triton.experimental.gluon.language.amd.gfx1250 import tdm\n@gluon.jit\ndef k(x):\n    tdm.async_load(x, [0], x)",
        "@gluon.jit\ndef k(x):\n    hopper.mbarrier.init(x, count=1)\n    blackwell.mbarrier.wait(x, phase=0)",
        # Of a class of their own.
        "class Mine:\n    @gluon.jit\n    def get_reg_layout(self):\n        pass\n@gluon.jit\ndef k(x):\n    x.get_reg_layout()",
        # No kernel of Gluon's: it may be anybody's method.
        "def k(x):\n    return x._reinterpret(1)",
        "@gluon.jit\ndef k(x, *, S: gl.constexpr):\n    AMDMFMALayout(version=3, instr_shape=S, transposed=True, warps_per_cta=[1, 1])",
        "@gluon.jit\ndef k(x, y):\n    gl.allocate_shared_memory(x, [32, 32], y).permute((1, 0)).load(y).reshape([1024], y)",
        "@gluon.jit\ndef k(x, y):\n    hopper.mbarrier.expect(x, 4)\n    gl.BlockedLayout([1], [32], [4], [0])\n    x.load(y)",
    ],
)  # fmt: skip
def test_what_is_right_everywhere(tmp_path, text):
    assert found(tmp_path, HEAD + text, of("3.6.0..3.9.0")) == []


def test_branches_that_are_not_taken_are_looked_at_until_3_7(tmp_path):
    # Triton 3.5 to 3.7 look up what stands in modules other than its two languages.
    head = (
        HEAD + "import triton\nNEW = tuple(map(int, triton.__version__.split('.')[:2])) >= (3, 8)\n"
    )
    body = (
        "if NEW:\n        hopper.tma.async_load(x, [0], x, x)\n    else:\n        gl.program_id(0)"
    )
    (one,) = found(tmp_path, kernel(body, head))
    assert one.subject.endswith("tma.async_load") and one.releases == of("3.5.1..3.7.1")
    body = "if NEW:\n        gl.barrier()\n    else:\n        gl.thread_barrier()"
    told = {
        one.subject.rpartition(".")[2]: one.releases for one in found(tmp_path, kernel(body, head))
    }
    # Of the language itself they look nothing up: what is wrong there is the branch that is taken.
    assert told == {"thread_barrier": of("3.7.1")}


def test_helpers_of_the_target_s_name(tmp_path):
    text = "from triton.language.target_info import is_hip_gfx1250, is_cuda\n"
    (one,) = found(tmp_path, text)
    assert one.subject == "triton.language.target_info.is_hip_gfx1250"
    assert one.releases == of("3.5.1..3.7.1")


def test_a_kernel_of_libdevice_looks_up_its_names(tmp_path):
    text = (
        "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
        "NEVER = triton.__version__ == '0'\n"
        "@triton.jit\ndef k(x):\n    if NEVER:\n        libdevice.no_such_thing(x)\n"
    )
    assert found(tmp_path, text) == [], "what no release has is not known to be missing"
