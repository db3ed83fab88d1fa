"""What a library may write that is checked with `mypy --strict`; read by `nox -s lint`, and never run."""

from typing import Callable, Dict, List, Optional, Tuple

from typing_extensions import assert_type

from crosswarp import compat

assert_type(compat.install(guard="off", only=["compiler_crash"], exclude={"libdevice_paths"}), None)
with compat.installed(exclude=("block_pointers",)) as nothing:
    assert_type(nothing, None)
assert_type(compat.active(), List[compat.Shim])
assert_type(compat.left_out(), Dict[str, str])
assert_type(compat.acted(), List[str])
assert_type(compat.all_shims(), Tuple[compat.Shim, ...])
assert_type(compat.all_shims()[0].name, str)
assert_type(compat.uninstall(), None)


def heal(launch: Callable[[], None]) -> Optional[str]:
    try:
        launch()
    except compat.CompilerCrashed as crash:
        return crash.reason
    return None
