"""The answers of `crosswarp why`, for a terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosswarp.matrix.facts.errors import Entry, Message
from crosswarp.matrix.facts.known_texts import Fix
from crosswarp.reports.findings.cause_ranking import Answer, Ranked
from crosswarp.reports.findings.why import Match
from crosswarp.reports.text import escape
from crosswarp.reports.text.document import filled
from crosswarp.reports.text.layout import fill

# More would not be read; the JSON has all.
_SHOWN = 5
_LEAST_CAUSES, _CAUSES = 3, 4
LINE = 200
# The advice where only the source has the message.
_OF_SOURCE = (
    "Nobody wrote more of it yet. Look in the line that the text shows for what makes the condition true, or open that "
    "file."
)


def paste(shim: Fix | None) -> list[str]:
    """The lines that apply a shim."""
    return _install([shim.name] if shim else [])


def paste_for_all(answers: Sequence[Answer]) -> list[str]:
    """The lines that apply each shim that the answers offer."""
    return _install(list(dict.fromkeys(_offered(answers))))


def _offered(answers: Sequence[Answer]) -> list[str]:
    return [
        answer.known.shim.name
        for answer in answers
        if answer.fits and answer.known and answer.known.shim
    ]


def _install(shims: Sequence[str]) -> list[str]:
    if not shims:
        return []
    named = ", ".join(f'"{name}"' for name in shims)
    return ["from crosswarp import compat", f"compat.install(only=[{named}])"]


def terminal(answers: Sequence[Answer], triton: str | None, build: str = "") -> str:
    """The likeliest answers, by failure where the log has several; `build` is noted for a Triton of another name."""
    last = f"\n{fill('', build)}\n" if build else ""
    if not answers:
        return nothing() + last
    shown = _chosen(answers)
    several = len({each.failure for each in shown}) > 1
    parts = [_overview(shown)] if several else []
    for number, answer in enumerate(shown, 1):
        parts.append(_spoken(number, answer, triton, several))
    if len(answers) > len(shown):
        parts.append(f"and {len(answers) - len(shown)} less likely: --format json has all.")
    if not several and len(set(_offered(shown))) > 1:
        parts.append(_for_all(shown))
    return "\n\n".join(parts) + "\n" + last


def _overview(shown: Sequence[Answer]) -> str:
    """A log's failures, a line or two each with its likeliest answer, and the lines that fix all that compat can."""
    first: dict[int, Answer] = {}
    for answer in shown:
        first.setdefault(answer.failure, answer)
    lines = [f"{len(first)} failures, the likeliest cause of each:"]
    for failure, reason in sorted(first.items()):
        sure = "" if reason.certain or reason.known and reason.fits else " (several causes)"
        # An affected range says which releases a pin must leave out.
        span = (
            f" Triton {reason.known.issue.triton}"
            if reason.known and reason.known.issue.triton
            else ""
        )
        text = f"line {reason.number}: {title(reason)} [{reason.id}]{span}{sure}"
        lines.append(fill(f"   {failure + 1}  ", escape.line(text, 400)))
    return "\n".join(lines) + (f"\n\n{_for_all(shown)}" if _offered(shown) else "")


def _for_all(shown: Sequence[Answer]) -> str:
    lines = "\n".join("   " + line for line in paste_for_all(shown))
    return f"All that compat fixes:\n{lines}"


def _chosen(answers: Sequence[Answer]) -> list[Answer]:
    """The first of each failure, then the others of the first."""
    first: dict[int, Answer] = {}
    for other in answers:
        first.setdefault(other.failure, other)
    leading = sorted(first.values(), key=answers.index)[:_SHOWN]
    rest = [answer for answer in answers if answer not in leading]
    return sorted([*leading, *rest[: _SHOWN - len(leading)]], key=answers.index)


def note(answers: Sequence[Answer]) -> str:
    """The first answer in a few lines, for below an exception; "" where it says no more than the exception does."""
    first = answers[0] if answers else None
    if (
        first is None
        or first.doubtful
        or first.entry
        and first.entry.kind in ("general", "foreign")
    ):
        return ""
    lines = [escape.line(f"{title(first)} [{first.id}]", 400)]
    if first.known:
        lines += (
            [f"  do     {first.known.issue.workaround}"] if first.known.issue.workaround else []
        )
        lines += [f"  paste  {line}" for line in paste(first.known.shim)] if first.fits else []
    for shown_cause in shown_causes(first)[:2]:
        lines += [f"  cause  {shown_cause.cause.why}", f"  do     {shown_cause.cause.do}"]
    if first.entry and first.entry.ask and not first.certain:
        lines.append(f"  decide {first.entry.ask}")
    return "\n".join(escape.line(line, 400) for line in lines) + "\n"


def nothing() -> str:
    """The text for no answer."""
    return (
        "No known error of Triton says this. It may be new, or your code's own error.\n"
        "  Give more of the text: the last line of the traceback, or the whole log on standard input.\n"
        "  Your files against every release:  crosswarp lint PATH\n"
        "  What is installed and fixed here:  crosswarp doctor\n"
        "  All texts that are known:          docs/shims.md\n"
    )


