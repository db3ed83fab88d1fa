"""The results on disk: a line for each cell, so that a run resumes where it stopped, however it ended."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crosswarp.matrix.errors import UsageError

from . import generator
from .ran import Cell

# The most characters of a message in the file, beside its fingerprint.
_LONGEST = 1500


@dataclass(frozen=True)
class Settings:
    """The settings that determine the programs and where they run; a run resumes another only if they are equal."""

    seed: int
    columns: tuple[str, ...]
    targets: tuple[str, ...]
    generator: int = generator.VERSION
    everything: bool = False
    spread: bool = False


class Corpus:
    """The folder of one seed.

    Raises:
        UsageError: it was made with other settings, or cannot be written.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self._file = folder / "cells.jsonl"
        content = json.dumps(asdict(settings), indent=1, sort_keys=True) + "\n"
        head = folder / "settings.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if head.exists():
                if json.loads(head.read_text("utf-8")) != json.loads(content):
                    raise UsageError(
                        f"{folder} holds programs of other columns, targets, or of another generator. Take another "
                        "--seed or --work, or remove that folder."
                    )
            else:
                head.write_text(content, "utf-8")
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{folder}: {error}. Name a --work that can be written, or remove that folder."
            ) from None
        self._judged_file = folder / "judged.txt"
        self._causes_file = folder / "causes.json"
        self._cells: dict[int, dict[tuple[str, str], Cell]] = defaultdict(dict)
        # Programs of which an earlier run has said all that there is to say.
        self.judged = self._read_judged()
        for number, cell in self._read():
            self._cells[number][cell.column, cell.target] = cell

    def _read(self) -> Iterator[tuple[int, Cell]]:
        try:
            text = self._file.read_text("utf-8", "replace")
        except FileNotFoundError:
            return
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                number = int(entry.pop("number"))
                entry["options"] = tuple(
                    (str(name), int(value)) for name, value in entry["options"]
                )
                yield number, Cell(**entry)
            except (ValueError, TypeError, KeyError):
                # The line that was being written when its process died: that cell is run again.
                continue

    def _read_judged(self) -> set[int]:
        try:
            text = self._judged_file.read_text("utf-8", "replace")
        except FileNotFoundError:
            return set()
        # The last line may be torn, and its program is judged once more.
        return {int(line) for line in text.split("\n")[:-1] if line.isdecimal()}

    def mark(self, numbers: Iterable[int]) -> None:
        """Note that these programs ran everywhere, and were judged."""
        fresh = [number for number in numbers if number not in self.judged]
        self.judged.update(fresh)
        with self._judged_file.open("a", encoding="utf-8") as file:
            file.writelines(f"{number}\n" for number in fresh)

    def causes(self) -> dict[tuple[str, ...], list[str]]:
        """The names of the findings of earlier runs, by the key that groups them."""
        try:
            content = json.loads(self._causes_file.read_text("utf-8"))
            return {tuple(map(str, key)): list(map(str, names)) for key, names in content}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError):
            raise UsageError(
                f"{self._causes_file} makes no sense. Remove it: earlier findings are reported once more."
            ) from None

    def keep_causes(self, causes: Mapping[tuple[str, ...], Sequence[str]]) -> None:
        content = json.dumps([[list(key), list(names)] for key, names in causes.items() if names])
        partial = self._causes_file.with_suffix(".partial")
        partial.write_text(content + "\n", "utf-8")
        partial.replace(self._causes_file)

    def has(self, number: int, column: str, target: str) -> bool:
        return (column, target) in self._cells.get(number, {})

    def add(self, number: int, cell: Cell) -> None:
        """Keep a cell, at once."""
        self._cells[number][cell.column, cell.target] = cell
        entry: dict[str, Any] = {"number": number, **asdict(cell)}
        entry["message"] = cell.message[:_LONGEST]
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def cells(self, number: int, columns: Sequence[str]) -> list[Cell]:
        """Returns the cells of one program, in the order of `columns`."""
        found = self._cells.get(number, {})
        return sorted(found.values(), key=lambda cell: (columns.index(cell.column), cell.target))

    def numbers(self) -> list[int]:
        return sorted(self._cells)

    @property
    def count(self) -> int:
        return sum(map(len, self._cells.values()))
