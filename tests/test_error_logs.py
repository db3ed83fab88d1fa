"""Whole logs: ranks, workers, ninja, pytest and launchers; the first cause comes before what followed from it."""

from __future__ import annotations

import pytest

from crosswarp.matrix.facts import known_texts
from crosswarp.reports.findings.answers import answers
from crosswarp.reports.text import why_text

ISSUES, SHIMS = known_texts.packed()
NOISE = [
    f"INFO 03-22 06:48:{n % 60:02d} [loader.py:{n}] Loading weights took {n}.{n % 7} s"
    for n in range(200)
]
FRAME = '  File "/x/triton/compiler/code_generator.py", line 3, in visit'


def raised(error, *frames):
    return [
        "Traceback (most recent call last):",
        '  File "/x/train.py", line 12, in <module>',
        *frames,
        error,
    ]


def behind(front, lines):
    return [front + line for line in lines]


SHARED = raised(
    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163842, Hardware limit: 101376. "
    "Reducing block sizes or `num_stages` may help.",
    FRAME,
)
HEADERS = [
    "/tmp/tmpx/main.c:5:10: fatal error: Python.h: No such file or directory",
    "compilation terminated.",
    *raised(
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpx/main.c', '-lcuda']' returned non-zero "
        "exit status 1.",
        '  File "/x/triton/runtime/build.py", line 66, in _build',
    ),
]
FP8 = "ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')"
RACE = raised(
    "FileNotFoundError: [Errno 2] No such file or directory: '/home/x/.triton/cache/cff/k.ttir.tmp.pid_1_2' -> "
    "'/home/x/.triton/cache/cff/k.ttir'",
    '  File "/x/triton/runtime/cache.py", line 109, in put',
)
ILLEGAL = "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered"
ELASTIC = [
    "E0324 12:00:01.000 elastic/multiprocessing/api.py:826] failed (exitcode: 1) local_rank: 0 (pid: 77)",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
]
WATCHDOG = "[rank1]:[E324 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL()"
PYTEST = """\
=================================== FAILURES ===================================
___________________________________ test_a ___________________________________
>       kernel[(1,)](x)
E       triton.compiler.errors.CompilationError: at 3:4:
E           i = tl.arange(0, 12)
E       ValueError("arange's range must be a power of 2")
___________________________________ test_b ___________________________________
E       TypeError: missing a required argument: 'num_warps'
___________________________________ test_c ___________________________________
E       TypeError: do_bench() got an unexpected keyword argument 'fast_flush'
=========================== short test summary info ============================
FAILED test_k.py::test_a - triton.compiler.errors.CompilationError
""".splitlines()
MMA = (
    "python: /project/lib/Analysis/Allocation.cpp:43: std::pair<unsigned> mlir::triton::getCvtOrder(mlir::Attribute): "
    'Assertion `!isAmpere() && "mma -> mma layout conversion is only supported on Ampere"\' failed.'
)
LOGS = {
    "four ranks, and NCCL's watchdog": (
        [*NOISE, *(x for r in range(4) for x in behind(f"[rank{r}]: ", SHARED)), WATCHDOG, *ELASTIC],
        "shared-memory", 3,
    ),
    "vLLM's workers, and its engine": (
        [*NOISE, *(x for r in range(2) for x in behind(f"(VllmWorker rank={r} pid=7{r}) ERROR 05-02 ", HEADERS)),
         *behind("(EngineCore_0 pid=650) ", raised("RuntimeError: Engine core initialization failed."))],
        "no-python-headers", 1,
    ),
    "ninja": (
        [*NOISE, "[1/3] c++ -c a.cpp", "[2/3] ptxas --gpu-name sm_120a k.ptx", "FAILED: k.cubin",
         "ptxas fatal   : Value 'sm_120a' is not defined for option 'gpu-name'", "ninja: build stopped."],
        "ptxas-unknown-gpu", 0,
    ),
    "pytest": (PYTEST, "arange-power-of-two", 0),
    "inductor's workers": (
        [*NOISE, *behind("E0305 20:23:38.89 755 torch/_inductor/runtime/triton_heuristics.py:533] [0/0] ",
                         ["Triton compilation failed: triton_poi_fused_0", *raised(FP8, FRAME)]),
         *raised("torch._inductor.exc.InductorError: CompilationError: at 1:0:"), FP8],
        "fp8e4nv-arch", 1,
    ),
    "Slurm's numbers": (
        [*(x for r in range(3) for x in behind(f"{r}: ", RACE)), "srun: error: node1: tasks 0-2: Exited"],
        "shared-cache-race", 2,
    ),
    "docker compose": (
        behind("vllm-1  | 2026-01-02T03:04:05.123Z ",
               [*NOISE, *raised("RuntimeError: 0 active drivers ([]). There should only be one.", FRAME)]),
        "active-drivers", 0,
    ),
    "Ray, and what followed": (
        [*behind("(TaskRunner pid=9965) ", [*NOISE, *raised(ILLEGAL, FRAME)]),
         *raised("torch.AcceleratorError: CUDA error: an illegal memory access was encountered")],
        "illegal-access", 1,
    ),
    "a compiler that aborts, and a pipe": (
        [*NOISE, MMA, "Aborted (core dumped)", *raised("BrokenPipeError: [Errno 32] Broken pipe")],
        "mma-mma-conversion", 0,
    ),
    "two ranks with two causes": (
        [*behind("[rank0]: ", raised("AttributeError: module 'triton.language' has no attribute 'libdevice'", FRAME)),
         *behind("[rank1]: ", raised("ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler'")),
         *ELASTIC],
        "tl-libdevice", 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGS)
def test_the_first_cause_of_a_log_comes_first(name):
    lines, first, more = LOGS[name]
    found = answers("\n".join(lines), ISSUES, SHIMS)
    assert found[0].id == first and len(found[0].also) == more
    # What it says of the line is so.
    assert found[0].line in lines[found[0].number - 1]
    later = [one for one in found if one.id in ("rank-killed", "nccl", "process-died")]
    assert not later or found.index(later[0]) > 0


def test_the_source_that_pytest_shows_says_nothing():
    log = """\
    def wrapper(*args, **kwargs):
        if "_semantic" not in kwargs:
            raise ValueError("Did you forget to add @triton.jit ? "
                             "(`_semantic` argument must be provided outside of JIT functions.)")
>       return fn(*args, **kwargs)

/x/triton/language/core.py:43:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def make_ir(self, target):
>       return ast_to_ttir(self.fn)
E       triton.compiler.errors.CompilationError: at 2:8:
E           i = tl.arange(0, N)
E               ^
E       arange's range must be a power of 2
"""
    for front in ("", "2026-11-22T10:11:12.1234567Z "):
        text = "\n".join(behind(front, log.splitlines()))
        found = answers(text, ISSUES, SHIMS)
        assert found[0].id == "arange-power-of-two"
        assert "arange-jit" not in {one.id for one in found}
    # A traceback shows the line that raised alone.
    said = 'raise ValueError("Did you forget to add @triton.jit ?")'
    assert answers(f"  File x, line 3\n    {said}", ISSUES, SHIMS)[0].id == "arange-jit"


def test_two_failures_of_a_log_are_two_and_one_line_installs_what_fixes_them():
    found = answers("\n".join(PYTEST), ISSUES, SHIMS)
    assert len({one.failure for one in found}) == 3
    assert why_text.paste_for_all(found)[1] == (
        'compat.install(only=["reserved_options", "do_bench_arguments"])'
    )
    # Each failure and the lines to paste come before any detail.
    overview = why_text.terminal(found, None).partition("\n\n1. ")[0]
    assert overview.startswith("3 failures, the likeliest cause of each:\n   1  line ")
    assert "[liger-215] Triton <3.0" in " ".join(overview.split())
    assert overview.endswith('compat.install(only=["reserved_options", "do_bench_arguments"])')
    lines, _, _ = LOGS["two ranks with two causes"]
    by_id = {one.id: one.failure for one in answers("\n".join(lines), ISSUES, SHIMS)}
    assert by_id["tl-libdevice"] != by_id["triton-key"]
