"""Each `--format json` is what its published schema says, and says nothing that its schema leaves out."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import jsonschema
import pytest

from crosswarp.compat import doctor
from crosswarp.matrix.linting.guards import Guard
from crosswarp.reports import cli
from crosswarp.reports.findings.guards import Answer, Need, Place
from crosswarp.reports.text import guards_text, schemas

DOCS = Path(__file__).parent.parent / "docs"
# `crosswarp report` has the schema of a whole run, beside the others; tests/test_formats.py holds it to that.
PUBLISHED = {"report": DOCS / "report.schema.json"} | {
    name: DOCS / "schemas" / f"{name}.schema.json" for name in schemas.DOCUMENTS
}

# The documents that are no longer of the first kind.
NUMBERS = {"report": 2, "diff": 3, "issues": 2, "lint": 2, "doctor": 2}


def closed(node):
    """The schema with nothing allowed beyond what it describes: what is written and not described is found."""
    if isinstance(node, list):
        return [closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {name: closed(one) for name, one in node.items()}
    if "properties" in made:
        made["additionalProperties"] = False
    return made


@pytest.fixture
def holds():
    def check(name, text):
        schema = json.loads(PUBLISHED[name].read_text("utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        document = json.loads(text)
        if name == "report":
            # Each is checked in three ways, which takes a minute for all 37,000 of them.
            document["cells"] = document["cells"][::20]
        jsonschema.Draft202012Validator(closed(schema)).validate(document)
        number = "schema" if name == "doctor" else "format"
        assert document[number] == (newest := NUMBERS.get(name, 1))
        # Later fields are passed over, another number is refused.
        open_one = jsonschema.Draft202012Validator(schema)
        assert open_one.is_valid({**document, "later": 1})
        assert not open_one.is_valid({**document, number: newest + 1})
        return document

    return check


def test_every_command_that_writes_json_has_a_schema_and_both_spellings():
    parser = cli.parser()
    (chosen,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    told = set()
    for name, one in chosen.choices.items():
        spelled = {text: action for action in one._actions for text in action.option_strings}
        formats = spelled.get("--format")
        if formats is not None and "json" in (formats.choices or ()):
            told.add(name)
        assert ("--json" in spelled) == (name in told), name
    assert told == set(PUBLISHED)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("diff", ["diff", "3.8.0", "3.9.0"]),
        ("range", ["range", "--kernels", "softmax,layer_norm"]),
        ("issues", ["issues"]),
        ("report", ["report"]),
        ("why", ["why", "reshapeOuts", "--triton", "3.2.0"]),
        ("why", ["why", "nothing that anybody knows"]),
    ],
)
def test_what_is_written_is_what_is_published(
    command, holds, tmp_path, monkeypatch, name, arguments
):
    monkeypatch.chdir(tmp_path)
    # Both spellings are one command, which takes ten seconds over the whole baseline.
    short, long = [*arguments, "--json"], [*arguments, "--format", "json"]
    parser = cli.parser()
    assert vars(parser.parse_args(short)) == vars(parser.parse_args(long))
    assert holds(name, command(*short)[1])


def test_lint(command, holds, tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("import triton.language as tl\n\ndef f(x):\n    return tl.make_block_ptr(x)\n")
    broken = tmp_path / "broken.py"
    broken.write_text("import triton\n\ndef (:\n")
    _, out, _ = command("lint", str(tmp_path), "--triton", ">=3.0", "--json")
    found = holds("lint", out)
    assert found["findings"] and found["unreadable"]


def test_guards(command, holds, tmp_path, make_record):
    (tmp_path / "a.py").write_text("import triton\nX = 1 if triton.__version__ >= '3.4' else 2\n")
    _, out, _ = command("guards", str(tmp_path), "--json")
    assert holds("guards", out)["guards"][0]["holds"]
    guard = Guard("lib/a.py", (3, 4, 3, 10), "IS_AMD", "if IS_AMD", ("hardware",))
    for need in Need:
        place = Place("triton-3.2.0", "sm_90", need, (True,), 1, (make_record(outcome="crash"),))
        report = guards_text.Report("lib", [Answer(guard, [place])], [], 1, ["3.2.0"], "compile", 2)
        assert holds("guards", guards_text.as_json(report))["guards"][0]["places"]


def test_the_doctor_where_there_is_no_triton(holds):
    found = holds("doctor", doctor.as_json(doctor.examine()))
    assert found["shims"]


def test_the_doctor_of_an_environment_with_triton(holds):
    """As `crosswarp doctor --python` told it of Triton 3.6.0 and torch 2.10.0 on 2026-11-22."""
    text = (Path(__file__).parent / "data" / "doctor.json").read_text("utf-8")
    found = holds("doctor", text)
    assert found["issues"] and found["triton"]["distributions"]
