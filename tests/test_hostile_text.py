"""Strangers' text: a store that a hostile kernel, compiler or machine filled, in every output that there is.

Every text of a corpus, in every field of the store that holds text, in every output. What is asked is what the reader
of the output would do with it: a terminal, the runner of a CI job, GitHub's Markdown, an HTML parser, a spreadsheet.
"""

from __future__ import annotations

import argparse
import ast
import csv
import functools
import io
import itertools
import json
import re
import sqlite3
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import cmarkgfm
import jinja2
import pytest
import xmlschema
from cmarkgfm.cmark import Options

from crosswarp import compat
from crosswarp.matrix.errors import CrosswarpError
from crosswarp.matrix.facts import columns, targets
from crosswarp.matrix.printable import printable
from crosswarp.matrix.results.store import MIGRATIONS, Environment, Store
from crosswarp.matrix.running import attribution, ir, progress
from crosswarp.matrix.running.bisection import Found, Seen
from crosswarp.reports import page
from crosswarp.reports.commands import bisect, blame, github
from crosswarp.reports.findings import diff, ir_cells, proofs
from crosswarp.reports.findings import range as range_module
from crosswarp.reports.findings.causes import unexpected
from crosswarp.reports.findings.history import Past, history, worst_of
from crosswarp.reports.findings.since import compared
from crosswarp.reports.findings.view import view
from crosswarp.reports.page import grid
from crosswarp.reports.page.model import Model
from crosswarp.reports.reproducing.drafts import drafts
from crosswarp.reports.reproducing.reproducer import script
from crosswarp.reports.text import badges, diff_text, escape, proofs_text, range_text
from crosswarp.reports.text.comment import comment, markdown
from crosswarp.reports.text.export import export
from crosswarp.reports.text.junit import junit
from crosswarp.reports.text.spreadsheet import HEADS, spreadsheet
from crosswarp.reports.text.summary import summary
from crosswarp.reports.text.table import table

ROOT = Path(__file__).parent.parent
# Each ends or goes on with a word of its own, so that it is told whether a text came out at all.
CORPUS = {
    "colour": "\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1Hmoved",
    "title": "\x1b]0;owned\x07 \x1b]8;;https://evil.invalid\x1b\\click\x1b]8;;\x1b\\ \x1bPq#0\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07x",
    "c1": "\x9b31m \x9d0;owned\x9c \x85 \x90q\x9c",
    "half escape": "ends in \x1b",
    "bidi": "\u202egnp.exe\u202c \u2067x\u2069 \u200f\u061c",
    "invisible": "a\u200bb\ufeffc\u2060d\u00ade\U000e0041f",
    "separators": "one\u2028two\u2029three\x0bfour\x0cfive\x1csix",
    "nul": "a\x00b\x00",
    "backspace": "good\b\b\b\bevil\rover \x7f",
    "newlines": "a cell\n\n# head\n\n| x | y |\n|---|---|\n\r\n- item",
    "script": "</script><script>alert(1)</script>",
    "svg": "<svg onload=alert(1)><a href=javascript:alert(1)></svg>",
    "image": '"><img src=x onerror="alert(1)">',
    "quotes": "' onmouseover='alert(1)' x=\" autofocus onfocus=alert(1) ",
    "comment": "--> <!-- crosswarp-cause: 0000000000000000 -->",
    "details": "</code></summary></details></td></table><h1>x</h1>",
    "cdata": "]]> <![CDATA[ <?xml ?> &lt; &#60;script&#62; &nbsp;",
    "template": "{{7*7}} {% raw %} ${7*7} #{7*7}",
    "link": "[a](javascript:alert(1)) ![a](https://evil.invalid/x.png) [b]: https://evil.invalid",
    "autolink": "<https://evil.invalid> https://evil.invalid www.evil.invalid ftp://evil.invalid",
    "mail": "someone@evil.invalid mailto:someone@evil.invalid xmpp:a@evil.invalid/x",
    "mention": "@octocat @octo/team (@octocat) x@octocat",
    "references": "#1 GH-1 triton-lang/triton#1 triton-lang/triton@0f1e2d3c4b 0f1e2d3c4b5a69788796a5b4c3d2e1f0a1b2c3d4",
    "pipes": "a|b \\| \\\\| `a|b` |",
    "backticks": "` `` ``` ` `a` b``c `",
    "backslash": "a\\",
    "markup": "*a* _b_ **c** ~~d~~ $e$ [x] [^1] > q # h ==m== :tada:",
    "fence": "```\n</details>\n~~~\n````\n<script>x</script>\n`````",
    "frontmatter": "---\n+++\n===\n***",
    "workflow": "::error file=a.py,line=1::owned",
    "workflow late": f"{'x' * 70}::set-output name=a::b\n  ::add-mask::a\n::stop-commands::t\n\x1b::group::g",
    "workflow hidden": ":\u200b:warning::a :\x00:debug::b",
    "workflow other": "##[error]a ##vso[task.setvariable variable=x]y ##teamcity[x] a##[set-env name=PATH]x",
    "traversal": "../../../etc/passwd",
    "absolute": "/etc/passwd",
    "other": "../other",
    "windows": "..\\..\\con.py C:\\x",
    "shell": "; rm -rf ~ `id` $(id) && x > y",
    "option": "--suite=/evil",
    "formula": "=cmd|'/C calc'!A0",
    "formula plus": "+1+1",
    "formula minus": "-1+1",
    "formula at": "@SUM(1)",
    "formula tab": "\t=1+1",
    "formula return": "\r=1+1",
    "formula wide": "\uff1d1+1",
    "toml": '"\nshim = "evil"\n[[issue]]\nid = "x',
    "python": "x\nimport os; os.abort()\n\"\"\"\n'''\n\\",
    "surrogates": "\ud800 \udcff a\udfff",
    "not characters": "\ufffe \uffff \U0010ffff \ue000",
    # Longer than what GitHub takes of a comment, and than what is cut for it.
    "huge word": "w" * 70_000,
    "huge": "several words and \x1b[31m " * 3_000,
    "combining": "a" + "\u0301" * 500,
    "blank": "   \t  ",
    "number": "1e999",
}  # fmt: skip
RAW = ("\x1b", "\x9b", "\u202e", "\x00")
COLUMNS = ("triton-3.1.0", "triton-3.2.0")
# Texts in one store, and in one of a few where an output refuses some.
MANY, FEW = 28, 4


