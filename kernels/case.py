"""A kernel's description for the suite: its cases, inputs, launcher, reference and tolerances.

Neither torch nor triton is imported here, so that the host can read the names without either.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Mapping, Optional, Tuple

from crosswarp.compat.features import backend_and_arch

if TYPE_CHECKING:
    import torch

# The fields that `kernel_of` takes from a module.
FUNCTIONS = ("inputs", "launch", "reference")
LANES = ("compile", "emulate", "interpret", "device")
DTYPES = ("fp32", "fp16", "bf16", "fp8", "int8")
# Features that a kernel or case may use and that some Triton lacks, or some interpreter gets wrong or refuses: see
# matrix/cell/kinds/suite/language.py and oracle.py. bf16 is known from the dtype.
FEATURES = (
    "argmax", "atomic", "autotune", "bf16", "bool-sum", "descriptor-atomic", "dot", "dot-3d", "dot-scaled",
    "float-argument", "fp16-atomic", "fp8", "gather", "gluon", "gluon-async-load", "gluon-column-stride",
    "gluon-mma-v2", "gluon-of-3.6", "gluon-pairs", "gluon-tile-depth", "histogram", "inline-asm", "libdevice",
    "math-method", "nan", "reserved-option", "reverse-scan", "scan-of-tuple", "tensor-descriptor", "tl-range",
    "tl-range-flatten", "tuple-argument",
)  # fmt: skip
# Triton's names of element types, as torch has them.
TORCH = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "bool", "i8": "int8",
    "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz", "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One shape, dtype and set of launch options of a kernel."""

    id: str
    dtype: str
    shape: Mapping[str, int]
    lanes: Tuple[str, ...] = LANES
    # globs of the targets that the lanes compile and emulate cover; an issue of the language shows on any one. In the
    # lane device, a GPU as new as one of them runs the case.
    targets: Tuple[str, ...] = ("*",)
    # passed to launch as keywords, beside the inputs
    options: Mapping[str, object] = field(default_factory=dict)
    # the cases that `crosswarp run --sample` takes in place of those of its shape: sizes at which the kernel is used
    real: Mapping[str, int] = field(default_factory=dict)
    # of FEATURES and the kernel's probes, those that this case uses and the kernel does not always use
    requires: Tuple[str, ...] = ()

    @property
    def torch_dtype(self) -> "torch.dtype":
        import torch

        return {
            "fp32": torch.float32,
            "fp16": torch.float16,
            "bf16": torch.bfloat16,
            "fp8": torch.float8_e4m3fn,
            "int8": torch.int8,
        }[self.dtype]


@dataclass(frozen=True)
class Kernel:
    """A Triton kernel with its launcher, its PyTorch reference and its cases.

    A kernel that runs only in the lane compile needs no reference and no tolerance, because nothing is computed there.
    A launcher that makes its own tensors needs no inputs.
    """

    # the name of its file
    name: str
    cases: Tuple[Case, ...]
    inputs: Optional[Callable[[Case, "torch.device", "torch.Generator"], Dict[str, object]]] = None
    # without a launcher there is nothing to run
    launch: Optional[Callable[..., Dict[str, "torch.Tensor"]]] = None
    reference: Optional[Callable[..., Dict[str, "torch.Tensor"]]] = None
    # dtype -> the largest ||output - reference|| / ||reference|| that is accepted for any output
    tolerance: Mapping[str, float] = field(default_factory=dict)
    # target family ("gfx9") -> dtype -> tolerance, where a platform needs a different one
    tolerance_on: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # the size that counts independent rows: `crosswarp run --batch` sets it to 1 and to 64
    batch: str = ""
    # of FEATURES and of `probes`, those that every case of it uses
    uses: Tuple[str, ...] = ()
    # a suite's features: name -> function that returns why the installed Triton lacks it for the present target.
    # Cases that use the feature are `unsupported` there. None or an empty text: it has the feature
    probes: Mapping[str, Callable[[], Optional[str]]] = field(default_factory=dict)

    def features(self, case: Case) -> FrozenSet[str]:
        """All of FEATURES, and of the kernel's probes, that this case uses."""
        return frozenset(self.uses + case.requires + (("bf16",) if case.dtype == "bf16" else ()))


def kernel_of(module: Mapping[str, Any], **fields: Any) -> Kernel:
    """The KERNEL of a module, given its `globals()`.

    Its name is that of the file. Its inputs, launcher and reference are the functions `inputs`, `launch` and
    `reference` of the module, where `fields` has no others.
    """
    given: Dict[str, Any] = {name: module.get(name) for name in FUNCTIONS}
    return Kernel(**{**given, "name": Path(module["__file__"]).stem, **fields})


def max_shared_memory():
    """Bytes of shared memory that a block may use, by the driver; the interpreter has none to ask."""
    from triton.runtime import driver

    try:
        # Breakpoint: before Triton 3.0 `driver` is the driver itself.
        return _shared_memory_of(getattr(driver, "active", driver).utils)
    except (AttributeError, RuntimeError):
        return 2**30


def current_target():
    """(backend, architecture) of the device launched on, such as ("cuda", 90); (None, None) in the interpreter."""
    from triton.runtime import driver

    try:
        return backend_and_arch(getattr(driver, "active", driver).get_current_target())
    except (AttributeError, RuntimeError):
        return None, None


@functools.lru_cache(maxsize=None)
def _shared_memory_of(utils):
    # asked once: it looks up clock rates as well, which CUDA is slow to return
    return utils.get_device_properties(0)["max_shared_mem"]
