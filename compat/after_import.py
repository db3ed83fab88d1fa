"""Something to do as soon as a module has been imported."""

from typing import Any

from .errors import say_without_raising


def after_execution(spec: Any, then: Any) -> Any:
    """`spec`, whose loader calls ``then(module)`` when the module has run; a failure of `then` is said, not raised."""
    loader = getattr(spec, "loader", None)
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return spec

    def exec_module(module: Any) -> None:
        execute(module)
        try:
            then(module)
        except Exception as error:
            say_without_raising(
                f"crosswarp.compat is not installed after all, because of {type(error).__name__}: {error}. Please "
                "report this line to crosswarp with what `python -m crosswarp.compat doctor` says"
            )

    try:
        if isinstance(loader, type):
            # The loader of other modules as well, which are none of our business.
            raise TypeError("a class")
        loader.exec_module = exec_module  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        say_without_raising(
            f"crosswarp.compat cannot wait for the import of {spec.name} by {loader!r}: call compat.install() after it"
        )
    return spec