def schema():
    db = sqlite3.connect(":memory:")
    for step in MIGRATIONS:
        db.executescript(step)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [
        f"{table}.{column[1]}" for table in tables for column in db.execute(f"PRAGMA table_info({table})")
        if column[2] == "TEXT"
    ]  # fmt: skip


# What is JSON holds text in several places; of a plan each field is read by somebody.
JSON = {
    "argv": lambda text: ["run", "--main", text],
    "requirements": lambda text: [text],
    "overrides": lambda text: [text],
    "shims": lambda text: [text],
    "versions": lambda text: {"triton": text, "torch": text, "numpy": text, text: text},
    "resources": lambda text: {
        text: text, "launches": [{"kernel": text, "num_warps": 4, "stack": 8}], "bound": text, "dropped": text,
    },
}  # fmt: skip
PLAN = {
    "columns": lambda text: [*COLUMNS, text],
    "targets": lambda text: ["sm_90", text],
    "lanes": lambda text: ["compile", text],
    "modes": lambda text: [text],
    "kernels": lambda text: [text],
    "suite": lambda text: text,
    "commit": lambda text: text,
}
# Text that is only shown.
WORDS = (
    "runs.started", "runs.finished", "runs.host", "runs.pid_started", "runs.argv", "runs.work", "runs.plan.commit",
    "environments.label", "environments.message", "environments.versions", "environments.requirements",
    "environments.overrides", "sessions.versions", "cells.reason", "cells.message", "cells.phase", "cells.resources",
    "cells.shims", "cells.issue", "targets.message", "notes.column", "notes.text", "keys.key",
)  # fmt: skip
# The fields of a group hold a text in one store: those that are only shown, and those that name the same thing. A field
# that decides how another is shown stands without it.
GROUPS = {
    "words": WORDS,
    "words of a suite": (*WORDS, "runs.plan.suite"),
    "columns": (
        "runs.plan.columns", "environments.column", "sessions.column", "cells.column", "targets.column", "keys.column",
        "taken.column",
    ),
    "targets": ("runs.plan.targets", "cells.target", "targets.target", "keys.target"),
    "kernels": ("runs.plan.kernels", "cells.kernel", "keys.kernel", "taken.item"),
    "cases": ("cells.case",),
    "configs": ("cells.config",),
    "fingerprint": ("cells.fingerprint",),
    "states": ("runs.status", "environments.state", "notes.kind"),
    "lanes": ("runs.plan.lanes", "runs.plan.modes", "sessions.lane", "keys.lane", "keys.mode"),
    "lane": ("cells.lane",),
    "mode": ("cells.mode",),
    "outcome": ("cells.outcome",),
}  # fmt: skip
# Fields that hold one of a few words refuse any other.
CLOSED = {"lane", "mode", "outcome"}
# What tells the copies of a row apart.
KEYS = {
    "environments": ("column",), "sessions": ("column",), "targets": ("target",), "notes": (), "cells": ("case",),
    "keys": ("kernel",), "taken": ("item",),
}  # fmt: skip


