"""The small parts of crosswarp.compat at their edges: frames, tracebacks, ends of processes, versions, memories."""

from __future__ import annotations

import errno
import json
import linecache
import os
import random
import signal
import sys
import time
import types

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from crosswarp.compat import (
    after_import,
    child,
    copies,
    crash_memory,
    doctor,
    doctor_text,
    facts,
    features,
    frames,
    isolate,
    known_crashes,
    launch,
    monitor,
    patterns,
    tracebacks,
    versions,
    worker,
)
from crosswarp.compat.scopes import in_scope
from crosswarp.compat.seams.lines import changed_lines

FRAMES = [
    (frames.MESSAGE, {"a": (1, 2.5, None), "b": [True, {3}], 4: frozenset({"x"})}),
    (frames.RESULT, b"\x00\xff"),
    (frames.RAISED, ("a", "b", "c")),
]


@pytest.mark.parametrize("size", [1, 7, 18, 19, 1000])
def test_frames_come_whole_however_they_are_cut(size):
    data = b"".join(frames.packed(kind, value) for kind, value in FRAMES)
    reader, read = frames.Reader(), []
    for start in range(0, len(data), size):
        read += reader.feed(data[start : start + size])
    assert read == FRAMES and reader.unreadable == ""
    assert [type(value) for _, value in read] == [dict, bytes, tuple]


def test_a_frame_counts_with_its_last_byte():
    reader, data = frames.Reader(), frames.packed(frames.RESULT, "x")
    assert list(reader.feed(data[:-1])) == [] and reader.unreadable == ""
    assert list(reader.feed(data[-1:])) == [(frames.RESULT, "x")]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"x" * 40, "something else wrote"),
        (frames._HEADER.pack(frames._MARK, b"M", frames._LARGEST + 1), "something else wrote"),
        (frames._HEADER.pack(frames._MARK, b"M", 1) + b"x", "cannot be read (JSONDecodeError)"),
        (frames._HEADER.pack(frames._MARK, b"M", 3) + b"[1]", "cannot be read (ValueError)"),
        (frames._HEADER.pack(frames._MARK, b"M", 11) + b'{"other":1}', "cannot be read (KeyError)"),
        (frames._HEADER.pack(frames._MARK, b"M", 11) + b'{"bytes":1}', "cannot be read (AttributeError)"),
    ],
)  # fmt: skip
def test_after_bytes_of_others_nothing_is_read(data, why):
    reader, good = frames.Reader(), frames.packed(frames.RESULT, 1)
    assert list(reader.feed(good + data + good)) == [(frames.RESULT, 1)]
    assert why in reader.unreadable
    assert list(reader.feed(good)) == []


def test_the_largest_length_is_waited_for():
    reader = frames.Reader()
    assert list(reader.feed(frames._HEADER.pack(frames._MARK, b"M", frames._LARGEST))) == []
    assert reader.unreadable == ""


@pytest.mark.parametrize("value", [object(), 1j, [object()], {object(): 1}])
def test_objects_are_no_data(value):
    with pytest.raises(frames.NotData):
        frames.packed(frames.RESULT, value)


def test_a_subclass_counts_as_its_base():
    class Name(str):
        pass

    class Size(int):
        pass

    ((_, read),) = frames.Reader().feed(frames.packed(frames.RESULT, [Name("x"), Size(3)]))
    assert read == ["x", 3] and [type(value) for value in read] == [str, int]


def raised(error, cause=None, context=None, suppress=False):
    error.__cause__, error.__context__ = cause, context
    error.__suppress_context__ = suppress or cause is not None
    return error


def test_the_exceptions_that_led_to_one():
    chain = ValueError("end")
    for number in range(tracebacks._MOST - 1):
        chain = raised(ValueError(str(number)), cause=chain)
    assert "ValueError: end" in tracebacks.text_of(chain)
    longer = tracebacks.text_of(raised(ValueError("more"), cause=chain))
    assert longer.endswith(f"ValueError: of more than {tracebacks._MOST} others\n")
    context = raised(TypeError("shown"), context=KeyError("context"))
    assert "context" in tracebacks.text_of(context)
    hidden = raised(TypeError("shown"), context=KeyError("context"), suppress=True)
    assert "context" not in tracebacks.text_of(hidden)


def test_a_traceback_is_at_most_a_megabyte_and_keeps_its_end():
    text = tracebacks.text_of(ValueError("x" * (2 << 20) + " the end"))
    assert len(text) == 1 << 20 and text.endswith(" the end\n")


