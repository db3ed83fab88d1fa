"""`crosswarp check` inside a column: which assumption is taken, and stand-ins for what an environment lacks."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import importlib
import math
import signal
import sys
import types

import pytest

from crosswarp.compat.isolate import Outcome
from crosswarp.matrix.cell.asked import AskedCheck
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data
from crosswarp.matrix.cell.kinds import check as check_package
from crosswarp.matrix.cell.kinds.check import (
    ASSUMED,
    LACKING,
    NO_KERNEL,
    PLACE,
    UNREAL,
    absent,
    attempts,
    importing,
    launching,
    observing,
)
from crosswarp.matrix.cell.kinds.check import __main__ as check_cell
from crosswarp.matrix.cell.kinds.suite.item import Item
from crosswarp.matrix.cell.protocol import Cell

PASS = Verdict("pass")
TYPES = Verdict("compile-error", "CompilationError", "shapes do not match", "m", "compile")
NAME = Verdict("compile-error", "CompilationError", "NameError('a is not defined')", "m", "compile")
GONE = Verdict(
    "compile-error",
    "x",
    "AttributeError: module 'triton.language' has no attribute 'a'",
    "m",
    "compile",
)
LOST = Verdict(
    "api-error", "TypeError", "TypeError", "TypeError: missing a required argument: 'x'", "bind"
)
WORD = Verdict(
    "api-error",
    "KeyError",
    "KeyError",
    "KeyError: 'Keyword argument TILE was specified but unrecognised'",
    "bind",
)
BOUND = Verdict("api-error", "TypeError", "missing 1 required argument; NameError", "m", "bind")
SIZES = Verdict(
    "crash",
    "SIGABRT",
    "SIGABRT: number of input constraints does not match number of parameters",
    "m",
    "compile",
)
TARGET = Verdict(
    "compile-error",
    "PTXASError",
    "Feature 'cvt.f16x2.e2m1x2' not supported on .target 'sm_90a'",
    "m",
    "compile",
)
SLICE = Verdict(
    "compile-error",
    "CompilationError",
    "unsupported tensor index: <triton.language.core.slice object at 0x…>",
    "m",
    "compile",
)
RAISES = Verdict(
    "compile-error",
    "UnsupportedLanguageConstruct",
    "unsupported AST node type: Raise",
    "m",
    "compile",
)
NOT_CALLABLE = "TypeError(\"'NoneType' object is not callable\")"
CRASH = Verdict("crash", "SIGABRT", "SIGABRT", "m", "compile")
LATE = Verdict("timeout", "longer than 120 s", "timeout", "m", "compile")
LARGE = Verdict("limit", "OutOfResources", "shared memory", "m", "launch")


# The time limits of the attempts of the last `settled`.
limits = []


@pytest.fixture
def settled(monkeypatch):
    """`settled(*verdicts)`: the items and the place that come of assumptions which fare so, and how many were run.

    A pair of verdicts is that without compat and that with it.
    """

    def go(*verdicts, assumed=("x",), again=1, kind="constexpr", assigns=()):
        typed = [{"name": "x", "type": kind}]
        tried = [
            {"assumed": list(assumed), "arguments": typed, "options": {"TILE": 1}} for _ in verdicts
        ]
        kernels = {"k": {"cases": {"c": {"attempts": tried}}, "assigns": assigns}}
        spec = AskedCheck(check={"kernels": kernels, "kernel_limit": 90})
        unit = [Item("sm_90", "compile", mode, "k", "c") for mode in ("bare", "shimmed")]
        ran = []
        limits.clear()

        def run(item, spec, emit):
            ran.append(spec.check["chosen"]["k/c"])
            limits.append(spec.time_limit)
            verdict = verdicts[ran[-1]]
            return verdict[item.mode == "shimmed"] if isinstance(verdict, tuple) else verdict

        monkeypatch.setattr(attempts.runner, "run", run)
        for _ in range(again):
            items, place = attempts.settle(unit, spec, attempts.Limit(spec))
        return items, place, ran

    return go


def test_the_first_assumption_that_passes_is_taken(settled):
    items, place, ran = settled(TYPES, LARGE, PASS, PASS)
    assert place == 2 and ran == [0, 1, 2] and not any(one.broken for one in items)


@pytest.mark.parametrize("asked, own, tritons", [(4, 1, 4), (1, 1, 1), (0, 0, 0)])
def test_of_a_kernel_with_a_tuner_of_the_files_one_configuration_is_compiled(asked, own, tritons):
    class Own:
        configs = [1, 2]

    class Outer:
        fn = Own()

    class Tritons(Own):
        pass

    Tritons.__module__ = "triton.runtime.autotuner"

    class Vendors(Own):
        pass

    Vendors.__module__ = "tokenspeed_triton.runtime.autotuner"
    assert launching.most(Outer(), asked) == launching.most(Own(), asked) == own
    assert launching.most(Tritons(), asked) == launching.most(len, asked) == tritons
    assert launching.most(Vendors(), asked) == tritons


@pytest.mark.parametrize("stages, given", [(3, {}), (None, {"num_stages": 2})])
def test_an_assumed_option_that_a_configuration_gives_is_not_passed_too(monkeypatch, stages, given):
    # It was passed twice: "got multiple values for keyword argument 'num_stages'".
    passed = []

    class Tuned:
        configs = [types.SimpleNamespace(kwargs={"BLOCK": 64}, num_stages=stages)]

        def __getitem__(self, grid):
            return lambda *args, **words: passed.append((args, words))

    monkeypatch.setattr(launching, "_allocate", lambda: None)
    arguments = [
        {"name": name, "type": "constexpr", "hint": "", "value": {"value": 2}}
        for name in ("N", "BLOCK", "num_stages")
    ]
    assumed = ["BLOCK", "num_stages"]
    launching._launch(
        None,
        Tuned(),
        {"assumed": assumed, "arguments": arguments, "positional": 3, "spare": {}, "options": {}},
    )
    assert passed == [((2,), given)]


def test_on_the_next_target_what_passed_comes_first(settled):
    _, place, ran = settled(TYPES, PASS, again=2)
    assert place == 1 and ran == [0, 1, 1]


# LOST: Triton 2.3.1 takes a parameter named num_warps for a launch option, and then misses it (liger-215).
@pytest.mark.parametrize("failure", [NAME, GONE, TARGET, LOST, SLICE, WORD])
def test_what_no_assumption_mends_is_a_failure_at_once(settled, failure):
    items, place, ran = settled(failure, PASS)
    # Once in each mode.
    assert place == 0 and ran == [0, 0] and not any(one.broken for one in items)


TWICE = Verdict(
    "api-error",
    "TypeError",
    "TypeError",
    "triton.JITFunction.run() got multiple values for keyword argument 'x'",
    "bind",
)
CONFLICT = dataclasses.replace(
    TWICE, message="ValueError: Conflicting meta-parameters: x. Make sure that ..."
)


@pytest.mark.parametrize("failure", [TWICE, CONFLICT])
def test_a_constant_of_the_launch_and_of_the_configurations_is_a_failure_of_the_file(
    settled, failure
):
    items, place, ran = settled(failure, PASS, assumed=("y",))
    assert place == 0 and ran == [0, 0] and not any(one.broken for one in items)
    # The constant that check itself passes.
    _, place, ran = settled(failure, PASS, assumed=("x",))
    assert place == 1 and ran == [0, 1]


def test_a_constant_that_a_kernel_refuses_is_no_failure_of_it(settled):
    items, place, ran = settled(RAISES, PASS)
    assert place == 1 and ran == [0, 1]
    items, _, _ = settled(RAISES, RAISES)
    assert all(one.broken["outcome"] == "not-run" for one in items)
    # The file's own constant.
    items, _, ran = settled(RAISES, PASS, kind="*fp32")
    assert set(ran) == {0} and not any(one.broken for one in items)


def test_a_name_that_the_kernel_defines_for_some_constants_may_be_there_with_another(settled):
    items, place, ran = settled(NAME, PASS, assigns=("a",))
    assert place == 1 and ran == [0, 1] and not any(one.broken for one in items)


def test_what_fails_whatever_is_assumed_may_pass_with_compat_under_another_assumption(settled):
    items, place, ran = settled((GONE, TYPES), (GONE, PASS))
    assert place == 1 and ran == [0, 0, 1] and not any(one.broken for one in items)


def test_with_compat_no_verdict_where_only_the_assumptions_fail(settled):
    (bare, shimmed), _, _ = settled((GONE, TYPES), (GONE, LARGE))
    assert not bare.broken and shimmed.broken["reason"] == ASSUMED


@pytest.mark.parametrize(
    "failures", [(TYPES, TYPES), (LARGE, TYPES), (CRASH, TYPES), (BOUND, BOUND), (SIZES, SIZES)]
)
def test_a_failure_that_may_come_of_assumptions_is_no_verdict(settled, failures):
    items, _, _ = settled(*failures)
    assert [one.broken["outcome"] for one in items] == ["not-run"] * 2
    assert all(
        one.broken["reason"] == ASSUMED and "in each of 2 tries" in one.broken["message"]
        for one in items
    )


def test_an_assumed_constant_may_be_why_it_takes_too_long(settled):
    items, _, _ = settled(LATE, LATE)
    assert [one.broken["reason"] for one in items] == [ASSUMED] * 2
    # No type makes a compiler slow.
    items, place, ran = settled(LATE, LATE, kind="*fp32")
    assert place == 0 and ran == [0] and not any(one.broken for one in items)


def test_a_compiler_that_dies_each_time_is_a_failure(settled):
    items, place, _ = settled(CRASH, CRASH)
    assert place == 0 and not any(one.broken for one in items)


@pytest.mark.parametrize("verdict, tuned, tried", [
    (PASS, True, [1]), (LARGE, False, [1]), (LARGE, True, [1, 4]),
])  # fmt: skip
def test_an_assumption_is_tried_with_one_configuration(monkeypatch, verdict, tuned, tried):
    asked = {"configurations": 4, "kernels": {"k": {"tuned": tuned}}}
    ran = []

    def run(item, spec, emit):
        ran.append(spec.check["configurations"])
        return verdict

    monkeypatch.setattr(attempts.runner, "run", run)
    attempts._attempt(Item("sm_90", "compile", "bare", "k", "c"), AskedCheck(check=asked))
    assert ran == tried


def test_without_assumptions_nothing_is_tried(settled):
    items, place, ran = settled(TYPES, assumed=())
    assert place is None and not ran and not any(one.broken for one in items)


def test_cells_say_which_assumption_and_what_is_lacking():
    written = []

    class Kept:
        write = staticmethod(written.append)

    cell = Cell("sm_90", "compile", "bare", "k", "c", outcome="pass", resources={"a": 1})
    attempts.Telling(Kept, 3, ["einops"]).write(cell)
    attempts.Telling(Kept, None, []).write(cell)
    assert [one.resources for one in written] == [{"a": 1, PLACE: 3, LACKING: ["einops"]}, {"a": 1}]


def test_a_package_that_a_file_calls_may_teach_triton_a_word():
    written = []

    class Kept:
        write = staticmethod(written.append)

    cell = Cell("sm_90", "compile", "bare", "k", "c", outcome="api-error", message=WORD.message)
    for called in ((), ("runner",)):
        attempts.Telling(Kept, None, ["runner"], called=called).write(cell)
    assert [one.outcome for one in written] == ["api-error", "not-run"]
    assert "pip install runner" in written[1].message and "TILE" in written[1].message


@pytest.mark.parametrize(
    "unbound, says, reason",
    [
        ({"helper": "nowhere.ops"}, "pip install nowhere", LACKING),
        ({"*": "nowhere"}, "the kernel itself uses helper", LACKING),
        ({"helper": absent.RELATIVE}, "check the file where its package is", LACKING),
        ({"helper": ""}, "on a line that its import does not reach here", NO_KERNEL),
        ({"another": "nowhere"}, "", ""),
    ],
)
def test_a_name_that_the_file_binds_elsewhere_is_no_failure_of_the_kernel(unbound, says, reason):
    written = []

    class Kept:
        write = staticmethod(written.append)

    for message in ("NameError('helper is not defined')", "at 3:4:\n helper(x)\n" + NOT_CALLABLE):
        cell = Cell("sm_90", "compile", "bare", "k", "c", outcome="compile-error", message=message)
        attempts.Telling(Kept, None, [], unbound=unbound).write(cell)
    first, second = written
    assert says in first.message and first.reason == reason
    assert first.outcome == ("not-run" if says else "compile-error")
    assert second.outcome == ("not-run" if "helper" in unbound else "compile-error")


@pytest.mark.parametrize(
    "failure, outcome",
    [
        ({"outcome": "api-error", "message": "TypeError: a key is no JSON"}, "not-run"),
        ({"outcome": "compile-error", "message": "types differ"}, "not-run"),
        ({"outcome": "compile-error", "message": "PassManager::run failed"}, "compile-error"),
        ({"outcome": "compile-error", "message": "NameError: x is not defined"}, "compile-error"),
        ({"outcome": "limit", "message": "shared memory"}, "limit"),
    ],
)
def test_a_failure_after_an_assumption_passed_is_no_verdict(failure, outcome):
    written = []

    class Kept:
        write = staticmethod(written.append)

    cell = Cell("sm_90", "compile", "bare", "k", "c", **failure)
    attempt = {"assumed": ["x"], "arguments": [], "options": {}}
    attempts.Telling(Kept, 0, [], attempt=attempt).write(cell)
    attempts.Telling(Kept, None, []).write(cell)
    assert [one.outcome for one in written] == [outcome, failure["outcome"]]


def test_names_that_a_file_binds_and_its_module_lacks_are_listed(tmp_path):
    path = tmp_path / "bound.py"
    path.write_text(
        "import os\nfrom nowhere.ops import *\nfrom there import *\n"
        "try:\n    import first as one\n    from second.part import two\nexcept ImportError:\n    two = None\n"
        "try:\n    from triton.gone import three\nexcept ImportError:\n    pass\n"
        "if __name__ == '__main__':\n    SIZE: int = 3\nelse:\n    def other():\n        inside = 1\n"
    )
    module = importing.ModuleType("bound")
    module.os, module.two = math, None
    found = importing.unbound({"file": str(path), "absent": ["nowhere.ops"]}, module)
    assert found == {"*": "nowhere", "one": "first", "two": "second", "SIZE": "", "other": ""}


def test_an_attempt_leaves_time_for_the_others(settled):
    settled(TYPES, PASS)
    assert limits == [45, 45]
    settled(PASS)
    assert limits == [pytest.approx(90, abs=1)]


def test_no_attempt_begins_after_a_cases_time(settled, monkeypatch):
    monkeypatch.setattr(attempts.Limit, "over", True)
    items, _, ran = settled(TYPES, PASS)
    assert ran == [0] and items[0].broken["reason"] == ASSUMED


def test_what_had_less_than_its_full_time_is_no_timeout():
    spec = AskedCheck(check={"kernel_limit": 90}, time_limit=60)
    limit = attempts.Limit(spec)
    assert limit.spec().time_limit == 60 and limit.late("timeout", limit.spec()) == ""
    limit._until -= 80
    within = limit.spec()
    # A mode that begins late has a fifth of the whole.
    assert within.time_limit == 18 and within.check["until"] == limit._until
    assert "--kernel-limit" in limit.late("timeout", within) and not limit.late("crash", within)
    written = []

    class Kept:
        write = staticmethod(written.append)

    cells = [
        Cell("sm_90", "compile", "bare", "k", "c", config=config, outcome="timeout")
        for config in ("BLOCK=16", "")
    ]
    telling = attempts.Telling(Kept, None, [], functools.partial(limit.late, spec=within))
    for cell in cells:
        telling.write(cell)
    assert [(one.outcome, one.reason) for one in written] == [("not-run", check_package.LATE)] * 2
    assert telling.configurations == 0


def test_a_worker_goes_on_where_the_import_said_nothing_of_configurations(monkeypatch, tmp_path):
    unit = [Item("sm_90", "compile", "bare", name, "c", "not here") for name in "kl"]
    check = {"kernel_limit": 90, "kernels": dict.fromkeys("kl", {"cases": {"c": {"attempts": []}}})}
    asked = AskedCheck(records=str(tmp_path / "records"), check=check)
    monkeypatch.setattr(check_cell, "_taken", lambda places: [0, 1])
    assert check_cell._worker(0, [unit[:1], unit[1:]], asked) == 0
    assert (tmp_path / "records").read_text().count("unsupported") == 2


@pytest.mark.parametrize("status", [0, 3])
def test_workers_that_read_nothing_end_it_without_an_error(monkeypatch, status):
    """More places than a pipe holds: writing them fails when nobody is left to read."""
    monkeypatch.setattr(check_cell, "_worker", lambda *_: status)
    before = signal.getsignal(signal.SIGPIPE)
    try:
        assert check_cell._work([[]] * 100_000, AskedCheck(jobs=2)) == bool(status)
    finally:
        signal.signal(signal.SIGPIPE, before)


@pytest.mark.parametrize(
    "kind, outcome",
    [("signal", "not-run"), ("timeout", "not-run"), ("memory", "not-run"), ("exit", "crash")],
)
def test_how_a_files_import_ends_says_nothing_of_its_kernels(monkeypatch, kind, outcome):
    ended = Outcome(kind, reason="SIGABRT", output="another library's words")
    verdict = check_cell._died(ended)
    assert verdict.outcome == outcome
    assert "SIGABRT" in verdict.message and "another library's words" in verdict.message
    monkeypatch.setattr(check_cell, "run_isolated", lambda *_, **__: ended)
    verdicts = check_cell._imported(AskedCheck(check={"kernels": {"k": {}, "l": {}}}), None)
    assert verdicts == dict.fromkeys("kl", as_data(verdict))


@pytest.mark.parametrize(
    ("error", "alone"), [(KeyError("level"), True), (importing.Launched(), False)]
)
def test_a_package_that_fails_beside_stand_ins_is_left_out_and_one_that_launches_is_not(
    monkeypatch, error, alone
):
    check = {
        "file": "k.py", "module": "pack.k", "root": "", "absent": ["gone"], "kernels": {"k": {"within": ""}},
    }  # fmt: skip
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("argv", "dont_write_bytecode"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    for name in ("install", "stand_before", "be_true"):
        monkeypatch.setattr(absent, name, lambda *_: None)
    monkeypatch.setattr(importing, "find", lambda *_: None)
    monkeypatch.setattr(importing, "_loaded", lambda _: (None, error))
    importing.load(check, stop=False)
    assert check.get("alone", False) is alone


def test_of_a_file_that_is_cut_nothing_runs_after_its_kernels(tmp_path):
    path = tmp_path / "cut.py"
    path.write_text("before = 1\ndef kernel():\n    pass\nafter = 1\ndef launch():\n    pass\n")
    check = {"file": str(path), "kernels": {"kernel": {"line": 2}}, "absent": []}
    for cut in (False, True):
        module, error = importing._alone({**check, "cut": cut})
        assert error is None and module.before and module.kernel and module.launch
        assert hasattr(module, "after") is not cut


def test_configurations_are_counted():
    class Kept:
        @staticmethod
        def write(*events):
            pass

    telling = attempts.Telling(Kept, None, [])
    for config in ("BLOCK=16", "BLOCK=32", ""):
        telling.write(Cell("sm_90", "compile", "bare", "k", "c", config=config, outcome="pass"))
    assert telling.configurations == 2


@pytest.mark.parametrize("until, left", [(math.inf, [0, 4, 9]), (0.0, [0])])
def test_of_a_tuned_kernel_those_in_time_are_compiled(until, left):
    class Tuned:
        configs = list(range(10))

    launching._limit(Tuned, 3, until)
    assert list(Tuned.configs) == left and len(Tuned.configs) == 3


@pytest.mark.parametrize(
    "prune, left",
    [
        (lambda configs, named, **words: configs[1:], [1, 2]),
        (lambda configs, named, **words: configs[named["x"].shape[1] :], [0, 1, 2]),
        (lambda configs, named, **words: [], [0, 1, 2]),
    ],
)
def test_a_files_pruning_may_fail_for_shapes_that_are_not_real(prune, left):
    class Tuned:
        configs = [0, 1, 2]
        early_config_prune = staticmethod(prune)

    class Tensor:
        shape = (64,)

    launching._limit(Tuned, 0, math.inf)
    assert list(Tuned.early_config_prune(Tuned.configs, {"x": Tensor}, n=1)) == left


def test_a_files_hook_and_estimate_may_fail_for_shapes_that_are_not_real():
    class Tensor:
        shape = (64,)

    class Config:
        pre_hook = staticmethod(lambda named: named["x"].shape[1])

    class Tuned:
        configs = [Config()]
        perf_model = staticmethod(lambda x, **words: x.shape[words["axis"]])

    launching._limit(Tuned, 0, math.inf)
    assert next(iter(Tuned.configs)).pre_hook({"x": Tensor}) == 0
    assert [Tuned.perf_model(x=Tensor, axis=axis) for axis in (0, 1)] == [64, 0]


def test_a_heuristic_that_fails_for_shapes_that_are_not_real_is_no_failure_of_the_kernel():
    class Outer:
        values = {"EVEN": lambda named: named["n"] // 0, "W": lambda named: named["missing"]}

    launching._limit(Outer, 0, math.inf)
    with pytest.raises(launching.UnrealShapes) as raised:
        Outer.values["EVEN"]({"n": 3})
    verdict = raised.value.crosswarp_verdict
    assert (verdict.outcome, verdict.reason) == ("not-run", UNREAL)
    assert "heuristic of EVEN" in verdict.message and "ZeroDivisionError" in verdict.message
    with pytest.raises(KeyError):
        Outer.values["W"]({"n": 3})


def test_a_heuristic_of_several_axes_gets_tensors_with_as_many_and_numbers_as_they_are(monkeypatch):
    class Tensor:
        def __init__(self, *shape):
            self.shape = shape

        def view(self, *sizes):
            return Tensor(*sizes)

    class Outer:
        values = {"W": lambda named: named["x"].shape[2] + named["y"].shape[0] + named["n"]}

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor))
    launching._limit(Outer, 0, math.inf)
    flat = Tensor(launching.ELEMENTS)
    assert Outer.values["W"]({"x": flat, "y": Tensor(100), "n": 3}) == 4 + 100 + 3


@pytest.fixture
def stood_in(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    names = ["no_such_package"]
    absent.install(names)
    yield names
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_stand_in_is_whatever_a_file_makes_of_it(stood_in):
    module = importlib.import_module("no_such_package.deep.er")
    decorated = module.thing(3, a=1)

    @decorated
    def function():
        return 1

    class Derived(module.Base):
        value = module.CONSTANT

    assert function() == 1 and Derived().value.path.endswith("CONSTANT")
    assert not module.flag and list(module.rows) == [] and module.a["b"].c(1, 2) is not None
    with module.context():
        pass
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("another_package_that_is_not_there")


def test_a_stand_in_that_only_decorates_is_not_called(stood_in, monkeypatch):
    monkeypatch.setattr(absent, "_called", {})
    module = importlib.import_module("no_such_package")
    assert module.decorator(len) is len and absent.called() == []
    module.configure(3)
    assert absent.called() == ["no_such_package"]
    absent.grow(stood_in, "another_package_that_is_not_there")
    importlib.import_module("another_package_that_is_not_there")


@pytest.mark.parametrize(
    "text, said",
    [
        ("import no_package.inside", "no_package"),
        ("import triton_that.is_not", "triton_that"),
        ("from . import beside", absent.RELATIVE),
        ("from json import no_such_name", "json:no_such_name"),
        ("1 / 0", ""),
        # As libraries raise it themselves.
        ("raise ModuleNotFoundError(\"No module named 'own_ops'.\")", "own_ops"),
        ("raise ModuleNotFoundError(\"No module named 'triton.ops'.\")", ""),
    ],
)
def test_what_an_import_failed_for(text, said):
    try:
        exec(compile(text, "file.py", "exec"), {"__name__": "alone", "__package__": ""})
    except Exception as error:
        assert absent.lacking(error) == said


def test_a_name_that_triton_lacks_is_no_missing_package():
    for name, so in (("triton.runtime.jit", True), ("torch", True), ("einops", False)):
        assert absent.never_replaced(ImportError("cannot import name", name=name)) is so
    assert not absent.never_replaced(KeyError("triton")) and not absent.never_replaced(None)


def test_an_environment_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("HERS", raising=False)
    for asked, said in (("os.environ['HERS']", "HERS"), ("{}['HERS']", ""), ("1 / 0", "")):
        try:
            exec(f"import os\n{asked}")
        except Exception as error:
            assert absent.unset(error) == said
        else:
            raise AssertionError(asked)


def test_a_shared_library_that_is_not_there_is_named():
    with pytest.raises(OSError) as raised:
        ctypes.CDLL("libof_nobody.so.6")
    assert absent.library(raised.value) == "libof_nobody.so.6"
    assert absent.library(ImportError("libof_nobody.so: cannot open shared object file: No")) != ""
    assert absent.library(OSError("kernels.so")) == "" and absent.library(None) == ""


def test_a_file_that_an_import_opens_in_vain_is_named():
    with pytest.raises(OSError) as raised:
        open("kernel_of_nobody.cpp")
    assert absent.unopened(raised.value) == "kernel_of_nobody.cpp"
    for other in (FileNotFoundError("ptxas"), OSError("could not get source code"), None):
        assert absent.unopened(other) == ""


def test_a_variable_is_named_that_torch_wants_for_building_an_extension():
    asked = OSError("CUDA_HOME environment variable is not set. Please set it to your CUDA root.")
    assert absent.unset(asked) == "CUDA_HOME"
    assert absent.unset(OSError("could not get source code")) == ""


def raised_in(module, error):
    """`error` as code of that module raises it."""
    names = {"__name__": module, "error": error}
    with pytest.raises(type(error)) as raised:
        exec("def fail():\n    raise error\nfail()", names)
    return raised.value


def test_an_extension_that_is_not_built_is_known_by_the_module_that_builds_it():
    assert absent.builds(raised_in("torch.utils.cpp_extension", OSError("no ninja")))
    assert not absent.builds(raised_in("torch.utils", OSError("no ninja")))
    assert not absent.builds(None)


def test_a_file_that_names_the_builder_of_extensions_gets_stand_ins_for_them(tmp_path, monkeypatch):
    builder = types.ModuleType("torch.utils.cpp_extension")
    builder.load = lambda **given: 1 / 0
    monkeypatch.setitem(sys.modules, "torch.utils.cpp_extension", builder)
    file = tmp_path / "kernels.py"
    assert not absent.names_extensions(str(file))
    file.write_text("from torch.utils.cpp_extension import load")
    assert absent.names_extensions(str(file))
    file.write_text("from torch.utils import data")
    assert not absent.names_extensions(str(file))
    absent.without_extensions()
    assert type(builder.load(name="e").run) is absent.StandIn


@pytest.mark.parametrize(
    ("module", "error", "elsewhere"),
    [
        ("mine", RuntimeError("two GPUs wanted"), True),
        ("torch.distributed.rendezvous", ValueError("RANK expected"), True),
        ("argparse", SystemExit(2), True),
        ("mine", TypeError("int() argument must be a string, not 'NoneType'"), True),
        ("triton.runtime", TypeError("int() argument must be a string, not 'NoneType'"), False),
        ("triton.runtime.autotuner", ValueError("no configuration"), False),
        ("mine", AttributeError("module 'triton' has no attribute 'ops'"), False),
        ("mine", NameError("tll"), False),
    ],
)
def test_an_import_may_end_for_what_says_nothing_about_triton(module, error, elsewhere):
    assert absent.elsewhere(raised_in(module, error)) is elsewhere


def test_a_stand_in_module_serves_as_a_base_class(stood_in):
    absent.grow(stood_in, "no_such_package")
    module = importlib.import_module("no_such_package.module")

    class Derived(module):
        pass

    assert Derived.__mro__ == (Derived, object) and module(len) is len


def test_nothing_stands_in_for_triton_or_torch():
    for name in ("triton.ops", "torch.nothing"):
        assert absent.lacking(ModuleNotFoundError("No module named", name=name)) == ""


def test_what_a_kernel_uses_of_a_stand_in_is_found(stood_in):
    names = {"thing": absent.StandIn("no_such_package.thing")}
    exec(
        "def inner():\n    return thing(1)\n\ndef kernel():\n    return inner()\n\ndef clean():\n    return 1\n",
        names,
    )

    class Jitted:
        def __init__(self, fn):
            self.fn = fn

    names["inner"] = Jitted(names["inner"])
    assert absent.used(Jitted(names["kernel"])) == "no_such_package.thing"
    assert absent.used(Jitted(names["clean"])) == ""


def test_what_to_do_is_one_line():
    assert absent.pip(["einops", "vllm.a", "vllm.b"]) == "pip install einops vllm"
    assert absent.pip(["absl.testing"]) == "pip install absl-py"
    assert (
        absent.pip_or_stub([absent.RELATIVE]) == "check the file where its package is (or --stub)"
    )


HIP, CUDA = {"backend": "hip", "warp_size": 64}, {"backend": "cuda", "warp_size": 32}


def _blocked(**fields):
    of = "triton.experimental.gluon.language.BlockedLayout"
    layout = {"made": of, "arguments": [{"value": [1]}], "words": fields}
    arguments = [{"name": "n", "value": 4}, {"name": "layout", "value": layout}]
    return {"attempts": [{"arguments": arguments}]}


@pytest.mark.parametrize(
    "kernel, case, on_hip, on_cuda",
    [
        ({}, _blocked(), "", ""),
        ({}, _blocked(threads_per_warp={"value": [4, 8]}), "32 threads a warp, and the target has 64", ""),
        ({"backend": "cuda"}, _blocked(), "NVIDIA's alone", ""),
        ({"backend": "hip"}, _blocked(), "", "AMD's alone"),
    ],
)  # fmt: skip
def test_a_kernel_in_gluon_is_for_the_targets_of_its_functions_and_layouts(
    kernel, case, on_hip, on_cuda
):
    for said, target in ((on_hip, HIP), (on_cuda, CUDA)):
        found = check_cell.for_others(kernel, case, target)
        assert found.endswith(said) and bool(found) == bool(said)


def test_a_launch_that_is_observed_is_made_again_with_its_layouts():
    @dataclasses.dataclass
    class Layout:
        order: list
        parent: object = None

    Layout.__module__, Layout.__qualname__ = "triton.layouts", "Layout"
    made = observing._made(Layout([[1], [0]], Layout([0])))
    inner = {
        "made": "triton.layouts.Layout",
        "arguments": [],
        "words": {"order": {"value": [0]}, "parent": {"value": None}},
    }
    assert made["words"] == {"order": {"value": [[1], [0]]}, "parent": inner}


def test_a_file_is_run_to_its_last_kernel(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        "a = 1\ndef first(): pass\nb = 2\ndef last(): pass\nc = 3\nimport json\ndef more(): pass\nraise ValueError\n"
    )
    for lines, names in (((2, 4), "ab"), ((4, 2), "ab"), ((2,), "a"), ((4,), "ab"), ((6,), "abc")):
        module = types.ModuleType("kernels")
        kernels = {str(number): {"line": line} for number, line in enumerate(lines)}
        importing._execute_to_kernels(module, str(path), kernels)
        assert {name for name in vars(module) if len(name) == 1} == set(names)
        assert {"first", "last", "json", "more"} <= vars(module).keys()


@pytest.mark.parametrize(
    ("names", "name", "stands_in"),
    [
        (["ops"], "ops", True), (["ops"], "ops.sub", True), (["ops"], "opsy", False), (["ops"], "other", False),
        ([absent.RELATIVE], f"{absent.PACKAGE}.x", True), (["ops"], f"{absent.PACKAGE}.x", False),
        ([absent.RELATIVE], f"{absent.PACKAGE}x", False), ([absent.RELATIVE], absent.PACKAGE, False),
        ([absent.RELATIVE], "other", False), ([], "ops", False),
    ],
)  # fmt: skip
def test_the_modules_that_are_stood_in_for(names, name, stands_in):
    spec = absent._Finder(names).find_spec(name, None)
    assert (spec is not None) is stands_in
    assert spec is None or (spec.name == name and spec.submodule_search_locations == [])


def test_a_name_is_stood_in_for_where_its_module_is_there(monkeypatch):
    module = types.ModuleType("made_up")
    monkeypatch.setitem(sys.modules, "made_up", module)
    names = ["x"]
    for spelled in ("made_up", "gone:name", "made_up:name"):
        absent.grow(names, spelled)
    assert names == ["x", "made_up", "gone:name", "made_up:name"]
    assert isinstance(module.name, absent.StandIn) and not hasattr(module, "made_up")