# A store with something of everything


@pytest.fixture
def known(make_issue):
    return [
        make_issue(),
        make_issue(id="gone", configs=["*"], kernels=["gone"], case={"kernel": "gone"}),
    ]


@pytest.fixture
def base(tmp_path, make_record):
    """The path of a store that holds one of everything that a report tells, and its records' values."""
    chunk = {
        "kernel": "chunk",
        "config": "num_warps=8",
        "fingerprint": "reshapeOuts",
        "outcome": "crash",
    }
    found = {"versions": {"triton": "3.2.0", "torch": "2.6.0"}}
    launches = {"launches": [{"kernel": "_kernel", "num_warps": 4, "stack": 8}]}
    red = {"fingerprint": "a fingerprint", "reason": "a reason", "message": "a message\nof lines"}
    bad = {"column": "triton-3.2.0", **found}
    records = [
        make_record(column="triton-3.1.0", versions={"triton": "3.1.0"}),
        make_record(column="triton-3.1.0", case="new", versions={"triton": "3.1.0"}),
        make_record(**bad, resources=launches),
        make_record(**bad, case="new", outcome="crash", phase="compile", **red),
        make_record(**bad, case="wrong", outcome="mismatch", **red),
        make_record(**bad, **chunk), make_record(**bad, **chunk, case="other", message="a message"),
        make_record(**bad, **{**chunk, "outcome": "pass"}, mode="shimmed", shims=("guarded_autotune",)),
        make_record(**bad, **chunk, case="other", mode="shimmed", shims=("guarded_autotune",)),
        make_record(**bad, kernel="gone", config="num_warps=8"),
        make_record(**bad, case="not", outcome="unsupported", reason="a reason", message="a message"),
        make_record(**bad, case="late", outcome="not-run", reason="a reason", message="a message"),
    ]  # fmt: skip
    path = tmp_path / "store.db"
    with Store(path) as store:
        run = store.begin(
            ["run"], {"columns": list(COLUMNS), "targets": ["sm_90"], "lanes": ["compile"]}
        )
        for column in COLUMNS:
            store.session(run, column, "compile", {"triton": column[7:], "torch": "2.6.0"}, 20)
            store.environment(
                run,
                Environment(
                    column, column, "ready", "", {"triton": column[7:]}, ("a",), 1.0, ("b",)
                ),
            )
            store.target(run, column, "sm_100", False, "a message")
        store.environment(
            run, Environment("triton-3.3.1", "a label", "failed", "a message", {}, (), 1.0)
        )
        store.cells(run, records)
        store.keys(run, "triton-3.2.0", {("sm_90", "compile", "bare", "softmax"): "a key"})
        store.take(run, "triton-3.2.0", {"sm_90/compile/bare/softmax/fp16": run})
        store.note(run, "triton-3.2.0", "a problem", "problem")
        store.note(run, "", "a note")
        store.finish(run, "finished", 1)
    return path


_COPIES = itertools.count()


