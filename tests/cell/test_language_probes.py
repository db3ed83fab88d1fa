"""The probes of the language table: well formed on every version, and their runner outlives what they do."""

import ast
import collections

import pytest
import targets
import torch

from crosswarp.laboratory.cell.language_probes import names, probe, probes, running

pytestmark = pytest.mark.both_ends

COPY = probe.Probe("tl.load", "r = tl.load(x_ptr + i)", lambda x, y: x)


def run(tmp_path, *given, target=targets.SM_90, time_limit=60):
    found = []
    running.run(
        given, target, tmp_path, time_limit, 6000, lambda one, verdict: found.append((one, verdict))
    )
    assert [one for one, _ in found] == list(given)
    return [verdict for _, verdict in found]


def test_every_probe_is_a_kernel_about_a_name_of_its_own():
    written = collections.Counter(one.id for one in probes.written())
    assert [name for name, count in written.items() if count > 1] == []
    for one in probes.all_probes():
        for shape in (None, (), (64,), (32, 32), (1, 32), (32, 1)):
            ast.parse(probe.source(one, shape))
        assert one.name.rpartition(".")[2] in one.header + one.body + one.option, one.id


def test_what_is_probed_exists_or_existed():
    """In this version, or as a name of another: no probe is misspelled."""
    elsewhere = ("tl.extra", "launch", "triton.")
    here = {name for name in names.found() if not name.startswith(elsewhere)}
    probed = {one.name for one in probes.all_probes()}
    missing = sorted(here - probed)
    # What a line cannot probe: types that kernels do not name, and what only writes a new language.
    assert len(missing) < 0.2 * len(here), missing


def test_a_probe_compiles_and_one_that_cannot_says_why(in_fork, tmp_path):
    wrong = probe.Probe("tl.gone", "r = tl.gone(x)", lambda x, y: x)
    passed, failed, after = in_fork(lambda: run(tmp_path, COPY, wrong, COPY))
    assert (passed.outcome, after.outcome) == ("pass", "pass")
    assert failed.outcome in ("compile-error", "api-error")
    assert "has no attribute 'gone'" in failed.fingerprint


def test_a_death_is_the_verdict_on_the_probe_that_had_begun(in_fork, tmp_path):
    def header(text):
        return probe.Probe("tl.load", "r = tl.load(x_ptr + i)", lambda x, y: x, header=text)

    hostile = [
        header("import os; os.abort()"),
        header("import time; time.sleep(100)"),
        header("import os; os._exit(3)"),
    ]
    verdicts = in_fork(lambda: run(tmp_path, COPY, *hostile, COPY, time_limit=15))
    assert [one.outcome for one in verdicts] == ["pass", "crash", "timeout", "crash", "pass"]
    assert verdicts[1].reason == "SIGABRT" and verdicts[3].reason.startswith("exit 3")


def test_a_probe_that_is_wrong_itself_is_no_verdict_on_triton(in_fork, tmp_path):
    broken = probe.Probe("tl.load", "r = tl.load(x_ptr + i)", lambda x, y: x.no_such_method())
    (verdict,) = in_fork(lambda: run(tmp_path, broken))
    assert verdict.outcome == "not-run" and "no_such_method" in verdict.reason


def test_the_references_are_right_where_it_is_easy_to_see():
    from crosswarp.laboratory.cell.language_probes import control, elementwise, memory, shapes

    # Known answer of Philox 4x32-10 for all zeros, as its authors publish it.
    drawn = control.philox((0, 0, 0, 0), (0, 0))
    assert [f"{word:08x}" for word in drawn] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    x = torch.tensor([1.0 + 2**-11 + 2**-12, -1.0 - 2**-11 - 2**-12, 0.5, -0.0])
    assert elementwise.toward_zero(x).tolist() == [1.0, -1.0, 0.5, 0.0]
    assert x.half().tolist() != elementwise.toward_zero(x).tolist()
    assert sorted(shapes.swizzled(torch.arange(64)).tolist()) == list(range(64))
    assert shapes.swizzled(torch.arange(5)).tolist() == [0, 8, 16, 24, 1]
    assert memory.masked(torch.ones(64), 7.0).sum() == 40 + 24 * 7
