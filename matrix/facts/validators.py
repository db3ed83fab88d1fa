"""Checks for fields of data files: each function returns its text, or raises ValueError that says what is wrong.
`Rule` names one in an annotation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from crosswarp.matrix import versions


class Rule:
    """In an annotation: a check that pydantic makes of a value besides its type. Crosswarp's own files are read without
    pydantic, so nothing here imports it.

    Attributes:
        check: takes a value of the type and returns it.
        before: takes any value and returns what is checked for the type.
        limits: those of pydantic: `pattern`, `min_length`, `gt`.
    """

    def __init__(
        self,
        check: Callable[[Any], Any] | None = None,
        before: Callable[[Any], Any] | None = None,
        **limits: Any,
    ) -> None:
        self.check, self.before, self.limits = check, before, limits

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        schema: Any = {**handler(source), **self.limits}
        if self.check is not None:
            schema = core_schema.no_info_after_validator_function(self.check, schema)
        if self.before is not None:
            schema = core_schema.no_info_before_validator_function(self.before, schema)
        return schema


class Strict:
    """A dataclass of a data file: no field that it does not know, and `consistent` looks at it as a whole."""

    __pydantic_config__ = {"extra": "forbid"}

    def consistent(self) -> None:
        """Raises ValueError for fields that do not go together."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        def whole(model: Any) -> Any:
            model.consistent()
            return model

        return core_schema.no_info_after_validator_function(whole, handler(source))


def version(text: str) -> str:
    if versions.parse(text) is None:
        raise ValueError(f'"{text}" is not a version')
    return text


def specifier(text: str) -> str:
    if not versions.is_window(text):
        raise ValueError(f'"{text}" is not a range of versions such as ">=3.9,<3.13"')
    return text


def requirement(text: str) -> str:
    # Imported where it is used: a file without requirements is read without it.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        Requirement(text)
    except InvalidRequirement:
        raise ValueError(f'"{text}" is not a requirement such as "numpy<2"') from None
    return text


def regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f'"{text}" is not a regular expression: {error}') from None
    return text
