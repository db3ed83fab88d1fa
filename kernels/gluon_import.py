"""Gluon where this Triton has it; otherwise stand-ins with which a kernel's module can still be imported.

A case of such a module declares that it uses "gluon", and is `unsupported` there.
"""

import importlib

from crosswarp.kernels.case import current_target


class _Absent:
    """An absent module or name: its attributes are absent as well; as a decorator it leaves the function as it is."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **kwargs):
        return args[0] if args else self


def optional(name):
    """The module of that name, or one that is absent."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return _Absent()


# Breakpoint: Triton 3.4 has Gluon.
gluon = optional("triton.experimental.gluon")
gl = optional("triton.experimental.gluon.language")


def language(name):
    """The module of that name below Gluon's language, such as "nvidia.hopper.tma", or an absent one."""
    return optional(f"triton.experimental.gluon.language.{name}")


def tensor_descriptor():
    """Gluon's class of tensor descriptors that the host makes."""
    return optional("triton.experimental.gluon.nvidia.hopper").TensorDescriptor


def warp_size():
    """Threads in a warp of the device launched on: a Gluon layout spells them out."""
    return 64 if current_target()[0] == "hip" else 32
