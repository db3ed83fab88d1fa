"""`crosswarp blame` from end to end with a fake cell process: what it names, how it ends, and what it refuses."""

from __future__ import annotations

import pytest

from crosswarp.matrix.facts import columns
from crosswarp.matrix.results.store import Store

A, B = "triton-3.0.0", "triton-2.3.1"
BOTH = ("triton-2.3.1+torch-2.4.1", "triton-3.0.0+torch-2.3.1")
HOSTILE = "\x1b[2J\x1b]0;title\x07\u202e \x9b31m\r\nnext"
OTHER = {"outcome": "compile-error", "fingerprint": "instrN"}


@pytest.fixture
def crosswarp(fake_run, fake_trials, steps, command):
    """`crosswarp({"triton-2.3.1": "crash"}, "softmax", A, B)`: the columns that are not named pass."""

    def call(outcomes, *arguments):
        script = {}
        numpy = {"triton-3.9.0": "2.4.1"}
        for name in (
            *(column.id for column in columns.load() if column.official),
            *BOTH,
            *outcomes,
        ):
            (column,) = columns.choose(columns.load(), [name])
            outcome = outcomes.get(name, "pass")
            changes = outcome if isinstance(outcome, dict) else {"outcome": outcome}
            ran = {
                "torch": f"{column.torch}+cu124", "numpy": column.swapped.get("numpy") or numpy.get(name, "1.26.4"),
                "python": "3.11.7",
            }  # fmt: skip
            script[name] = steps(triton=column.triton, versions=ran, **changes)
        fake_run.script(script)
        fake_trials([name for name, outcome in outcomes.items() if outcome == "environment"])
        where = ["--store", "store.db", "--work", "work", "--issues-file", "issues.toml"]
        return command("blame", *arguments, *where)

    return call


def plain(text):
    return " ".join(text.split())


def test_triton_carries_it(crosswarp, tmp_path):
    status, out, _ = crosswarp({B: "crash", BOTH[0]: "crash"}, "softmax", A, B)
    assert status == 0
    for said in (
        "softmax, sm_90, compile, bare: good on triton-3.0.0 (A), bad on triton-2.3.1 (B)",
        "Triton carries it: A with Triton 2.3.1 is bad, and B with Triton 3.0.0 is good.",
        "numpy 1.26.4 the same", "torch 2.4.1 2.3.1", "outcome crash: SIGABRT: reshapeOuts",
        "known no: report it upstream",
    ):  # fmt: skip
        assert said in plain(out)
    assert max(map(len, out.splitlines())) <= 80
    with Store(tmp_path / "store.db") as store:
        ran = [run.plan["columns"] for run in reversed(store.runs())]
    # Of two axes, A with B's Triton is B with A's torch; numpy and Python agree and are not tried.
    assert ran == [[A], [B], [BOTH[0]], [BOTH[1]]]


def test_torch_carries_it_and_versions_alone_are_names(crosswarp):
    status, out, _ = crosswarp({B: "crash", BOTH[1]: "crash"}, "softmax", "3.0.0", "2.3.1")
    assert status == 0 and "torch carries it: A with torch 2.3.1 is bad" in plain(out)


def test_one_axis_is_known_without_a_swap(crosswarp, tmp_path):
    b = "triton-3.2.0+numpy-2.4.1"
    status, out, _ = crosswarp({b: "mismatch"}, "softmax", "triton-3.2.0", b)
    assert status == 0
    assert "numpy carries it: of the four, nothing else differs." in out
    with Store(tmp_path / "store.db") as store:
        assert len(store.runs()) == 2


def test_only_the_pair_does(crosswarp):
    status, out, _ = crosswarp({B: "crash"}, "softmax", A, B)
    assert status == 0
    assert "Only the pair carries it, Triton and torch: none by itself makes A bad" in plain(out)


def test_each_does(crosswarp):
    status, out, _ = crosswarp(dict.fromkeys((B, *BOTH), "crash"), "softmax", A, B)
    assert status == 0
    assert "Each of Triton and torch by itself makes A bad." in out
    assert "B is bad without Triton or torch too" in plain(out)


