"""`triton.runtime.driver.active`, which came with Triton 3.0, on 2.3.

The target that it tells has names: backend, arch, warp_size.
"""

from typing import Any

from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    from triton.runtime.driver import LazyProxy

    # Breakpoint: Triton 3.0 has it; delete with the last column before it.
    patches.set(LazyProxy, "active", property(_Active))


class _Active:
    """The driver, looked up on each access to an attribute."""

    def __init__(self, driver: Any):
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def get_current_target(self) -> "_Target":
        return _Target(self._driver.get_current_target())


class _Target(tuple):
    """``("cuda", 90)``, as in Triton 2.3, with the names that its parts have since 3.0."""

    @property
    def backend(self) -> str:
        return self[0]

    @property
    def arch(self) -> int:
        return self[1]

    @property
    def warp_size(self) -> int:
        # 2.3's wheel compiles for NVIDIA only.
        return 32


SHIM = Shim(
    name="driver_active",
    issue="triton-4014",
    tier="names",
    window="<3.0",
    symptom="object has no attribute 'active'",
    link="https://github.com/triton-lang/triton/issues/4014",
    delete_when="no column before Triton 3.0 is left",
    apply=apply,
)
