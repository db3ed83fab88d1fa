"""Reading a data file into a strict model, with one message that names the file, the entry and the field."""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from crosswarp.matrix import reading
from crosswarp.matrix.errors import ConfigError

# A pydantic model, or a dataclass with `validators.Strict`.
Model = TypeVar("Model")

MAX_PROBLEMS = 5


def load(
    path: Path, model: type[Model], wrap: str | None = None, todo: str = "Correct these entries."
) -> Model:
    """Validate `path` against `model`; `wrap` puts the whole document under that key (for files keyed by name), and
    `todo` ends the message when it is none."""
    data = document(path)
    return validated(path, {wrap: data} if wrap else data, model, todo)


def document(path: Path) -> dict[str, Any]:
    """The TOML of a file, unchecked: tests validate the files installed with crosswarp, so it is not done each time."""
    try:
        return tomllib.loads(reading.text(path))
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: there is no such file. Give a path that exists, or reinstall crosswarp."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read ({error}). Check the file and its rights."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}. Correct that place.") from None
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits; brackets in brackets without end.
        raise ConfigError(
            f"{path}: cannot be read as TOML ({str(error)[:100]}). Correct it, or take the committed file again."
        ) from None


def unchecked(model: type[Model], row: Mapping[str, Any]) -> Model:
    """The dataclass of a row of a file that the tests validate."""
    return model(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    )


@cache
def _adapter(model: type[Any]) -> Any:
    # Imported where something is checked: it takes a tenth of a second.
    from pydantic import TypeAdapter

    return TypeAdapter(model)


def checked(model: type[Model], document: Any) -> Model:
    """`document` as the model. Raises pydantic's ValidationError, which is a ValueError."""
    made: Model = _adapter(cast(Any, model)).validate_python(document)
    return made


def validated(path: Path, document: Any, model: type[Model], todo: str) -> Model:
    """`document`, which was read from `path`, as the model; `todo` ends the message when it is none."""
    from pydantic import ValidationError

    try:
        return checked(model, document)
    except ValidationError as error:
        problems = [_describe(item, document) for item in error.errors()[:MAX_PROBLEMS]]
        left = error.error_count() - len(problems)
        if left > 0:
            problems.append(f"and {left} more")
        raise ConfigError(f"{path}: " + "; ".join(problems) + f". {todo}") from None


def _describe(item: Mapping[str, Any], document: Any) -> str:
    """`column "triton-3.2.0": torch: Field required`, where pydantic says `column.3.torch`."""
    where: list[str] = []
    node: Any = document
    for step in item["loc"]:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            where.append(str(step))
            continue
        if isinstance(step, int) and isinstance(node, dict) and "id" in node:
            where[-1:] = [f'{where[-1] if where else "entry"} "{node["id"]}"']
        elif isinstance(step, int):
            where.append(f"number {step + 1}")
        else:
            where.append(str(step))
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] == "unexpected_keyword_argument":
        # pydantic's words for a dataclass; these are those for a model.
        message = "Extra inputs are not permitted"
    return ": ".join([*where, message]) if where else message


def replace(
    path: Path, text: str, mode: int, check: Callable[[Path], object] | None = None
) -> None:
    """Replaces the file's content by `text`, whole or not at all: a reader never meets half of it.

    `mode`: the file's permissions. `check` raises if the written file must not replace the old one.

    Raises:
        OSError: or the error of `check`; the file is as it was.
    """
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        if check is not None:
            check(Path(partial))
        # mkstemp keeps everybody else out.
        os.chmod(partial, mode)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
