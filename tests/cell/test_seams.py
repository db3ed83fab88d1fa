"""What stands in the place of Triton's own functions looks like them: torch, debuggers and pickle ask."""

import inspect

import triton  # noqa: F401

from crosswarp import compat
from crosswarp.compat.copies import COMMON

# Whose purpose is to take other arguments, by the fix that replaces them.
TAKES_MORE = (
    *("autotune_arguments", "block_pointers", "do_bench_arguments", "dot_and_reduce_arguments"),
    *("exact_flip", "flip_default_dim", "language_names", "sorted_floats"),
)


def face(value):
    """Name, module and parameters, as `inspect` and pickle see them."""
    function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if not inspect.isroutine(function):
        return None
    try:
        signature = str(inspect.signature(function))
    except ValueError:  # of compiled code
        signature = ""
    return function.__name__, function.__module__, function.__qualname__, signature


def replaced():
    for one in COMMON.applied:
        for owner, name, ours in one.patches.replaced():
            yield one.shim.name, owner, name, ours


def test_what_replaces_a_function_has_its_name_and_its_parameters(in_fork):
    def run():
        compat.install()
        places = [(shim, owner, name) for shim, owner, name, _ in replaced()]
        ours = [vars(owner).get(name) for _, owner, name in places]
        compat.uninstall()
        bare = [vars(owner).get(name) for _, owner, name in places]
        return [
            (shim, getattr(owner, "__name__", str(owner)), name, face(before), face(after))
            for (shim, owner, name), before, after in zip(places, bare, ours)
            if face(before) and face(after) and shim not in TAKES_MORE
        ]

    found = in_fork(run)
    assert len(found) > 10
    differing = [one for one in found if one[3] != one[4]]
    assert not differing, "\n".join(map(str, differing))