def test_a_pipe_is_not_read_for_a_line_of_a_traceback(tmp_path):
    pipe, plain = tmp_path / "pipe.py", tmp_path / "plain.py"
    os.mkfifo(pipe)
    source = "\n\nraise ValueError('here')\n"
    plain.write_text(source)
    for path, line in ((pipe, False), (plain, True)):
        try:
            exec(compile(source, str(path), "exec"), {})
        except ValueError as error:
            assert (source.strip() in tracebacks.text_of(error)) == line
    assert str(pipe) in linecache.cache


def test_the_text_of_an_exception_that_raises():
    class Odd(Exception):
        def __str__(self):
            raise KeyError

    name, text, description = child._raised(Odd())
    assert (name, text) == ("Odd", "<without text: KeyError>") and "Odd" in description


@pytest.mark.parametrize("parts", [[b"ab"], [b"a", b"b"], [b"abc" * 30_000], [b"abc"] * 30_000])
def test_the_first_and_last_bytes_of_an_output_are_kept(parts):
    output, whole = isolate._HeadAndTail(), b"".join(parts)
    for part in parts:
        output.feed(part)
    shown, text = isolate.SHOWN_OUTPUT, output.text()
    if len(whole) <= 2 * shown:
        assert text == whole.decode()
    else:
        gap = f"\n… {len(whole) - 2 * shown} bytes left out …\n"
        assert text == whole[:shown].decode() + gap + whole[-shown:].decode()


@pytest.mark.parametrize(
    ("status", "kind", "reason", "gone"),
    [
        (None, "exit", "exit unknown, another part of this process took it", True),
        (3 << 8, "exit", "exit 3", False),
        (0, "exit", "exit 0", False),
        (int(signal.SIGSEGV), "signal", "SIGSEGV", False),
        (int(signal.SIGSEGV) | 0x80, "signal", "SIGSEGV", False),
        (60, "signal", "signal 60", False),
    ],
)
def test_how_a_child_ended(status, kind, reason, gone):
    outcome = isolate._ended(status)
    assert (outcome.kind, outcome.reason, outcome.gone) == (kind, reason, gone)


def test_the_limits_of_a_child():
    begun, mine = time.monotonic(), os.getpid()
    assert isolate._limits(mine, begun, 60, None) is None
    late = isolate._limits(mine, begun - 61, 60, None)
    assert (late.kind, late.reason) == ("timeout", "60 s")
    large = isolate._limits(mine, begun, 60, 1)
    assert (large.kind, large.reason) == ("memory", "1 MiB")
    assert isolate._limits(mine, begun, 60, 1 << 20) is None
    assert (
        isolate._limits(None, begun, 60, 1) is None and isolate._limits(2**30, begun, 60, 1) is None
    )


@pytest.mark.parametrize(
    "change",
    [
        {"kind": 1}, {"reason": None}, {"output": b""}, {"seconds": 1}, {"gone": 0}, {"raised": ("a", "b")},
        {"raised": ["a", "b", "c"]}, {"raised": ("a", "b", 3)}, {"more": 1},
    ],
)  # fmt: skip
def test_what_is_no_outcome(change):
    outcome = isolate.Outcome(
        "raised", raised=isolate.Raised("a", "b", "c"), reason="a", seconds=1.0
    )
    assert isolate.Outcome.of_data(outcome.as_data()) == outcome
    assert isolate.Outcome.of_data({**outcome.as_data(), **change}) is None
    left_out = outcome.as_data()
    del left_out["gone"]
    assert isolate.Outcome.of_data(left_out) is None and isolate.Outcome.of_data([]) is None


def test_plain_windows_are_those_of_packaging():
    draw = random.Random(3)
    for _ in range(400):
        release = ".".join(str(draw.randrange(4)) for _ in range(draw.choice((1, 2, 3, 4))))
        clauses = []
        for _ in range(draw.choice((1, 1, 2))):
            bound = ".".join(str(draw.randrange(4)) for _ in range(draw.choice((1, 2, 3))))
            how = draw.choice(("==", "!=", ">=", "<=", ">", "<", "==*", "!=*"))
            clauses.append(f"{how[:2]}{bound}.*" if how.endswith("*") else f"{how}{bound}")
        window = ",".join(clauses)
        answer = versions._in_plain_window(window, release)
        assert answer is SpecifierSet(window).contains(release), (release, window)
        assert versions.in_window(window, release) is answer


@pytest.mark.parametrize("text", ["1.a", "01", "1234567", "1..2", "", "1.2rc1", "1.２"])
def test_texts_that_are_more_than_numbers(text):
    assert versions._numbers(text) is None
    assert versions._in_plain_window(">=1", text or "x") is None
    # Only `==` and `!=` take a star.
    assert versions._in_plain_window(">=3.2.*", "3.2.0") is None


