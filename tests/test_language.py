"""The language table: its file, what is asked of a column, how both are compared, and the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from crosswarp.laboratory.asking import language_probes
from crosswarp.laboratory.commands import asking_language
from crosswarp.laboratory.pages import language_page
from crosswarp.matrix.cell.spelled import parameters
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import columns, language_table
from crosswarp.matrix.facts.language_table import Name, Release
from crosswarp.matrix.results.store import Store
from crosswarp.reports.findings import language_view
from crosswarp.reports.findings.view import view
from crosswarp.reports.page import site

ROOT = Path(__file__).resolve().parent.parent
CELL = '''
import json, os, signal, sys
spec = json.load(open(sys.argv[1]))
script = json.loads(os.environ["FAKE_LANGUAGE"])
steps = script[os.path.basename(os.path.dirname(sys.argv[1])).partition("-compile")[0].partition("-interpret")[0]]
with open(spec["records"], "w") as out:
    for step in steps[spec["lanes"][0]]:
        if step == "die":
            print("last words", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if step.get("event") == "name" and not any(
            step["name"] == glob or glob == "*" for glob in spec["kernels"]
        ):
            continue
        out.write(json.dumps(step) + "\\n")
        out.flush()
'''  # fmt: skip
SESSION = {
    "event": "session",
    "lane": "compile",
    "versions": {"triton": "3.2.0", "torch": "2.6.0"},
    "planned": 0,
}
DONE = {"event": "done"}


def name(text, signature="(x)", kind="function"):
    return {"event": "name", "name": text, "kind": kind, "signature": signature}


def probe(text, where="sm_90", outcome="pass", fingerprint=""):
    return {
        "event": "probe", "id": text, "name": text.partition("(")[0], "where": where, "outcome": outcome,
        "fingerprint": fingerprint,
    }  # fmt: skip


def lane(steps):
    planned = sum(step["event"] == "probe" for step in steps)
    return [{**SESSION, "planned": planned}, *steps, DONE]


def lanes(compiled, interpreted=()):
    return {"compile": lane(compiled), "interpret": lane(interpreted)}


def release(names, **probes):
    about = {"triton": "3.2.0", "checked": "2026-11-21"}
    return Release(about, {one: Name("function", "(x)") for one in names}, probes)


@pytest.fixture
def ask(tmp_path, monkeypatch, command, fake_prepare):
    """`ask({"triton-3.2.0": lanes(…)}, *arguments)`: the command, with columns that say that; none is asked of {}."""
    cell = tmp_path / "cell.py"
    cell.write_text(CELL)
    monkeypatch.setattr(
        language_probes, "argv", lambda python, spec: [sys.executable, str(cell), str(spec)]
    )
    monkeypatch.chdir(tmp_path)

    def call(script, *arguments, fail=()):
        monkeypatch.setenv("FAKE_LANGUAGE", json.dumps(script))
        monkeypatch.setattr(
            asking_language.placing, "Builder", lambda *a, **k: fake_prepare(fail=fail)
        )
        columns = ["--columns", ",".join(script)] if script else []
        where = ["--work", "work", "--language-file", "language.json", *columns]
        return command("language", *where, *arguments)

    return call


def test_the_committed_table_is_of_every_published_column_and_as_the_command_writes_it():
    text = language_table.DEFAULT_FILE.read_text("utf-8")
    table = language_table.load()
    assert language_table.dumped(table) == text
    published = [one.triton for one in columns.load() if one.triton and one.official]
    assert list(table) == published
    for version, one in table.items():
        assert one.about["triton"] == version
        for entry in one.names.values():
            # Every signature is Python, so that its options can be told.
            parameters(entry.signature)


def test_the_committed_table_says_what_other_tests_have_measured():
    """Facts that issues.toml, LACKS and GAPS stand on."""
    table = language_table.load()

    def where(probe, place, outcome="pass"):
        found = [v for v, one in table.items() if one.probes.get(probe, {}).get(place) == outcome]
        return language_table.runs(found, list(table))

    for target in language_table.TARGETS:
        assert where("tl.range", target) == "3.0.0..3.9.0"
        assert where("tl.gather", target) == "3.3.1..3.9.0"
        assert where("tl.make_tensor_descriptor", target) == "3.4.0..3.9.0"
    assert where("tl.make_block_ptr", "sm_90") == "2.3.1..3.8.0"
    assert "tl.advance" not in table["3.9.0"].names and "tl.make_block_ptr" in table["3.9.0"].names
    assert where("tl.dot_scaled", "gfx942") == "3.8.0..3.9.0"
    # The interpreter: bf16 is wrong wherever it runs at all, NaN until 3.8, libdevice never is there.
    assert where("tl.bfloat16", "interpreter", "mismatch: result wrong") == "3.0.0..3.9.0"
    nan = "tl.maximum(propagate_nan=tl.PropagateNan.NONE)"
    assert where(nan, "interpreter", "mismatch: result nan") == "3.0.0..3.7.1"
    assert where("libdevice.tanh", "interpreter") == ""
    assert where("tl.load", "interpreter") == where("tl.load", "sm_90") == "2.3.1..3.9.0"


def test_runs_of_releases_are_written_and_read():
    order = ["1", "2", "3", "4", "5"]
    for found, text in ((["1"], "1"), (["1", "2"], "1..2"), (["1", "3", "4", "5"], "1 3..5")):
        assert language_table.runs(found, order) == text
        assert language_table.spread(text, order) == found
    for wrong in ("6", "2..1", "1..6", "", "1,2"):
        with pytest.raises(ValueError, match="no releases"):
            language_table.spread(wrong, order)


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda file: file.update(crosswarp_language=2), "crosswarp_language"),
        (lambda file: file["names"].update({"tl.x": [["3.2.0..4.0", "function", "()"]]}), "3.2.0..4.0"),
        (lambda file: file["names"].update({"tl.x": [["3.2.0", "thing", "()"]]}), "tl.x"),
        (lambda file: file["names"]["tl.a"].append(["3.2.0", "type", ""]), "tl.a stands twice for 3.2.0"),
        (lambda file: file["probes"].update({"tl.b": {"sm_90": {"pass": "3.2.0"}}}), "no such name"),
        (lambda file: file["probes"]["tl.a"]["sm_90"].update(pass_="3.2.0"), "failed with pass_"),
        (lambda file: (file["failures"].update(a="crash: x"), file["probes"]["tl.a"]["sm_90"].update(a="3.2.0")),
         "tl.a on sm_90 stands twice"),
        (lambda file: file["probes"]["tl.a"].update(sm_1={"pass": "3.2.0"}), "sm_1"),
        (lambda file: file.update(columns={}), "columns"),
    ],
)  # fmt: skip
def test_a_table_that_contradicts_itself_is_refused(tmp_path, change, said):
    path = tmp_path / "language.json"
    language_table.write(path, {"3.2.0": release(["tl.a"], **{"tl.a": {"sm_90": "pass"}})})
    file = json.loads(path.read_text())
    language_table.load(path)
    change(file)
    path.write_text(json.dumps(file))
    with pytest.raises(ConfigError, match="crosswarp language --write") as raised:
        language_table.load(path)
    assert said in str(raised.value)


def test_what_is_no_table_is_refused(tmp_path):
    for name, text in (("gone.json", None), ("torn.json", "{"), ("list.json", "[]")):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        with pytest.raises(ConfigError, match=f"{name}.*crosswarp language --write"):
            language_table.load(path)


def test_a_part_replaces_that_part_only():
    old = {
        "3.2.0": release(
            ["tl.a", "tl.b"], **{"tl.a": {"sm_90": "pass"}, "tl.b(k=1)": {"sm_90": "pass"}}
        )
    }
    new = release(["tl.c"], **{"tl.c": {"sm_90": "crash: x"}})
    merged = language_table.merged(old, "3.2.0", new, ["tl.b", "tl.c"])["3.2.0"]
    assert sorted(merged.names) == ["tl.a", "tl.c"] and sorted(merged.probes) == ["tl.a", "tl.c"]
    assert list(language_table.merged(old, "3.0.0", new)) == ["3.0.0", "3.2.0"]
    with pytest.raises(UsageError, match="3.0.0: not in the table.*Leave out the names"):
        language_table.merged(old, "3.0.0", new, ["tl.b"])


def test_differences_are_both_ways_and_of_the_names_asked_for():
    old = release(["tl.a", "tl.b"], **{"tl.a": {"sm_90": "pass", "interpreter": "pass"}})
    new = release(["tl.a", "tl.c"], **{"tl.a": {"sm_90": "crash: x"}, "tl.c": {"sm_90": "pass"}})
    told = [(d.what, d.place, d.before, d.now) for d in language_table.differences(old, new)]
    assert told == [
        ("tl.b", "", "function (x)", "absent"),
        ("tl.c", "", "absent", "function (x)"),
        ("tl.a", "sm_90", "pass", "crash: x"),
        ("tl.a", "interpreter", "pass", "not probed"),
        ("tl.c", "sm_90", "not probed", "pass"),
    ]
    assert [d.what for d in language_table.differences(old, new, ["tl.c"])] == ["tl.c", "tl.c"]
    assert language_table.differences(old, old) == []


def test_the_command_writes_compares_and_shows(ask, tmp_path):
    says = {
        "triton-3.2.0": lanes(
            [
                name("tl.a", "(x, k=1)"), probe("tl.a"),
                probe("tl.a(k=2)", outcome="crash", fingerprint="SIGABRT: 'a' is"),
            ],
            [probe("tl.a", "interpreter", "mismatch", "mismatch: result wrong")],
        )
    }  # fmt: skip
    status, out, _ = ask(says, "--write")
    assert status == 0 and "1 releases" in out
    one = language_table.load(tmp_path / "language.json")["3.2.0"]
    assert one.names == {"tl.a": Name("function", "(x, k=1)")}
    assert one.probes == {
        "tl.a": {"sm_90": "pass", "interpreter": "mismatch: result wrong"},
        "tl.a(k=2)": {"sm_90": "crash: SIGABRT: '…' is"},
    }
    assert one.about["torch"] == "2.6.0"
    assert ask(says)[:2] == (0, "As the table says: 3.2.0.\n")
    changed = {"triton-3.2.0": lanes([name("tl.a", "(x, k=1)"), probe("tl.a")])}
    status, out, _ = ask(changed)
    assert status == 1
    assert "3.2.0 sm_90: tl.a(k=2): crash: SIGABRT: '…' is -> not probed" in out
    assert "crosswarp language --write" in out
    status, out, _ = ask({"triton-3.9.0": lanes([])})
    assert status == 1 and "3.9.0 is not in the table" in out
    status, out, _ = ask({}, "tl.*")
    assert status == 0 and [line.split() for line in out.splitlines()[1:3]] == [
        ["tl.a", "✓≠"],
        ["⋅", "k=2", "✗"],
    ]


def test_what_cannot_be_asked_is_said_and_keeps_what_was_known(ask, tmp_path):
    good = lanes([name("tl.a"), probe("tl.a")])
    both = {"triton-3.1.0": good, "triton-3.2.0": good}
    assert ask(both, "--write")[0] == 0
    before = (tmp_path / "language.json").read_text()
    dying = {"compile": [SESSION, name("tl.a"), "die"], "interpret": good["interpret"]}
    status, out, _ = ask({"triton-3.1.0": dying, "triton-3.2.0": good}, "--write")
    assert status == 1
    assert "triton-3.1.0: compile: ended with status -9" in out and "last words" in out
    assert (tmp_path / "language.json").read_text() == before
    status, out, _ = ask(both, "--write", fail=("triton-3.1.0",))
    assert status == 3 and "no such wheel" in out
    odd = lanes(
        [
            name("tl.a"),
            probe("tl.a", outcome="not-run", fingerprint="NameError: z"),
            {"event": "odd"},
        ]
    )
    status, out, _ = ask({"triton-3.2.0": odd})
    assert status == 1 and "2 probes could not be run: tl.a: NameError: z" in out


def test_what_is_asked_wrongly_is_refused(ask, tmp_path):
    good = {"triton-3.2.0": lanes([name("tl.a")])}
    for script, arguments, reason in (
        (good, ("tl.a", "--write"), "cannot come into it in part"),
        ({}, (), "there is no such file"),
    ):
        status, _, err = ask(script, *arguments)
        assert status == 2 and reason in err
    assert ask(good, "--write")[0] == 0
    for script, arguments in (
        ({}, ["nothing"]),
        (good, ["nothing"]),
        (good, ["--write", "nothing"]),
    ):
        status, _, err = ask(script, *arguments)
        assert status == 2 and "no release has a name like nothing" in err
    status, _, err = ask({"triton-3.2.0+torch-2.5.1": lanes([])})
    assert status == 2 and "published releases with their own torch" in err


def test_a_sign_says_no_more_than_was_probed():
    def sign(**places):
        one = release(["tl.a"], **{"tl.a": places} if places else {})
        return language_view.square(one, "tl.a").sign

    wrong, raised = "mismatch: result wrong", "api-error: no"
    assert sign() == "?"
    assert sign(sm_90="pass", gfx942="pass", interpreter="pass") == "✓"
    assert sign(sm_90="pass", gfx942="pass") == "✓°"
    assert sign(sm_90="pass", gfx942="pass", interpreter=wrong) == "✓≠"
    assert sign(sm_90="pass", gfx942="crash: x", interpreter=raised) == "N!"
    assert sign(sm_90="crash: x", gfx942="pass", interpreter="pass") == "A"
    assert sign(sm_90="crash: x", gfx942="crash: x", interpreter="pass") == "✗"
    assert sign(interpreter="pass") == "?"
    assert language_view.square(release([]), "tl.a").sign == ""


def test_the_page_escapes_and_tells_what_changed():
    hostile = "compile-error: a|b <script>`x` \x1b[31m"
    table = {
        "3.1.0": Release({"checked": "2026-11-20"}, {"tl.a": Name("function", "(x, k='a, b', gone=())")},
                         {"tl.a": {"sm_90": hostile}}),
        "3.2.0": Release({"checked": "2026-11-21"}, {
            "tl.a": Name("function", "(x, k=None, *, new=(1, 2))"), "tl.b": Name("type", "")}, {}),
    }  # fmt: skip
    page = language_page.page(table)
    assert "\x1b" not in page
    row = next(line for line in page.splitlines() if "script" in line)
    assert row.startswith("| `` compile-error: a\\|b <script>`x` ``") and row.endswith("| 3.1.0 |")
    assert "| `tl.a` | ✗ | ? |" in page and "| `tl.b` |   | ? |" in page
    assert "| ⋅ `gone` | ? |   |" in page and "| ⋅ `new` |   | ? |" in page
    assert "+ `new=(1, 2)`; − `gone`; `k='a, b'` → `None`" in page
    assert "| 3.2.0 | `tl.b` |  |" in page
    assert "Checked 2026-11-20 to 2026-11-21." in page


def test_the_site_has_the_table_as_a_page(page_run, make_issue):
    hostile = 'crash: "><script>x</script> \x1b[31m'
    table = {"3.2.0": release(["tl.a", "tl.b"], **{"tl.a": {"sm_90": hostile, "gfx942": "pass"}})}
    with Store(page_run()) as store:
        shown = view(store, [make_issue()])
    files = site(shown, [make_issue()], table)
    text = files["language/index.html"]
    told = "crash: &#34;&gt;&lt;script&gt;x&lt;/script&gt;"
    assert f'<a class="mark o-limit" href="#why-1" title="sm_90: {told}">A°</a>' in text
    assert f'<tr id="why-1"><th scope="row"><code>{told}</code></th><td>sm_90</td>' in text
    assert '<code>tl.b</code></th><td><span class="mark o-unsupported">?</span></td>' in text
    assert "\x1b" not in text
    assert '<a href="../language/index.html" aria-current="page">Language</a>' in text
    without = site(shown, [make_issue()])
    assert "language/index.html" not in without and "Language" not in without["index.html"]


FAKE_TRITON = {
    "triton/__init__.py": "",
    "triton/language/__init__.py": """
        import math as leaked
        from . import core, math
        from .core import *
        __all__ = ["load", "dot", "range", "float16", "math", "_private", "gone", "Nan"]
        from .core import _private
    """,
    "triton/language/core.py": """
        import enum
        class Nan(enum.Enum):
            ALL = 1
        class constexpr:
            def __init__(self, value): self.value = value
            def __repr__(self): return f"constexpr[{self.value}]"
        class dtype:
            name = "fp32"
        float16 = dtype()
        def builtin(fn):
            fn.__triton_builtin__ = True
            return fn
        class JIT:
            def __init__(self, fn): self.fn = fn
        @builtin
        def load(pointer, mask=None, other: int = None, *, cache=constexpr("x, y"), _semantic=None): pass
        @JIT
        def dot(a, b, out_dtype: constexpr = dtype(), nan=Nan.ALL, shape=(1, 2), _builder=None): pass
        class range:
            def __init__(self, start, stop=None): pass
        def _private(x): pass
        class tensor:
            @property
            def T(self): pass
            def load(self, mask=None, _semantic=None): pass
            def handed(*self, **kwargs): pass
            def _hidden(self): pass
    """,
    "triton/language/math.py": """
        from functools import wraps
        from .core import builtin
        @builtin
        def exp(x, _builder=None): pass
        def helper(): pass
    """,
    "triton/runtime/__init__.py": "from .jit import JITFunction",
    "triton/runtime/jit.py": """
        import ast
        from functools import partial, _lru_cache_wrapper
        class JITFunction:
            cache_hook = None
            def run(self, grid): pass
            def _hidden(self): pass
        def _own(): pass
    """,
    "triton/backends/__init__.py": "",
    "triton/backends/driver.py": "import nothing_of_the_kind",
    "triton/backends/data/readme.txt": "no module",
}  # fmt: skip


def test_the_page_has_what_is_beside_the_language(tmp_path):
    names = {
        "3.1.0": ["triton", "triton.ops", "triton.ops.matmul", "triton.testing", "triton._own"],
        "3.2.0": [
            "triton",
            "triton.testing",
            "triton.testing.new",
            "triton.backends.amd.x",
            "tl.a",
        ],
    }
    table = {version: release(found) for version, found in names.items()}
    text = language_page.page(table)
    rows = text.partition("## The host side")[2].splitlines()
    assert [row for row in rows if row.startswith("| `")] == [
        "| `triton.ops` | 3.1.0 |",
        "| `triton.testing.new` | 3.2.0 |",
    ]
    # They are no names of the language.
    assert "1 names and 0 probes" in text and "| 3.2.0 | `tl.a` |  |" in text


def test_names_and_options_are_found_by_introspection(tmp_path):
    for path, text in FAKE_TRITON.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(textwrap.dedent(text))
    code = (
        "import json; from crosswarp.laboratory.cell.language_probes import names;"
        "from crosswarp.matrix.cell.spelled import parameters;"
        "print(json.dumps({k: [v['kind'], v['signature'], list(parameters(v['signature']))]"
        " for k, v in names.found().items()}))"
    )
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )  # fmt: skip
    found = json.loads(done.stdout)
    host = {name: entry for name, entry in found.items() if language_table.of_host(name)}
    assert {name: entry[0] for name, entry in host.items()} == {
        "triton": "module",
        "triton.backends": "module",
        # Installed, and cannot be imported here: that it is there is known, and nothing of what it holds.
        "triton.backends.driver": "module",
        "triton.language": "module",
        "triton.language.core": "module",
        "triton.language.math": "module",
        **{
            f"triton.language.core.{name}": kind
            for name, kind in {
                **{"JIT": "type", "Nan": "type", "_private": "function", "builtin": "function"},
                **{"constexpr": "type", "dot": "function", "dtype": "type", "float16": "value"},
                **{"load": "function", "range": "type", "tensor": "type"},
            }.items()
        },
        "triton.language.math.builtin": "function",
        "triton.language.math.helper": "function",
        "triton.runtime": "module",
        "triton.runtime.JITFunction": "type",
        "triton.runtime.JITFunction.cache_hook": "value",
        "triton.runtime.JITFunction.run": "method",
        "triton.runtime.jit": "module",
        "triton.runtime.jit.JITFunction": "type",
        "triton.runtime.jit.JITFunction.cache_hook": "value",
        "triton.runtime.jit.JITFunction.run": "method",
        "triton.runtime.jit._own": "function",
    }
    assert host["triton.runtime.jit.JITFunction.run"][1:] == ["(grid)", ["grid"]]
    assert host["triton.language.core.load"][1] == ""
    assert {name: entry for name, entry in found.items() if name not in host} == {
        "tl.JIT": ["type", "(fn)", ["fn"]],
        "tl.Nan": ["type", "", []],
        "tl._private": ["function", "(x)", ["x"]],
        "tl.builtin": ["function", "(fn)", ["fn"]],
        "tl.constexpr": ["type", "(value)", ["value"]],
        "tl.dot": [
            "function", "(a, b, out_dtype=tl.fp32, nan=Nan.ALL, shape=(1, 2))", ["a", "b", "out_dtype", "nan", "shape"],
        ],
        "tl.dtype": ["type", "", []],
        "tl.float16": ["value", "", []],
        "tl.load": [
            "function", "(pointer, mask=None, other=None, *, cache='x, y')", ["pointer", "mask", "other", "cache"],
        ],
        "tl.math": ["module", "", []],
        "tl.range": ["type", "(start, stop=None)", ["start", "stop"]],
        "tl.tensor": ["type", "", []],
        "tl.math.exp": ["function", "(x)", ["x"]],
        "tensor.T": ["method", "", []],
        "tensor.handed": ["method", "", []],
        "tensor.load": ["method", "(mask=None)", ["mask"]],
    }  # fmt: skip
