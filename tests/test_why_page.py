"""The site's errors: the box answers as `crosswarp why` does, and each entry of the index has a page."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from crosswarp.laboratory.pages import error_pages
from crosswarp.matrix.facts import errors, known_texts
from crosswarp.reports.findings.answers import answers
from crosswarp.reports.findings.error_text import Facts
from crosswarp.reports.page import why_data
from crosswarp.reports.text import why_text

ROOT = Path(__file__).parent.parent
ASSETS = ROOT / "reports/page/assets"
ISSUES, SHIMS = known_texts.packed()
LOG = "".join(
    f"(VllmWorker rank={rank} pid=1{rank}) Traceback (most recent call last):\n"
    f'(VllmWorker rank={rank} pid=1{rank})   File "/x/triton/compiler/code_generator.py", line 3, in visit\n'
    f'(VllmWorker rank={rank} pid=1{rank}) ValueError("arange\'s range must be a power of 2")\n'
    for rank in range(3)
)
# Longer than what is read whole.
LONG = "".join(f"step {n}: loss 1.{n} more words\n" for n in range(9000)) + LOG
FACTS = (
    {"triton": "2.3.1"}, {"triton": "3.6.0", "target": "sm_90"}, {"triton": "3.2", "torch": "2.6.0"},
    {"target": "gfx942"},
)  # fmt: skip


def asked():
    """Texts, each with the facts that are named beside it."""
    texts = [
        json.loads(line)["text"]
        for path in sorted((ROOT / "tests/data").rglob("*texts.jsonl"))
        + sorted((ROOT / "tests/data/errors").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    known = [text for _, text in known_texts.evidence(ISSUES, SHIMS)]
    source = [one.text.replace("{}", "8") for one in errors.committed().messages[::40]]
    every = [(text, {}) for text in (*texts, *known[::8], *source, LOG, LONG, "", "tl.rsqrt")]
    return every + [
        (text, FACTS[n % len(FACTS)]) for n, text in enumerate([*texts[::6], *known[::9]])
    ]


def summary(found):
    return [
        [
            one.id, one.certain, one.number, one.failure, one.doubtful, one.fits, why_text.title(one),
            [[c.cause.why, c.cause.do] for c in why_text.shown_causes(one)],
            one.message.text if one.message else "", list(one.also),
        ]
        for one in found
    ]  # fmt: skip


SCRIPT = """
([data, asked]) => {
  const why = new Why(data);
  return asked.map(([text, facts]) => why.answers(text, facts).map((one) => [
    one.id, one.certain, one.number, one.failure, one.doubtful, one.fits, why.title(one),
    why.shown(one).map(({ cause }) => [cause.why, cause.do]), one.message ? one.message.text : "", one.also,
  ]));
}
"""


@pytest.mark.browser
def test_the_box_answers_as_the_command_does(browser):
    questions = asked()
    assert len(questions) > 700
    tab = browser.new_page()
    tab.add_script_tag(path=str(ASSETS / "why_engine.js"))
    got = tab.evaluate(SCRIPT, [why_data.data(), questions])
    tab.close()
    several = 0
    for (text, facts), said in zip(questions, got, strict=True):
        assert said == summary(answers(text, ISSUES, SHIMS, Facts(**facts))), text
        several += len(said) > 1
    assert several > 60


@pytest.mark.browser
def test_what_is_pasted_is_answered_in_the_page_as_text(browser, tmp_path):
    box = error_pages.pages()["errors/index.md"]
    body = box[box.index("<form") : box.index("## ")]
    (tmp_path / "index.html").write_text(f"<!doctype html><meta charset='utf-8'>{body}", "utf-8")
    names = ["arange-power-of-two"]
    text = f"var whyData = {json.dumps(why_data.data())};\nvar whyPages = {json.dumps(names)};\n"
    (tmp_path / "why_data.js").write_text(text, "utf-8")
    for name in ("why_engine.js", "why_box.js"):
        (tmp_path / name).write_text((ASSETS / name).read_text("utf-8"), "utf-8")
    tab, wrong = browser.new_page(), []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto((tmp_path / "index.html").as_uri())
    hostile = "<img src=x onerror=\"document.title='hacked'\"> ValueError: arange's range must be a power of 2"
    tab.fill("#why-text", hostile)
    tab.wait_for_selector("#why-answers h3")
    said = tab.inner_text("#why-answers")
    assert "tl.arange needs a power of two" in said and "<img src=x" in said
    assert tab.get_attribute("#why-answers h3 a", "href") == "arange-power-of-two/"
    tab.fill("#why-text", "TypeError: missing a required argument: 'num_warps'")
    tab.wait_for_function("document.getElementById('why-answers').innerText.includes('liger-215')")
    assert 'compat.install(only=["reserved_options"])' in tab.inner_text("#why-answers")
    tab.fill("#why-text", "hello world")
    tab.wait_for_function("document.getElementById('why-answers').innerText.includes('No known')")
    assert tab.title() != "hacked" and wrong == []
    tab.close()


def test_each_entry_has_a_page_with_its_words_its_causes_and_its_releases():
    pages = error_pages.pages()
    entries = errors.committed().entries
    assert len(pages) == len(entries) + 1
    for entry in entries:
        text = html.unescape(re.sub(r"[\\`]", "", pages[f"errors/{entry.id}.md"]))
        assert f"({entry.id}.md)" in pages["errors/index.md"]
        assert text.count("**Do:**") == len(entry.causes), entry.id
    text = pages["errors/arange-power-of-two.md"]
    assert "| 3.9.0 | `aranges range must be a power of 2` | passes |" in text
    assert "i = tl.arange(0, 12)" in text and "i = tl.arange(0, 16)" in text