# The release that it counts as, whether it is published, and whether it is newer than all that was tested.
@pytest.mark.parametrize(
    ("text", "release", "published", "newer"),
    [
        ("3.2.0", "3.2.0", True, False),
        ("3.2.0+cu124", "3.2.0", True, False),
        ("3.2.0+rocm6.4", "3.2.0", True, False),
        ("3.2.0+git1234", "3.2.0", False, False),
        ("3.2.0rc1", "3.2.0", False, False),
        ("3.2.0.dev1", "3.2.0", False, False),
        ("3.2.0.post1", "3.2.0", True, False),
        ("v3.2.0+cu124", "3.2.0", True, False),
        ("v3.2.0+git1", "3.2.0", False, False),
        ("3.9.9", "3.9.9", True, False),
        ("3.10", "3.10", True, True),
        ("3.10.0a1", "3.10.0", False, True),
        ("4.0", "4.0", True, True),
        ("3.9.0-dirty", "3.9.0", False, False),
        ("3.9.x", "3.9", False, False),
        ("v3.8 of today", "3.8", False, False),
        ("main", versions.TESTED_UP_TO, False, False),
        ("", versions.TESTED_UP_TO, False, False),
    ],
)
def test_a_version_as_far_as_it_can_be_read(text, release, published, newer):
    read = versions.read(text)
    assert (read.text, read.release, read.published, read.newer) == (
        text,
        release,
        published,
        newer,
    )
    assert read.tested == (published and not newer)
    assert read.nearest == (versions.TESTED_UP_TO if newer else release)


@pytest.mark.parametrize(
    ("window", "bounded"),
    [
        (">=3.3", ">=3.3,<3.10"), (">=3.3,<3.5", ">=3.3,<3.5"), ("==3.2.*", "==3.2.*"), ("<=3.2", "<=3.2"),
        ("~=3.2", "~=3.2"), (">3.2", ">3.2,<3.10"),
    ],
)  # fmt: skip
def test_a_window_without_an_end_ends_with_what_was_tested(window, bounded):
    assert versions.bounded(window) == bounded


@pytest.mark.parametrize(
    ("name", "actual", "planned", "same"),
    [
        ("python", "3.11.7", "3.11", True), ("python", "3.11.7", "3.11.7", True), ("python", "3.1.7", "3.11", False),
        ("python", "3.11.7", "3.1", False), ("torch", "2.6.0+cu124", "2.6.0", True), ("torch", "2.6", "2.6.0", True),
        ("torch", "2.6.0+cpu", "2.6.0+cu124", False), ("torch", "2.6.0", "2.6.0+cu124", False),
        ("torch", "x", "x", True), ("torch", "x", "y", False), ("torch", "2.6.1", "2.6.0", False),
    ],
)  # fmt: skip
def test_the_planned_version(name, actual, planned, same):
    assert versions.as_planned(name, actual, planned) is same


def test_targets_in_both_forms():
    assert features.backend_and_arch(("cuda", 90)) == ("cuda", 90)
    target = types.SimpleNamespace(backend="hip", arch="gfx942")
    assert features.backend_and_arch(target) == ("hip", "gfx942")
    assert features.backend_and_arch(None) == (None, None)


@pytest.mark.parametrize(
    ("loops", "bfloat16", "names", "dies"),
    [
        (True, True, {"x"}, True), (False, True, {"x"}, False), (True, False, {"x"}, False), (True, True, {"y"}, False),
        (True, True, set(), False),
    ],
)  # fmt: skip
def test_every_feature_of_a_crash_counts(loops, bfloat16, names, dies):
    kernel = known_crashes.Features(frozenset(names), loops, bfloat16)
    crash = known_crashes.Crash("a", "<9", frozenset({"x", "z"}), loops=True, bfloat16=True)
    assert crash.takes(kernel) is dies
    assert known_crashes.Crash("b", "<9").takes(kernel)


@pytest.mark.parametrize(
    ("version", "backend", "ctas", "issues"),
    [
        ("3.2.0", "cuda", 1, {"fla-196", "triton-11682", "flipped-bfloat16"}),
        ("3.2.0", "cuda", 2, {"fla-196", "triton-11682", "flipped-bfloat16", "triton-11808"}),
        ("3.2.0", "hip", 2, {"fla-196", "triton-11682", "flipped-bfloat16", "pipelined-atomic"}),
        ("3.2.0", "cuda", None, {"fla-196", "triton-11682", "flipped-bfloat16"}),
        ("3.3.0", "hip", 2, set()),
        ("3.2.0", None, 2,
         {"fla-196", "triton-11682", "flipped-bfloat16", "triton-11808", "pipelined-atomic"}),
        ("2.3.1", "cuda", 1, {"fla-196", "triton-11682", "triton-4078", "constant-transposed", "triton-3975"}),
        ("3.1.0", "hip", 1,
         {"fla-196", "triton-11682", "triton-3975", "flipped-bfloat16", "triton-3060"}),
    ],
)  # fmt: skip
def test_the_crashes_of_a_release(version, backend, ctas, issues):
    possible = known_crashes.possible_on(version, backend, ctas)
    assert {crash.issue for crash in possible} == issues


