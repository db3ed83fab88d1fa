"""What a field of a data file may hold, for pydantic's AfterValidator: each takes a text and gives it back, or raises
ValueError with what is wrong with it."""

from __future__ import annotations

import re

from crosswarp.matrix import versions


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
