"""Which of a suite's imports a worker may do before it forks: what clings to a mode, a target or a process is none."""

import textwrap

import pytest

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import plan
from crosswarp.matrix.cell.starting import preloading

# Nothing of it is a version's own, and a child that imports torch costs seconds.
pytestmark = pytest.mark.triton(">=3.9")

# By what happens when it is imported; each is as slow as is worth while.
PACKAGES = {
    "plain": "VALUE = 1",
    "holds_triton": "import triton",
    "holds_a_kernel": "import triton\n@triton.jit\ndef kernel(x): pass\ndel triton",
    "holds_one_in_a_list": "import triton.language as tl\nDTYPES = {'x': tl.float16}\ndel tl",
    "holds_a_holder": "import holds_triton\nVALUE = holds_triton.triton.__version__",
    "leads_to_a_holder": "def look():\n    import holds_triton\nlook()",
    "asks": "import torch\nHAS_GPU = torch.cuda.is_available()\ndel torch",
    "sets": "import os\nos.environ['MADE_UP'] = '1'\ndel os",
    "starts": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "raises": "raise ValueError('not here')",
    "leaves": "import os\nos._exit(0)",
    "_private": "VALUE = 2",
}
SAFE = ["plain", "plain.inner", "_private", "_private.inner"]


@pytest.fixture
def packages(tmp_path, monkeypatch):
    folder = tmp_path / "beside"
    for name, text in PACKAGES.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"{text}\nfrom . import inner\n")
        (folder / name / "inner.py").write_text("import time\ntime.sleep(0.05)\ndel time\n")
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_what_clings_stays_out(packages, in_fork):
    def told():
        import torch  # noqa: F401
        import triton.language  # noqa: F401

        watch = preloading.Watch()
        for name in PACKAGES:
            if name not in ("raises", "leaves"):
                __import__(name)
        found = watch.imported([])
        return [name for name in found if name.partition(".")[0] in PACKAGES]

    def tried(names):
        import torch  # noqa: F401
        import triton.language  # noqa: F401

        # What ends the child leaves everything to each child.
        return preloading.safe(names), preloading.safe([*SAFE, "leaves"])

    found = in_fork(told)
    # What it does when it is imported cannot be told by what it holds.
    assert {name.partition(".")[0] for name in found} == {
        "plain", "_private", "leads_to_a_holder", "asks", "sets", "starts",
    }  # fmt: skip
    safe, none = in_fork(lambda: tried([*found, "raises", "raises.inner"]))
    assert sorted(safe) == sorted(SAFE) and none == []


def test_what_takes_no_time_and_the_suites_own_stay_out(packages, in_fork):
    def told(never, seconds):
        watch = preloading.Watch()
        preloading.WORTH_SECONDS = seconds
        __import__("plain")
        return watch.imported(never)

    assert in_fork(lambda: told([], 60)) == []
    assert in_fork(lambda: told([str(packages)], 0)) == []
    assert sorted(in_fork(lambda: told([], 0))) == SAFE[:2]


SUITE = """
import sys, time

import plain, holds_triton, helper
time.sleep(0.2)
from crosswarp.kernels import Case, Kernel
KERNEL = Kernel("NAME", (Case("a", "fp32", {}, lanes=("compile",)),), launch=dict)
"""


def test_the_plan_says_what_to_import(packages, tmp_path, in_fork):
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "one.py").write_text(textwrap.dedent(SUITE).replace("NAME", "one"))
    (suite / "helper.py").write_text("import time\n")
    spec = AskedSuite(
        records=str(tmp_path / "r.jsonl"), suite=str(suite), lanes=["compile"], modes=["bare"], time_limit=60
    )  # fmt: skip

    def told():
        plan.targets = lambda *a: {"sm_90": ""}
        planned = plan.shared_plan(spec, "compile")
        # Made once, and read by the others.
        assert plan.shared_plan(spec, "compile") == planned
        assert preloading.load(planned.preload) == {}
        return [item.case for item in planned.items], planned.preload

    cases, preload = in_fork(told)
    assert cases == ["a"]
    ours = [name for name in preload if name.partition(".")[0] in (*PACKAGES, "helper")]
    assert sorted(ours) == SAFE[:2]


def test_what_fails_in_a_worker_is_left_to_its_children(packages, in_fork):
    assert in_fork(lambda: preloading.load(["raises", "plain"])) == {"raises": "ValueError"}