def test_a_remembered_crash(tmp_path, monkeypatch):
    crash = {"kind": "signal", "reason": "SIGABRT", "stderr": "x", "kernel": "k"}
    place = crash_memory.Entry(tmp_path / "new" / "a.json", "a")
    assert place.read() is None
    place.write(crash)
    assert place.read() == crash and [path.name for path in place.path.parent.iterdir()] == [
        "a.json"
    ]
    # A file of an older crosswarp has no kernel.
    del crash["kernel"]
    place.path.write_text(json.dumps(crash))
    assert place.read() == crash
    for name in crash:
        place.path.write_text(
            json.dumps({key: value for key, value in crash.items() if key != name})
        )
        assert place.read() is None
    place.path.write_text(json.dumps(crash) + " " * crash_memory._LARGEST)
    assert place.read() == crash
    place.path.write_text(" " * crash_memory._LARGEST + json.dumps(crash))
    assert place.read() is None
    assert crash_memory.Entry(None).read() is None and crash_memory.Entry(None).write(crash) is None


def test_a_crash_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    place = crash_memory.Entry(tmp_path / "a.json", "a")
    with pytest.raises(TypeError):
        place.write({"kind": object()})
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("read-only")))
    place.write({"kind": "signal"})
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_the_memory(monkeypatch, tmp_path):
    for name in (crash_memory.CACHE_ENV, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert crash_memory.folder() == tmp_path / ".cache" / "crosswarp" / "crashes"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert crash_memory.lock_folder() == tmp_path / "xdg" / "crosswarp" / "locks"
    monkeypatch.setenv(crash_memory.CACHE_ENV, str(tmp_path / "mine"))
    assert crash_memory.folder() == tmp_path / "mine" / "crashes"


def test_a_shim_is_for_the_packages_that_asked_for_it(monkeypatch):
    def kernel(module):
        return types.SimpleNamespace(fn=types.SimpleNamespace(__module__=module))

    asking = [
        types.SimpleNamespace(scopes=lambda shim: {"mine", "other.ops"} if shim == "a" else {None})
    ]
    monkeypatch.setattr(copies.COMMON, "asking", asking)
    for module, inside in (
        ("mine", True), ("mine.ops", True), ("mined", False), ("other", False), ("other.ops.x", True), ("", False),
    ):  # fmt: skip
        assert in_scope("a", kernel(module)) is inside, module
    assert in_scope("b", kernel("anything"))
    # An older copy knows no scopes: it asks for everywhere.
    asking.append(types.SimpleNamespace())
    assert in_scope("a", kernel("other"))
    monkeypatch.setattr(copies.COMMON, "asking", [])
    assert in_scope("a", kernel("other"))


LOCATED = """\
#loc1 = loc("/k.py":3:4)
#loc2 = loc(callsite(#loc3 at #loc1))
#loc3 = loc("/called.py":7:0)
#loc4 = loc("x"(#loc5))
#loc5 = loc(unknown)
  %0 = a loc(#loc1)
  %1 = b loc(#loc2)
  %2 = c loc("/direct.py":9:1)
  %3 = d loc(#loc4)
  %4 = e
"""


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, ()),
        ({"= a": "= z"}, ("/k.py:3",)),
        # The innermost line of a call.
        ({"= b": "= z"}, ("/called.py:7",)),
        ({"= c": "= z"}, ("/direct.py:9",)),
        ({"= d": "= z", "= e": "= z"}, ()),
        ({"= a": "= z", "= c": "= z"}, ("/direct.py:9", "/k.py:3")),
    ],
)
@pytest.mark.parametrize("more", [0, 600])
def test_the_lines_that_a_change_is_about(changes, lines, more):
    """The same for a text of so many lines that only those that are gone are looked for."""
    before = LOCATED + "".join(f"  %a{number} = f\n" for number in range(more))
    after = before
    for old, new in changes.items():
        after = after.replace(old, new)
    assert changed_lines(before, after) == lines
    assert changed_lines(before, "") == ()


