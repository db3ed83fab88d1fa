"""``python -m crosswarp.matrix.cell.kinds.check SPEC.json``: compile the kernels of a file, see this package.

Without pytest: a user's interpreter has Triton and torch, and need not have more. Exit status: one of the SUITE_
numbers of matrix/errors.py.
"""

import contextlib
import importlib
import os
import signal
import struct
import sys
from functools import partial
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping

from crosswarp.compat.isolate import Outcome, die_with_parent, run_isolated
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell import forking, protocol
from crosswarp.matrix.cell.asked import AskedCheck
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data, of_error, of_outcome
from crosswarp.matrix.cell.kinds.suite import kernels
from crosswarp.matrix.cell.kinds.suite.item import Item
from crosswarp.matrix.cell.kinds.suite.telling import run_and_tell
from crosswarp.matrix.cell.starting import preloading, probe, specification, versions, warm
from crosswarp.matrix.cell.stream import Stream
from crosswarp.matrix.errors import SUITE_DONE

from . import LACKING, NO_KERNEL, absent, attempts, importing, observing

_NEEDED = ("targets", "modes", "check")
_PLACE = struct.Struct("!I")
_IMPORT_SECONDS = 300
_LANE = "compile"
# By the end of a file's import that says nothing about its kernels: the next step.
_IMPORT_ENDED = {
    "signal": "install its packages anew",
    "memory": "more memory: --memory-limit",
    "timeout": "put what it computes below its `if __name__ == '__main__':`",
}
# For a run of the whole file, in which nothing is computed.
_RUN_SECONDS = 60


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, AskedCheck, _NEEDED)
    if isinstance(spec, int):
        return spec
    die_with_parent()
    specification.prepare(os.environ, spec)
    import torch

    torch.set_num_threads(1)
    sys.path[1:1] = spec.beside
    kernels.loader = _load
    units = _units(spec)
    warm.warm(targets=spec.targets.values())
    _warm()
    forking.ready()
    return _work(units, spec)


def _load(spec: AskedCheck, name: str) -> Any:
    from . import launching

    return launching.load(spec.check, name)


def _warm() -> None:
    """Import and look up in advance what each child would need: saves 0.15 s a child."""
    importlib.import_module("crosswarp.matrix.cell.kinds.check.launching")
    with contextlib.suppress(Exception):
        # If this torch lacks something, the child that needs it reports that.
        importlib.import_module("crosswarp.matrix.cell.standins.virtual_torch.table")
        importlib.import_module("crosswarp.matrix.cell.standins.virtual_torch.autocast").known()


def _units(spec: AskedCheck) -> List[List[Item]]:
    """Return the items in groups to compile one after the other: a case's modes, which share Triton's cache.

    Every kernel on the first target comes before any on the second.
    """
    stream = Stream(spec.records)
    installed = versions.installed()
    broken = _imported(spec, stream)
    if spec.check.get("runs"):
        _observe(spec, stream)
    check = spec.check["kernels"]
    units = []
    for target, table in spec.targets.items():
        window = table.get("triton") or ""
        skip = ""
        if window and not in_window(window, installed["triton"]):
            skip = f"Triton compiles for it in {window}"
        stream.write(protocol.Target(target, not skip, skip))
        for name, kernel in check.items():
            units += [
                [
                    Item(target, _LANE, mode, name, case, skip or other, broken.get(name))
                    for mode in spec.modes
                ]
                for case, facts in kernel["cases"].items()
                for other in [for_others(kernel, facts, table)]
            ]
    stream.write(protocol.Session(_LANE, sum(map(len, units)), installed))
    return units


def for_others(kernel: Dict[str, Any], case: Dict[str, Any], target: Mapping[str, Any]) -> str:
    """Say why a Gluon kernel is not for this target; empty where nothing says so."""
    backend = kernel.get("backend")
    if backend and backend != target["backend"]:
        return f"its functions of Gluon are {'AMD' if backend == 'hip' else 'NVIDIA'}'s alone"
    from . import launching

    threads = launching.threads_per_warp(case["attempts"][0])
    if threads and threads != target["warp_size"]:
        return f"its layout has {threads} threads a warp, and the target has {target['warp_size']}"
    return ""


