"""An API reference in Markdown, from source: nothing is imported, so names that need Triton are documented as well.

griffe reads the packages and their docstrings (Google's style); this module turns them into Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import griffe

from crosswarp.reports.text import escape

_CODE = re.compile(r"``(?P<double>.+?)``|`(?P<single>[^`]+)`", re.S)


def reference(package: Path, dotted: str) -> str:
    """The page: the package, then each of its modules that has an ``__all__``, then its command line."""
    root = griffe.load(package.name, search_paths=[package.parent], allow_inspection=False)
    assert isinstance(root, griffe.Module)
    parts = [
        f"# API of {escape.code(dotted)}",
        "Made from the docstrings by `crosswarp docs`; change those, not this page.",
        _described(root),
        *_names(root, dotted),
    ]
    for name, module in sorted(root.modules.items()):
        if not name.startswith("_") and module.exports:
            parts += [f"## {escape.code(f'{dotted}.{name}')}", _described(module)]
            parts += _names(module, f"{dotted}.{name}")
    command = root.modules.get("__main__")
    if command is not None and command.docstring is not None:
        parts += [f"## {escape.code('python -m ' + dotted)}", fenced(command.docstring.value)]
    return "\n\n".join(part for part in parts if part) + "\n"


def fenced(text: str, language: str = "text") -> str:
    """A code block whose fence is longer than any inside."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text) or [""]))
    return f"{fence}{language}\n{text}\n{fence}"


def prose(text: str) -> str:
    """Paragraphs and indented code as Markdown."""
    parts = []
    for block in filter(None, re.split(r"\n\s*\n", text.strip("\n"))):
        lines = block.splitlines()
        if all(not line or line.startswith("    ") for line in lines):
            parts.append(fenced("\n".join(line[4:] for line in lines)))
        else:
            parts.append(inline(block))
    return "\n\n".join(parts)


def inline(text: str) -> str:
    """One paragraph. Text in backticks, single or double, becomes code; everything else is escaped."""
    text = " ".join(text.split())
    out, at = [], 0
    for match in _CODE.finditer(text):
        out += [_gaps(text[at : match.start()]), escape.code(match["double"] or match["single"])]
        at = match.end()
    return "".join([*out, _gaps(text[at:])])


def _gaps(text: str) -> str:
    # escape.markdown strips spaces, but here text comes before and after.
    core = escape.markdown(text)
    return (" " if text[:1] == " " else "") + core + (" " if core and text[-1:] == " " else "")


def _described(thing: griffe.Object) -> str:
    """A docstring as Markdown: its prose, and its sections (`Args:`, `Raises:` …) as lists."""
    if thing.docstring is None:
        return ""
    parts = []
    for section in thing.docstring.parse("google", warnings=False):
        if isinstance(section, griffe.DocstringSectionText):
            parts.append(prose(section.value))
        elif isinstance(section, griffe.DocstringSectionAdmonition):
            parts.append(prose(f"{section.title}: {section.value.description}"))
        else:
            parts += [f"**{_TITLES[section.kind]}**", "\n".join(map(_entry, section.value))]
    return "\n\n".join(parts)


_TITLES = {
    griffe.DocstringSectionKind.parameters: "Args",
    griffe.DocstringSectionKind.attributes: "Attributes",
    griffe.DocstringSectionKind.returns: "Returns",
    griffe.DocstringSectionKind.raises: "Raises",
    griffe.DocstringSectionKind.yields: "Yields",
}


def _entry(element: griffe.DocstringElement) -> str:
    # An exception has no name and a return value may have none, but each has a description.
    name = getattr(element, "name", "") or (
        str(element.annotation) if isinstance(element, griffe.DocstringRaise) else ""
    )
    description = inline(element.description)
    return f"- {escape.code(name)}: {description}" if name else f"- {description}"


def _names(module: griffe.Module, dotted: str) -> Iterator[str]:
    for name in map(str, module.exports or ()):
        yield f"### {escape.code(f'{dotted}.{name}')}"
        definition = _definition(module, name)
        if definition is not None:
            # Otherwise created on request, or a value: its module's text describes it.
            yield fenced(_signature(definition), "python")
            yield _described(definition)
            if isinstance(definition, griffe.Class):
                yield from _methods(definition)


def _definition(module: griffe.Module, name: str) -> griffe.Function | griffe.Class | None:
    """Returns the object called `name`. An imported function hides its module of that name, which griffe returns."""
    target = module.imports.get(name)
    path = target.removeprefix(f"{module.package.path}.") if target else name
    root = module.package if target else module
    for part in path.split(".")[:-1]:
        root = root.modules[part]
    member = root.members.get(path.rpartition(".")[2])
    return member if isinstance(member, (griffe.Function, griffe.Class)) else None


def _methods(owner: griffe.Class) -> Iterator[str]:
    for name, method in owner.functions.items():
        if not name.startswith("_") and method.docstring is not None:
            first = method.docstring.value.split("\n\n")[0]
            yield f"{escape.code(_signature(method))}: {inline(first)}"


def _signature(definition: griffe.Function | griffe.Class) -> str:
    signature = definition.signature()
    if isinstance(definition, griffe.Function):
        decorators = {
            str(decorator.value).rpartition(".")[2] for decorator in definition.decorators
        }
        return f"with {signature}" if "contextmanager" in decorators else signature
    bases = ", ".join(map(str, definition.bases))
    if signature:
        return f"class {signature}" + (f"  # {bases}" if bases else "")
    fields = [
        f"{attribute.name}: {attribute.annotation}"
        + ("" if attribute.value is None else f" = {attribute.value}")
        for attribute in definition.attributes.values()
        if attribute.annotation is not None
    ]
    inside = ", ".join(fields) or bases
    return f"class {definition.name}({inside})" if inside else f"class {definition.name}"