def test_an_expression_is_compiled_when_it_is_first_used():
    lazy = patterns.lazily(r"^a", 8)
    assert "search" not in vars(lazy)
    assert lazy.search("b\na") and not lazy.match("b") and lazy.sub("c", "ab") == "cb"
    with pytest.raises(AttributeError):
        lazy.__deepcopy__  # noqa: B018


@pytest.mark.parametrize(
    ("version", "git"),
    [
        ("3.2.0+git35c6c7c6", "35c6c7c6"), ("2.1.0+e6216047b8", "e6216047b8"), ("3.2.0+git35c6c7", None),
        ("3.2.0", None), (None, None), ("3.2.0+cu124", None),
    ],
)  # fmt: skip
def test_the_commit_in_a_version(version, git):
    assert facts.git_of(version) == git


def test_the_build_of_a_compiled_part(tmp_path):
    (tmp_path / "_C").mkdir()
    assert facts.build_id(tmp_path) is None
    library = tmp_path / "_C" / "libtriton.so"
    library.write_bytes(
        b"xx" + b"\x04\0\0\0\x04\0\0\0\x03\0\0\0GNU\0" + b"\x01\x02\x03\xff" + b"yy"
    )
    assert facts.build_id(tmp_path) == "010203ff"
    library.write_bytes(b"plain")
    plain = facts.build_id(tmp_path)
    library.write_bytes(b"other")
    assert len(plain) == 40 and facts.build_id(tmp_path) != plain


