"""Kernels on a real GPU: assembled by ptxas here, launched by a process of their own (`device_process.py`)."""

import atexit
import importlib.util
import os
import pickle
import select
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

# A kernel of these tests takes microseconds; one that waits for ever is ended with its process.
SECONDS = 30


class Process:
    """A `device_process`, made when it is first asked, and again after one that failed.

    `seconds` is how long it may take to answer.
    """

    def __init__(self, script="device_process.py"):
        self._script, self.seconds = Path(__file__).parent / script, SECONDS
        self._running = None

    def ask(self, method, *arguments):
        """
        Raises:
            RuntimeError: the driver's words, or that there was no answer. What was held is lost.
        """
        if self._running is None:
            self._running = subprocess.Popen(
                [sys.executable, str(self._script)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
        running = self._running
        try:
            pickle.dump((method, arguments), running.stdin)
            running.stdin.flush()
            if not select.select([running.stdout], [], [], self.seconds)[0]:
                raise RuntimeError(f"no answer to {method} within {self.seconds} s")
            good, answer = pickle.load(running.stdout)
        except (EOFError, OSError) as error:
            good, answer = False, f"the process of the GPU died: {error}"
        except BaseException:
            self.end()
            raise
        if not good:
            # Whatever it was, the context may be lost.
            self.end()
            raise RuntimeError(f"{method}: {answer}")
        return answer

    def end(self):
        running, self._running = self._running, None
        if running is not None:
            running.kill()
            running.wait()
            running.stdin.close()
            running.stdout.close()


_process = Process()
atexit.register(_process.end)


@lru_cache(maxsize=None)
def described():
    """Compute capability as a number, such as 90, and the name of the GPU."""
    return _process.ask("describe")


@lru_cache(maxsize=None)
def ptxas():
    """The assembler of $CROSSWARP_PTXAS, or of the Triton that is installed."""
    named = os.environ.get("CROSSWARP_PTXAS")
    if named:
        return named
    spec = importlib.util.find_spec("triton")
    root = Path(spec.origin).parent if spec and spec.origin else Path()
    for place in (
        "backends/nvidia/bin/ptxas",
        "third_party/cuda/bin/ptxas",
        "common/../third_party/cuda/bin/ptxas",
    ):
        if (root / place).is_file():
            return str(root / place)
    msg = (
        "no ptxas: set CROSSWARP_PTXAS to that of a Triton wheel (triton/backends/nvidia/bin/ptxas)"
    )
    raise RuntimeError(msg)


def assemble(text, target):
    """PTX to a cubin.

    Raises:
        RuntimeError: ptxas refuses it, with its words.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "row.ptx"), Path(folder, "row.cubin")
        source.write_text(text, "utf-8")
        command = [ptxas(), f"-arch={target}", str(source), "-o", str(cubin)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr + "\n" + text)
        return cubin.read_bytes()


def _target(text):
    wanted = next(line.split()[1] for line in text.splitlines() if line.startswith(".target"))
    number = int("".join(char for char in wanted if char.isdigit()))
    own = described()[0]
    # A target with an `a` runs on that architecture alone; the others on every later one.
    if wanted.endswith("a") and number != own or number > own:
        pytest.skip(f"the GPU is sm_{own}, and the row is for {wanted}")
    return wanted if wanted.endswith("a") else f"sm_{own}"


def _threads(text):
    for line in text.splitlines():
        if line.strip().startswith(".reqntid"):
            return int(line.split()[1].rstrip(","))
    return 1


def execute(text, grid, buffers, shared=0, cluster=(1, 1, 1)):
    """As `running.execute`, on the GPU. An array that is given twice is one there, too."""
    cubin = assemble(text, _target(text))
    name = text.split(".entry", 1)[1].split("(", 1)[0].strip()
    arrays = list({id(one): one for one in buffers if isinstance(one, np.ndarray)}.values())
    held = _process.ask("hold", [array.tobytes() for array in arrays])
    of_array = {id(array): address for array, address in zip(arrays, held)}
    addresses = {
        place: of_array[id(one)] for place, one in enumerate(buffers) if id(one) in of_array
    }
    parameters = []
    for place, buffer in enumerate(buffers):
        if callable(buffer):
            parameters.append(buffer(_encode, addresses))
        else:
            # Parameters of fewer bytes are the first of these.
            parameters.append(int(addresses.get(place, buffer)).to_bytes(8, "little"))
    size = tuple(int(one) for one in (*grid, 1, 1)[:3])
    _process.ask("launch", cubin, name, size, _threads(text), shared, parameters)
    for array, raw in zip(arrays, _process.ask("release", [array.nbytes for array in arrays])):
        array[...] = np.frombuffer(raw, array.dtype).reshape(array.shape)


def _encode(*arguments, **named):
    return _process.ask("encode", *arguments, *named.values())
