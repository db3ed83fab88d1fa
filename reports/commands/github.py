"""`crosswarp github`: the comment on a pull request, and an issue for each new root cause, posted by the `gh` CLI.

Title and body are computed here and written to files; `gh` takes it from there, with the rights that it was given. What
was posted before is found by a marker in its body: the comment is written anew, an issue is never opened twice, not
even when it was closed in the meantime.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import targets
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.store import Store
from crosswarp.reports.commands.options import (
    add_files,
    add_run,
    add_since,
    add_store,
    known_issues,
    positive,
)
from crosswarp.reports.findings.causes import Cause, unexpected
from crosswarp.reports.findings.since import compared
from crosswarp.reports.findings.standing import standing
from crosswarp.reports.findings.view import View, view
from crosswarp.reports.reproducing import needs, own_test
from crosswarp.reports.reproducing.drafts import drafts
from crosswarp.reports.reproducing.reproduce import is_of_library, suite_of, typical
from crosswarp.reports.reproducing.reproducer import script
from crosswarp.reports.text import escape, folder
from crosswarp.reports.text.again import command
from crosswarp.reports.text.comment import comment

DESCRIPTION = (
    "Post a stored run by the `gh` CLI, which must be there and have its token (GH_TOKEN). Run it in a "
    "checkout, or with GH_REPO set."
)
EXAMPLES = (
    "crosswarp github comment --pull-request 12 --dry-run",
    "crosswarp github issues --at-most 3",
)
_TIMEOUT = 300
# gh lists the newest first; this is more than most projects ever had.
_ISSUES = 5000
_CAUSE = re.compile(r"^<!-- crosswarp-cause: ([0-9a-f]{16}) -->", re.MULTILINE)
# Only the first line of each body: a kernel wrote the rest.
_BEGINNING = ".[].body | .[0:60]"
LONGEST_TITLE = 160
LONGEST_MESSAGE = 6000
# An issue may have 65,536 characters.
LONGEST_FILE = 24_000


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    comment = actions.add_parser("comment", help="on a pull request; the next one takes its place")
    comment.add_argument("--pull-request", type=positive, required=True, metavar="N")
    comment.add_argument(
        "--name", type=_name, default="crosswarp", metavar="NAME",
        help="tells the comments of several suites apart (crosswarp)",
    )  # fmt: skip
    issues = actions.add_parser("issues", help="one for each root cause that has none yet")
    issues.add_argument(
        "--at-most",
        type=positive,
        default=5,
        metavar="N",
        help="issues to open at once (5)",
    )
    outputs = actions.add_parser(
        "outputs", help="`red`, `regressed` and `page` of a run, as lines for $GITHUB_OUTPUT"
    )
    outputs.add_argument("--page", default="", metavar="PATH", help="where the page of the run is")
    add_since(comment)
    for action in (comment, issues):
        action.add_argument("--link", default="", metavar="URL", help="where the whole report is")
        action.add_argument(
            "--out", type=Path, default=Path(".crosswarp/github"), metavar="DIR",
            help="where titles and bodies are written (.crosswarp/github)",
        )  # fmt: skip
        action.add_argument("--dry-run", action="store_true", help="write them and post nothing")
    for action in (comment, issues, outputs):
        add_run(action)
        add_files(action, "issues")
        add_store(action)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues(options)
    with Store(options.store, read_only=True) as store:
        shown = view(store, known, options.run)
    if options.action == "outputs":
        print(outputs(shown, options.page), end="")
        return 0
    if options.action == "comment":
        return _comment(options, shown, known)
    return _issues(options, shown, known)


def outputs(view: View, page: str) -> str:
    """`red`: cells that fail, known or not. `regressed`: those that are neither known nor fixed as promised,
    counted as on a badge. `page`: as given."""
    red = sum(record.red for record in view.records)
    return f"red={red}\nregressed={standing(view).regressed}\npage={escape.line(page)}\n"


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._/-]{1,60}", text) or "--" in text:
        raise argparse.ArgumentTypeError(f'"{text}": use letters, digits and . _ / -')
    return text


def marker(name: str) -> str:
    return f"<!-- crosswarp-comment: {name} -->"


def title(cause: Cause) -> str:
    where = cause.columns[0] if len(cause.columns) == 1 else f"{len(cause.columns)} columns"
    what = f"{cause.outcome}: {cause.fingerprint.removeprefix(cause.outcome + ': ')}"
    more = f" and {len(cause.kernels) - 1} more" if len(cause.kernels) > 1 else ""
    return escape.line(f"{cause.kernels[0]}{more} on {where}: {what}", LONGEST_TITLE)


def body(view: View, cause: Cause, link: str = "", record: str = "", script: str = "") -> str:
    """`record` for issues.toml, and `script` that shows it; what is too long for an issue is named by its command."""
    first = cause.records[0]
    facts = [
        ("Kernels", cause.kernels), ("Columns", cause.columns), ("Targets", cause.targets), ("Lanes", cause.lanes),
        ("Modes", cause.modes),
    ]  # fmt: skip
    installed = [
        f"{name} {value}"
        for name, value in first.versions.items()
        if isinstance(value, str) and value
    ]
    again = command(view.run, first.kernel, first.column, first.lane, [first.target], first.mode)
    parts = [
        f"<!-- crosswarp-cause: {cause.key} -->",
        f"{len(cause.records):,} cells fail and no known issue explains them; the first is {_code(first.id)}.",
        f"{cause.outcome}: {_code(cause.fingerprint)}",
        "\n".join(f"- {name}: {', '.join(map(_code, names[:20]))}" for name, names in facts),
        escape.block(first.message, LONGEST_MESSAGE) if first.message else "",
        f"To see it again:\n\n{escape.block(again, LONGEST_MESSAGE)}",
        f"Measured with {_code(', '.join(installed), 1000)}" if installed else "",
        escape.link("The whole report", link) if link else "",
        _script(view, script),
        "If it is known upstream, its entry belongs into issues.toml. Closed or open, this issue is not opened again.",
        _folded("The entry, without its link", "toml", record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _folded(title: str, language: str, text: str) -> str:
    if not text or len(text) > LONGEST_FILE:
        return ""
    block = escape.block(text, LONGEST_FILE).replace("text\n", f"{language}\n", 1)
    return f"<details><summary>{title}</summary>\n\n{block}\n\n</details>"


def _script(view: View, script: str) -> str:
    command = escape.block(f"crosswarp reproduce --run {view.run.id}", 400)
    if is_of_library(view):
        title = "What to install, and the pytest that shows it"
        return _folded(title, "sh", script) or f"{title}:\n\n{command}"
    title = "A script that shows it with torch and triton alone"
    return _folded(title, "python", script) or f"{title}:\n\n{command}"


def _comment(options: argparse.Namespace, shown: View, known: Sequence[Issue]) -> int:
    mark = marker(options.name)
    since = compared(shown, options.since, options.store, known)
    text = f"{mark}\n{comment(shown, options.link, since=since)}"
    folder.write(options.out, {"comment.md": text})
    path = options.out / "comment.md"
    if options.dry_run:
        print(escape.terminal(str(path)))
        return 0
    comments = f"repos/{{owner}}/{{repo}}/issues/{options.pull_request}/comments"
    choose = f'.[] | select(.body | startswith("{mark}")) | .id'
    before = _gh("api", "--paginate", comments, "--jq", choose).split()
    if before and before[0].isdecimal():
        address = f"repos/{{owner}}/{{repo}}/issues/comments/{before[0]}"
        _gh("api", "--method", "PATCH", address, "--field", f"body=@{path}", "--silent")
    else:
        _gh("api", "--method", "POST", comments, "--field", f"body=@{path}", "--silent")
    print(f"{'updated' if before else 'posted'} the comment on #{options.pull_request}")
    return 0


def _issues(options: argparse.Namespace, shown: View, known: Sequence[Issue]) -> int:
    causes = unexpected(shown)
    table = targets.load()
    files = {}
    for cause, draft in zip(causes, drafts(shown, known)):
        files[f"{cause.key}.title.txt"] = title(cause) + "\n"
        try:
            record = typical(cause)
            if is_of_library(shown):
                text = own_test.script(shown, record, Path(), table, "reproduce.sh")
            else:
                requires = needs.of_suite(shown, record.column)
                text = script(record, _suite(shown), table, requires=requires)
        except UsageError:
            # Its file is not here: the issue is posted without it.
            text = ""
        files[f"{cause.key}.md"] = body(shown, cause, options.link, draft, text)
    folder.write(options.out, files)
    if options.dry_run:
        print("\n".join(f"{cause.key}  {title(cause)}" for cause in causes) or "no new root cause")
        return 0
    if not causes:
        return 0
    listing = _gh(
        "issue",
        "list",
        "--state",
        "all",
        "--limit",
        str(_ISSUES),
        "--json",
        "body",
        "--jq",
        _BEGINNING,
    )
    there = set(_CAUSE.findall(listing))
    new = [cause for cause in causes if cause.key not in there]
    for cause in new[: options.at_most]:
        path = options.out / f"{cause.key}.md"
        created = _gh("issue", "create", "--title", title(cause), "--body-file", str(path))
        print(escape.terminal(created).strip())
    if len(new) > options.at_most:
        left = len(new) - options.at_most
        print(
            f"{left} more root causes are new: see {escape.terminal(str(options.out))}, or raise --at-most."
        )
    return 0


def _suite(shown: View) -> Path | None:
    """Everybody reads what is posted, so a store names no folder but one of those that we stand in."""
    suite = suite_of(shown)
    if suite and not suite.resolve().is_relative_to(Path.cwd().resolve()):
        raise UsageError(f"{suite} is not below {Path.cwd()}, so that nothing of it is posted.")
    return suite


def _gh(*words: str) -> str:
    try:
        done = subprocess.run(
            ["gh", *words], capture_output=True, encoding="utf-8", errors="replace", timeout=_TIMEOUT,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise UsageError(
            "gh is not here. Install the GitHub CLI, or see with --dry-run what would be posted."
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"gh {words[0]} did not end in {_TIMEOUT} s. Try again.") from None
    if done.returncode:
        error = escape.line(done.stderr, 400)
        raise UsageError(
            f"gh {' '.join(words[:2])} failed: {error}. Give it a token (GH_TOKEN) that may write what it posts, or "
            "see with --dry-run what that would be."
        )
    return done.stdout


def _code(text: str, longest: int = 300) -> str:
    return escape.code(escape.line(text, longest))
