"""The child that prepares for the cases of a kernel: what they share, what they do not, and what goes wrong with it."""

import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from crosswarp.compat import isolate
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import prepared
from crosswarp.matrix.cell.kinds.suite.plan import Item

SPEC = AskedSuite(time_limit=20)
LIMITS = {"time_limit": 20, "memory_limit_mb": None}


def items(kernel="softmax", cases=3, target="sm_90", lane="compile", modes=("bare",)):
    return [Item(target, lane, mode, kernel, str(case)) for case in range(cases) for mode in modes]


@pytest.fixture
def run(tmp_path):
    """`run(item, prepare, case)`: the outcome, and what was told meanwhile. What was prepared is in the file."""
    made = tmp_path / "prepared"
    # Other tests may have left some to the process that runs them all.
    before = children()

    def call(item, prepare=None, case=None, limit=20, **spec):
        def preparing(item, spec):
            with made.open("a") as file:
                file.write(f"{item.mode} {item.kernel} {item.target}\n")
            return (prepare or (lambda: {"pid": os.getpid()}))()

        def running(what, item, spec, send):
            return (case or (lambda what, send, item: {**what, "own": os.getpid()}))(
                what, send, item
            )

        told = []
        outcome = prepared.run(
            item, replace(SPEC, **spec), preparing, running, {"time_limit": limit}, told.append
        )
        return outcome, told

    call.waiting = lambda: len(children() - before)
    call.made = lambda: made.read_text().splitlines() if made.exists() else []
    yield call
    prepared.forget()
    prepared.expect([])
    assert call.waiting() == 0


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return set(file.read().split())


def test_cases_share_what_was_prepared_and_nothing_that_one_of_them_does(run):
    every = items()
    prepared.expect(every)

    def case(what, send, item):
        what["seen"] = what.get("seen", 0) + 1
        return {**what, "own": os.getpid()}

    values = [run(item, case=case)[0].value for item in every]
    assert len({value["pid"] for value in values}) == 1 and len(run.made()) == 1
    assert len({value["own"] for value in values}) == 3 and os.getpid() not in values[0].values()
    assert [value["seen"] for value in values] == [1, 1, 1]


def test_each_mode_kernel_target_and_lane_has_its_own(run):
    every = [
        *items(modes=("bare", "shimmed")),
        *items("matmul"),
        *items("matmul", target="gfx942"),
        *items("matmul", target="gfx942", lane="interpret"),
    ]
    prepared.expect(every)
    pids = [run(item)[0].value["pid"] for item in every]
    assert len(set(pids)) == 5 == len(run.made())
    assert run.made()[:2] == ["bare softmax sm_90", "shimmed softmax sm_90"]
    # Of the earlier ones nobody waits any more.
    assert run.waiting() == 1


def test_few_cases_and_the_lane_of_a_real_gpu_are_not_prepared_for(run):
    every = [*items(cases=prepared.WORTH_CASES - 1), *items("matmul", lane="device")]
    prepared.expect(every)
    assert [run(item)[0] for item in every] == [None] * len(every) and run.made() == []


def test_a_case_may_die_hang_or_raise_and_the_next_one_runs(run):
    every = items(cases=6)
    prepared.expect(every)

    def fail():
        raise ValueError("told")

    ways = {
        "signal": lambda: os.kill(os.getpid(), signal.SIGSEGV),
        "timeout": lambda: time.sleep(60),
        "exit": lambda: os._exit(3),
        "raised": fail,
        "memory": lambda: (bytearray(os.urandom(1 << 20) * 800), time.sleep(20)),
        "returned": lambda: "fine",
    }
    # Beyond what the process has that runs all tests.
    limit = int(isolate._resident_mb(os.getpid())) + 300
    kinds = [
        run(
            item,
            case=lambda what, send, item: list(ways.values())[int(item.case)](),
            limit=1 if kind == "timeout" else 20,
            memory_limit_mb=limit,
        )[0].kind
        for item, kind in zip(every, ways, strict=True)
    ]
    assert kinds == list(ways) and len(run.made()) == 1


def test_what_is_told_comes_at_once_and_begins_the_limit_anew(run):
    every = items()
    prepared.expect(every)

    def case(what, send, item):
        for step in range(12):
            time.sleep(0.25)
            send(step)
        print("at its end")
        return "done"

    # Longer than the limit, with steps that a busy machine may delay by more than a second.
    outcome, sent = run(every[0], case=case, limit=2)
    assert (outcome.value, sent) == ("done", [*range(12)]) and "at its end" in outcome.output


def test_what_the_preparation_printed_belongs_to_each_case(run):
    every = items()
    prepared.expect(every)

    def prepare():
        print("imported with a warning")

    for item in every[:2]:
        outcome, _ = run(item, prepare, lambda what, send, item: print("case"))
        assert outcome.output.split("\n") == ["imported with a warning", "case", ""]


def raises():
    raise ImportError("no such module")


def starts_a_thread():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


@pytest.mark.parametrize(
    "prepare, limit",
    [
        (raises, 20),
        (starts_a_thread, 20),
        (lambda: os.kill(os.getpid(), signal.SIGABRT), 20),
        (lambda: os._exit(0), 20),
        (lambda: time.sleep(60), 3),
        (lambda: os.write(3, b"garbage") and [os.write(fd, b"garbage") for fd in range(4, 40) if writable(fd)], 20),
    ],
    ids=["raises", "thread", "dies", "exits", "hangs", "garbage"],
)  # fmt: skip
def test_a_preparation_that_fails_is_tried_once_and_the_cases_run_alone(run, prepare, limit):
    every = items()
    prepared.expect(every)
    assert [run(item, prepare, time_limit=limit)[0] for item in every] == [None] * 3
    assert len(run.made()) == 1


def writable(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def test_one_that_is_killed_while_it_waits_is_missed_by_nobody(run):
    every = items()
    prepared.expect(every)
    pid = run(every[0])[0].value["pid"]
    os.kill(pid, signal.SIGKILL)
    assert [run(item)[0] for item in every[1:]] == [None, None]


def test_a_case_that_kills_the_one_that_waits_runs_alone(run):
    every = items()
    prepared.expect(every)

    def kill(what, send, item):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)

    assert run(every[0], case=kill)[0] is None


def test_an_interrupt_ends_them(run):
    every = items()
    prepared.expect(every)

    def interrupt(message):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepared.run(
            every[0], SPEC, lambda item, spec: None, lambda what, item, spec, send: send(1), LIMITS, interrupt
        )  # fmt: skip
    assert run.waiting() == 0