def export(answers: Sequence[Answer], triton: str | None, build: str = "") -> str:
    """The answers as JSON, all of them."""
    from crosswarp.reports.text import documents

    document = {
        "triton": triton, "build": build, "found": answers, "paste_for_all": paste_for_all(answers),
    }  # fmt: skip
    return escape.document(filled(documents.Explained, document))


def title(answer: Answer) -> str:
    """A one-line summary of the answer."""
    if answer.known:
        return answer.known.issue.title
    if answer.entry:
        foreign = f"Not Triton's ({answer.entry.foreign}): " if answer.entry.foreign else ""
        doubt = "Perhaps not Triton's: " if answer.doubtful else ""
        return foreign + doubt + answer.entry.title
    assert answer.message is not None
    return of_source(answer.message)


def of_source(message: Message) -> str:
    """Which releases say a message, when, and in which file."""
    first, last = (".".join(version.split(".")[:2]) for version in (message.first, message.last))
    span = first if first == last else f"{first} to {last}"
    when = f" where `{message.condition}`" if message.condition else ""
    return f"Triton {span} says this{when}: {message.where} ({message.exception})"


def _spoken(number: int, answer: Answer, triton: str | None, several: bool) -> str:
    lines = [fill(f"{number}. ", escape.line(f"{title(answer)} [{answer.id}]", 400))]
    if several:
        more = f", and in {len(answer.also)} more" if answer.also else ""
        lines.append(_fact("failure", f"{answer.failure + 1}, line {answer.number}{more}"))
    if answer.known:
        lines += _of_issue(answer, answer.known, triton)
    elif answer.entry:
        lines += _of_entry(answer, answer.entry)
    else:
        lines.append(_fact("because", f"it is in its source: {escape.line(answer.line, LINE)}"))
        lines.append(_fact("do", _OF_SOURCE))
    return "\n".join(lines)


def _of_entry(answer: Answer, entry: Entry) -> Iterator[str]:
    sure = "this text is its own" if answer.certain else "several causes share this text"
    if len(entry.causes) == 1:
        sure = "this text is its own" if answer.certain else "like it"
    if all(cause.share <= -1 for cause in answer.causes):
        sure = "its text, but not of the release or GPU that is named"
    yield _fact("because", f"{sure}: {escape.line(answer.line, LINE)}")
    shown = shown_causes(answer)
    alone = answer.certain or len(shown) == 1
    for place, ranked in enumerate(shown, 1):
        yield from _of_cause(ranked, "" if alone else f"{place}) ")
    if not alone and entry.ask:
        yield _fact("decide", entry.ask)
    if entry.links:
        yield _fact("see", " ".join(entry.links))
    # Who is in a hurry stops reading here.
    if entry.meaning:
        yield _fact("means", entry.meaning)
    if answer.message:
        yield _fact("source", of_source(answer.message))
    bad, good = entry.bad.splitlines(), entry.good.splitlines()
    if differ := [(was, other) for was, other in zip(bad, good) if was != other]:
        yield _fact("not", differ[0][0])
        yield _fact("but", differ[0][1])


def shown_causes(answer: Answer) -> list[Ranked]:
    """The causes that a terminal shows: the one, or the likeliest of those that it can be here."""
    possible = [cause for cause in answer.causes if cause.share > -1] or list(answer.causes)
    # The others need evidence, and there is none.
    open_ = sum(cause.share >= 0 for cause in possible)
    return possible[: 1 if answer.certain else min(max(open_, _LEAST_CAUSES), _CAUSES)]


def _of_cause(ranked: Ranked, number: str) -> Iterator[str]:
    evidence = f" (here: {escape.line(ranked.because, 60)})" if ranked.because else ""
    yield _fact("cause", f"{number}{ranked.cause.why}{evidence}")
    yield _fact("do", ranked.cause.do)
    for line in ranked.cause.code.splitlines():
        yield f"            {line}"
    if ranked.cause.issue:
        yield _fact("issue", f"crosswarp why {ranked.cause.issue}")


def _of_issue(answer: Answer, match: Match, triton: str | None) -> Iterator[str]:
    issue = match.issue
    window = f"{issue.triton}" if issue.triton else "every release"
    if issue.fixed_in:
        window += f"; fixed in {issue.fixed_in}"
    if match.inside is not None and triton:
        window += f"; {triton} is {'one of them' if match.inside else 'NOT one of them'}"
    yield _fact("Triton", window)
    if tuple(issue.targets) != ("*",):
        yield _fact("targets", ", ".join(issue.targets))
    if answer.fits:
        sure = "this text is its own" if answer.certain else "its text"
    elif match.exact:
        sure = "others say the same"
    else:
        # A share of words is not a measured certainty.
        sure = "some of its words stand here"
    yield _fact("because", f"{sure}: {escape.line(answer.line, LINE)}")
    if issue.workaround:
        yield _fact("do", issue.workaround)
    if issue.links:
        yield _fact("see", " ".join(issue.links))
    if not answer.fits:
        # Lines to paste are for who is sure.
        yield _fact("paste", f"if it is this: crosswarp why {issue.id}")
    elif given := paste(match.shim):
        yield "   paste    " + given[0]
        yield from ("            " + line for line in given[1:])
    elif issue.shim is None:
        yield _fact("paste", "no shim fixes it")


def _fact(name: str, text: str) -> str:
    return fill(f"   {name:<8} ", escape.line(text, 900))