def test_the_size_of_a_folder(tmp_path):
    for name, text in (("a", "12"), ("b/c", "345")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    os.symlink("/nowhere", tmp_path / "d")
    counted = facts.folder_size("x", tmp_path)
    assert (counted["files"], counted["bytes"], counted["exists"]) == (3, 5 + len("/nowhere"), True)
    assert counted["complete"] and not facts.folder_size("x", tmp_path, -1)["complete"]
    missing = facts.folder_size("x", tmp_path / "missing")
    assert (missing["exists"], missing["files"], missing["complete"]) == (False, 0, True)


def test_the_variables_of_interest(monkeypatch):
    monkeypatch.setattr(
        os,
        "environ",
        {
            "TRITON_ANY": "1",
            "CROSSWARP_X": "2",
            "HIP_VISIBLE_DEVICES": "0",
            "HOME": "/",
            "XTRITON_": "3",
        },
    )
    assert facts.variables() == {"CROSSWARP_X": "2", "HIP_VISIBLE_DEVICES": "0", "TRITON_ANY": "1"}


def test_something_is_done_once_a_module_has_been_imported(tmp_path, monkeypatch):
    """Not before it has run to its end, once, and not for a module of another name."""

    class Patches:
        def __init__(self):
            self.undo = []

        def attempt(self, apply, *arguments):
            apply(*arguments)

        def on_undo(self, forget):
            self.undo.append(forget)

    for name in ("awaited_module", "another_module", "given_up_module"):
        (tmp_path / f"{name}.py").write_text("early = 1\nlate = 2\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    seen, patches, before = [], Patches(), list(sys.meta_path)
    after_import.once_imported(
        patches, "awaited_module", lambda _, module: seen.append(module.late)
    )
    after_import.once_imported(
        patches, "given_up_module", lambda _, module: seen.append("given up")
    )
    __import__("another_module")
    assert seen == []
    patches.undo[1]()
    __import__("given_up_module")
    assert seen == [] and not after_import.has_run("awaited_module")
    __import__("awaited_module")
    assert seen == [2] and after_import.has_run("awaited_module") and sys.meta_path == before
    after_import.once_imported(patches, "awaited_module", lambda _, module: seen.append(3))
    assert seen == [2, 3] and sys.meta_path == before


def test_the_steps_that_doctor_advises():
    advice = [
        {"level": "note", "text": "first", "do": "update"}, {"level": "problem", "text": "second", "do": "install"},
        {"level": "note", "text": "third", "do": "install"},
    ]  # fmt: skip
    assert doctor_text._to_do(advice) == [
        "  ! second",
        "  - third",
        "    install",
        "  - first",
        "    update",
    ]


@pytest.mark.parametrize("key", ["WARPS", 1, (1,)])
@pytest.mark.parametrize(("asked", "constant"), [(8, 4), (16, 8)])
def test_a_parameter_follows_its_launch_option(key, asked, constant):
    class Source:
        def __init__(self, fn, signature, constants, attrs=None):
            self.fn, self.signature, self.constants, self.attrs = fn, signature, constants, attrs

    function = types.SimpleNamespace(arg_names=["x", "WARPS"])
    source = Source(function, {}, {key: 8, "x": 8})
    assert launch.with_option(source, "WARPS", asked, 4).constants == {key: constant, "x": 8}
    assert launch.with_option(source, "num_warps", asked, 4) is source


@pytest.mark.parametrize(
    ("changes", "usable"),
    [({}, True), ({"_last": -0.5}, False), ({"_gone": True}, False), ({"_parent": -1}, False)],
)
def test_a_worker_that_was_idle_for_long_is_given_no_more(monkeypatch, changes, usable):
    kept = worker.Worker.__new__(worker.Worker)
    alive = types.SimpleNamespace(alive=lambda: True)
    vars(kept).update(
        {"_gone": False, "_parent": os.getpid(), "_last": 0.0, "_child": alive, **changes}
    )
    monkeypatch.setattr(worker.time, "monotonic", lambda: worker.KEPT_SECONDS)
    assert kept.usable() is usable


# All is well: what compat fixes of it is advised alone where nothing has installed it.
WELL = {
    "triton": {
        "version": "3.2.0", "path": "/t", "error": None, "missing": None,
        "distributions": [{"name": "triton", "version": "3.2.0", "as_published": True, "library": "t.so"}],
    },
    "torch": {"version": "2.6.0", "error": None, "agrees": True, "asks_for": ["triton==3.2.0"]},
    "numpy": "1.26.4", "ptxas": [{"path": "/p", "from": "Triton", "version": "12.4"}],
    "devices": {"listed": [], "error": None}, "shims": [{"name": "a", "state": "on", "why": ""}],
    "crashes": {"count": 0, "path": "/c"}, "installed_here": ["a"], "issues": None,
}  # fmt: skip
TRITON, TORCH = WELL["triton"], WELL["torch"]
(PUBLISHED,) = TRITON["distributions"]
FAILED = {"name": "b", "state": "failed", "why": "ImportError"}


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({}, []),
        ({"triton": None}, [("note", "triton", "no Triton", "interpreter that runs your kernels")]),
        ({"installed_here": []}, [("note", "compat", "fixes 1 known bug of Triton 3.2.0", "compat.install()")]),
        ({"installed_here": [], "shims": [{"name": name, "state": "on", "why": ""} for name in "ab"]},
         [("note", "compat", "fixes 2 known bugs of", "compat.install()")]),
        ({"installed_here": [], "shims": [{"name": "a", "state": "off", "why": ""}]}, []),
        ({"shims": [FAILED]}, [("problem", "shims", "leaves out b: ImportError", "Report it")]),
        ({"shims": [FAILED], "triton": {**TRITON, "error": "E", "missing": "numpy"}},
         [("problem", "triton", "import triton fails: E", "pip install 'numpy<2'")]),
        ({"triton": {**TRITON, "error": "E", "missing": "setuptools"}},
         [("problem", "triton", "import triton fails: E", "pip install 'setuptools'")]),
        ({"triton": {**TRITON, "error": "E", "missing": None}},
         [("problem", "triton", "import triton fails: E", "Reinstall it")]),
        ({"triton": {**TRITON, "distributions": [PUBLISHED, {**PUBLISHED, "name": "pytorch-triton"}]}},
         [("problem", "triton", "one folder: triton 3.2.0, pytorch-triton 3.2.0", "Uninstall all")]),
        ({"triton": {**TRITON, "distributions": [{**PUBLISHED, "version": "3.1.0"}]}},
         [("note", "triton", "gives 3.2.0 from /t; installed is triton 3.1.0", "PYTHONPATH")]),
        ({"triton": {**TRITON, "distributions": [{**PUBLISHED, "as_published": False}]}},
         [("note", "triton", "t.so is not the file that triton 3.2.0 installed", "Reinstall it")]),
        ({"triton": {**TRITON, "distributions": [{**PUBLISHED, "as_published": None}]}}, []),
        ({"triton": {**TRITON, "distributions": []}}, []),
        ({"numpy": "2.4.0"}, [("problem", "numpy", "numpy 2.4.0 is too new", "pip install 'numpy<2.4'")]),
        ({"numpy": "2.3.9"}, []),
        ({"numpy": None}, []),
        ({"torch": None}, []),
        ({"torch": {**TORCH, "error": "E"}}, [("problem", "torch", "import torch fails: E", "Reinstall torch")]),
        ({"torch": {**TORCH, "agrees": False, "asks_for": ["triton==3.3.0", "x"]}},
         [("note", "torch", "asks for triton==3.3.0, x; here is Triton 3.2.0", "pip install 'triton==3.3.0'")]),
        ({"torch": {**TORCH, "agrees": None}}, []),
        ({"devices": {"listed": [], "error": "E"}}, [("note", "devices", "could not be asked: E", "driver")]),
        ({"devices": {"listed": [], "error": "E"}, "torch": None}, []),
        ({"devices": {"listed": [], "error": "E"}, "torch": {**TORCH, "error": "F"}},
         [("problem", "torch", "import torch fails: F", "Reinstall torch")]),
        ({"ptxas": [{"path": "/p", "from": "Triton", "version": None}]},
         [("note", "ptxas", "/p (Triton) does not say", "Reinstall Triton")]),
        ({"ptxas": [{"path": "/p", "from": "TRITON_PTXAS_PATH", "version": None}]},
         [("note", "ptxas", "/p (TRITON_PTXAS_PATH) does not say", "unset TRITON_PTXAS_PATH")]),
        ({"crashes": {"count": 1, "path": "/c"}}, [("note", "crashes", "1 crash of the compiler is", "/c")]),
        ({"crashes": {"count": 2, "path": "/c"}}, [("note", "crashes", "2 crashes of the compiler are", "/c")]),
    ],
)  # fmt: skip
def test_the_advice_on_each_part_of_an_environment(changes, advice):
    report = {**WELL, **changes}
    found = report["advice"] = doctor._advice(report)
    assert [(step["level"], step["about"]) for step in found] == [step[:2] for step in advice]
    for step, (_, _, text, todo) in zip(found, advice):
        assert text in step["text"] and todo in step["do"]
    # A problem is left, a note is none.
    left = 1 if any(level == "problem" for level, *_ in advice) else 0
    assert doctor.exit_code(report) == (2 if report["triton"] is None else left)


