"""`crosswarp why`: what an error's text says: causes, and what to do. Needs nothing but Python 3.11."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix import plain_versions
from crosswarp.matrix.errors import EXIT_EXPECTED, EXIT_UNEXPECTED, UsageError
from crosswarp.matrix.facts import known_texts
from crosswarp.reports.findings.answers import answers
from crosswarp.reports.findings.error_text import Facts
from crosswarp.reports.findings.why import LONGEST
from crosswarp.reports.text import why_text

DESCRIPTION = (
    "Say what an error comes from and what to do, the likeliest first: errors of environment, versions, code, "
    "hardware and compiler, and the known issues with the lines that fix them. Where several causes share a text, "
    "each is named, with the fact that decides. Any wording will do: one line, a few words, a whole log. Exit status: "
    "0 something known matches, 1 nothing does, 2 usage."
)
# A version without its build variant, `+cu128`, and without the number of a vendor's build.
_PUBLIC = re.compile(r"(?:(?!\+|\.post).)*")
# A vendor's build of Triton. The literal comes first, by which the search of a long log is fast.
_VENDORS = re.compile(r"triton(?:(?:(?<=\wtriton)|(?<=\w[-_]triton))[-_ =]|[-_](?:ascend|xpu))")
EXAMPLES = (
    "crosswarp why \"TypeError: missing a required argument: 'num_warps'\"",
    "crosswarp why reshapeOuts --triton 3.2.0",
    "python train.py 2>&1 | crosswarp why",
    "crosswarp why build.log",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text", nargs="*", metavar="TEXT",
        help="the error, or a file that holds it; - or nothing: what comes on standard input",
    )  # fmt: skip
    parser.add_argument(
        "--triton", metavar="VERSION", help="yours: what does not hold there comes last"
    )
    parser.add_argument("--torch", metavar="VERSION", help="yours: what cannot be there comes last")
    parser.add_argument(
        "--target", metavar="GPU", help="yours, as sm_90 or gfx942: what cannot be there comes last"
    )
    parser.add_argument("--format", choices=("table", "json", "note"), default="table")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    triton = options.triton.removeprefix("triton-") if options.triton else None
    if triton and not _is_version(triton):
        raise UsageError(f'--triton: "{triton}" is no version. Write it as 3.2.0.')
    if options.torch and not _is_version(options.torch):
        raise UsageError(f'--torch: "{options.torch}" is no version. Write it as 2.6.0.')
    text = _text(options.text)
    if not text.strip():
        raise UsageError(
            "there is no text to look for. Give the error's line in quotes, a file, or a log on standard input."
        )
    facts = Facts(triton or "", options.torch or "", options.target or "")
    issues, shims = known_texts.packed()
    here, build = _here()
    # A named release means another machine, and so does a log that names its build.
    build = "" if triton else _named(text) or build
    answered = answers(text, issues, shims, facts, here=here)
    if options.format == "json":
        print(why_text.export(answered, triton, build), end="")
    elif options.format == "note":
        answer = why_text.note(answered)
        print(answer, end="")
        return EXIT_EXPECTED if answer else EXIT_UNEXPECTED
    elif not sys.stdout.isatty():
        print(why_text.terminal(answered, triton, build), end="")
    else:
        from crosswarp.reports.text import colour

        colour.show(why_text.terminal(answered, triton, build))
    return EXIT_EXPECTED if answered else EXIT_UNEXPECTED


def _is_version(text: str) -> bool:
    if plain_versions.numbers(text):
        return True
    from crosswarp.matrix import versions

    return versions.parse(text) is not None


def _here() -> tuple[Facts, str]:
    """The releases that are installed beside crosswarp, and a note if Triton has another name there.

    By their folders: importlib.metadata takes longer to import.
    """
    pins: dict[str, str] = {}
    note = ""
    for folder in map(Path, filter(None, sys.path)):
        for path in sorted(folder.glob("*t[or]*-*.dist-info")):
            name, _, version = path.name.removesuffix(".dist-info").partition("-")
            release = _PUBLIC.findall(version)[0]
            if name in ("triton", "torch"):
                pins.setdefault(name, release)
            elif "triton" in name and "triton" not in pins:
                from crosswarp.compat import vendors

                if about := vendors.about(name.replace("_", "-").lower(), release):
                    pins["triton"], note = release, about
    return Facts(**pins), note


def _named(text: str) -> str:
    """The note on the vendor's build that a log names, or ""."""
    if not _VENDORS.search(text):
        return ""
    from crosswarp.compat import vendors

    return vendors.named(text)


def _text(words: Sequence[str]) -> str:
    """The text that is asked about. A word that is a file stands for its content."""
    if words and list(words) != ["-"]:
        if len(words) == 1 and "\n" not in words[0] and len(words[0]) < 500:
            path = Path(words[0])
            if _is_file(path):
                return _end_of(path)
        return " ".join(words)
    if not words and sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read()[-LONGEST:].decode("utf-8", "replace")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - LONGEST))
            return stream.read(LONGEST).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}. Name a file that can be read."
        ) from None
