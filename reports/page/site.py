"""The files of the site: a pure function of a view. The same store gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from crosswarp import compat
from crosswarp.compat.doctor_text import short_link
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.facts.language_table import Table
from crosswarp.matrix.results.record import RED
from crosswarp.matrix.results.vocabulary import WORST
from crosswarp.reports.findings import language_view
from crosswarp.reports.findings.history import Past
from crosswarp.reports.findings.view import View
from crosswarp.reports.page import cells, ir, pages, runs
from crosswarp.reports.page.missing import missing, unsupported
from crosswarp.reports.page.model import Model
from crosswarp.reports.page.text import block, breakable, line, script, web
from crosswarp.reports.text.signs import SIGNS
from crosswarp.reports.text.summary import verdict

HERE = Path(__file__).parent
ABOUT = (
    "Triton kernels on every Triton × torch pair, without a GPU: what breaks with which release, and the shim that "
    "fixes it."
)
# How far the numbers of a lane can be trusted, and which faults it cannot see.
LANES_SHOW = {
    "compile": "a real launch through the real compiler; nothing is executed, so wrong numbers stay out of sight",
    "emulate": (
        "the same, and the compiled code is executed on the CPU and compared with PyTorch; "
        "what ptxas and the chip make of it stays out of sight"
    ),
    "interpret": "Triton's interpreter compared with PyTorch; no compiler is asked",
    "device": "a real GPU, compared with PyTorch and timed",
}


def site(
    view: View,
    issues: Sequence[Issue],
    language: Table | None = None,
    past: Sequence[Past] = (),
    texts: Sequence[ir.Entry] | None = None,
) -> dict[str, str]:
    """Path and text of every file; the language table has a page where it is given, and so have the runs in
    `past` and the compiler's `texts`."""
    model = Model(view, issues)
    render = _Renderer(
        model, with_language=bool(language), with_history=bool(past), with_ir=texts is not None
    )
    files = {
        "index.html": render(
            "index.html",
            "",
            "Grid",
            unsupported=unsupported(model),
            lanes=_lanes(model),
            verdict=verdict(view),
        ),
        "data/grid.js": f"var crosswarp={script({**cells.grid(model), 'signs': SIGNS})};\n",
        "columns/index.html": render(
            "columns.html",
            "../",
            "Upgrades",
            table=pages.upgrade_table(model),
        ),
        "shims/index.html": render("shims.html", "../", "Shims", rows=pages.shim_rows(model)),
        "issues/index.html": render(
            "issues.html", "../", "Known issues", rows=pages.issue_rows(model)
        ),
    }
    if past:
        data = {**runs.data(model, past), "outcomes": WORST, "red": RED, "signs": SIGNS}
        files["history/index.html"] = render(
            "history.html", "../", "History", rows=runs.rows(past), lost=past[0].more
        )
        files["data/history.js"] = f"var crosswarp={script(data)};\n"
    if language:
        failures = language_view.failures(language)
        files["language/index.html"] = render(
            "language.html",
            "../",
            "Language",
            releases=list(language),
            sections=language_view.sections(language),
            language_signs=language_view.SIGNS,
            square_class=_square_class,
            failures=failures,
            failure_ids={
                (failure.place, failure.outcome): f"why-{number}"
                for number, failure in enumerate(failures, 1)
            },
        )
    if texts is not None:
        files["ir/index.html"] = render("irs.html", "../", "IR", entries=texts)
        for entry in texts:
            files[f"ir/{entry.slug}.html"] = render("ir.html", "../", "", **ir.context(entry))
    for slug, detail in cells.details(model).items():
        files[f"data/kernels/{slug}.js"] = f"crosswarp.loaded({script(detail)});\n"
    for kernel in model.kernels:
        files[f"kernels/{kernel.slug}.html"] = render(
            "kernel.html",
            "../",
            "",
            **pages.kernel(model, kernel),
            texts=[text for text in texts or () if text.shown.kernel == kernel.name],
        )
    for column in model.columns:
        files[f"columns/{column.slug}.html"] = render(
            "column.html", "../", "", **pages.column(model, column)
        )
    for issue in issues:
        files[f"issues/{model.issue_slugs[issue.id]}.html"] = render(
            "issue.html", "../", "", **pages.issue(model, issue)
        )
    for path in sorted((HERE / "assets").iterdir()):
        files[f"assets/{path.name}"] = path.read_text("utf-8")
    return files


def _repository() -> str:
    """Where crosswarp lives, as its distribution says; empty where that does not say."""
    try:
        urls = metadata("crosswarp").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = dict(url.partition(", ")[::2] for url in urls)
    return web(named.get("Repository") or named.get("Source") or "")


def _lanes(model: Model) -> list[tuple[str, str]]:
    """The lanes of the run, and what each shows."""
    held = dict.fromkeys(lane for lane, _ in model.grids)
    return [(lane, LANES_SHOW[lane]) for lane in held if lane in LANES_SHOW]


def _square_class(sign: str) -> str:
    """The tone of a square of the language table; its sign says the same."""
    if not sign:
        return "o-absent"
    if sign == language_view.UNPROBED:
        return "o-unsupported"
    if sign == "✗":
        return "o-compile-error"
    if sign.endswith(("≠", "!")):
        return "o-mismatch" if sign.endswith("≠") else "o-api-error"
    return "o-pass" if sign.startswith("✓") else "o-limit"


class _Renderer:
    def __init__(
        self, model: Model, with_language: bool, with_history: bool, with_ir: bool
    ) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            # They do not change while a page is made, which asks for each several hundred times.
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_clean,
        )
        self._environment.filters |= {"line": line, "web": web, "short_link": short_link}
        self._environment.globals |= {
            "run": model.view.run,
            "reused": str(model.view.reused),
            "columns": model.columns,
            "kernels": model.kernels,
            "signs": SIGNS,
            "issue_slugs": model.issue_slugs,
            "missing": missing(model),
            "with_language": with_language,
            "with_history": with_history,
            "with_ir": with_ir,
            "about": ABOUT,
            "repository": _repository(),
            "shim_names": {shim.name for shim in compat.all_shims()},
            "counted": pages.counted,
        }
        # Made once for each pair of outcomes: the kernels' pages have ten thousand of them.
        parts = self._environment.get_template("parts.html").make_module(
            {"root": "", "signs": SIGNS}
        )
        self._environment.globals["pair"] = cache(parts.pair)  # type: ignore[attr-defined]

    def __call__(self, template: str, root: str, section: str, **context: Any) -> str:
        values: Mapping[str, Any] = {"root": root, "section": section, **context}
        return breakable(self._environment.get_template(template).render(values))


def _clean(value: Any) -> Any:
    """Cleans any value that a template prints, so that no text of a cell appears raw."""
    return block(value) if isinstance(value, str) and not isinstance(value, Markup) else value