def filled(base, path, fields, texts):
    """A copy of the store, beside `path`, with each text in these fields, and a row of cells and of notes for each."""
    # Another path each time: a refusal's traceback may still hold the store of an earlier one.
    path = path.with_stem(f"{path.stem}-{next(_COPIES)}")
    path.write_bytes(base.read_bytes())
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = DELETE")
    # SQLite stores UTF-8 alone: what is none of it comes out with the errors of its reader.
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    of_tables = {}
    for field in fields:
        table, _, name = field.partition(".")
        of_tables.setdefault(table, []).append(name)

    def values(names, text):
        plan = {name.removeprefix("plan."): text for name in names if name.startswith("plan.")}
        made = {name: text for name in names if not name.startswith("plan.")}
        made = {name: json.dumps(JSON[name](text)) if name in JSON else text for name in made}
        if plan:
            plan = {name: PLAN[name](text) for name in plan}
            made["plan"] = json.dumps({"columns": list(COLUMNS), **plan})
        return made

    for table, names in of_tables.items():
        if table == "runs":
            # A run has one of each: they stand below one another.
            new = values(names, "\n".join(texts))
            db.execute(f"UPDATE runs SET {', '.join(f'{one} = ?' for one in new)}", [*new.values()])
            continue
        rows = [dict(row) for row in db.execute(f"SELECT * FROM {table}")]
        assert rows, f"the store has no row of {table}"
        db.execute(f"DELETE FROM {table}")
        for number, text in enumerate(texts):
            for row in rows:
                row.pop("id", None)
                apart = {key: f"{row[key]}{number}" for key in KEYS[table] if number}
                new = {**row, **apart, **values(names, text)}
                written = ", ".join(f'"{one}"' for one in new)
                marks = ", ".join("?" * len(new))
                db.execute(
                    f"INSERT OR IGNORE INTO {table} ({written}) VALUES ({marks})", [*new.values()]
                )
    db.commit()
    db.close()
    return path


# What a reader does with it


def terminal_takes(text):
    hidden = {char for char in set(text) if char != "\n" and not char.isprintable()}
    assert not hidden, hidden
    log_takes(text)


# https://github.com/actions/runner, ActionCommand: at the beginning of a line, or after ##[ anywhere.
COMMAND = re.compile(r"^\s*::[a-z-]+(?: [^\n]*?)?::|##(?:\[|vso\[|teamcity\[)", re.M | re.I)


