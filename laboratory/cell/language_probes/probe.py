"""A probe: a few lines of a kernel about one name or option, and PyTorch's result for them."""

from dataclasses import dataclass, field, replace
from typing import Any, Callable, Mapping, Optional, Tuple

# The code before the lines of a probe. `x` and `y` are 64 elements, `a` and `b` matrices of 32 x 32; "free" has only
# pointers. `x_ptr` and `y_ptr` point to `ELEMENTS` each.
ELEMENTS = 4096
PRELUDES = {
    "1d": (
        "i = tl.arange(0, 64)",
        "x = tl.load(x_ptr + i)",
        "y = tl.load(y_ptr + i)",
    ),
    "2d": (
        "i = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]",
        "a = tl.load(x_ptr + i)",
        "b = tl.load(y_ptr + i)",
    ),
    "free": (),
}


@dataclass(frozen=True)
class Probe:
    """One name, or one option of it with a value.

    Attributes:
        name: as in the table: ``tl.load``, ``tensor.sum``, ``libdevice.tanh``, ``launch.num_warps``.
        body: lines of the kernel. The value of ``r`` is stored, if they do not store themselves.
        reference: the same in PyTorch, from the inputs that the form names; None: nothing is compared.
        option: ``cache_modifier=".cg"``, where the probe is about an option.
        form: a key of `PRELUDES`.
        dtype: of the inputs.
        low, high: between which they lie.
        start: initial value of the output; poison by default.
        tolerance: of the relative error.
        launch: launch options.
        only: the backend for which it is written, where it is not for both.
        header: lines before the kernel: imports, and functions that it calls.
    """

    name: str
    body: str
    reference: Optional[Callable[..., Any]] = None
    option: str = ""
    form: str = "1d"
    dtype: str = "float32"
    low: float = -2.0
    high: float = 2.0
    start: Optional[float] = None
    tolerance: float = 1e-5
    launch: Mapping[str, Any] = field(default_factory=dict)
    only: str = ""
    header: str = ""

    @property
    def id(self) -> str:
        return f"{self.name}({self.option})" if self.option else self.name

    def concerns(self, backend: str) -> bool:
        """Whether the name means anything to `backend`: some belong to one vendor."""
        only = self.only
        if self.name.startswith(("tl.extra.hip.", "launch.hip.")):
            only = "hip"
        elif self.name.startswith(("tl.extra.cuda.", "launch.")):
            only = "cuda"
        return only in ("", backend)

    @property
    def parameter(self) -> str:
        """The parameter that it is about."""
        return self.option.partition("=")[0]

    def with_option(self, option: str, **changes: Any) -> "Probe":
        """The same about one option: ``{}`` in the body is where it goes."""
        return replace(self, option=option, body=self.body.replace("{}", f", {option}"), **changes)


def family(base: Probe, *options: str, **changes: Any) -> "Tuple[Probe, ...]":
    """`base` without an option, and with each of `options`; ``{}`` in its body is where they go."""
    plain = replace(base, body=base.body.replace("{}", ""))
    return (plain, *(base.with_option(option, **changes) for option in options))


def source(probe: Probe, shape: "Optional[Tuple[int, ...]]") -> str:
    """The module that holds the kernel; `shape` is that of the reference, if there is one."""
    lines = [*PRELUDES[probe.form], *probe.body.splitlines()]
    if "out_ptr" not in probe.body:
        lines.append(f"tl.store(out_ptr{_indices(shape)}, r)")
    return "\n".join(
        [
            "import triton",
            "import triton.language as tl",
            *probe.header.splitlines(),
            "",
            "",
            "@triton.jit",
            "def kernel(x_ptr, y_ptr, out_ptr, n):",
            *(f"    {line}" for line in lines),
            "",
        ]
    )


def _indices(shape: "Optional[Tuple[int, ...]]") -> str:
    """The places of a result of that shape, as Triton code; each side is a power of two."""
    if shape is None:
        return " + i"
    if not shape:
        return ""
    if len(shape) == 1:
        return f" + tl.arange(0, {shape[0]})"
    rows, columns = shape
    if rows == 1:
        return f" + tl.arange(0, {columns})[None, :]"
    if columns == 1:
        return f" + tl.arange(0, {rows})[:, None]"
    return f" + tl.arange(0, {rows})[:, None] * {columns} + tl.arange(0, {columns})[None, :]"
