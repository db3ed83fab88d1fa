"""Facts about this environment from a child process: importing torch or asking a driver may hang or abort.

Each stage is reported as a JSON line, so that its answer survives a later crash.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, List

from . import vendors

# The child sees the same modules as this process, whatever was done to sys.path.
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from crosswarp.compat import probe; probe.answer(sys.argv[2])"
)
_TAIL = 4000


def ask(guard: str, seconds: float) -> Dict[str, Dict[str, Any]]:
    """The answer of each stage; ``{"error": …}`` where it raised, died or took longer than `seconds`."""
    if not sys.executable:
        return {name: {"error": "this Python does not know its own executable"} for name in STAGES}
    command = [sys.executable, "-I", "-c", _CHILD, json.dumps(_places()), guard]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        except OSError as error:
            return {
                name: {"error": f"a child process cannot be started: {error}"} for name in STAGES
            }
        try:
            ended = _ended(child.wait(seconds))
        except subprocess.TimeoutExpired:
            ended = f"no answer within {seconds:g} s"
        finally:
            _kill(child)
        out.seek(0)
        output = out.read()
        err.seek(max(0, err.seek(0, os.SEEK_END) - _TAIL))
        printed = err.read().decode("utf-8", "replace").strip().splitlines()
    return _answers(output, ended, printed[-1] if printed else "")


def _places() -> List[str]:
    """`sys.path` without the current folder: looking at a stranger's checkout must not run its code."""
    here = os.getcwd()
    return [path for path in sys.path if path and os.path.abspath(path) != here]


def _answers(output: bytes, ended: str, last: str) -> Dict[str, Dict[str, Any]]:
    answers = {}
    for line in output.splitlines():
        try:
            answers.update(json.loads(line.decode("utf-8")))
        except ValueError:
            continue
    why = f"{ended}: {last}" if last else ended
    for name in STAGES:
        # The first stage without an answer is the one in which the child ended; later ones were never asked.
        if name not in answers:
            answers[name] = {"error": why, "died": True}
            why = f"not asked, because the child ended before: {ended}"
    return answers


def _ended(status: int) -> str:
    if status < 0:
        import signal

        try:
            return f"the child process died of {signal.Signals(-status).name}"
        except ValueError:
            return f"the child process died of signal {-status}"
    return f"the child process ended with status {status}"


def _kill(child: "subprocess.Popen") -> None:
    try:
        os.killpg(child.pid, 9)
    except OSError:
        pass
    child.wait()


def answer(guard: str) -> None:
    """In the child: run each stage, writing to the original stdout; libraries' output goes to stderr."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    vendors.serve()
    for name, stage in STAGES.items():
        try:
            facts = stage(guard)
        except BaseException as error:
            facts = {"error": f"{type(error).__name__}: {error}"}
            if isinstance(error, ModuleNotFoundError):
                facts["missing"] = error.name
        print(json.dumps({name: facts}, default=str), file=out, flush=True)


def _triton(guard: str) -> Dict[str, Any]:
    import triton
    from triton.runtime import cache

    from . import features

    knobs = features.knobs()
    folder = knobs.cache.dir if knobs else os.environ.get("TRITON_CACHE_DIR")
    if not folder:
        folder = cache.default_cache_dir()
    return {"version": triton.__version__, "file": triton.__file__, "cache": str(folder)}


def _shims(guard: str) -> Dict[str, Any]:
    from .install import active, install, left_out

    install(guard)
    return {"active": [shim.name for shim in active()], "left_out": left_out()}


def _torch(guard: str) -> Dict[str, Any]:
    import torch

    version = torch.version
    return {
        "version": torch.__version__,
        "file": torch.__file__,
        "git": getattr(version, "git_version", None),
        "cuda": getattr(version, "cuda", None),
        "hip": getattr(version, "hip", None),
    }


def _devices(guard: str) -> Dict[str, Any]:
    import torch

    devices = []
    for number in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(number)
        if getattr(torch.version, "hip", None):
            target = properties.gcnArchName.split(":")[0]
        else:
            target = f"sm_{properties.major}{properties.minor}"
        devices.append(
            {"name": properties.name, "target": target, "memory": properties.total_memory}
        )
    return {"devices": devices}


STAGES = {"triton": _triton, "shims": _shims, "torch": _torch, "devices": _devices}
