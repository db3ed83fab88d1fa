"""The requirements that pyproject.toml holds below `tool`: of Poetry, uv, Hatch, PDM and Flit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


def requirements(tool: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Each as an index spells it, with the table that it stands in and the extra or group; no extra: everybody's."""
    poetry = _table(tool.get("poetry"))
    optional = {
        name: str(extra)
        for extra, names in _table(poetry.get("extras")).items()
        for name in _texts(names)
    }
    tables = [("tool.poetry.dependencies", poetry.get("dependencies"), "")]
    tables.append(("tool.poetry.dev-dependencies", poetry.get("dev-dependencies"), "dev"))
    for name, group in _table(poetry.get("group")).items():
        table = _table(group).get("dependencies")
        tables.append((f"tool.poetry.group.{name}.dependencies", table, str(name)))
    for where, table, extra in tables:
        for name, wanted in _table(table).items():
            if name != "python":
                yield _of_poetry(str(name), wanted), where, extra or optional.get(str(name), "")
    lists = [("tool.uv.dev-dependencies", _table(tool.get("uv")).get("dev-dependencies"), "dev")]
    for name, group in _table(_table(tool.get("pdm")).get("dev-dependencies")).items():
        lists.append((f"tool.pdm.dev-dependencies.{name}", group, f"dev-{name}"))
    for name, environment in _table(_table(tool.get("hatch")).get("envs")).items():
        for key in ("dependencies", "extra-dependencies"):
            where = f"tool.hatch.envs.{name}.{key}"
            lists.append((where, _table(environment).get(key), f"dev-{name}"))
    flit = _table(_table(tool.get("flit")).get("metadata"))
    lists.append(("tool.flit.metadata.requires", flit.get("requires"), ""))
    for name, group in _table(flit.get("requires-extra")).items():
        lists.append(("tool.flit.metadata.requires-extra", group, str(name)))
    for where, group, extra in lists:
        yield from ((text, where, extra) for text in _texts(group))


def _of_poetry(name: str, wanted: Any) -> str:
    """`einops>=0.6,<0.7` of `einops = "^0.6"`."""
    # One entry for each Python or platform: the last is for the newest, by habit.
    wanted = wanted[-1] if isinstance(wanted, list) and wanted else wanted
    table = _table(wanted)
    extras = ",".join(_texts(table.get("extras")))
    named = f"{name}[{extras}]" if extras else name
    if isinstance(table.get("git"), str):
        at = next((table[key] for key in ("rev", "tag", "branch") if key in table), "")
        return f"{named} @ git+{table['git']}" + (f"@{at}" if at else "")
    return named + _specifier(str(table.get("version", "*") if table else wanted))


def _specifier(text: str) -> str:
    """`^1.2`, `~1.2`, `1.2` and `*` as PEP 440 spells them."""
    return ",".join(filter(None, (_part(part.strip()) for part in text.split(","))))


def _part(text: str) -> str:
    match = _NUMBERS.search(text)
    if match is None or text[:1] in "<>!=" or text.startswith("~="):
        return "" if text == "*" else text
    numbers = [int(part) for part in match[0].split(".")]
    if text[0] == "^":
        # Up to the first number that is not 0.
        leading = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
    elif text[0] == "~":
        leading = min(1, len(numbers) - 1)
    else:
        return f"=={text}"
    above = [*numbers[:leading], numbers[leading] + 1]
    return f">={match[0]},<{'.'.join(map(str, above))}"


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
