"""`crosswarp why`: every text by which an issue is known leads to it, in any wording; others lead nowhere."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from crosswarp import compat
from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.facts import issues, known_texts
from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.verdict import judge
from crosswarp.reports import cli
from crosswarp.reports.findings.why import why

ROOT = Path(__file__).parent.parent
ISSUES = known_texts.committed()
SHIMS = compat.all_shims()
EVIDENCE = list(known_texts.evidence(ISSUES, SHIMS))
MESSAGES = json.loads((ROOT / "tests/data/compiler_messages.json").read_text("utf-8"))


def found(text, **options):
    return [match.issue.id for match in why(text, ISSUES, SHIMS, **options)]


def known_by(text):
    """The issues that say they are known by this very text; two may be, as one error has two causes."""
    return {
        one.id
        for one in ISSUES
        if re.search(one.fingerprint or "(?!)", text) or text in known_texts.texts(one, SHIMS)
    }


def test_the_records_are_read_as_the_strict_reader_reads_them():
    strict = issues.load()
    assert [one.id for one in ISSUES] == [one.id for one in strict]
    for plain, one in zip(ISSUES, strict):
        for name in known_texts.Plain.__dataclass_fields__:
            assert getattr(plain, name) == getattr(one, name), (one.id, name)


@pytest.mark.parametrize("issue", ISSUES, ids=lambda one: one.id)
def test_what_a_fingerprint_is_written_out_as_matches_it(issue):
    texts = known_texts.written_out(issue.fingerprint)
    assert texts
    for text in texts:
        assert re.search(issue.fingerprint, text.replace(known_texts.ANYTHING, "x")), text


@pytest.mark.parametrize(
    "expression, texts",
    [
        ("a(b|c)?d", ["abd", "acd", "ad"]),
        (r"x\.y|\[z\]", ["x.y", "[z]"]),
        (r"key \w+ of .*here$", ["key … of …here"]),
        ("d[qk]", ["dq", "dk"]),
        ("(?:one|two) three", ["one three", "two three"]),
        ("a{2}", []),
        ("(?=a)b", []),
        ("[^a]", []),
        ("(open", []),
        (".*", []),
    ],
)
def test_an_expression_is_written_out_or_left_alone(expression, texts):
    assert known_texts.written_out(expression) == texts


@pytest.mark.parametrize("issue, text", EVIDENCE, ids=lambda one: str(getattr(one, "id", "")))
def test_each_known_text_leads_to_its_issue_first(issue, text):
    said = text.replace(known_texts.ANYTHING, "x")
    got = found(said)
    assert got and got[0] in known_by(text) | known_by(said), got[:3]
    assert issue.id in got


CI = "2026-11-22T10:11:12.1234567Z "
WORDINGS = {
    "no quotes": lambda text: re.sub(r"[`'\"]", "", text),
    "no colon": lambda text: text.replace("::", " ").replace(":", ""),
    "small letters": str.lower,
    "pytest": lambda text: f"    x = y\nE   {text}\n\nkernel.py:12: Error",
    "a CI's log": lambda text: f"{CI}building\n{CI}\x1b[31m{text}\x1b[0m\n{CI}##[error]exit 1\n",
    "a traceback": lambda text: (
        'Traceback (most recent call last):\n  File "/a/b.py", line 3, in <module>\n    kernel[grid](x, num_warps=4)\n'
        f'  File "/site-packages/triton/runtime/jit.py", line 345, in <lambda>\n    return self.run(x)\n{text}\n'
    ),
    "folded": lambda text: textwrap.fill(text, 60),
}


@pytest.mark.parametrize("wording", WORDINGS)
def test_any_wording_of_it_will_do(wording):
    lost = []
    for issue, text in EVIDENCE:
        # A signal, and what crosswarp says of a kernel of its own, have no other wording; nor has half a word.
        if re.match(r"mismatch:|SIG", text) or re.search(r"\w…", text) or len(text.split()) < 3:
            continue
        got = found(WORDINGS[wording](text.replace(known_texts.ANYTHING, " ")))
        if not got or got[0] not in known_by(text):
            lost.append((issue.id, text, got[:2]))
    assert not lost


def test_what_real_compilers_said_is_explained_where_a_fingerprint_explains_it_and_else_not():
    for one in MESSAGES:
        text = one.get("text", "")
        said = fingerprint.of_exception(one.get("type", ""), text, one["output"])
        wanted = {i.id for i in ISSUES if i.fingerprint and re.search(i.fingerprint, said)}
        got = found(f"{text}\n{one['output']}")
        assert set(got) == wanted, (one["kind"], one["triton"])


def test_what_the_matrix_saw_red_leads_to_the_issue_that_explains_it():
    records = baseline.read(ROOT / "baseline" / "all.json")
    strict = issues.load()
    seen = {
        (record.kernel, record.fingerprint, issue.id): record.versions["triton"]
        for record, issue in judge(records, strict).known
        if record.fingerprint
    }
    assert len(seen) > 60
    for (kernel, said, issue), triton in seen.items():
        got = why(f"{kernel}: {said}", ISSUES, SHIMS, triton)
        assert issue in [one.issue.id for one in got if one.inside], (kernel, said)


@pytest.mark.parametrize(
    "question, first",
    [
        ("reshapeOuts", "fla-196"),
        ("LinearLayout.cpp:562 reshapeOuts assertion failed", "fla-196"),
        ("fast_flush", "triton-4485"),
        ("block pointers removed", "triton-10833"),
        ("missing num_warps argument", "liger-215"),
        ("tl.rsqrt", "bi-mamba2-2"),
        ("no allocator was set", "triton-10002"),
        ("fla-196", "fla-196"),
        ("loop_carried_alias", "triton-7200"),
    ],
)
def test_a_few_words_are_enough(question, first):
    assert found(question)[0] == first


@pytest.mark.parametrize(
    "text",
    [
        "hello world",
        "assertion failed",
        "AssertionError",
        "got an unexpected keyword argument 'foo'",
        "AttributeError: 'NoneType' object has no attribute 'foo'",
        "AttributeError: module 'triton.language' has no attribute 'foo'",
        "ImportError: cannot import name 'foo' from 'triton.compiler.compiler'",
        "out of resource: shared memory, Required: 300000, Hardware limit: 232448",
        "CUDA out of memory",
        "segmentation fault",
        "num_warps",
        "…",
        "",
        "\x1b[31m\n\n::error::\n",
    ],
)
def test_what_nobody_knows_is_nobodys(text):
    assert found(text) == []


def test_your_triton_decides_which_comes_first():
    text = "RuntimeError: 0 active drivers ([]). There should only be one."
    assert found(text)[0] == "autotune-needs-driver"
    assert found(f"TRITON_INTERPRET=1\n{text}")[0] == "interpreter-autotune"
    assert found(text, triton="3.6.0")[0] == "interpreter-autotune"
    assert [one.inside for one in why(text, ISSUES, SHIMS, "3.6.0")] == [True, False]


def test_nothing_is_known_where_there_are_no_records():
    assert why("reshapeOuts", (), SHIMS) == []


# The command


def run(capsys, monkeypatch, *arguments, stdin=""):
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "replace")))
    )
    status = cli.main(["why", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_line_to_paste_is_there_and_fits_a_terminal(capsys, monkeypatch):
    status, out, _ = run(capsys, monkeypatch, "TypeError: missing a required argument: 'num_warps'")
    assert status == 0
    assert 'compat.install(only=["reserved_options"])' in out and "<3.0; fixed in 3.0.0" in out
    assert "https://github.com/linkedin/Liger-Kernel/issues/215" in out
    assert all(len(line) <= 80 for line in out.splitlines() if "https://" not in line)


def test_a_log_on_standard_input_or_in_a_file(capsys, monkeypatch, tmp_path):
    log = "x\n" * 1000 + "E  TypeError: missing a required argument: 'num_warps'\n"
    assert "[liger-215]" in run(capsys, monkeypatch, stdin=log)[1]
    assert "[liger-215]" in run(capsys, monkeypatch, "-", stdin=log)[1]
    (tmp_path / "log").write_text(log)
    assert "[liger-215]" in run(capsys, monkeypatch, str(tmp_path / "log"))[1]


def test_what_nothing_is_known_of_says_what_to_do(capsys, monkeypatch):
    status, out, _ = run(capsys, monkeypatch, "some failure of your own")
    assert status == 1 and "crosswarp lint" in out and "docs/shims.md" in out
    assert run(capsys, monkeypatch, "some failure", "--json")[0] == 1


def test_no_text_and_no_version_are_usage(capsys, monkeypatch):
    status, _, err = run(capsys, monkeypatch, stdin=" \n")
    assert status == 2 and "in quotes" in err
    status, _, err = run(capsys, monkeypatch, "x", "--triton", "new")
    assert status == 2 and "Write it as 3.2.0" in err


def test_strangers_text_does_nothing_to_a_terminal_or_a_runner(capsys, monkeypatch):
    hostile = "\x1b]0;owned\x07\x1b[2J::error::x ##[group] \u202e missing a required argument: 'num_warps'"
    for form in ((), ("--json",)):
        status, out, _ = run(capsys, monkeypatch, hostile, *form)
        assert status == 0
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]|::error|##\[", out)


def test_it_needs_no_library_of_the_host_side():
    block = "pydantic rich tabulate jinja2 griffe pytest uv numpy".split()
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({block!r}))\n"
        "from crosswarp.reports import cli\n"
        "print(cli.main(['why', 'fast_flush']), cli.main(['range']), cli.main([]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "triton-4485" in ran.stdout and "0 2 2" in ran.stdout
    assert 'pip install "crosswarp[matrix]"' in ran.stderr
    assert "This is the small install" in ran.stdout and "  why " in ran.stdout


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        # Each pair differs in one thing, by which the first comes first.
        ({"triton": ">=3.2"}, {"triton": "<3.2"}, "zigzag broke"),
        ({"status": "reproduced"}, {"status": "no longer reproduces"}, "zigzag broke"),
        ({"fingerprint": "zigzag"}, {"fingerprint": "zebra", "title": "zigzag broke quietly"}, "zigzag broke quietly"),
        ({"lanes": ("compile",)}, {"lanes": ("interpret",)}, "zigzag broke"),
        ({"lanes": ("interpret", "compile")}, {"lanes": ("interpret",)}, "zigzag broke"),
        ({"lanes": ("interpret",)}, {"lanes": ("compile",)}, "zigzag broke in the interpreter"),
    ],
)  # fmt: skip
def test_the_issue_that_fits_best_comes_first(first, second, text):
    usual = {"title": "x", "status": "reported", "links": ("l",), "fingerprint": "zigzag"}
    first, second = (known_texts.Plain(id=name, **{**usual, **changes})
                     for name, changes in (("first", first), ("second", second)))  # fmt: skip
    alone = [first, second] if "interpreter" in text else [second, first]
    answers = why(text, alone, [], "3.2.0")
    assert [match.issue.id for match in answers] == ["first", "second"]
    assert [match.inside for match in why(text, alone, [])] == [None, None]