def test_three_axes_each_both_ways(crosswarp, tmp_path):
    b = "triton-3.9.0"
    swapped = [
        "triton-3.9.0+torch-2.4.1+numpy-1.26.4", "triton-3.0.0+torch-2.15.0+numpy-2.4.1",
        "triton-3.0.0+torch-2.15.0", "triton-3.9.0+torch-2.4.1",
        "triton-3.0.0+numpy-2.4.1", "triton-3.9.0+numpy-1.26.4",
    ]  # fmt: skip
    outcomes = {
        name: "crash" if "2.4.1" in name.partition("numpy")[2] else "pass" for name in swapped
    }
    outcomes["triton-3.9.0+torch-2.4.1"] = {"outcome": "crash"}
    status, out, _ = crosswarp({**outcomes, b: "crash"}, "softmax", A, b)
    assert status == 0
    with Store(tmp_path / "store.db") as store:
        ran = [run.plan["columns"][0] for run in reversed(store.runs())]
    assert ran == [A, b, *swapped]
    assert "numpy carries it: A with numpy 2.4.1 is bad, and B with numpy 1.26.4 is good." in plain(out)  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "status", "said"),
    [
        # Told whatever the other is: torch is not enough to break A, and Triton is not needed there.
        ("environment", "crash", 0, "torch by itself makes A bad."),
        (
            "environment",
            "pass",
            3,
            "Triton has a part: B is good without it. Whether Triton by itself",
        ),
        ("environment", "environment", 3, "The cause was not found."),
        (OTHER, "pass", 1, "Triton has a part"),
        ("unsupported", "pass", 1, "Triton has a part"),
        ("not-run", OTHER, 1, "The cause was not found."),
    ],
)
def test_what_cannot_be_told_counts_for_nothing(crosswarp, one, other, status, said):
    found, out, _ = crosswarp({B: "crash", BOTH[0]: one, BOTH[1]: other}, "softmax", A, B)
    assert found == status and said in plain(out)
    if one == "environment":
        assert "cannot say cannot be installed" in plain(out)
        assert (
            f"{BOTH[0]}: cannot be installed:" in out
            and "no such wheel. Check the index." in plain(out)
        )
    if one is OTHER:
        assert "fails in another way" in out


def test_what_is_declared_unsupported_has_an_axis_too(crosswarp):
    b = "triton-3.2.0+numpy-2.4.1"
    lacks = {"outcome": "unsupported", "message": "pin numpy<2.4"}
    status, out, _ = crosswarp({b: lacks}, "softmax", "triton-3.2.0", b)
    assert status == 0
    assert "numpy carries it" in out and "outcome unsupported: pin numpy<2.4" in plain(out)


@pytest.mark.parametrize(
    ("outcomes", "status", "said", "todo"),
    [
        ({}, 2, "does not differ: it is good on triton-3.0.0 (1 cell passes) and on triton-2.3.1", "Name two columns"),
        ({A: "crash", B: "crash"}, 2, "does not differ: it is bad on", "Name two columns"),
        ({A: OTHER, B: "crash"}, 2, "does not differ: it is bad on", "Name two columns"),
        ({A: "crash"}, 2, "A is to be the good one", "crosswarp blame softmax triton-2.3.1 triton-3.0.0"),
        ({A: "unsupported", B: "crash"}, 2, "triton-3.0.0 was to be good; it cannot say", "Name another"),
        ({A: "environment", B: "crash"}, 3, "no such wheel", "Name another"),
        ({B: "environment"}, 3, "triton-2.3.1 was to be bad; it cannot say", "Name another"),
        ({A: {"case": "fp32"}, B: "crash"}, 2, "triton-3.0.0 was to be good; it cannot say (fp16 was not run)", "Name"),
    ],
)  # fmt: skip
def test_where_a_is_not_good_or_b_not_bad(crosswarp, outcomes, status, said, todo):
    found, out, err = crosswarp(outcomes, "softmax", A, B)
    assert (found, out) == (status, "")
    assert said in plain(err) and todo in plain(err)


@pytest.mark.parametrize(
    ("arguments", "named", "todo"),
    [
        ([A, A], "A and B both name triton-3.0.0", "Name two"),
        ([A, "triton-3.0.0+torch-2.4.1"], "both name triton-3.0.0", "Name two"),
        ([A, "main"], '"main" pins no versions', "crosswarp columns"),
        ([A, "triton-3.*"], "is triton-3.0.0, triton-3.1.0", "Name one"),
        ([A, "triton-9.9.9"], "no column matches", "crosswarp columns"),
        ([A, "triton-3.2.0+torch-two"], "not a whole version", "Write it as"),
        ([A, HOSTILE], "no column matches", "crosswarp columns"),
        ([A, B, "--case", "fp8*"], 'no case of softmax matches "fp8*"', "There are: fp16"),
        ([A, B, "--lane", "compiled"], "no lane matches", "There are: "),
    ],
)
def test_usage(crosswarp, arguments, named, todo):
    status, out, err = crosswarp({}, "softmax", *arguments)
    assert (status, out) == (2, "")
    assert named in err and todo in err
    assert all(char == "\n" or char.isprintable() for char in err)


def test_the_same_versions_under_two_names(crosswarp):
    b = f"{A}+numpy-1.26.4"
    status, _, err = crosswarp({b: "crash"}, "softmax", A, b)
    assert status == 2 and "ran on the same Triton, torch, numpy and Python" in err


def test_hostile_text(crosswarp):
    red = {"outcome": "crash", "fingerprint": HOSTILE, "case": f"c{HOSTILE}", "config": HOSTILE}
    status, out, _ = crosswarp({A: {"case": f"c{HOSTILE}"}, B: red}, "softmax", A, B)
    assert status in (0, 1) and "title" not in out
    assert all(char == "\n" or char.isprintable() for char in out)