@pytest.mark.parametrize(("state", "status"), [("not fixed", 1), ("fixed", 0), ("off", 0)])
def test_an_issue_that_nothing_fixes_is_left(state, status):
    issues = [{"title": "aborts", "state": state}]
    report = {**WELL, "advice": [], "issues": issues}
    assert doctor.remaining(report) == ["aborts"] * status
    assert doctor.exit_code(report) == status


@pytest.mark.parametrize(
    ("wanted", "triton", "agrees"),
    [([], "3.2.0", None), (["triton==3.2.0"], None, None), (["triton==3.2.0"], "3.2.0", True),
     (["triton==3.2.0", "pytorch-triton==3.1.0"], "3.2.0", False), (["triton==3.1.0"], "3.2.0", False)],
)  # fmt: skip
def test_whether_torch_asks_for_this_triton(monkeypatch, wanted, triton, agrees):
    monkeypatch.setattr(doctor.facts, "version_of", {"torch": "2.6.0"}.get)
    listed = [Requirement(f"{text}; python_version > '3'") for text in wanted]
    monkeypatch.setattr(doctor.facts, "requirements_on", lambda name, names: listed)
    found = doctor._torch({"version": "2.6.0+cpu", "missing": "torch"}, triton)
    assert (found["version"], found["agrees"]) == ("2.6.0+cpu", agrees)
    assert found["asks_for"] == wanted
    assert doctor._torch({}, triton)["version"] == "2.6.0"
    # Installed nowhere, and imported from a folder.
    monkeypatch.setattr(doctor.facts, "version_of", lambda name: None)
    assert doctor._torch({"missing": "torch"}, triton) is None
    assert doctor._torch({"missing": "numpy"}, triton)["version"] is None


@pytest.mark.parametrize(
    ("torch", "answer", "found"),
    [
        ({"missing": "torch"}, {"devices": [1]}, ([], "torch is not installed, so nobody could be asked")),
        ({"missing": "numpy"}, {"devices": [1]}, ([1], None)), ({}, {"error": "E"}, ([], "E")), ({}, {}, ([], None)),
    ],
)  # fmt: skip
def test_the_devices_that_were_asked(torch, answer, found):
    assert tuple(doctor._devices({"torch": torch, "devices": answer}).values()) == found


def test_the_state_of_each_fix(monkeypatch):
    monkeypatch.delenv("CROSSWARP_COMPAT", raising=False)

    def states(version, **asked):
        return {entry["name"]: entry for entry in doctor._shims("auto", version, asked)}

    assert {entry["state"] for entry in states(None).values()} == {"unknown"}
    assert not any(entry["inside"] for entry in states(None).values())
    wanted = {shim.name for shim in doctor.wanted_shims("auto", "3.2.0")}
    (first, second, *_) = sorted(wanted)
    found = states("3.2.0", active=[first], left_out={second: "moved"}, error="died")
    assert {name for name, entry in found.items() if entry["state"] == "off"} == set(found) - wanted
    assert found[first]["state"] == "on" and found[first]["inside"]
    assert found[first]["why"] == f"3.2.0 is in {found[first]['window']}"
    assert (found[second]["state"], found[second]["why"]) == ("failed", "moved")
    others = [found[name]["why"] for name in wanted - {first, second}]
    assert set(others) == {"died"}
    assert states("3.2.0")[first]["why"] == "install() left it out"