def log_takes(text):
    found = COMMAND.search(text)
    assert not found, found


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.links, self.comments, self.scripts, self.open = set(), set(), [], [], []
        self.text, self.plain = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.tags |= {(tag, name) for name, _ in attrs}
        self.links |= {
            value
            for name, value in attrs
            if name in ("href", "src", "action", "formaction", "data")
        }
        self.text += [value or "" for _, value in attrs]
        if tag not in ("br", "img", "meta", "link", "input", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_decl(self, decl):
        assert decl.lower() == "doctype html"

    def unknown_decl(self, data):
        raise AssertionError(data)

    def handle_pi(self, data):
        raise AssertionError(data)

    def handle_data(self, data):
        self.text.append(data)
        if "script" in self.open:
            self.scripts.append(data)
        elif not {"code", "pre", "a"} & set(self.open):
            self.plain.append(data)


OURS = {
    "p", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "strong", "h3", "details", "summary", "ul", "li",
    "br", "a", ("a", "href"), ("pre", "lang"),
}  # fmt: skip
# GitHub finds these in what was rendered, everywhere but in code and links.
LIVE = re.compile(
    r"@\w|#\d|\bGH-\d|www\.\w|://|\b[\w.+-]+@[\w-]+\.|\b(?=[0-9]*[a-f])[0-9a-f]{7,40}\b", re.I
)
SHIM_LINKS = {shim.link for shim in compat.all_shims()}
LINKS = {"https://example.org/owner/project/issues/1", "https://example.org/run"}


def markdown_takes(text, comments=0, also=()):
    terminal_takes(text)
    rendered = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    found = Tags(rendered)
    assert found.tags <= OURS | {*also}, found.tags - OURS
    assert found.links <= LINKS, found.links - LINKS
    assert len(found.comments) == comments
    for part in found.plain:
        assert not LIVE.search(part), part
    # No cell of a table ends but where we end it.
    for block in re.split(r"\n\n", text):
        rows = [line for line in block.split("\n") if line.startswith("| ")]
        bars = {len(re.findall(r"(?:^|[^\\])(?:\\\\)*(?=\|)", row)) for row in rows}
        assert len(bars) <= 1, rows


def skeleton(root):
    return {(node.tag, *sorted(node.keys())) for node in root.iter()}


def svg_takes(text, allowed):
    root = ElementTree.fromstring(text)
    assert skeleton(root) <= allowed, skeleton(root) - allowed
    terminal_takes(
        "\n".join([*root.itertext(), *(v for node in root.iter() for v in node.attrib.values())])
    )


def json_takes(text):
    assert text.isascii()
    terminal_takes(text)

    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def csv_takes(text):
    terminal_takes(text)
    for row in csv.reader(io.StringIO(text)):
        assert len(row) == len(HEADS)
        assert not [
            cell for cell in row if cell.lstrip().startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20"))
        ]


def site_takes(files, allowed, scripts):
    for path, text in files.items():
        assert re.fullmatch(r"[\w.+-]+(/[\w.+-]+)*", path, re.A) and ".." not in path.split("/"), (
            path
        )
        terminal_takes_but_for_commands(text)
        if path.endswith(".html"):
            found = Tags(text)
            assert found.tags <= allowed, (path, found.tags - allowed)
            assert set(found.scripts) <= scripts
            for link in found.links - LINKS - SHIM_LINKS:
                assert re.fullmatch(r"[\w./%#?=&~+-]*", link or "") and not link.startswith("//"), (
                    link
                )
            terminal_takes_but_for_commands("".join(found.text))
        elif path.startswith("data/"):
            assert text.isascii() and not re.search("</|<!--|]]>", text)
            json.loads(
                re.fullmatch(r"(?:var crosswarp=|crosswarp\.loaded\()(.*?)\)?;\n", text, re.S)[1]
            )


def terminal_takes_but_for_commands(text):
    assert not {char for char in set(text) if char != "\n" and not char.isprintable()}


ISSUE = {
    "id", "title", "status", "triton", "targets", "lanes", "kernels", "outcome", "fingerprint", "links", "fixed_in",
    "shim", "case", "checked",
}  # fmt: skip


def records_take(text):
    terminal_takes(text)
    for one in tomllib.loads(text).get("issue", []):
        assert one.keys() <= ISSUE and one.get("shim") in (
            None,
            "guarded_autotune",
            "",
            one.get("shim"),
        )


def _texts(shown):
    """What a compiler would say in the words of the store: as text, as the name of a launch, as a reason."""
    entries = []
    for record in shown.records[:40]:
        one = ir_cells.Shown(
            record.kernel, record.case, record.config, record.target, "regressed", *COLUMNS
        )
        said = f"{record.fingerprint}\n{record.message[:5000]}"
        sides = [
            {record.kernel: {"ttir": text, "sass": said}}
            for text in (said, f"{said}\n{record.case}")
        ]
        entries.append(
            page.Entry(
                one, ir.Compiled(sides[0], record.reason), ir.Compiled(sides[1], "", record.message)
            )
        )
    return list({entry.slug: entry for entry in entries}.values())


def _twice(shown, path):
    with Store(path) as store:
        worst = worst_of(store.counts(shown.run.id))
    return [Past(shown.run, worst, {"bare": 1}), Past(shown.run, worst, {}, 1, 2)]


# What an argument parser would give
ASKED = argparse.Namespace(
    kernel="softmax",
    target="sm_90",
    lane="compile",
    mode="bare",
    case="*",
    library=None,
    suite=None,
)


def outputs(path, known, allowed, scripts, drawn, xsd):
    """Every output of the store at `path`, each held against its reader. Raises what the output refuses."""
    with Store(path, read_only=True) as store:
        shown = view(store, known)
        past = history(store, shown.run)
    for verbose in (False, True):
        terminal_takes(summary(shown, verbose))
        terminal_takes(table(shown, verbose))
    markdown_takes(markdown(shown))
    since = compared(shown, "triton-3.1.0", path, known)
    markdown_takes(comment(shown, "https://example.org/run", since=since))
    terminal_takes(github.outputs(shown, "page"))
    json_takes(export(shown))
    csv_takes(spreadsheet(shown))
    text = junit(shown)
    json_free = ElementTree.fromstring(text)
    xsd.validate(json_free)
    terminal_takes(
        "\n".join(
            [*json_free.itertext(), *(v for n in json_free.iter() for v in n.attrib.values())]
        )
    )
    log_takes(text)
    for name, content in badges.files(badges.badges(shown)).items():
        assert re.fullmatch(r"[\w.+-]+(/[\w.+-]+)*", name, re.A) and ".." not in name.split("/")
        if name.endswith(".svg"):
            svg_takes(content, drawn)
        else:
            terminal_takes("\n".join(map(str, json_takes(content).values())))
    svg_takes(grid.svg(shown, Model(shown, known)), drawn)
    # Its own past twice is as strange as any other's.
    made = page.site(shown, known, past=[*past, *_twice(shown, path)], texts=_texts(shown))
    site_takes(made, allowed, scripts)
    made = drafts(shown, known)
    records_take(escape.terminal("\n".join(made)))
    for cause, record in zip(unexpected(shown), made):
        terminal_takes(github.title(cause))
        assert "\n" not in github.title(cause)
        body = github.body(shown, cause, "https://example.org/run", record, "x = 1\n")
        assert re.match(r"<!-- crosswarp-cause: [0-9a-f]{16} -->\n", body)
        markdown_takes(body, comments=1)
    for before, after in (COLUMNS, ("run", "run")):
        try:
            differ = diff.diff(*(diff.side(text, path) for text in (before, after)), known)
        except CrosswarpError as refused:
            terminal_takes(printable(str(refused)))
            continue
        terminal_takes(diff_text.terminal(differ))
        terminal_takes(diff_text.terminal(differ, verbose=True))
        markdown_takes(diff_text.markdown(differ))
        json_takes(diff_text.export(differ))
    found = proofs.proofs(list(shown.records), known)
    terminal_takes(proofs_text.terminal(found, list(proofs.columns_of(shown.records)), "run 1"))
    markdown_takes(
        proofs_text.markdown(found, list(proofs.columns_of(shown.records)), "run 1"), also={"h1"}
    )
    json_takes(proofs_text.export(found, list(proofs.columns_of(shown.records)), "run 1"))
    try:
        measured = range_module.measured(path, None, columns.load(), [], [], [])
    except CrosswarpError as refused:
        terminal_takes(printable(str(refused)))
    else:
        terminal_takes(range_text.terminal(measured))
        markdown_takes(range_text.markdown(measured))
        json_takes(range_text.export(measured))
    searched(shown, known)


def searched(shown, known):
    """What bisect and blame say of cells like these."""
    red = tuple(record for record in shown.records if record.red) or tuple(shown.records[:1])
    if not red:
        return
    seen = {
        one: Seen(answer, red[0].message, red, 1, records=red)
        for one, answer in zip(COLUMNS, ("good", "bad"))
    }
    found = Found(0, 1, ((0, "good"), (1, "bad")))
    terminal_takes(bisect._text(ASKED, COLUMNS, found, seen, known, False))
    json_takes(bisect._export(ASKED, COLUMNS, found, seen, known, False))
    listed = {column.id: column for column in columns.load()}
    sides = [attribution.side(listed[one], seen[one]) for one in COLUMNS]
    swapped = attribution.attribute(
        ["triton", "torch"], lambda taken: "bad" if "triton" in taken else "good"
    )
    tried = [
        blame.Tried(
            frozenset(["triton"]), "triton-3.2.0", "bad", red[0].message, 1, failed=red[0].message
        )
    ]
    terminal_takes(blame._text(ASKED, blame.Blamed(*sides, swapped, tried, red), known))


class Compiled(jinja2.BytecodeCache):
    """The templates are the same every time."""

    def __init__(self):
        self.found = {}

    def load_bytecode(self, bucket):
        if bucket.key in self.found:
            bucket.bytecode_from_string(self.found[bucket.key])

    def dump_bytecode(self, bucket):
        self.found[bucket.key] = bucket.bytecode_to_string()


COMPILED = Compiled()


@pytest.fixture(scope="module")
def xsd():
    return xmlschema.XMLSchema(ROOT / "tests" / "junit.xsd")


@pytest.fixture
def readers(base, known, xsd, monkeypatch):
    """What the pages and pictures of an ordinary run are made of: a hostile one is made of nothing else."""
    made = functools.partial(jinja2.Environment, bytecode_cache=COMPILED)
    monkeypatch.setattr(sys.modules["crosswarp.reports.page.site"], "Environment", made)
    if not ORDINARY:
        ORDINARY.extend(ordinary(base, known))
    return (*ORDINARY, xsd)


# Read from the ordinary page once: each test has the same one.
ORDINARY = []


def ordinary(base, known):
    """The tags, the scripts and the kinds of drawn elements of an ordinary run."""
    with Store(base) as store:
        shown = view(store, known)
    files = page.site(shown, known, past=_twice(shown, base), texts=_texts(shown))
    pages = [Tags(text) for path, text in files.items() if path.endswith(".html")]
    # Which words a run has decides on the class and on what is marked, never on the kinds of elements.
    allowed = set().union(*(one.tags for one in pages)) | {("td", "rowspan"), ("td", "colspan")}
    drawn = [grid.svg(shown, Model(shown, known)), *map(badges.svg, badges.badges(shown).values())]
    kinds = set().union(*(skeleton(ElementTree.fromstring(one)) for one in drawn))
    return allowed, {text for one in pages for text in one.scripts}, kinds


def test_an_ordinary_store_is_told_whole(base, known, readers):
    outputs(base, known, *readers)


def test_each_field_that_holds_text_is_in_a_group():
    grouped = {field for fields in GROUPS.values() for field in fields}
    assert grouped == {*schema(), *(f"runs.plan.{name}" for name in PLAN)} - {"runs.plan"}


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_dangerous_gets_through(base, tmp_path, known, readers, group):
    """One store holds as many texts as an output takes; where one is refused, fewer, to see the others come out."""
    names = list(CORPUS)
    waiting = [names[start : start + MANY] for start in range(0, len(names), MANY)]
    while waiting:
        chosen = waiting.pop()
        texts = [CORPUS[name] for name in chosen]
        path = filled(base, tmp_path / "hostile.db", GROUPS[group], texts)
        try:
            outputs(path, known, *readers)
        except CrosswarpError as refused:
            # To refuse it is as good, in words that do no harm.
            terminal_takes(printable(str(refused)))
            if len(chosen) > FEW:
                waiting += [chosen[start : start + FEW] for start in range(0, len(chosen), FEW)]
        except Exception as error:
            error.add_note(f"{group}: {chosen}")
            raise
        else:
            assert group not in CLOSED


def commands(command, each):
    for words in each:
        code, out, err = command(*words)
        assert code in (0, 1, 2, 4), (words, code, err)
        if err.startswith("usage: "):
            # Of what this user typed, and nobody else.
            continue
        (markdown_takes if "markdown" in words and not code else terminal_takes)(out)
        terminal_takes(err)


@pytest.fixture
def issues(tmp_path):
    empty = tmp_path / "none.toml"
    empty.write_text("")
    return ["--issues-file", str(empty)]


@pytest.mark.parametrize("start", range(0, len(CORPUS), MANY))
def test_a_store_on_the_command_line(command, base, tmp_path, issues, start, monkeypatch):
    """The output of commands on a store, but for reports: lists, short answers and errors."""
    texts = [*CORPUS.values()][start : start + MANY]
    monkeypatch.chdir(tmp_path)
    status = ["--store", str(filled(base, tmp_path / "status.db", ["runs.status"], texts))]
    started = ["--store", str(filled(base, tmp_path / "started.db", ["runs.started"], texts))]
    kernel = ["--store", str(filled(base, tmp_path / "kernel.db", ["cells.kernel"], texts))]
    each = (
        ["runs", *status],
        ["runs", *started],
        ["report", *status, *issues],
        ["report", *started, *issues],
        ["range", *status, "--format", "markdown"],
        ["baseline", "write", str(tmp_path / "b.json"), *status],
        ["badge", "--out", str(tmp_path / "badges"), *started, *issues],
        ["reproduce", *kernel, *issues, "--out", str(tmp_path / "scripts")],
        ["issues", "--new", *kernel, *issues],
        ["github", "issues", "--dry-run", *kernel, *issues, "--out", str(tmp_path / "github")],
        ["report", "-v", *kernel, *issues],
        ["run", "--dry-run", "--kernels", "softmax", *kernel, "--work", str(tmp_path / "work")],
        ["github", "comment", "--dry-run", "--pull-request", "1", *kernel, *issues, "--out", str(tmp_path / "github")],
    )  # fmt: skip
    commands(command, each)


@pytest.mark.parametrize("name", CORPUS)
def test_the_command_line(command, base, tmp_path, issues, name, monkeypatch):
    """The output of commands for a text on the command line."""
    text = CORPUS[name]
    monkeypatch.chdir(tmp_path)
    plain = ["--store", str(base)]
    each = (
        ["range", *plain, f"--kernels={text[:90]}"],
        ["diff", "triton-3.1.0", text.replace("\0", "")[:90] or "x", *plain, *issues],
        ["reproduce", text[:90], *plain, *issues],
        ["github", "outputs", *plain, *issues, "--page", text],
    )
    commands(command, each)


# A suite with neighbours that are none of it


@pytest.fixture
def neighbours(tmp_path):
    """A suite, with a secret beside it, a module of it that is no kernel, and a suite elsewhere."""
    kernel = (
        "from crosswarp.kernels import Case, Kernel\n\n"
        'KERNEL = Kernel("softmax", (Case("a", "fp32", {}),), None, None, None, {})\n'
    )
    suite = tmp_path / "checkout" / "suite"
    suite.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (suite / "softmax.py").write_text(kernel + "MINE = 1\n")
    (suite / "helper.py").write_text("SECRET = 1\n")
    (suite.parent / "other.py").write_text(kernel + "SECRET = 1\n")
    (tmp_path / "elsewhere" / "softmax.py").write_text(kernel + "SECRET = 1\n")
    return suite


@pytest.mark.parametrize(
    "kernel", ["../other", "helper", "/etc/passwd", "softmax.py/../../other", "", ".", "*"]
)
@pytest.mark.parametrize("by", ["store", "option"])
def test_a_store_names_no_file_but_a_kernel(
    command, base, tmp_path, neighbours, monkeypatch, kernel, by
):
    monkeypatch.chdir(neighbours.parent)
    path = filled(base, tmp_path / "hostile.db", ["cells.kernel"], [kernel])
    if by == "store":
        path = filled(path, tmp_path / "both.db", ["runs.plan.suite"], ["suite"])
    given = ["--suite", "suite"] if by == "option" else []
    empty = tmp_path / "none.toml"
    empty.write_text("")
    words = ["--store", str(path), "--issues-file", str(empty)]
    status, _, said = command("reproduce", *words, "--out", str(tmp_path / "scripts"), *given)
    assert status == 2 and "sets KERNEL" in said
    status, out, _ = command(
        "github", "issues", "--dry-run", "--out", str(tmp_path / "out"), *words
    )
    assert status == 0 and out
    assert not [
        p for p in tmp_path.glob("*/*.[mp][dy]") if "out" in p.parts and "SECRET" in p.read_text()
    ]
    assert not (tmp_path / "scripts").exists()


@pytest.mark.parametrize(
    ("suite", "posted"),
    [("suite", True), ("../elsewhere", False), ("suite/../../elsewhere", False)],
)
def test_a_store_posts_no_suite_from_elsewhere(
    command, base, tmp_path, neighbours, monkeypatch, suite, posted
):
    monkeypatch.chdir(neighbours.parent)
    (neighbours.parent / "link").symlink_to(tmp_path / "elsewhere")
    empty = tmp_path / "none.toml"
    empty.write_text("")
    for named in [suite] if posted else [suite, "link", str(tmp_path / "elsewhere")]:
        path = filled(base, tmp_path / "hostile.db", ["runs.plan.suite"], [named])
        words = ["--store", str(path), "--issues-file", str(empty), "--out", str(tmp_path / "out")]
        status, _, said = command("github", "issues", "--dry-run", *words)
        assert status == 0, said
        told = "".join(path.read_text() for path in (tmp_path / "out").glob("*.md"))
        assert "SECRET" not in told and ("MINE = 1" in told or "KERNEL = Kernel" in told) == posted


@pytest.mark.parametrize(
    "field",
    ["target", "lane", "mode", "case", "config", "outcome", "reason", "fingerprint", "column"],
)
def test_a_script_holds_no_statement_that_a_store_wrote(make_record, neighbours, field):
    words = {"kernel": "softmax", "case": "a", "config": "x", "outcome": "crash", "lane": "compile"}
    table_of_targets = targets.load()

    def parsed(text):
        named = {**words, field: text, "versions": {"triton": text, "numpy": text}}
        made = script(make_record(**named), neighbours, table_of_targets, "name.py")
        assert not {char for char in made if char != "\n" and not char.isprintable()}
        return [type(one) for one in ast.parse(made.encode("utf-8")).body]

    ordinary = parsed("x")
    for text in CORPUS.values():
        assert parsed(text) == ordinary


def test_progress_says_nothing_dangerous():
    for text in CORPUS.values():
        out = io.StringIO()
        shown = progress.PlainProgress(out)
        shown.say(text)
        shown.column("triton-3.2.0", text)
        terminal_takes(out.getvalue())
