"""Runs in a column: imports each module that is given in a forked child on the virtual GPU, and writes what it says.

stdin: {"targets": {name: table}, "modules": [{"key", "text", "target", "interpret"}]}; stdout: a JSON line a module.
"""

import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback

SECONDS = 90


def main():
    document = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch  # noqa: F401
    import triton  # noqa: F401
    import triton.language  # noqa: F401

    from crosswarp.matrix.cell.standins.virtual_gpu import Target

    targets = {name: Target.from_table(name, table) for name, table in document["targets"].items()}
    folder = tempfile.mkdtemp(prefix="examples-")
    for name, target in targets.items():
        wanted = [one for one in document["modules"] if one["target"] == name]
        # A process has one GPU; what it loads for it, its children have.
        child = os.fork()
        if child == 0:
            from crosswarp.matrix.cell.standins import virtual_gpu

            virtual_gpu.activate(target, guarded=False)
            warm()
            for module in wanted:
                one(module, folder, out)
            os._exit(0)
        os.waitpid(child, 0)


def warm():
    """Computes what each child would: the hash of the whole installation takes a second."""
    import importlib

    for name, function in (
        ("triton.runtime.cache", "triton_key"),
        ("triton.compiler.compiler", "triton_key"),
        ("triton.common.backend", "compute_core_version_key"),
        ("triton.backends.nvidia.compiler", "get_ptxas_version"),
    ):
        try:
            getattr(importlib.import_module(name), function)()
        except Exception:
            continue


def one(module, folder, out):
    path = os.path.join(folder, module["key"].replace("-", "_").replace("#", "_") + ".py")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(module["text"])
    said, seconds = in_child(path)
    print(json.dumps({"key": module["key"], "said": said, "seconds": seconds}), file=out)
    out.flush()


def in_child(path):
    """What importing `path` says: an empty text where it passes."""
    reading, writing = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        # What a compiler prints belongs to the text.
        os.dup2(writing, 2)
        os.dup2(writing, 1)
        status = 0
        try:
            signal.alarm(SECONDS)
            import importlib.util

            spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[module.__name__] = module
            spec.loader.exec_module(module)
        except BaseException:
            status = 1
            os.write(2, ("\n@@@" + traceback.format_exc()).encode("utf-8", "replace"))
        os._exit(status)
    os.close(writing)
    parts = []
    while True:
        left = SECONDS + 10 - (time.monotonic() - started)
        ready, _, _ = select.select([reading], [], [], max(left, 0))
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        part = os.read(reading, 65536)
        if not part:
            break
        parts.append(part)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    text = b"".join(parts).decode("utf-8", "replace")
    if status == 0:
        return "", round(time.monotonic() - started, 2)
    if os.WIFSIGNALED(status):
        text += "\nsignal %d" % os.WTERMSIG(status)
    return text[-20000:] or "failed", round(time.monotonic() - started, 2)


if __name__ == "__main__":
    main()