@pytest.mark.parametrize("size", [1, 5, 9, 10, 18, 100])
def test_the_reports_of_a_monitor_however_they_are_cut(size):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    reports = monitor.Reports(reading)
    try:
        reports.look(0)
        assert (reports.pid, reports.status, reports.ended) == (None, None, False)
        sent = monitor._RECORD.pack(b"P", 41) + monitor._RECORD.pack(b"S", 9)
        for start in range(0, len(sent), size):
            os.write(writing, sent[start : start + size])
            reports.look(0)
            whole = start + size >= len(sent)
            assert (reports.status, reports.ended) == ((9, True) if whole else (None, False))
            assert (reports.pid == 41) == (start + size >= monitor._RECORD.size)
        # Nothing is read after the end.
        os.write(writing, monitor._RECORD.pack(b"P", 42))
        reports.look(0)
        assert reports.pid == 41
    finally:
        os.close(reading)
        os.close(writing)


def test_a_monitor_that_could_not_fork_or_was_killed():
    for sent, status in ((monitor._RECORD.pack(b"E", errno.EAGAIN), None), (b"", None)):
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        reports = monitor.Reports(reading)
        os.write(writing, sent)
        os.close(writing)
        try:
            if sent:
                with pytest.raises(OSError) as raised:
                    reports.look(0)
                assert raised.value.errno == errno.EAGAIN
            else:
                reports.look(0)
            assert (reports.ended, reports.status) == (True, status)
        finally:
            os.close(reading)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_newest_crashes_are_listed_first(monkeypatch, tmp_path, count):
    monkeypatch.setattr(facts.crash_memory, "folder", lambda: tmp_path)
    for number in range(count):
        path = tmp_path / f"{number}.json"
        path.write_text(
            json.dumps(
                {"kind": "signal", "reason": "SIGABRT", "stderr": "", "kernel": f"k{number}"}
            )
        )
        os.utime(path, (1000 + number, 1000 + number))
    found = facts.crashes(most=2)
    assert found["count"] == count and found["path"] == str(tmp_path)
    newest = [f"k{number}" for number in reversed(range(count))][:2]
    listed = [entry["kernel"] for entry in found["listed"]]
    assert listed == newest
    if count == 3:
        assert found["listed"][0]["when"] == "1970-01-01T00:16:42Z"
    monkeypatch.setattr(facts.crash_memory, "folder", lambda: None)
    assert facts.crashes() == {
        "path": "nowhere: this user has no home",
        "count": 0,
        "listed": [],
    }


@pytest.mark.parametrize(
    ("window", "version", "inside"),
    [
        ("~=3.2", "3.2.1", True), ("~=3.2", "4.0", False), ("===3.2.0", "3.2.0", True),
        (">=3.2.0rc1", "3.2.0", True), (">=3.3.0rc1", "3.2.0", False), (">=3.2,~=3.2.0", "3.3.0", False),
    ],
)  # fmt: skip
def test_a_window_of_more_than_numbers_is_asked_of_packaging(window, version, inside):
    assert versions._in_plain_window(window, version) is None
    assert versions.in_window(window, version) is inside


@pytest.mark.parametrize(
    ("made_by", "locked"), [("Base", True), ("JITFunction", True), ("", False)]
)
def test_whichever_class_makes_the_lock_of_a_kernel(monkeypatch, made_by, locked):
    def with_lock(self):
        self._hash_lock = None

    def without(self):
        self.other = None

    made = {name: with_lock if name == made_by else without for name in ("Base", "JITFunction")}
    base = type("Base", (), {"__init__": made["Base"]})
    kernel = type("JITFunction", (base,), {"__init__": made["JITFunction"]})
    module = types.SimpleNamespace(JITFunction=kernel)
    for name in ("triton", "triton.runtime"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "triton.runtime.jit", module)
    assert features.has_hash_lock() is locked


@pytest.mark.parametrize("ours", [True, False])
def test_a_worker_that_nobody_has_any_more_ends_its_child(ours):
    ended = []
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    kept = worker.Worker.__new__(worker.Worker)
    fake = types.SimpleNamespace(
        end=lambda: ended.append("end"), close=lambda: ended.append("close")
    )
    parent = os.getpid() if ours else -1
    vars(kept).update({"_gone": False, "_parent": parent, "_child": fake, "_work_fd": writing})
    del kept
    try:
        # A fork of its parent leaves the child alone.
        assert ended == ["end" if ours else "close"]
        assert os.read(reading, 1) == b""
    finally:
        os.close(reading)