def _imported(spec: AskedCheck, stream: Stream) -> Dict[str, Dict[str, Any]]:
    """Return, by kernel, the verdict on a file whose import fails before it. Imports the children's modules too."""
    from . import launching

    check = spec.check

    def ask(send: Any) -> Any:
        try:
            probe.prepare_import(_LANE, spec)
            watch = preloading.Watch()
            module, error = importing.load(check)
        except BaseException as raised:
            broken = as_data(of_error(raised, phase="import"))
            return broken, "", [], [], {}, [], False, {}, {}, "", [], {}
        ended = "" if error is None else importing.ended(error, check["file"])
        named_kernels = {name: importing.find(check, module, name) for name in check["kernels"]}
        lacking = [name for name in named_kernels if named_kernels[name] is None]
        verdict = None if error is None else as_data(of_error(error, phase="import"))
        using = {
            name: absent.used(kernel)
            for name, kernel in named_kernels.items()
            if kernel is not None
        }
        # Of a name that Triton lacks, and of a function that it refuses, no package is the cause.
        certain = absent.never_replaced(error) or importing.refused(error) is not None
        if variable := absent.unset(error):
            verdict, certain = (
                as_data(_lacking(f"set {variable} in the environment: {ended}")),
                True,
            )
        elif library := absent.library(error):
            step = f"install what {library} belongs to, which is not on this machine: {ended}"
            verdict, certain = as_data(_lacking(step)), True
        elif file := absent.unopened(error):
            step = f"run check where the file's import finds {file}: {ended}"
            verdict, certain = as_data(_lacking(step)), True
        elif not certain and absent.elsewhere(error):
            gone = Verdict("not-run", NO_KERNEL, NO_KERNEL, "", "import")
            gone.message = f"not checked: have its import reach its kernels: {ended}"
            verdict = as_data(gone)
        named = check["absent"]
        tuned = {name: launching.configurations(kernel) for name, kernel in named_kernels.items()}
        most = {
            name: launching.most(kernel, check["configurations"])
            for name, kernel in named_kernels.items()
        }
        imported = watch.imported([check["root"]])
        package, called = check.get("package", ""), absent.called()
        unbound = importing.unbound(check, module)
        return (
            verdict, ended, lacking, imported, using, named, certain, tuned, most, package, called,
            unbound,
        )  # fmt: skip

    limit = min(_IMPORT_SECONDS, spec.time_limit)
    outcome = run_isolated(ask, time_limit=limit, memory_limit_mb=spec.memory_limit_mb)
    if outcome.kind in _IMPORT_ENDED:
        check["cut"] = True
        reason = of_outcome(outcome, phase="import").reason
        outcome = run_isolated(ask, time_limit=limit, memory_limit_mb=spec.memory_limit_mb)
        if outcome.kind == "returned":
            stream.write(
                protocol.Note(
                    f"its import ends by {reason}. Without the code after its kernels they are compiled."
                )
            )
    everything = list(check["kernels"])
    if outcome.kind != "returned":
        return dict.fromkeys(everything, as_data(_died(outcome)))
    (
        verdict, ended, lacking, modules, using, check["absent"], certain, tuned, most, package,
        check["called"], check["unbound"],
    ) = outcome.value  # fmt: skip
    if package:
        stream.write(
            protocol.Note(f"{package}. Its kernels are checked without the package's code.")
        )
    check["compiled"] = {
        name: min(most[name] or count, count) for name, count in tuned.items() if count > 1
    }
    stream.write(
        *(
            protocol.Note(
                f"{name}: {most[name]} of its {count} configurations are compiled. All: --configurations 0"
            )
            for name, count in tuned.items()
            if 0 < most[name] < count
        )
    )
    unreached = {
        name: as_data(_without(check["absent"], path)) for name, path in using.items() if path
    }
    if verdict is not None and not ended:
        return dict.fromkeys(everything, verdict)
    if ended and not lacking:
        stream.write(protocol.Note(f"{ended}. Its kernels are there by then, and are compiled."))
    preloading.load(preloading.safe(modules, spec.memory_limit_mb))
    if verdict is None:
        gone = Verdict("not-run", NO_KERNEL, NO_KERNEL, "", "import")
        gone.message = f"not checked: {check['file']} has no such kernel where it is imported here"
        verdict = as_data(gone)
    if check["absent"] and not certain:
        # A stand-in may be why the import comes no further.
        verdict = as_data(_without(check["absent"], "", ended))
    return {**dict.fromkeys(lacking, verdict), **unreached}


