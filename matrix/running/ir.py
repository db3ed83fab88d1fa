"""The compiler's output for a few cells: MLIR, LLVM, PTX or amdgcn, and SASS, of each launch.

The cells are compiled anew, each in the suite's own process inside its column, with an empty cache for Triton. Each
stage's output is written there before the next stage begins, so the last text of a red cell is the one that the
compiler died of. Ordinary runs store none of it, because it would be gigabytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.errors import CrosswarpError, EnvironmentFailed
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan
from crosswarp.matrix.running.progress import Progress
from crosswarp.matrix.running.run import Runner

# In the order in which they are made.
STAGES = ("ttir", "ttgir", "llir", "ptx", "amdgcn", "sass")
# The most characters of one text that a page shows.
LONGEST = 400_000
_TIMEOUT = 60
_OPTIONS = ("num_warps", "num_stages")
_PROBES = "cell/starting/probe_kernels.py"
# Where a line came from: paths of the machine, and noise in a comparison.
_LOCATION = re.compile(r" ?\bloc\((?:[^()\"]|\"[^\"]*\"|\((?:[^()\"]|\"[^\"]*\")*\))*\)")
_DEBUG = re.compile(r",? ?!dbg !\d+")
_DROPPED = re.compile(
    r"^(?:#loc|!\d+ = |!llvm\.|source_filename|; ModuleID|\s*\.(?:loc|file)\b|\s*//)"
)
_ENCODING = re.compile(r"\s*/\* 0x[0-9a-f]+ \*/\s*$")


@dataclass(frozen=True)
class Wanted:
    """One case on one column, bare."""

    column: str
    target: str
    kernel: str
    case: str
    config: str = ""


@dataclass
class Compiled:
    """The texts of each launched kernel, by its name and its stage; the outcome, or why there is none."""

    texts: dict[str, dict[str, str]] = field(default_factory=dict)
    outcome: str = ""
    missing: str = ""


def compiled(
    wanted: Wanted,
    plan: Plan,
    column: Column,
    python: Path,
    progress: Progress,
    here: bool = False,
    command: Callable[[Path, Path], list[str]] | None = None,
) -> Compiled:
    """`plan` says how a cell is limited; `python` is of the column, and `here` leaves its surroundings as they are."""
    alone = replace(
        plan, columns=(column,), lanes=("compile",), modes=("bare",), kernels=(wanted.kernel,), cases=(wanted.case,),
        targets={wanted.target: plan.targets[wanted.target]}, emulated=None, sanitize=False, sample=None,
        estimate=False, batch=False, warps=(), fresh=False,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="crosswarp-ir-") as folder:
        work = Path(folder)
        try:
            with Store(work / "store.db") as store:
                prepare = _There(python, column)
                result = Runner(alone, store, work, prepare, progress, here=here, command=command)()
                records = store.records(result.run)
        except CrosswarpError as error:
            return Compiled(missing=str(error))
        texts = of_cache(work / "cache" / column.id, _options(wanted.config), python)
    mine = [r for r in records if not wanted.config or r.config == wanted.config] or records
    red = next((record for record in mine if record.red), next(iter(mine), None))
    failure = f"{red.outcome}: {red.fingerprint or red.reason}".strip(": ") if red else ""
    if not texts:
        why = f" ({failure})" if failure else ""
        return Compiled(
            outcome=failure, missing=f"The compiler was not reached, or left nothing{why}."
        )
    return Compiled(texts, failure)


@dataclass(frozen=True)
class _There:
    """An environment that is there already: nothing is built."""

    python: Path
    column: Column

    def __call__(self, column: Column) -> Environment:
        if not self.python.exists():
            raise EnvironmentFailed(f"{column.id}: there is no {self.python}.")
        # The suite refuses other versions than its own.
        expect = {"triton": column.triton} if column.triton else {}
        return Environment(self.python, column.id, expect, {}, (), reused=True)

    def cancel(self) -> None:
        pass


def _options(config: str) -> Mapping[str, int]:
    """`num_warps` and `num_stages` where a configuration names them; they distinguish its launches from others."""
    return {
        name: int(value)
        for name, value in re.findall(r"(num_warps|num_stages)=([0-9]{1,4})\b", config)
    }


def of_cache(cache: Path, options: Mapping[str, int], python: Path) -> dict[str, dict[str, str]]:
    """The texts of each launch that Triton's cache holds and whose options are these; `python` is the column's."""
    by_folder: dict[Path, dict[str, Path]] = defaultdict(dict)
    for path in sorted(cache.rglob("*")):
        if (
            path.is_file()
            and path.suffix[1:] in (*STAGES, "cubin", "json")
            and not path.name.startswith("__grp__")
        ):
            by_folder[path.parent][path.suffix[1:]] = path
    by_name: dict[str, dict[str, str]] = {}
    for files in by_folder.values():
        if not files.keys() & set(STAGES):
            continue
        metadata = _metadata(files)
        if metadata is None or any(
            metadata.get(name, value) != value for name, value in options.items()
        ):
            continue
        name = next(path.stem for stage, path in files.items() if stage in STAGES)
        # Named by options, so that several configurations of a kernel match across columns: hashes would not.
        shown_options = [
            f"{metadata[option]} {option.removeprefix('num_')}"
            for option in _OPTIONS
            if option in metadata
        ]
        name = ", ".join([name, *shown_options])
        while name in by_name:
            name += "'"
        texts = {
            stage: cleaned(files[stage].read_text("utf-8", "replace"))
            for stage in STAGES if stage in files
        }  # fmt: skip
        if "cubin" in files and (sass := _sass(files["cubin"], python)):
            texts["sass"] = cleaned(sass)
        by_name[name] = texts
    return by_name


def _metadata(files: Mapping[str, Path]) -> dict[str, int] | None:
    """The known options that a launch was compiled with; None for a kernel that is not of the suite.

    A finished compilation has its metadata beside it; for an unfinished one, its module has the warps.
    """
    texts = {
        stage: files[stage].read_text("utf-8", "replace")
        for stage in ("json", "ttir", "ttgir") if stage in files
    }  # fmt: skip
    # With these two the suite checks the targets that the column can compile.
    if _PROBES in texts.get("ttir", ""):
        return None
    try:
        metadata = json.loads(texts.get("json", "{}"))
    except ValueError:
        metadata = {}
    if not isinstance(metadata, dict):
        metadata = {}
    options = {name: metadata[name] for name in _OPTIONS if isinstance(metadata.get(name), int)}
    warps = re.search(r"num-warps\"? = (\d+)", texts.get("ttgir", ""))
    return {"num_warps": int(warps[1]), **options} if warps else options


def _sass(cubin: Path, python: Path) -> str:
    """As the disassembler beside that column's Triton has it; empty where there is none."""
    # Through no link: the packages are those of the environment, wherever its interpreter lives.
    for program in sorted(
        (python.parent.parent / "lib").glob("python*/site-packages/triton/**/bin/nvdisasm")
    ):
        try:
            done = subprocess.run(
                [str(program), "-c", str(cubin)], capture_output=True, encoding="utf-8", errors="replace",
                timeout=_TIMEOUT, stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return done.stdout
    return ""


def cleaned(text: str) -> str:
    """Returns the text without what depends on the machine: locations, debug information, encodings."""
    lines = []
    for line in text.splitlines():
        if re.match(r"\s*\.section\s+\.debug", line):
            # The rest of a PTX file is its debug information.
            break
        if _DROPPED.match(line):
            continue
        line = _ENCODING.sub("", _DEBUG.sub("", _LOCATION.sub("", line)))
        if line.strip():
            lines.append(line.rstrip())
    whole = "\n".join(lines)
    if len(whole) > LONGEST:
        whole = f"{whole[:LONGEST]}\n[... {len(whole) - LONGEST} characters left out ...]"
    return whole
