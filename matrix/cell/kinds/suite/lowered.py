"""Reuse the code that bare Triton compiled from the same TTGIR: LLVM and the assembler then run once.

Many shims cache kernels that they may concern under a separate key, because bare Triton's cached code may be wrong.
Most of those kernels do not change: no shim acts, and the TTGIR is bare Triton's. LLVM and the assembler, which take
four fifths of the time, would do the same again. So bare Triton's code is kept by all that it depends on: the TTGIR's
text with its locations, options, target, Triton's files, and the settings that it knows. A kernel that the shims leave
with the same TTGIR reuses it.

It is never the reverse: bare Triton reuses nothing that was compiled with shims. Shims act on the front end and on
passes that make TTGIR. A shim that acts on later stages says on which kernels (`RewriteAssembly`, `OtherAssembler`),
and these are compiled again.
"""

import base64
import contextlib
import hashlib
import importlib
import json
import os
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping

from crosswarp.compat import features
from crosswarp.compat.seams import ir
from crosswarp.matrix.cell.standins.virtual_gpu import stages
from crosswarp.matrix.cell.standins.virtual_gpu.launching import TAKEN

_LAST_OF_SHIMS = "ttgir"
# Triton's own key of the kernel, in which a shim may have put its revision.
_NOT_COMPARED = ("hash",)
_SETTINGS = (
    "TRITON_",
    "MLIR_",
    "LLVM_",
    "NVPTX_",
    "AMDGCN_",
    "DISABLE_",
    "ENABLE_",
    "USE_",
    "ALLOW_",
)
# Settings for the locations of files, which do not change the code.
_PLACES = ("TRITON_CACHE_DIR", "TRITON_CACHE_MANAGER", "TRITON_HOME")


def use(folder: Path, keep: bool) -> None:
    """From now on reuse the compiled code in `folder` for a kernel's TTGIR; with `keep`, also store new code there.

    This cannot be undone: only in a child.

    Args:
        keep: only for bare Triton.
    """
    for backend in stages.backends():
        if "add_stages" in vars(backend):
            backend.add_stages = _with_memory(backend.add_stages, folder, keep)


def _with_memory(add_stages: Callable[..., Any], folder: Path, keep: bool) -> Callable[..., Any]:
    def add_stages_with_memory(
        self: Any, stages: Dict[str, Any], options: Any, *args: Any, **kwargs: Any
    ) -> Any:
        added = add_stages(self, stages, options, *args, **kwargs)
        names = list(stages)
        if _LAST_OF_SHIMS in names:
            later = names[names.index(_LAST_OF_SHIMS) + 1 :]
            with contextlib.suppress(Exception):
                # A kernel that cannot be identified is compiled.
                identity = [
                    type(self).__module__,
                    _build(),
                    str(self.hash()),
                    _plain(vars(options)),
                    _settings(),
                ]
                _Remembered(folder, keep, identity, later).wrap(stages)
        return added

    return add_stages_with_memory


class _Remembered:
    """The later stages of one compilation."""

    def __init__(self, folder: Path, keep: bool, identity: List[Any], stages: List[str]):
        self._folder, self._keep, self._identity, self._stages = folder, keep, identity, stages
        self._entry = folder
        self._before: Dict[str, str] = {}
        self._found: Dict[str, Any] = {}
        self._made: Dict[str, Any] = {}

    def wrap(self, stages: Dict[str, Any]) -> None:
        for name in self._stages:
            stages[name] = self._wrapped(name, stages[name])

    def _wrapped(self, name: str, compile_: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def look_first(source: Any, metadata: Dict[str, Any]) -> Any:
            if name == self._stages[0]:
                self._look(source, metadata)
            if name in self._found:
                return self._found[name]
            made = compile_(source, metadata)
            self._made[name] = made
            if self._keep and name == self._stages[-1]:
                with contextlib.suppress(Exception):
                    self._write(metadata)
            return made

        return look_first

    def _look(self, module: Any, metadata: Dict[str, Any]) -> None:
        with contextlib.suppress(Exception):
            self._before = {name: _plain(value) for name, value in metadata.items()}
            known = {name: text for name, text in self._before.items() if name not in _NOT_COMPARED}
            text = str(module)
            if ir.changed_behind_ttgir(text):
                return
            key = json.dumps([self._identity, self._stages, known, text], sort_keys=True)
            self._entry = self._folder / hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
            content = json.loads(zlib.decompress(self._entry.read_bytes()))
            read = {name: _read(value) for name, value in content["stages"].items()}
            if list(read) == self._stages:
                metadata.update(content["metadata"], **{TAKEN: True})
                self._found = read

    def _write(self, metadata: Mapping[str, Any]) -> None:
        new = {
            name: value
            for name, value in metadata.items()
            if self._before.get(name) != _plain(value)
        }
        stages = {name: _written(self._made[name]) for name in self._stages}
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._entry.with_suffix(f".{os.getpid()}")
        content = json.dumps({"metadata": new, "stages": stages}).encode()
        # Most of it is text, an eighth as long.
        partial.write_bytes(zlib.compress(content, 1))
        os.replace(partial, self._entry)


def _written(made: Any) -> Dict[str, str]:
    if isinstance(made, bytes):
        return {"bytes": base64.b64encode(made).decode("ascii")}
    if type(made) is str:
        return {"text": made}
    msg = f"a stage made {type(made).__name__}"
    raise TypeError(msg)


def _read(fields: Mapping[str, str]) -> Any:
    return fields["text"] if "text" in fields else base64.b64decode(fields["bytes"])


def _plain(value: Any) -> str:
    return json.dumps(value, default=_of_object, sort_keys=True)


def _of_object(value: Any) -> Any:
    return [type(value).__name__, vars(value)]


def _build() -> str:
    """Triton's digest of all its own files. Two builds of one version may take turns in a folder, as main's do."""
    # Breakpoint: before Triton 3.0 the back end's hash holds it.
    if not features.has_backends():
        return ""
    # Breakpoint: it is in `compiler.compiler` before Triton 3.5.
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):
        key = getattr(importlib.import_module(name), "triton_key", None)
        if key is not None:
            return str(key())
    msg = "this Triton does not tell its builds apart"
    raise LookupError(msg)


def _settings() -> List[str]:
    return sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith(_SETTINGS) and name not in _PLACES
    )
