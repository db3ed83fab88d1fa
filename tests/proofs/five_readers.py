"""The questions of five readers, answered from an empty environment. Run by hand.

    python tests/proofs/five_readers.py WHEEL --triton COLUMN [--only LETTERS] [--work DIR]

Each reader starts at the top of a page and reads until it names a command or another page, then reads the output or
that page until the last part of the answer stands there. Those words are counted, with the seconds from an empty
virtual environment: the installation, and every command. A reader installs once, for the first question that needs it;
a later question of that reader counts its command alone. WHEEL stands for the checkout, as long as no index has it;
who has Triton already (--triton names an environment with it) has it on the path, in an environment for that question.

Prints a table, and ends with 1 where an answer is missing, takes over 60 seconds, or over 250 words. `installed after`
has the seconds of an installation, and a dash where the reader had it. CPU seconds are of the installation and the
command, one row with `+`; on a busy machine they say more than the clock. `load`: the processes that wanted a core, on
average over the minute in which the answer came.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS, MOST_WORDS = 60, 250
CI_LOG = """\
____________________________ test_rope ____________________________
E       triton.compiler.errors.CompilationError: at 14:4:
E       Block pointers have been removed in favor of the tensor descriptor API
____________________________ test_cross_entropy ____________________________
E       TypeError: missing a required argument: 'num_warps'
____________________________ test_rms_norm ____________________________
E       RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered
"""
KERNELS = re.findall(
    r'^```python title="my_kernels/scale.py"\n(.*?)^```',
    (ROOT / "docs" / "your-kernels.md").read_text("utf-8"),
    re.M | re.S,
)[0]
BREAKS = (
    "Block pointers are gone",
    "With num_ctas > 1, a product of a tile",
    "Unpacking more values than names",
    "A tuning key",
    "3.9's interpreter refuses a mask",
)


@dataclass(frozen=True)
class Question:
    reader: str
    asks: str
    # The page, and the words on it that lead on: the reader reads no further. Nothing: the answer stands on the page.
    page: str
    until: str
    # The answer: all of these parts, each in the output of the command, on the page that is led to, or on the first.
    answer: tuple[str, ...]
    command: str = ""
    leads_to: str = ""
    has_triton: bool = False


def error(text: str, *answer: str) -> Question:
    command = f'crosswarp why "{text}"'
    return Question("b user", f"`{text}`", "docs/error.md", "crosswarp why", answer, command)


QUESTIONS = (
    Question(
        "a maintainer", "Is it Triton or me? What do I pin or patch?", "README.md", "crosswarp why < ci.log",
        ("Triton >=3.9", "Triton <3.0", "several causes", 'only=["block_pointers", "reserved_options"]'),
        "crosswarp why < ci.log",
    ),
    error("TypeError: missing a required argument: 'num_warps'", "Do not declare num_warps"),
    error("PassManager::run failed", "the GPU and the release do not fit", "New GPU: torch 2.7"),
    error("ModuleNotFoundError: No module named 'triton.ops'", "pip install -U bitsandbytes"),
    error("Cannot find a working triton installation", "pip install triton-windows", "pip install triton\n"),
    error("type fp8e4nv not supported in this architecture", "Use float8_e5m2"),
    error("ptxas fatal : Value 'sm_120' is not defined for option 'gpu-name'", "Triton 3.3", "Upgrade"),
    error("Triton Error [CUDA]: an illegal memory access was encountered", "Mask every load"),
    Question(
        "c engineer", "What did 3.9 break? (terminal)", "README.md", "crosswarp diff 3.8.0 3.9.0", BREAKS,
        "crosswarp diff 3.8.0 3.9.0",
    ),
    Question(
        "c engineer", "What did 3.9 break? (page)", "README.md", "page of the release", BREAKS,
        leads_to="docs/releases/3.9.0.md",
    ),
    Question(
        "d author", "Do my kernels work on every Triton?", "docs/index.md", "crosswarp lint kernels.py",
        ("have been removed", "3.9.0: compile fails", "against Triton 3.0.0"),
        "crosswarp lint kernels.py",
    ),
    Question(
        "d author", "Do they compile on mine, for my GPU?", "docs/index.md", "crosswarp check",
        ("FAILS", "pass with compat", "shim: block_pointers"),
        "crosswarp check kernels.py --targets H100", has_triton=True,
    ),
    Question(
        "e manager", "What does it buy and cost, who keeps it, is it mature?", "README.md", "",
        (
            "on a machine without a GPU", "24 GPU targets", "tells you what broke", "GB for each Triton",
            "unreleased, Apache-2.0", "no support contract",
        ),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Walk:
    question: Question
    # None: this reader had it already.
    installed: float | None
    seconds: float
    # Of the installation, and of the command.
    cpu: tuple[float, float]
    load: float
    words: int
    missing: tuple[str, ...]

    @property
    def wrong(self) -> str:
        late = (
            f"over {MOST_SECONDS} s" if (self.installed or 0) + self.seconds > MOST_SECONDS else ""
        )
        long = f"over {MOST_WORDS} words" if self.words > MOST_WORDS else ""
        return ", ".join(filter(None, [late, long, *(f"lacks {text!r}" for text in self.missing)]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--triton", type=Path, required=True, metavar="COLUMN")
    parser.add_argument("--only", default="abcde", metavar="LETTERS", help="such as ac")
    parser.add_argument("--work", type=Path, help="where the folders are made")
    options = parser.parse_args()
    walks = []
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        readers = Readers(Path(folder), options.wheel.resolve(), options.triton.resolve())
        for question in QUESTIONS:
            if question.reader[0] in options.only:
                walks.append(walk(question, readers))
                print(walks[-1].wrong or "answered", question.asks, sep=": ", file=sys.stderr)
        print_table(walks)
    return int(any(done.wrong for done in walks))


def print_table(walks: list[Walk]) -> None:
    print(
        "| reader | question | starts at | installed after | then | CPU | load | words | |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    for done in walks:
        asked = done.question
        after = "–" if done.installed is None else f"{done.installed:.1f}"
        print(
            f"| {asked.reader} | {asked.asks} | {asked.page} | {after} | {done.seconds:.1f} "
            f"| {' + '.join(f'{cpu:.1f}' for cpu in done.cpu if cpu)} | {done.load:.1f} | {done.words} | {done.wrong} |"
        )


def walk(question: Question, readers: Readers) -> Walk:
    page = shown((ROOT / question.page).read_text("utf-8"))
    read, link, rest = page.partition(question.until) if question.until else ("", "", page)
    missing = [] if link or not question.until else [question.until]
    installed, installing = None, 0.0
    began, cpu = time.monotonic(), cpu_of_children()
    if question.command:
        installed, home, environ = readers.ready(question)
        installing = cpu_of_children() - cpu
        began, cpu = time.monotonic(), cpu_of_children()
        rest = run(question, home, environ)
    elif question.leads_to:
        rest = shown((ROOT / question.leads_to).read_text("utf-8"))
    seconds, answering = time.monotonic() - began, cpu_of_children() - cpu
    ends = {text: end_of(text, rest) for text in question.answer}
    missing += [text for text, end in ends.items() if not end]
    words = len(f"{read}{link}".split()) + len(rest[: max(ends.values())].split())
    return Walk(
        question, installed, seconds, (installing, answering), os.getloadavg()[0], words, tuple(missing)
    )  # fmt: skip


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Readers:
    """The folders of the readers, each with the reader's own files and an environment."""

    def __init__(self, folder: Path, wheel: Path, column: Path) -> None:
        self._folder, self._wheel, self._column = folder, wheel, column
        self._environs: dict[Path, dict[str, str]] = {}

    def ready(self, question: Question) -> tuple[float | None, Path, dict[str, str]]:
        """The seconds of the installation (None where it was there), the folder, and the variables of a shell in it."""
        home = self._folder / f"{question.reader[0]}{'-triton' if question.has_triton else ''}"
        if home in self._environs:
            return None, home, self._environs[home]
        began = time.monotonic()
        self._environs[home] = self._installed(home, question.has_triton)
        return time.monotonic() - began, home, self._environs[home]

    def _installed(self, home: Path, has_triton: bool) -> dict[str, str]:
        environment = home / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        if has_triton:
            (there,) = self._column.glob("lib/python3.*/site-packages")
            (here,) = environment.glob("lib/python3.*/site-packages")
            (here / "triton_and_torch.pth").write_text(f"{there}\n")
        (home / "ci.log").write_text(CI_LOG)
        (home / "kernels.py").write_text(KERNELS)
        kept = ("PIP_", "UV_", "SSL_", "LANG", "HOME")
        environ = {name: value for name, value in os.environ.items() if name.startswith(kept)}
        environ |= {"PATH": f"{environment}/bin:/usr/bin:/bin", "COLUMNS": "80"}
        install = ["pip", "install", "-qq", f"crosswarp @ {self._wheel.as_uri()}"]
        subprocess.run([f"{environment}/bin/python", "-m", *install], check=True, env=environ)
        return environ


def run(question: Question, home: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", question.command], cwd=home, env=environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    return done.stdout


def shown(page: str) -> str:
    """A page as a reader sees it: no comments, no addresses of links, no marks of Markdown."""
    page = re.sub(r"<!--.*?-->", "", page, flags=re.S).replace("<br>", " ").replace("&gt;", ">")
    page = re.sub(r"!\[[^]]*\]\([^)]*\)", "", page)
    return re.sub(r"\]\([^)]*\)|^\|( --- \|)+$|[`*|[]|\\(?=\W|_)|^#+ ", "", page, flags=re.M)


def end_of(text: str, page: str) -> int:
    """Where `text` ends for the first time, however its lines are broken; 0 where it does not stand."""
    found = re.search(r"\s+".join(map(re.escape, text.split())), page)
    return found.end() if found else 0


if __name__ == "__main__":
    sys.exit(main())