def _observe(spec: AskedCheck, stream: Stream) -> None:
    """Run the file, and use its launches in place of the assumptions about its kernels."""
    check = spec.check
    launches_by_kernel: Dict[str, List[Any]] = {}

    def ask(send: Any) -> Any:
        probe.prepare_import(_LANE, spec)
        observing.observe(check, send)

    def noted(message: Any) -> None:
        launches_by_kernel.setdefault(message[0], []).append(message[1:])

    # Launches before a crash or a timeout count too.
    run_isolated(
        ask, time_limit=_RUN_SECONDS, memory_limit_mb=spec.memory_limit_mb, on_message=noted
    )
    for name, launches in launches_by_kernel.items():
        cases = check["kernels"][name]["cases"]
        if cases and not any(
            attempt["assumed"] or attempt["spare"]
            for case in cases.values()
            for attempt in case["attempts"]
        ):
            continue
        cases.clear()
        for line, signature in launches:
            place = f"run-{line}" if f"run-{line}" not in cases else f"run-{line}-{len(cases) + 1}"
            cases[place] = {"attempts": [signature]}
            stream.write(
                protocol.Note(
                    f"{name}, as running the file launches it at line {line}: {observing.shown(signature)}"
                )
            )


def _without(names: List[str], path: str, ended: str = "") -> Verdict:
    """Return the verdict on a kernel that uses a missing module, or that the import does not reach without it."""
    why = f"the kernel itself uses {path}" if path else ended or "the file has no such kernel then"
    return _lacking(f"{absent.pip_or_stub(names)}: {why}")


def _died(outcome: Outcome) -> Verdict:
    """Return the verdict on the kernels of a file whose import ends its process.

    Triton compiles nothing by then: that comes from other code, and says nothing about a kernel.
    """
    verdict = of_outcome(outcome, phase="import")
    if outcome.kind in _IMPORT_ENDED:
        step = _IMPORT_ENDED[outcome.kind]
        why = f"not checked: its import ends by {verdict.reason}, before any kernel: {step}"
        verdict.outcome, verdict.reason = "not-run", NO_KERNEL
        verdict.message = f"{why}\n{verdict.message}"
    return verdict


def _lacking(step: str) -> Verdict:
    return Verdict("not-run", LACKING, LACKING, f"not checked: {step}", "import")


def _work(units: List[List[Item]], spec: AskedCheck) -> int:
    """Have as many processes as there are jobs take one unit after the other."""
    places, giving = os.pipe()
    workers = []
    for _ in range(max(1, min(spec.jobs, len(units)))):
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(giving)
                die_with_parent()
                if os.getppid() == parent:
                    status = _worker(places, units, spec)
            finally:
                os._exit(status)
        workers.append(pid)
    os.close(places)
    # Items that no worker reads any more are no error here: the workers' ends show it.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        for place in range(len(units)):
            os.write(giving, _PLACE.pack(place))
    except OSError:
        pass
    os.close(giving)
    ended = [os.waitpid(pid, 0)[1] for pid in workers]
    return 1 if any(ended) else SUITE_DONE


def _worker(places: int, units: List[List[Item]], spec: AskedCheck) -> int:
    stream, check = Stream(spec.records), spec.check
    for place in _taken(places):
        limit = attempts.Limit(spec)
        items, assumption = attempts.settle(units[place], spec, limit)
        tried = check["kernels"][items[0].kernel]["cases"][items[0].case]["attempts"]
        for item in items:
            within = limit.spec()
            telling = attempts.Telling(
                stream,
                assumption,
                check.get("absent") or [],
                partial(limit.late, spec=within),
                check.get("called") or [],
                check.get("unbound") or {},
                None if assumption is None else tried[assumption],
            )
            run_and_tell(item, within, telling)
            expected = check.get("compiled", {}).get(item.kernel, 0)
            if limit.over and 0 < telling.configurations < expected:
                stream.write(
                    protocol.Note(
                        f"{item.kernel} on {item.target}, {item.mode}: {telling.configurations} of {expected} "
                        "configurations within its time. More time: --kernel-limit"
                    )
                )
    return 0


def _taken(places: int) -> Iterator[int]:
    """Numbers from a pipe that several read: each comes to one of them, whole."""
    while True:
        data = os.read(places, _PLACE.size)
        if len(data) < _PLACE.size:
            return
        yield _PLACE.unpack(data)[0]


if __name__ == "__main__":
    # Beside the path of a module there is nothing of the user's folder.
    sys.exit(main([str(Path(argument)) for argument in sys.argv[1:]]))
