"""The name of a test in a record: FILE::FUNCTION is its kernel, its parameters are its case."""

import fnmatch
import zlib
from typing import Dict, List, Optional, Sequence, Set, Tuple

# The case of a test without parameters. `*` stands for all cases.
NO_PARAMETERS = "-"
_ALL = "*"
# The case of a file that could not be imported.
IMPORT = "import"
# The kernel that stands for tests that pytest never came to collect.
COLLECTION = "collection"


def names(nodeid: str, folders: Sequence[str] = ()) -> Tuple[str, str]:
    """Kernel and case of a test.

    ``tests/ops/test_norm.py::test_rms[fp16-64]`` is ``ops.test_norm::test_rms`` and ``fp16-64``.
    `folders` hold the tests; names are relative to them. No name holds a slash, which separates the names of a cell.
    """
    path, separator, rest = nodeid.partition("::")
    function, bracket, parameters = rest.partition("[")
    case = parameters[:-1] if bracket and parameters.endswith("]") else ""
    kernel = module(path, folders) + (f"::{function}" if separator else "")
    if case == _ALL:
        case = f"[{case}]"
    return kernel.replace("/", "."), case or NO_PARAMETERS


def module(path: str, folders: Sequence[str] = ()) -> str:
    """``ops.test_norm`` for ``tests/ops/test_norm.py``, and the folder's own name for a folder of tests."""
    for folder in folders:
        prefix = f"{folder.rstrip('/')}/"
        if path.startswith(prefix) and len(path) > len(prefix):
            path = path[len(prefix) :]
            break
    path = path[:-3] if path.endswith(".py") else path
    return path.strip("/").replace("/", ".") or "tests"


def chosen(kernel: str, case: str, globs: Sequence[str]) -> bool:
    """Whether globs choose a test: any of those without a ``!`` (or there is none), and none of those with one."""
    wanted = [glob for glob in globs if not glob.startswith("!")]
    unwanted = [glob[1:] for glob in globs if glob.startswith("!")]
    return (not wanted or _any(kernel, case, wanted)) and not _any(kernel, case, unwanted)


def share(tests: Sequence[Tuple[str, str]], shard: Optional[Sequence[int]]) -> Set[Tuple[str, str]]:
    """Return the tests (kernel, case) of this shard, the K-th of N.

    The cases of a function are distributed round-robin, in the order of their names, so that the shards of a slow
    function weigh the same. The first shard of a function does not depend on other functions, so that every computer
    distributes alike.
    """
    if not shard:
        return set(tests)
    number, shards = shard
    functions: Dict[str, Set[str]] = {}
    for kernel, case in tests:
        functions.setdefault(kernel, set()).add(case)
    return {
        (kernel, case)
        for kernel, cases in functions.items()
        for place, case in enumerate(sorted(cases), zlib.crc32(kernel.encode("utf-8", "replace")))
        if place % shards == number - 1
    }


def _any(kernel: str, case: str, globs: List[str]) -> bool:
    texts = (kernel, f"{kernel}/{case}")
    return any(fnmatch.fnmatchcase(text, glob) for text in texts for glob in globs)
