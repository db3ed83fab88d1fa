"""An API reference in Markdown, from source: nothing is imported, so names that need Triton are documented as well."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from crosswarp.reports.text import escape

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# A section of a docstring in Google's style, and an entry of it.
_SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields):")
_ENTRY = re.compile(r"(?P<name>[\w*.]+): (?P<text>.*)", re.S)
_CODE = re.compile(r"``(?P<double>.+?)``|`(?P<single>[^`]+)`", re.S)


def reference(package: Path, dotted: str) -> str:
    """The page: the package, then each of its modules that has an ``__all__`` of its own, then its command line."""
    tree = _parse(package / "__init__.py")
    parts = [
        f"# API of {escape.code(dotted)}",
        "Made from the docstrings by `crosswarp docs`; change those, not this page.",
        prose(ast.get_docstring(tree) or ""),
        *_names(package, tree, dotted),
    ]
    for path in sorted(package.glob("*.py")):
        module = _parse(path)
        if path.stem.startswith("_") or not _public(module):
            continue
        name = f"{dotted}.{path.stem}"
        parts += [f"## {escape.code(name)}", prose(ast.get_docstring(module) or "")]
        parts += _names(package, module, name, here=path)
    command = package / "__main__.py"
    if command.is_file():
        told = ast.get_docstring(_parse(command)) or ""
        parts += [f"## {escape.code('python -m ' + dotted)}", fenced(told)]
    return "\n\n".join(part for part in parts if part) + "\n"


def fenced(text: str) -> str:
    """A code block whose fence outgrows what is inside."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text) or [""]))
    return f"{fence}text\n{text}\n{fence}"


def prose(text: str) -> str:
    """A docstring as Markdown: paragraphs, indented code, and the sections of Google's style as lists."""
    parts = []
    for block in _blocks(text):
        lines = block.splitlines()
        section = _SECTION.fullmatch(lines[0].strip())
        if section:
            parts += [f"**{section[1]}**", _entries("\n".join(lines[1:]))]
        elif all(not line or line.startswith("    ") for line in lines):
            parts.append(fenced("\n".join(line[4:] for line in lines)))
        else:
            parts.append(inline(block))
    return "\n\n".join(parts)


def inline(text: str) -> str:
    """One paragraph. What stands in backticks, single or double, is code; everything else is escaped."""
    text = " ".join(text.split())
    out, at = [], 0
    for match in _CODE.finditer(text):
        out += [_gaps(text[at : match.start()]), escape.code(match["double"] or match["single"])]
        at = match.end()
    return "".join([*out, _gaps(text[at:])])


def _gaps(text: str) -> str:
    # escape.markdown strips, and here the text goes on before and after.
    core = escape.markdown(text)
    return (" " if text[:1] == " " else "") + core + (" " if core and text[-1:] == " " else "")


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs; a section of the docstring begins a new one even without an empty line before it."""
    for block in filter(None, re.split(r"\n\s*\n", text.strip("\n"))):
        lines: list[str] = []
        for line in block.splitlines():
            if _SECTION.fullmatch(line) and lines:
                yield "\n".join(lines)
                lines = []
            lines.append(line)
        yield "\n".join(lines)


def _entries(text: str) -> str:
    """`name: what` a line, continued by deeper lines."""
    lines = text.splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    entries: list[str] = []
    for line in lines:
        if entries and line[indent : indent + 1].isspace():
            entries[-1] += " " + line.strip()
        else:
            entries.append(line.strip())
    out = []
    for entry in entries:
        match = _ENTRY.fullmatch(entry)
        out.append(
            f"- {escape.code(match['name'])}: {inline(match['text'])}"
            if match
            else f"- {inline(entry)}"
        )
    return "\n".join(out)


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=path.name)


def _public(tree: ast.Module) -> list[str]:
    """The names in a literal ``__all__``, in its order."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            try:
                return [str(name) for name in ast.literal_eval(node.value)]
            except ValueError:
                return []
    return []


def _names(package: Path, tree: ast.Module, dotted: str, here: Path | None = None) -> list[str]:
    parts = []
    for name in _public(tree):
        node = _definition(package, tree, name)
        parts.append(f"### {escape.code(f'{dotted}.{name}')}")
        if node is None:
            # Made when it is asked for, or a value: its module's text says what it is.
            continue
        parts += [fenced(_signature(node)).replace("```text", "```python", 1)]
        parts.append(prose(ast.get_docstring(node) or ""))
        if isinstance(node, ast.ClassDef):
            parts += _methods(node)
    return parts


def _definition(package: Path, tree: ast.Module, name: str) -> Definition | None:
    """Where `name` is defined: here, or in the module of this package that it is imported from."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == name:
                return node
        elif isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    path = package.joinpath(*node.module.split("."))
                    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
                    return _definition(path.parent, _parse(path), alias.name)
    return None


def _methods(node: ast.ClassDef) -> list[str]:
    parts = []
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            told = ast.get_docstring(item)
            if told:
                parts.append(
                    f"{escape.code(_signature(item))}: {inline(told.split(chr(10) * 2)[0])}"
                )
    return parts


def _signature(node: Definition) -> str:
    if isinstance(node, ast.ClassDef):
        return _class_signature(node)
    told = f"{node.name}({ast.unparse(node.args)})"
    if node.returns is not None:
        told += f" -> {ast.unparse(node.returns)}"
    decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
    return f"with {told}" if "contextmanager" in decorators else told


def _class_signature(node: ast.ClassDef) -> str:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            # Without self.
            item.args.args = item.args.args[1:]
            return f"class {node.name}({ast.unparse(item.args)})" + (
                f"  # {bases}" if bases else ""
            )
    fields = [ast.unparse(item) for item in node.body if isinstance(item, ast.AnnAssign)]
    if fields:
        return f"class {node.name}({', '.join(fields)})"
    return f"class {node.name}({bases})" if bases else f"class {node.name}"
