"""`crosswarp run --quick`: a selection that is data, and shows what it says it shows."""

from __future__ import annotations

import argparse
from fnmatch import fnmatchcase

import pytest

from crosswarp.matrix import versions
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns, issues, named_runs, targets
from crosswarp.matrix.running import plan
from crosswarp.matrix.work import suite_modules
from crosswarp.reports.commands import asked, run


@pytest.fixture
def chosen():
    """`chosen("--quick", …)`: the columns' ids, and what else is asked for."""

    def make(*arguments):
        parser = argparse.ArgumentParser()
        run.add(parser)
        options = parser.parse_args(arguments)
        wanted = asked.asked(options)
        ids = [] if options.here else [one.id for one in asked.chosen_columns(options)[1]]
        return ids, wanted

    return make


def test_every_name_in_the_file_is_one():
    quick = named_runs.load()[named_runs.QUICK]
    assert [one.id for one in columns.choose(columns.load(), quick.columns)] == [*quick.columns]
    assert list(targets.choose(targets.load(), quick.targets)) == [*quick.targets]
    assert set(quick.kernels) <= set(suite_modules.kernel_names()) and plan.check_lanes(quick.lanes)


@pytest.mark.parametrize(
    ("kernel", "red", "green"),
    [
        ("layer_norm", "2.3.1", "3.1.0"),
        ("fused_linear_cross_entropy", "3.2.0", None),
        ("chunk_gated_delta_rule", "3.2.0", "3.1.0"),
    ],
)
def test_each_founding_regression_has_its_release_and_one_without_it(kernel, red, green):
    quick = named_runs.load()[named_runs.QUICK]

    def explained(triton):
        return any(
            issue.case and "compile" in issue.lanes and versions.within(triton, issue.triton or ">=0")
            and any(fnmatchcase(kernel, one.kernel) for one in issue.case)
            and any(fnmatchcase(target, glob) for target in quick.targets for glob in issue.targets)
            for issue in issues.load()
        )  # fmt: skip

    assert kernel in quick.kernels
    assert f"triton-{red}" in quick.columns and explained(red)
    if green:
        assert f"triton-{green}" in quick.columns and not explained(green)


def test_what_is_given_comes_first(chosen):
    ids, wanted = chosen("--quick")
    assert ids == ["triton-2.3.1", "triton-3.1.0", "triton-3.2.0"]
    assert (list(wanted.targets), wanted.lanes, len(wanted.kernels)) == (
        ["sm_90", "gfx942"], ("compile",), 3,
    )  # fmt: skip
    assert "bf16-k256-t70-8warps" in wanted.cases
    ids, wanted = chosen("--quick", "--columns", "3.9.0", "--kernels", "softmax", "--cases", "*")
    assert wanted.cases == ("*",)
    assert (ids, wanted.kernels) == (["triton-3.9.0"], ("softmax",))
    assert list(wanted.targets) == ["sm_90", "gfx942"]


def test_an_interpreter_at_hand_is_a_column_already(chosen):
    assert chosen("--quick", "--here")[1].lanes == ("compile",)


def test_a_suite_of_ones_own_has_no_quick_part(chosen, tmp_path):
    with pytest.raises(UsageError, match="Leave out"):
        chosen("--quick", "--suite", str(tmp_path))
