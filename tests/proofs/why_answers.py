"""How right `crosswarp why` is on labelled texts: python tests/proofs/why_answers.py FILE.jsonl [--show].

Each line of the file has `text`, and `expect`: ids of the answers that are right, or expressions that one of them
matches, of which one is enough. A text with an empty `expect` is not Triton's: no answer is right, or one that says so.
Right first: the first answer is one of them. Confidently wrong: the first answer is none of them and claims certainty.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from crosswarp import compat
from crosswarp.matrix.facts import known_texts
from crosswarp.reports.findings.answers import answers
from crosswarp.reports.findings.cause_ranking import Answer
from crosswarp.reports.findings.error_text import Facts
from crosswarp.reports.text import why_text


def judge(record: dict, found: list[Answer]) -> str:
    """`right`, `second` (in the first three), `wrong`, `confidently wrong` or `missing`."""
    expect = record.get("expect") or []
    if not expect:
        foreign = not found or bool(found[0].doubtful or found[0].entry and found[0].entry.foreign)
        return "right" if foreign else "confidently wrong" if found[0].certain else "wrong"
    if not found:
        return "missing"
    good = [any(_is(one, wanted) for wanted in expect) for one in found[:3]]
    if good[0]:
        return "right"
    if found[0].certain:
        return "confidently wrong"
    return "second" if any(good) else "wrong"


def _is(answer: Answer, wanted: str) -> bool:
    if wanted == answer.id:
        return True
    try:
        return bool(re.search(wanted, own_words(answer), re.I))
    except re.error:
        return False


def own_words(answer: Answer) -> str:
    """The words that the answer adds: without the line of the text that it repeats."""
    words = [why_text.title(answer)]
    if answer.known:
        words += [answer.known.issue.workaround, *why_text.paste(answer.known.shim)]
    if answer.entry:
        words.append(answer.entry.meaning)
    for one in why_text.shown_causes(answer):
        words += [one.cause.why, one.cause.do, one.cause.code]
    return " ".join(" ".join(words).split())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", action="store_true", help="each text that is not right")
    options = parser.parse_args()
    issues, shims = known_texts.committed(), compat.all_shims()
    counted: Counter[str] = Counter()
    by_kind: dict[str, Counter[str]] = {}
    sure = right_and_sure = 0
    started = time.process_time()
    for line in options.file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        facts = Facts(record.get("triton", ""), record.get("torch", ""), record.get("target", ""))
        found = answers(record["text"], issues, shims, facts)
        verdict = judge(record, found)
        counted[verdict] += 1
        by_kind.setdefault(record.get("kind", ""), Counter())[verdict] += 1
        if found and found[0].certain:
            sure += 1
            right_and_sure += verdict == "right"
        if options.show and verdict != "right":
            first = (
                f"{found[0].id}{' (certain)' if found[0].certain else ''}" if found else "nothing"
            )
            print(f"{verdict}: {record['text'].strip().splitlines()[-1][:110]!r} -> {first}; "
                  f"wanted {record.get('expect')}")  # fmt: skip
    total = sum(counted.values())
    for kind, verdicts in sorted(by_kind.items()):
        print(f"{kind:14} {dict(verdicts)}")
    print(f"{total} texts: " + ", ".join(f"{n} {what}" for what, n in counted.most_common()))
    print(f"right first {counted['right'] / total:.0%}; certain {sure}, of those right {right_and_sure}; "
          f"{1000 * (time.process_time() - started) / total:.0f} ms of CPU a text")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
