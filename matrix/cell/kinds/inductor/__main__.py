"""``python -m crosswarp.matrix.cell.kinds.inductor SPEC.json``: have this torch write its kernels, see this package.

SPEC.json is an `AskedInductor` (matrix/cell/asked.py).

Exit status: one of the SUITE_ numbers of matrix/errors.py.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from crosswarp import compat
from crosswarp.compat.isolate import die_with_parent, run_isolated
from crosswarp.compat.record import Patches
from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.asked import AskedInductor
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data, of_error, of_outcome
from crosswarp.matrix.cell.standins.virtual_gpu import Target
from crosswarp.matrix.cell.starting import specification, versions
from crosswarp.matrix.cell.stream import Stream
from crosswarp.matrix.errors import SUITE_DONE

_NEEDED = ("targets", "modes", "inductor")
_LANE = "compile"
WRITTEN, PAIR = "written", "pair"


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, AskedInductor, _NEEDED)
    if isinstance(spec, int):
        return spec
    die_with_parent()
    specification.prepare(os.environ, spec)
    # torch's cache, beside Triton's, so that nothing stays in a folder for temporary files.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(spec.cache) / "inductor")
    # Or else some releases start a pool of processes as they are imported, of which each imports torch once more.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    stream = Stream(spec.records)
    for target in spec.targets:
        for mode in spec.modes:
            _part(target, mode, spec, stream)
    return SUITE_DONE


def _part(target: str, mode: str, spec: AskedInductor, stream: Stream) -> None:
    """Runs one target in one mode in a separate process: replacements for one must not affect another."""
    case = PAIR if spec.inductor.compile else WRITTEN
    part = f"{target}/{mode}"
    planned: List[str] = []
    judged: Dict[str, int] = {}

    def heard(message: Any) -> None:
        kind, *rest = message
        if kind == "programs":
            planned[:] = rest[0]
            stream.write(protocol.Session(_LANE, len(planned), versions.installed(), part))
        elif kind == "start":
            stream.write(protocol.Start("/".join((target, _LANE, mode, rest[0], case))))
        else:
            kernel, verdict, seconds = rest
            judged[kernel] = 1
            _tell(stream, target, mode, kernel, case, Verdict(**verdict), seconds)

    outcome = run_isolated(
        lambda send: _programs(target, mode, spec, send), time_limit=spec.time_limit * 4, on_message=heard,
        anew=True,
    )  # fmt: skip
    if outcome.kind == "returned" and outcome.value is None:
        return
    # It came to no program, or died between two of them.
    verdict = of_outcome(outcome, phase="import")
    names = [name for name in planned if name not in judged]
    if not planned:
        names = [_all(spec)]
        stream.write(protocol.Session(_LANE, 1, versions.installed(), part))
    for name in names:
        stream.write(protocol.Start("/".join((target, _LANE, mode, name, case))))
        _tell(stream, target, mode, name, case, verdict, outcome.seconds)


def _all(spec: AskedInductor) -> str:
    """Returns the name under which a failure of the whole is reported."""
    asked = spec.inductor
    return f"inductor_{asked.name}" if asked.file else "inductor"


def _tell(
    stream: Stream, target: str, mode: str, kernel: str, case: str, verdict: Verdict, seconds: float
) -> None:
    stream.write(
        protocol.Cell(target=target, lane=_LANE, mode=mode, kernel=kernel, case=case, seconds=round(seconds, 4),
                      **vars(verdict)),
        protocol.End("/".join((target, _LANE, mode, kernel, case)), 1),
    )  # fmt: skip


def _programs(target: str, mode: str, spec: AskedInductor, send: Any) -> Optional[Dict[str, Any]]:
    """Every program on one target; a verdict where it does not come to them."""
    try:
        names, lacking, prepared = _prepared(target, mode, spec)
    except BaseException as error:
        return as_data(of_error(error, phase="import"))
    send(("programs", list(names)))
    for kernel, program in names.items():
        send(("start", kernel))
        if program.name in lacking:
            verdict = Verdict("unsupported", reason="lacking", message=lacking[program.name])
            send(("cell", kernel, as_data(verdict), 0.0))
            continue
        verdict, seconds = _one(program, target, mode, spec)
        send(("cell", kernel, as_data(verdict), seconds))
    prepared.undo()
    _sum_up(spec, target)
    return None


def _prepared(
    target: str, mode: str, spec: AskedInductor
) -> Tuple[Dict[str, Any], Dict[str, str], Patches]:
    if mode == "shimmed":
        compat.install()
    import torch

    torch.set_num_threads(1)
    patches = Patches()
    virtual = spec.inductor.device is None
    if virtual:
        from . import pretending

        pretending.pretend(Target.from_table(target, spec.targets[target]), patches)
    from . import asked, compiling

    # A process that has woken a GPU cannot be forked, and importing inductor wakes one where there is one.
    if virtual:
        compiling.warm()
    programs, lacking = asked.programs(spec.inductor, torch.__version__, target)
    return {f"inductor_{name}": program for name, program in programs.items()}, lacking, patches


def _one(program: Any, target: str, mode: str, spec: AskedInductor) -> Tuple[Verdict, float]:
    """Runs a program in a separate child: a compiler may abort, and dynamo caches its traces."""
    began = time.monotonic()

    def ask(send: Any) -> Dict[str, Any]:
        import torch

        # Makes the pool of threads anew after the fork: torch 2.11 aborts where two threads come to that at once.
        torch.set_num_threads(1)
        try:
            return as_data(_compiled(program, target, spec))
        except BaseException as error:
            # Dynamo wraps its backend's exceptions.
            return as_data(of_error(getattr(error, "inner_exception", error), phase="generate"))

    outcome = run_isolated(ask, time_limit=spec.time_limit, memory_limit_mb=spec.memory_limit_mb)
    verdict = of_outcome(outcome, phase="generate")
    verdict.shims = [shim.name for shim in compat.active()] if mode == "shimmed" else []
    return verdict, time.monotonic() - began


def _compiled(program: Any, target: str, spec: AskedInductor) -> Verdict:
    from . import compiling, writing

    asked = spec.inductor
    done = compiling.run(program, asked.device or "cpu", asked.compile)
    red = [(kernel, kernel.error) for kernel in done.kernels if kernel.error is not None]
    if red:
        first, error = red[0]
        # The first error is enough: what is missing for one is missing for all.
        verdict = of_error(error, phase="compile" if asked.compile else "import")
        verdict.message = (
            f"{len(red)} of {len(done.kernels)} kernels, first {first.name}: {verdict.message}"
        )
        return verdict
    message = f"{len(done.kernels)} kernels in {len(done.graphs)} graphs"
    if not asked.compile:
        message += f", {sum(len(kernel.configs) for kernel in done.kernels)} configurations"
    if asked.folder:
        writing.write(Path(asked.folder), program.name, target, done)
    return Verdict("pass", message=message, phase="generate")


def _sum_up(spec: AskedInductor, target: str) -> None:
    """Records the folder's contents, and who wrote them."""
    from . import writing

    folder = spec.inductor.folder
    if not folder:
        return
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    written: Dict[str, List[str]] = {}
    for path in sorted(home.glob(f"*/*/{writing.RECORD}")):
        written.setdefault(path.parent.parent.name, []).append(path.parent.name)
    stamp = {**versions.installed(), "targets": written, "digest": writing.digest(home)}
    (home / writing.HARVEST).write_text(json.dumps(stamp, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main([str(Path(home)) for home in sys.argv[1:]]))
