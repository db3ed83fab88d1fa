"""The table of maintainers' threads: its data names what there is, and its verdicts come from records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crosswarp.compat.shims import all_shims

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def proof(load_script):
    return load_script("proofs/threads.py")


CELLS = {"kernel": "chunk", "case": "a", "triton": "3.6.0", "target": "sm_90", "seen": "boom"}


@pytest.fixture
def judged(proof, make_record):
    """`judged(bare, shimmed)`: what is found of a thread whose cell had these outcomes."""

    def judge(bare, shimmed=None, why="", **cells):
        at = {"kernel": "chunk", "case": "a", "target": "sm_90", "lane": "compile", "config": ""}
        records = [make_record(**at, mode="bare", **bare)] if bare else []
        if shimmed is not None:
            records.append(make_record(**at, mode="shimmed", **shimmed))
        thread = proof.Thread(threads=["a/b#1"], what="it dies", cells={**CELLS, **cells}, why=why)
        return proof.found(thread, {"3.6.0": records}, {})

    return judge


RED = {"outcome": "crash", "fingerprint": "SIGABRT: boom"}


def test_red_bare_is_found_and_green_shimmed_is_fixed(judged):
    one = judged(RED, {"outcome": "pass", "shims": ("compiler_crash",)})
    assert (one.how, one.seen) == ("red bare: crash", "SIGABRT: boom")
    assert one.shims == ("compiler_crash",)
    assert (
        "--columns 3.6.0 --targets sm_90 --lanes compile --kernels chunk --cases a" in one.command
    )


@pytest.mark.parametrize(
    "shimmed", [None, RED, {"outcome": "unsupported"}, {"outcome": "left-out"}]
)
def test_what_is_not_green_with_the_shims_is_not_fixed(judged, shimmed):
    if shimmed and shimmed["outcome"] == "left-out":
        shimmed = {"outcome": "not-run"}
    assert judged(RED, shimmed).shims == ()


@pytest.mark.parametrize(
    ("bare", "why"),
    [
        ({"outcome": "pass"}, "not seen: pass"),
        ({"outcome": "crash", "fingerprint": "SIGSEGV"}, "not seen: SIGSEGV"),
        ({"outcome": "unsupported"}, "not run"),
        (None, "not run"),
    ],
)
def test_what_is_not_red_in_that_way_is_not_found(judged, bare, why):
    one = judged(bare, {"outcome": "pass", "shims": ("compiler_crash",)})
    assert (one.how, one.shims, one.why) == ("", (), why)
    # what is known of it is no verdict where nothing ran
    known = judged(bare, why="fixed before")
    assert known.why == ("not run" if why == "not run" else "fixed before")


def test_what_grew_beside_another_triton(proof, make_record):
    thread = proof.Thread(
        threads=["a/b#1"], what="slower", cells={**CELLS, "beside": "3.5.1", "seen": "stack"}
    )

    def at(stack):
        launch = {"kernel": "_k", "num_warps": 4, "stack": stack, "registers": 100}
        record = make_record(
            kernel="chunk", case="a", target="sm_90", lane="compile", mode="bare", config="",
            outcome="pass", resources={"launches": [launch]},
        )  # fmt: skip
        return [record]

    one = proof.found(thread, {"3.5.1": at(0), "3.6.0": at(640)}, {})
    assert (one.how, one.shims) == ("stack, worse", ()) and "stack 0 → 640" in one.seen
    same = proof.found(thread, {"3.5.1": at(640), "3.6.0": at(640)}, {})
    assert (same.how, same.why) == ("", "its resources are the same")


def test_a_command_has_to_say_it(proof):
    thread = proof.Thread(
        threads=["a/b#1"], what="skew",
        command={"argv": ["doctor"], "triton": "3.8.0", "seen": r"asks for triton\S+"},
    )  # fmt: skip
    assert proof.found(thread, {}, {"3.8.0 crosswarp doctor": "torch asks for triton~=3.9"}).how
    assert not proof.found(thread, {}, {"3.8.0 crosswarp doctor": "nothing"}).how
    assert proof.found(thread, {}, {}).why == "not run"


def test_the_data_names_what_there_is(proof):
    kernels = {path.stem for path in (ROOT / "kernels").rglob("*.py")}
    threads = proof.load()
    names = [name for one in threads for name in one.threads]
    assert len(names) == len(set(names)) >= 24
    for one in threads:
        assert one.cells or one.command or one.why, one.threads
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", name) for name in one.threads)
        if one.cells:
            assert one.cells.kernel in kernels and re.compile(one.cells.seen)


def test_the_page_is_of_this_data_and_holds_what_is_asked_of_it(proof):
    text = proof.PAGE.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    threads = proof.load()
    assert len(rows) == len(threads), "python tests/proofs/threads.py --work FOLDER --write"
    for one, row in zip(threads, rows):
        assert all(f"/{name.partition('#')[2]})" in row for name in one.threads)
    shims = {shim.name for shim in all_shims()}
    fixed = [set(re.findall(r"shims\.md#(\w+)", row)) for row in rows]
    assert set().union(*fixed) <= shims
    counts = re.search(r"(\d+) of (\d+) found, (\d+) fixed", text)
    assert int(counts[1]) >= 20 and int(counts[3]) >= 9
