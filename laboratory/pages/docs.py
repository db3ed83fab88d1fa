"""`crosswarp docs`: the pages that are made from the records. Pure functions; only `write` and `stale` touch files."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from inspect import cleandoc
from pathlib import Path

from crosswarp import compat
from crosswarp.compat.doctor_text import short_link
from crosswarp.compat.record import Shim
from crosswarp.laboratory.pages import coming_page, language_page, release_pages, targets_page
from crosswarp.laboratory.pages.api import prose, reference
from crosswarp.matrix.checkout import settings
from crosswarp.matrix.facts import coming, known_texts, language_table, probed_targets, targets
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.baseline import read
from crosswarp.reports.findings import releases
from crosswarp.reports.findings.proofs import columns_of, proofs
from crosswarp.reports.text import escape, proofs_text, schemas
from crosswarp.reports.text.markdown import pipes

# Where a repository keeps it.
BASELINE = Path("baseline/all.json")
_COST = re.compile(r"^Cost:\s*(?P<text>.+)", re.S)


def pages(issues: Sequence[Issue], baseline: Path | None = None) -> dict[str, str]:
    """Returns file name and text of every page; a committed baseline shows which issues were seen."""
    package = Path(compat.__file__).parent
    seen = _of_baseline(issues, baseline) if baseline else {}
    return {
        **seen,
        "shims.md": shims_page(compat.all_shims(), issues),
        "api.md": reference(package, "crosswarp.compat"),
        "language.md": language_page.page(language_table.load()),
        "targets.md": targets_page.page(targets.load(), probed_targets.load()),
        "settings.schema.json": settings.schema(),
        **schemas.pages(),
    }


def write(folder: Path, made: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def stale(folder: Path, made: dict[str, str]) -> list[str]:
    """The pages that are not in `folder` as they would be made now."""
    return [name for name, text in made.items() if _read(folder / name) != text]


def shims_page(shims: Sequence[Shim], issues: Sequence[Issue]) -> str:
    """Which shim for which symptom."""
    by_id = {issue.id: issue for issue in issues}
    ordered = sorted(shims, key=lambda shim: shim.name)
    parts = [
        "# Which shim for which symptom",
        "Search this page for the text of your error, or ask `crosswarp why 'the error'`, which takes a whole log as "
        "well. "
        "`crosswarp docs` makes this page.",
        "`compat.install()` installs every shim whose affected releases hold your Triton; on other releases a shim "
        "replaces nothing. `crosswarp doctor`, or `python -m crosswarp.compat doctor`, lists those for your Triton.",
        '`compat.install(only=["compiler_crash"])` installs no others than these, and '
        '`install(exclude=["libdevice_paths"])` all but these. Several libraries of one process may each install: what '
        "is active is the union of what they ask for, and an exclusion forbids nothing to the others. "
        "`with compat.installed(…):` takes its own back at its end; `compat.uninstall()` takes everything back, for "
        "everybody who asked this copy of it ([a library may have vendored one](maintainers.md)). A shim that cannot "
        "be applied to your Triton is undone, warned of once (`CompatWarning`) and left out, the others are applied; "
        "`compat.left_out()` says why.",
        pipes(
            ["what you see", "Triton", "shim"],
            [
                [
                    escape.code(symptom),
                    escape.code(shim.window),
                    f"[{escape.code(shim.name)}](#{shim.name})",
                ]
                for shim in ordered
                for symptom in _lines(shim.symptom)
            ],
        ),
    ]
    for shim in ordered:
        fixed = [issue for issue in issues if issue.shim == shim.name]
        parts.append(_shim(shim, by_id.get(shim.issue), fixed))
    parts += _not_fixed(shims, issues)
    return "\n\n".join(parts) + "\n"


def _of_baseline(issues: Sequence[Issue], baseline: Path) -> dict[str, str]:
    records = read(baseline)
    seen = proofs_text.markdown(
        proofs(records, issues),
        list(columns_of(records)),
        f"{baseline.parent.name}/{baseline.name}",
    )
    made = releases.releases(records, issues, language_table.load(), probed_targets.load())
    newer = coming.load()
    measured = baseline.with_name(f"{newer.build}.json")
    if not measured.is_file():
        return {"issues.md": seen, **release_pages.pages(made)}
    page = coming_page.page(newer, records, read(measured), issues)
    return {
        "issues.md": seen,
        **release_pages.pages(made, newer.build),
        coming_page.NAME: page,
    }


def _shim(shim: Shim, issue: Issue | None, fixed: Sequence[Issue]) -> str:
    description, cost = _described(shim)
    links = dict.fromkeys([shim.link, *(issue.links if issue else ())])
    facts = [
        ("Symptom", " / ".join(escape.code(line) for line in _lines(shim.symptom))),
        ("Triton", escape.code(shim.window)),
        ("Targets", ", ".join(escape.code(target) for target in issue.targets) if issue else ""),
        ("Upstream", ", ".join(escape.link(short_link(url), url) for url in links)),
        (
            "Issue",
            f"{escape.code(shim.issue)}: {escape.markdown(issue.title)}"
            if issue
            else escape.code(shim.issue),
        ),
        (
            "Fixed in",
            f"Triton {escape.markdown(issue.fixed_in)}" if issue and issue.fixed_in else "",
        ),
        ("Without it", escape.markdown(issue.workaround) if issue else ""),
        ("Goes when", escape.markdown(shim.delete_when)),
        ("Cost", escape.markdown(cost)),
    ]
    listed = "\n".join(f"- {name}: {text}" for name, text in facts if text)
    return f"## {escape.code(shim.name)}\n\n{description}\n\n{listed}{_error_texts(shim, fixed)}"


def _error_texts(shim: Shim, fixed: Sequence[Issue]) -> str:
    """All error texts of the issues that the shim fixes, so that a search of the page finds each."""
    texts = {
        text: None
        for issue in fixed
        for text in known_texts.texts(issue, (shim,))
        if text not in known_texts.symptoms(shim.symptom)
    }
    if not texts:
        return ""
    lines = "\n".join(f"  - {escape.code(text)}" for text in texts)
    return f"\n- Also known by (`{known_texts.ANYTHING}`: anything):\n{lines}"


def _described(shim: Shim) -> tuple[str, str]:
    """Returns the description in the shim's module, and its paragraph that begins with "Cost:"."""
    # Most shims that fix compiled code replace nothing by themselves, and share an `apply`.
    own = f"{compat.__name__}.shims.{shim.name}"
    module = sys.modules.get(own) or sys.modules.get(shim.apply.__module__)
    paragraphs = re.split(
        r"\n\s*\n", cleandoc(getattr(module, "__doc__", None) or "No description.")
    )
    rest, cost = [], ""
    for paragraph in paragraphs:
        match = _COST.match(paragraph)
        if match:
            cost = match["text"]
        else:
            rest.append(paragraph)
    return prose("\n\n".join(rest)), getattr(shim, "cost", "") or cost


def _not_fixed(shims: Sequence[Shim], issues: Sequence[Issue]) -> list[str]:
    names = {shim.name for shim in shims}
    left = [
        issue
        for issue in issues
        if issue.shim not in names and issue.status != "no longer reproduces"
    ]
    if not left:
        return []
    rows = [
        [
            f"{escape.markdown(issue.title)} ({escape.link(short_link(issue.links[0]), issue.links[0])})",
            escape.code(issue.fingerprint or "any"),
            escape.code(issue.triton or "all"),
            ", ".join(escape.code(target) for target in issue.targets),
            escape.markdown(issue.workaround or "none known"),
        ]
        for issue in left
    ]
    heads = ["known issue", "error text (a regular expression)", "Triton", "targets", "what to do"]
    return ["## Known and not fixed", pipes(heads, rows)]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
