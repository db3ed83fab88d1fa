"""The small parts of the cell side at their edges, on the host: plans, fields, plain data, failures, tuning."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import types
from dataclasses import replace

import pytest

from crosswarp.compat.isolate import Outcome, Raised
from crosswarp.matrix.cell import asked, fields, plain, protocol
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.judging import fingerprint, tuning, verdict
from crosswarp.matrix.cell.judging.verdict import Verdict
from crosswarp.matrix.cell.kinds.suite import item as runner
from crosswarp.matrix.cell.kinds.suite import oracle, plan, telling, whereabouts
from crosswarp.matrix.cell.kinds.suite.plan import Item
from crosswarp.matrix.cell.starting import loading, preloading, specification, turns
from crosswarp.matrix.cell.stream import LONGEST_MESSAGE, Stream, shortened

# Each reader with values at its edges: which it takes, and which it refuses.
READERS = [
    (fields.text, ["", "x" * 9000], [None, 3, b"x"]),
    (fields.word, ["x", "x" * fields.LONGEST_WORD], ["", "x" * (fields.LONGEST_WORD + 1), None]),
    (fields.one_of(("a", "b")), ["a", "b"], ["c", "", None, ["a"]]),
    (fields.truth, [True, False], [0, 1, "true", None]),
    (fields.count, [0, 1, fields.MOST_PLANNED - 1], [-1, fields.MOST_PLANNED, True, 1.0, None]),
    (fields.seconds, [0, 0.5, fields.MOST_SECONDS - 1],
     [-0.1, fields.MOST_SECONDS, math.nan, math.inf, True, "1"]),
    (fields.words, [[], ["a"] * fields.MOST_ENTRIES], [["a"] * (fields.MOST_ENTRIES + 1), [""], "a", ("a",)]),
    (fields.versions, [{}, {"a": "1"}, {str(number): "1" for number in range(fields.MOST_ENTRIES)}],
     [{str(number): "1" for number in range(fields.MOST_ENTRIES + 1)}, {"a": 1}, {"": "1"}, {"a": ""}, [], None]),
    (fields.maybe(fields.count), [None, 0], [-1, "1"]),
]  # fmt: skip


@pytest.mark.parametrize(("read", "good", "bad"), READERS)
def test_the_fields_of_events_at_their_edges(read, good, bad):
    for value in good:
        assert read(value) in (value, tuple(value) if isinstance(value, list) else value)
    for value in bad:
        with pytest.raises(fields.Refused):
            read(value)


def test_a_number_of_more_than_64_bits_is_not_written_out():
    for value, text in ((2**63, str(2**63)), (2**64, "an integer beyond 64 bits")):
        with pytest.raises(fields.Refused, match=f": {text}$"):
            fields.count(value)


EVENTS = [
    protocol.Session("compile", 3, {"triton": "3.2.0"}, "sm_90/bare"),
    protocol.Target("sm_90", False, "why"),
    protocol.Note("x"),
    protocol.Start("sm_90/compile/bare/k/c"),
    protocol.End("sm_90/compile/bare/k/c/d", 2),
    protocol.Taken("sm_90/compile/bare/k/c"),
    protocol.Cell("sm_90", "compile", "bare", "k", "c", "pass", seconds=1.5, resources={"a": [1]}, shims=("s",)),
    protocol.Name("tl.sum", "function", "(x)"),
    protocol.Probe("a", "b", "c", "pass"),
    protocol.Done(),
]  # fmt: skip


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.EVENT)
def test_an_event_without_one_of_its_fields_or_with_a_wrong_one(event):
    written = protocol.line(event)
    assert written.endswith("\n") and written.isascii() and protocol.read(written.encode()) == event
    values = json.loads(written)
    assert protocol.read(json.dumps({**values, "unknown": 1}).encode()) == event
    with_defaults = {"part", "message", "cells", "config", "reason", "fingerprint", "phase", "seconds",
                     "resources", "shims"}  # fmt: skip
    for name in values.keys() - {"event"}:
        left = {key: value for key, value in values.items() if key != name}
        read = protocol.read(json.dumps(left).encode())
        optional = name in with_defaults and not (event.EVENT == "note")
        assert isinstance(read, protocol.Senseless) != optional, name
        wrong = protocol.read(
            json.dumps(
                {**values, name: {"x": [object.__name__]} if name not in ("resources",) else 3}
            ).encode()
        )
        assert isinstance(wrong, protocol.Senseless) and f"{event.EVENT}: {name}: " in wrong.why


@pytest.mark.parametrize(
    "item",
    ["sm_90/compile/bare/k", "sm_90/x/bare/k/c", "sm_90/compile/x/k/c", "/compile/bare/k/c", "sm_90/compile/bare//c",
     "sm_90/compile/bare/k/"],
)  # fmt: skip
def test_what_is_no_item(item):
    assert isinstance(
        protocol.read(json.dumps({"event": "start", "item": item}).encode()), protocol.Senseless
    )


def test_plain_data_at_its_edges():
    large = 2**63
    assert plain.clean([large - 1, -large, large, -large - 1]) == [
        large - 1,
        -large,
        str(large),
        str(-large - 1),
    ]
    nested = 1
    for _ in range(plain.MAX_DEPTH):
        nested = [nested]
    assert plain.clean(nested) == nested and plain.is_clean(nested)
    assert plain.LEFT_OUT in str(plain.clean([nested])) and not plain.is_clean([nested])
    assert plain.is_clean({"a": [large - 1, -large, 0.5, "x", None, True]})
    for value in (
        [large],
        [-large - 1],
        [math.inf],
        ["é"],
        {"é": 1},
        ["x" * (plain.MAX_TEXT + 1)],
        {"a": {"b": [math.nan]}},
    ):
        assert not plain.is_clean(value)
    holds_itself = []
    holds_itself.append(holds_itself)
    assert plain.clean(holds_itself) == [plain.LEFT_OUT]
    longest = "x" * plain.MAX_TEXT
    assert plain.clean_text(longest) == longest
    assert "1 characters left out" in plain.clean_text(longest + "y")
    assert plain.clean_text("\ud800") == "?"
    assert shortened("x" * LONGEST_MESSAGE) == "x" * LONGEST_MESSAGE
    assert shortened("abcdef", 4) == "ab\n… 2 characters left out …\nef"


def test_endless_entries_have_an_end():
    left = [3]
    assert plain._clean([1, 2, 3, 4], (), left) == [1, 2, 3, plain.LEFT_OUT]
    assert plain._clean({"a": 1, "b": 2}, (), [1]) == {"a": 1, plain.LEFT_OUT: plain.LEFT_OUT}


def test_the_function_below_decorators():
    def function():
        pass

    class Decorated:
        def __init__(self, fn):
            self.fn = fn

    class Other(Decorated):
        pass

    assert plain.below_decorators(Decorated(Decorated(function))) is function
    inner = Decorated(Other(function))
    assert plain.below_decorators(Decorated(inner), Decorated) is inner.fn
    assert plain.below_decorators(inner, Other) is inner.fn


COVERED = [
    ("*", "sm_90", "compile", True), ("sm_80", "sm_90", "compile", False), ("sm_80", "sm_86", "device", True),
    ("sm_86", "sm_80", "device", False), ("sm_80", "sm_80", "device", True), ("gfx942", "sm_90", "device", False),
    ("gfx90a", "gfx942", "device", True), ("gfx942", "gfx90a", "device", False), ("sm_80", "a GPU", "device", True),
    ("gfx9*", "sm_90", "device", False), ("sm_80", "gfx942", "device", False),
]  # fmt: skip


@pytest.mark.parametrize(("glob", "target", "lane", "covers"), COVERED)
def test_the_targets_of_a_case(glob, target, lane, covers):
    assert plan._covers(glob, target, lane) is covers


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_each_case_is_in_one_share(shards):
    cases = [f"case{number}" for number in range(20)]
    shares = [
        plan._share(cases, "sm_90/compile/k", (number, shards)) for number in range(1, shards + 1)
    ]
    assert sorted(sum(shares, [])) == sorted(cases) and plan._share(cases, "x", None) == cases
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_the_items_of_a_kernel():
    spec = AskedSuite(
        modes=("bare", "shimmed"), cases=("a*", "c"), left_out={"k": {"compile/sm_90": ["ab"]}}
    )
    cases = [("aa", ("*",)), ("ab", ("*",)), ("b", ("*",)), ("c", ("sm_80",)), ("ac", ("sm_90",))]
    made = plan._items(spec, "compile", "k", cases, {"sm_70": "too old", "sm_80": "", "sm_90": ""})
    seen = {(item.target, item.case) for item in made}
    assert seen == {
        ("sm_80", "aa"), ("sm_80", "ab"), ("sm_80", "c"), ("sm_90", "aa"), ("sm_90", "ac"), ("sm_70", "aa"),
        ("sm_70", "ab"),
    }  # fmt: skip
    assert [item.mode for item in made] == ["bare", "shimmed"] * len(seen)
    assert {item.skip for item in made if item.target == "sm_70"} == {"too old"}
    # The interpreter has one target, and runs every case.
    interpreted = plan._items(spec, "interpret", "k", cases, {"cpu": ""})
    assert {item.case for item in interpreted} == {"aa", "ab", "c", "ac"}
    broken = plan._items(
        spec, "compile", "k", Verdict("api-error", reason="x"), {"sm_80": "", "sm_90": ""}
    )
    assert [item.case for item in broken] == ["import"] * 4 and broken[0].broken["reason"] == "x"


@pytest.mark.parametrize(
    ("answer", "valid"),
    [
        (([], [("a", ("*",))], ["m"]), True), (([], [], []), True), ((["wrong"], [], []), True), ([[], [], []], False),
        (([], []), False), (([], [], [], []), False), (([1], [], []), False), (([], [], [1]), False),
        (([], [["a", ()]], []), False), (([], [("a",)], []), False), (([], [("a", [])], []), False),
        (([], [("a", (1,))], []), False), (([], [(1, ())], []), False), (None, False),
    ],
)  # fmt: skip
def test_an_answer_of_a_module(answer, valid):
    assert plan._is_answer(answer) is valid


def test_a_plan_is_made_once_and_read_by_the_others(tmp_path, monkeypatch):
    spec, made = AskedSuite(records=str(tmp_path / "records")), []
    items = [Item("sm_90", "compile", "bare", "k", "c", skip="too old"), plan._known("a/b/c/d/e/f")]

    def make(spec, lane):
        made.append(lane)
        return plan.Planned(items, ["m"])

    monkeypatch.setattr(plan, "_make", make)
    for _ in range(2):
        assert plan.shared_plan(spec, "compile") == (items, ["m"])
    assert plan.shared_plan(spec, "emulate").items == items and made == ["compile", "emulate"]
    assert items[1].case == "e/f" and items[1].guarded and not items[0].guarded
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(
    ("planned", "begun", "jobs", "few"),
    [
        (40, 30, 2, False),
        (40, 35, 2, False),
        (40, 36, 2, True),
        (200, 179, 2, False),
        (200, 180, 2, True),
        (3, 0, 2, True),
    ],
)
def test_so_few_items_are_left_that_the_next_lane_begins(tmp_path, planned, begun, jobs, few):
    spec = AskedSuite(records=str(tmp_path / "records"), jobs=jobs)
    assert not specification.few_left(spec, "compile") and not specification.begun(spec, "compile")
    specification.plan_of(spec, "compile").write_text(json.dumps({"items": [0] * planned}))
    for place in range(begun):
        specification.begin(spec, "compile", place)
    assert specification.begun(spec, "compile") == set(range(begun))
    assert specification.few_left(spec, "compile") is few
    assert not specification.begun(spec, "emulate")
    assert not specification.few_left(spec, "emulate")


def test_the_variables_of_a_process_that_compiles(tmp_path):
    spec = AskedSuite(
        records=str(tmp_path / "records"), cache="/c", time_limit=7, memory_limit_mb=9
    )
    environ = {"TRITON_INTERPRET": "1", "TRITON_DEFAULT_FP_FUSION": "0"}
    specification.prepare(environ, spec)
    assert environ == {
        "TRITON_DEFAULT_FP_FUSION": "0", "TRITON_CACHE_DIR": "/c", "OMP_NUM_THREADS": "1",
        "CROSSWARP_CACHE_DIR": str(tmp_path / "crosswarp-cache"), "CROSSWARP_COMPILE_SECONDS": "7",
        "CROSSWARP_COMPILE_MB": "9",
    }  # fmt: skip
    assert specification.limits(replace(spec, memory_limit_mb=None))["CROSSWARP_COMPILE_MB"] == ""
    assert (
        specification.turns(spec) == spec.records
        and specification.turns(replace(spec, turns="t")) == "t"
    )


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"jobs": True}, "jobs is no int"), ({"jobs": "1"}, "jobs is no int"), ({"sanitize": 1}, "sanitize is no bool"),
        ({"time_limit": "1"}, "time_limit is no float"), ({"lanes": "x"}, "lanes is no list"),
        ({"expect": []}, "expect is no dict"), ({"nothing": 1}, "nothing: not known here"),
        ({"libraries": {"nothing": 1}}, "nothing: not known here"), ({"shard": 3}, "shard is no list"),
    ],
)  # fmt: skip
def test_what_is_no_specification(tmp_path, values, why):
    path = tmp_path / "SPEC.json"
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=f"^{why}"):
        asked.read(path, AskedSuite)
    path.write_text(json.dumps({"time_limit": 3, "shard": None, "memory_limit_mb": None}))
    read = asked.read(path, AskedSuite)
    assert read.time_limit == 3 and read.shard is None and not read.strangers
    with pytest.raises(ValueError, match="^records is not there"):
        asked.read(path, AskedSuite, ("time_limit", "records"))
    assert AskedSuite(suite="x").strangers


def module(name, **held):
    made = types.ModuleType(name)
    vars(made).update(held)
    return made


def test_modules_that_hold_something_of_tritons(monkeypatch):
    def of(name):
        return type("Thing", (), {"__module__": name})()

    modules = {
        "plain_m": module("plain_m", a=1, b=[2]),
        "direct_m": module("direct_m", a=of("triton.runtime")),
        "listed_m": module("listed_m", a=[1, of("triton")]),
        "mapped_m": module("mapped_m", a={"k": of("triton")}),
        "module_m": module("module_m", a=module("triton.language")),
        "named_like_m": module("named_like_m", a=of("triton_like")),
        "second_m": module("second_m", a=of("direct_m")),
        "third_m": module("third_m", a=[of("second_m")]),
        "far_m": module("far_m", a=[0] * preloading._LOOKED_INTO + [of("triton")]),
    }
    for name, made in modules.items():
        monkeypatch.setitem(sys.modules, name, made)
    clinging = preloading._clinging(modules)
    assert clinging == {"direct_m", "listed_m", "mapped_m", "module_m", "second_m", "third_m"}
    assert preloading._clinging(["triton", "triton.x", "tritonic"]) == {"triton", "triton.x"}
    for name, inside in (
        ("a.b.c", True),
        ("a.b", True),
        ("a", False),
        ("a.bc", False),
        ("x.a.b", False),
    ):
        assert preloading._or_its_parents(name, {"a.b"}) is inside


def test_modules_that_their_name_leads_to(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(preloading, "WORTH_SECONDS", 0)
    watch = preloading.Watch()
    for name in ("findable_m", "unfindable_m"):
        (tmp_path / f"{name}.py").write_text("a = 1\n")
        __import__(name)
    del sys.modules["unfindable_m"].__spec__
    monkeypatch.setitem(sys.modules, "made_up_m", module("made_up_m"))
    assert watch.imported([]) == ["findable_m"]
    assert watch.imported([str(tmp_path)]) == [] and watch.imported([str(tmp_path)[:-1]]) == [
        "findable_m"
    ]
    monkeypatch.setattr(preloading, "WORTH_SECONDS", 1e9)
    assert watch.imported([]) == []
    failed = preloading.load(["findable_m", "no_such_module_m"])
    assert failed == {"no_such_module_m": "ModuleNotFoundError"}
    for name in ("findable_m", "unfindable_m"):
        sys.modules.pop(name)


def test_a_file_as_a_module_of_another_name(tmp_path):
    path = tmp_path / "any.py"
    path.write_text("import sys\nhere = sys.modules[__name__]\n")
    loaded = loading.load("another_name_m", path)
    assert loaded.here is loaded and loaded.__name__ == "another_name_m"
    del sys.modules["another_name_m"]
    with pytest.raises(ImportError, match="any.txt cannot be imported"):
        loading.load("another_name_m", tmp_path / "any.txt")


@pytest.mark.parametrize("cores", [1, 3])
def test_so_many_have_a_core_at_a_time(tmp_path, cores, monkeypatch):
    waited = []

    def waiting(seconds):
        waited.append(seconds)
        raise TimeoutError

    monkeypatch.setattr(turns.time, "sleep", waiting)
    path, held = str(tmp_path / "turns"), []
    for _ in range(cores):
        held.append(turns.core(path, cores))
        held[-1].__enter__()
    with pytest.raises(TimeoutError), turns.core(path, cores):
        pass
    assert len(waited) == 1
    held.pop().__exit__(None, None, None)
    with turns.core(path, cores):
        pass
    for core in held:
        core.__exit__(None, None, None)


GAPS = [
    (("x",), "3.9.0", "1.26", (), None), (("x",), "2.3.1", "1.26", (), "*"), (("x",), "3.1.0", "2.0", (), "*"),
    (("x",), "3.2.0", "2.0", (), None), (("x",), "3.6.0", "2.4", (), "*"), (("x",), "3.7.0", "2.4", (), None),
    (("bf16",), "3.5.0", "1.26", (), "bf16"), (("bf16",), "3.5.0", "1.26", ("interpreter_bf16",), None),
    (("bf16", "fp8"), "3.5.0", "1.26", ("interpreter_bf16",), "fp8"), (("argmax",), "3.3.0", "1.26", (), None),
]  # fmt: skip


@pytest.mark.parametrize(("uses", "triton", "numpy", "shims", "found"), GAPS)
def test_where_an_interpreter_is_no_reference(uses, triton, numpy, shims, found):
    gap = oracle.gap(uses, triton, numpy, shims)
    assert (gap and gap.uses) == found


@pytest.fixture
def log():
    """The log of a tuning, with the names that began, and the verdicts that came."""
    started, finished = [], {}
    made = tuning.ConfigLog(started.append, finished.__setitem__)
    return made, started, finished


def config(block=64, warps=4, **more):
    return types.SimpleNamespace(kwargs={"BLOCK": block}, num_warps=warps, num_stages=2, **more)


def test_configurations_in_words():
    assert tuning.describe(config()) == "BLOCK=64,num_stages=2,num_warps=4"
    assert tuning.describe(config(num_ctas=1, maxnreg=None)) == "BLOCK=64,num_stages=2,num_warps=4"
    assert (
        tuning.describe(config(num_ctas=2, maxnreg=0))
        == "BLOCK=64,maxnreg=0,num_ctas=2,num_stages=2,num_warps=4"
    )


def test_configurations_have_names_that_are_theirs(log):
    made, _, finished = log
    first, second = (
        types.SimpleNamespace(fn=function) for function in (test_configurations_in_words, len)
    )
    for tuner in (first, first, second, first, second):
        made._visit(tuner, config(), lambda: [1.0])
    name = "BLOCK=64,num_stages=2,num_warps=4"
    assert list(finished) == [
        name, f"{name} #2", f"len: {name}" if "len: " + name in finished else f"another kernel: {name}",
        f"{name} #3", *[each for each in finished if each.endswith(f": {name} #2")],
    ]  # fmt: skip


def test_what_a_tuner_swallows_and_what_it_does_not(log):
    made, started, finished = log
    tuner = types.SimpleNamespace()

    def visit(block, bench):
        made._visit(tuner, config(block), bench)
        return finished[f"BLOCK={block},num_stages=2,num_warps=4"]

    def fails():
        raise TypeError("first")

    def dropped(error=None):
        made._swallowed = error
        return [math.inf] * 3

    class CompilerCrashed(Exception):
        pass

    assert visit(1, lambda: [1.0]).outcome == "pass" and visit(2, lambda: 1.0).reason == ""
    assert visit(3, fails).reason == "TypeError" and made.fatal.reason == "TypeError"
    assert made._visit(tuner, config(4), fails) == [math.inf] * 3
    assert visit(5, dropped).reason == protocol.DROPPED
    assert visit(6, lambda: dropped(CompilerCrashed())).reason == protocol.DROPPED
    left_out = visit(7, lambda: dropped(ValueError("large")))
    assert (left_out.outcome, left_out.reason) == ("unsupported", protocol.LEFT_OUT)
    assert left_out.fingerprint == "ValueError: large"
    # The failure of an earlier configuration is not that of a later one.
    assert visit(8, lambda: math.inf).reason == protocol.DROPPED
    assert [name.split(",")[0] for name in started] == [f"BLOCK={block}" for block in range(1, 9)]
    made.closed = True
    assert made._visit(tuner, config(9), lambda: 3.0) == 3.0 and len(started) == len(finished) == 8


def test_exceptions_pass_through_a_tuned_kernel_and_are_noted(log):
    made, _, _ = log

    class Function:
        def run(self, x):
            if x:
                raise KeyError(x)
            return "launched"

    tuner = types.SimpleNamespace(fn=Function())
    for _ in range(2):
        made._watch_function(tuner)
    assert tuner.fn.run(0) == "launched" and made._swallowed is None
    with pytest.raises(KeyError):
        tuner.fn.run(3)
    assert made._swallowed.args == (3,)
    # A method that is replaced later is the one that is called.
    Function.run = lambda self, x: "replaced"
    assert tuner.fn.run(1) == "replaced"


FINGERPRINTS = [
    ("x: /a/b.cpp:12: void mlir::triton::A::f(int): Assertion `p == q' failed",
     "b.cpp: A::f: Assertion `p == q' failed"),
    ("words\nLLVM ERROR: out of memory\nmore", "LLVM ERROR: out of memory"),
    ("why\nUNREACHABLE executed at /x/y.cpp:3!", "UNREACHABLE in y.cpp: why"),
    ("UNREACHABLE executed", "UNREACHABLE in ?:"),
    ("ptxas error   : a\nptxas fatal   : Ptx assembly aborted due to errors", "ptxas error : a"),
    ("ptxas fatal   : Ptx assembly aborted due to errors", "ptxas fatal : Ptx assembly aborted due to errors"),
    ("ptxas error : a\nptxas error : b\nptxas error : a\nptxas error : c\nptxas error : d",
     "ptxas error : a; error : b; error : c"),
    ("k.py:3:4: error: 'tt.dot' op fails", "MLIR error: 'tt.dot' op fails"),
    ('loc("k.py":3:4): error: first\nerror: second', "MLIR error: first"),
    (f"error: {fingerprint.PIPELINE}\nnote: Pipeline failed while executing [`TritonGPUCoalesce` on",
     "MLIR error: the pass TritonGPUCoalesce failed"),
    ("nothing of the kind", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), FINGERPRINTS)
def test_the_words_of_a_compiler(text, words):
    assert fingerprint.of_output(text) == words
    assert fingerprint.of_death("SIGABRT", text) == (f"SIGABRT: {words}" if words else "SIGABRT")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("at 0x7fAB and /usr/lib/x.so", "at 0x… and x.so"), ("k.py:12:3 b.cpp:4", "k.py b.cpp"),
        ("tmpabc123 tmpx", "tmp… tmpx"),
        ("pid 12 pid=13", "pid … pid …"), ("for sm_90a and gfx942", "for <target> and <target>"), ("a \n\t b", "a b"),
        ("tokenspeed_triton.x tokenspeed_tritonx", "triton.x tokenspeed_tritonx"),
        ("x" * 300, "x" * fingerprint.LONGEST),
    ],
)  # fmt: skip
def test_what_differs_between_machines_is_left_out(text, words):
    assert fingerprint.of_text(text) == words


@pytest.mark.parametrize(
    ("name", "text", "output", "words"),
    [
        ("ValueError", "a\nlast line\n^^^", "", "ValueError: last line"), ("ValueError", "", "", "ValueError:"),
        ("RuntimeError", "x", "ptxas error : a", "PTXASError: ptxas error : a"),
        ("CompilationError", "at 1:2:\nTypeError: no", "", "CompilationError: no"),
        ("RuntimeError", "TypeError: no", "", "RuntimeError: TypeError: no"),
        ("AcceleratorError", "HIP error: lost\nadvice", "", "HIP error: lost"), ("X", "12", "", "X: 12"),
    ],
)  # fmt: skip
def test_exceptions_in_one_line(name, text, output, words):
    assert fingerprint.of_exception(name, text, output) == words


class OutOfResources(Exception):
    pass


class CompilationError(Exception):
    pass


ERRORS = [
    (OutOfResources("x"), "", ("limit", "OutOfResources", "launch")),
    (RuntimeError("CUDA error: an illegal access"), "", ("crash", "device fault", "execute")),
    (RuntimeError("CUDA error: out of memory"), "bind", ("api-error", "RuntimeError", "bind")),
    (MemoryError(), "bind", ("crash", "memory", "bind")),
    (CompilationError("x"), "bind", ("compile-error", "CompilationError", "compile")),
    (ValueError("x"), "compile", ("compile-error", "ValueError", "compile")),
    (ValueError("x"), "bind", ("api-error", "ValueError", "bind")),
    (OSError(errno.EDQUOT, "x"), "bind", ("not-run", verdict.NO_ROOM, "bind")),
    (OSError(errno.ENOENT, "x"), "bind", ("api-error", "FileNotFoundError", "bind")),
]


@pytest.mark.parametrize(("error", "phase", "expected"), ERRORS)
def test_exceptions_as_verdicts(error, phase, expected):
    if not isinstance(error, OSError) or error.errno == errno.EDQUOT:
        judged = verdict.of_error(error, phase)
    else:
        judged = verdict.of_error(FileNotFoundError(*error.args), phase)
    assert (judged.outcome, judged.reason, judged.phase) == expected


def test_ends_of_a_child_as_verdicts():
    passed = verdict.of_outcome(
        Outcome("returned", value=verdict.as_data(Verdict("pass", shims=["s"])))
    )
    assert passed == Verdict("pass", shims=["s"])
    raised = verdict.of_outcome(Outcome("raised", raised=Raised("KeyError", "k", "the traceback")))
    assert (raised.outcome, raised.reason, raised.phase) == ("crash", "harness: KeyError", "suite")
    assert raised.message == "the traceback" and raised.fingerprint == "KeyError"
    died = verdict.of_outcome(Outcome("exit", reason="exit 3", output="LLVM ERROR: x"), "compile")
    assert (died.outcome, died.reason, died.phase) == (
        "crash",
        "exit 3 without a result",
        "compile",
    )
    assert died.fingerprint == "exit 3 without a result: LLVM ERROR: x"
    late = verdict.of_death("timeout", "5 s", "")
    assert (late.fingerprint, late.message) == ("timeout", "the process ended: longer than 5 s")


def test_phases_by_the_deepest_file(monkeypatch):
    def frame(name):
        return types.SimpleNamespace(filename=name)

    def phase(*names):
        monkeypatch.setattr(
            verdict.traceback, "extract_tb", lambda _: [frame(name) for name in names]
        )
        return verdict._phase_of(ValueError())

    jit, compiler = "/x/triton/runtime/jit.py", "/x/triton/compiler/compiler.py"
    assert phase("/k.py") == "" and phase(jit) == "bind" and phase(jit, compiler) == "compile"
    assert phase(jit, compiler, "/x/virtual_gpu/limits.py") == "launch"
    assert phase(jit, "/x/triton/runtime/interpreter.py") == "interpret"


@pytest.mark.parametrize(
    ("kind", "value", "heard", "green"),
    [
        ("returned", ("pass", ""), [], True), ("returned", ("pass", "dropped"), [], False),
        ("returned", ("crash", ""), [], False), ("returned", ("unsupported", "x"), [("crash", "")], True),
        ("returned", ("pass", ""), [("pass", "")], True), ("returned", ("pass", ""), [("crash", "")], False),
        ("returned", ("pass", ""), [None], True), ("signal", ("pass", ""), [], False),
    ],
)  # fmt: skip
def test_what_needs_no_second_look(kind, value, heard, green):
    def data(pair):
        return None if pair is None else {"outcome": pair[0], "reason": pair[1]}

    outcome = Outcome(kind, value=data(value))
    assert runner._is_green(outcome, [("c", data(pair), 1.0) for pair in heard]) is green


def test_a_timeout_says_whether_it_was_alone():
    for limit, alone in ((60, True), (5, False)):
        late = Verdict("timeout")
        runner._had_the_machine(late, AskedSuite(time_limit=5, time_limit_alone=60), limit)
        assert late.resources == ({"alone": True} if alone else {})


def test_an_item_is_written_with_its_end(tmp_path, monkeypatch):
    stream, item = Stream(tmp_path / "records"), Item("sm_90", "compile", "bare", "k", "c")

    def run(item, spec, emit):
        emit("BLOCK=1", Verdict("pass"), 0.25)
        emit("", Verdict("crash", reason="r"), 1.0)
        if spec is None:
            raise KeyError("ours")
        return Verdict("crash", reason="r")

    monkeypatch.setattr(telling.runner, "run", run)
    for spec, reason in ((AskedSuite(), "r"), (None, "harness: KeyError")):
        judged = telling.run_and_tell(item, spec, stream)
        events = [protocol.read(line) for line in (tmp_path / "records").read_bytes().splitlines()]
        start, part, whole, end = events
        assert (start, end) == (protocol.Start(item.id), protocol.End(item.id, 2))
        assert (part.config, part.seconds, whole.config, whole.reason) == (
            "BLOCK=1",
            0.25,
            "",
            reason,
        )
        assert judged.reason == reason
        (tmp_path / "records").unlink()


def test_whether_a_case_is_in_the_compiler(monkeypatch):
    monkeypatch.setattr(whereabouts, "_shared", {})
    whereabouts.share()
    byte = whereabouts._byte()
    assert whereabouts.phase() == whereabouts.HOST
    byte[0] += 1
    assert whereabouts.phase() == "compile"
    whereabouts.share()
    assert whereabouts._byte() is byte and whereabouts.phase() == whereabouts.HOST
    # A fork has its own.
    monkeypatch.setattr(whereabouts.os, "getpid", lambda: -1)
    whereabouts.share()
    assert list(whereabouts._shared) == [-1] and whereabouts._byte() is not byte


def test_half_written_data_is_written_to_its_end(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data[:7])))
    Stream(tmp_path / "records").write(*EVENTS[:3])
    lines = (tmp_path / "records").read_bytes().splitlines()
    assert [protocol.read(line) for line in lines] == EVENTS[:3]


class Unsteady(dict):
    def __iter__(self):
        raise ValueError


class Mute:
    def __str__(self):
        raise KeyError

    @property
    def fn(self):
        raise OSError


def test_objects_that_raise_when_they_are_looked_at():
    assert plain.clean({"a": Unsteady(b=1)}) == {"a": "{'b': 1}"}
    assert plain.clean([Mute()]) == ["<Mute without text: KeyError>"]
    mute = Mute()
    assert plain.attribute(mute, "fn") is None and plain.attribute(mute, "other") is None
    assert plain.below_decorators(mute) is mute


def test_an_object_that_has_every_attribute_ends_the_search_for_a_function():
    class Endless:
        fn = property(lambda self: Endless())

    assert isinstance(plain.below_decorators(Endless()), Endless)
