"""Which shim of `crosswarp.compat` fixes which finding, by release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosswarp.compat.shims import all_shims
from crosswarp.matrix import versions
from crosswarp.matrix.cell.spelled import SHORT
from crosswarp.matrix.errors import ConfigError
from crosswarp.matrix.facts import language_table

DEFAULT_FILE = Path(language_table.__file__).with_name("fixed_names.json")
# Calls that a shim accepts and no signature shows: rule, start of the subject, shim. Each holds in affected releases.
_BY_CALL = (
    ("host-argument", "triton.autotune(", "autotune_arguments"),
    ("host-argument", "triton.runtime.autotuner.autotune(", "autotune_arguments"),
    ("host-argument", "triton.Config(", "unknown_options"),
    ("host-argument", "triton.runtime.autotuner.Config(", "unknown_options"),
    ("host-argument", "triton.testing.do_bench(fast_flush)", "do_bench_arguments"),
    ("host-argument", "triton.testing.do_bench(device_type)", "do_bench_arguments"),
    ("language-removed", "triton.language.make_block_ptr", "block_pointers"),
    ("language-argument", "triton.language.load(boundary_check)", "block_pointers"),
    ("language-argument", "triton.language.load(padding_option)", "block_pointers"),
    ("language-argument", "triton.language.store(boundary_check)", "block_pointers"),
    ("language-name", "triton.language.advance", "block_pointers"),
    ("launch-option", "launch.", "unknown_options"),
    ("autotune-key", "", "autotune_key_names"),
    ("plain-global", "annotated global ", "annotated_globals"),
    ("autotune-restored", "", "autotune_arguments"),
)


class Fixes:
    """The names that shims add, as recorded in DEFAULT_FILE, and the calls that they accept."""

    def __init__(self, names: Mapping[str, Mapping[str, frozenset[str]]]) -> None:
        self._names = names
        self._windows = {shim.name: shim.window for shim in all_shims()}

    @classmethod
    def load(cls, releases: Sequence[str], path: Path = DEFAULT_FILE) -> Fixes:
        """Raises ConfigError where the file is none."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                {
                    name: {
                        shim: frozenset(language_table.spread(runs, releases))
                        for shim, runs in shims.items()
                    }
                    for name, shims in document["names"].items()
                }
            )
        except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise ConfigError(
                f"{path}: cannot be read ({str(error)[:100]}). Take the committed file again."
            ) from None

    def shim(self, release: str, rule: str, subject: str) -> str | None:
        """The shim that brings `subject` on a release."""
        for name in _keys(subject):
            for shim, releases in self._names.get(name, {}).items():
                if release in releases:
                    return shim
        for rule_of, beginning, shim in _BY_CALL:
            if rule == rule_of and subject.startswith(beginning):
                if versions.within(release, self._windows.get(shim, "<0")):
                    return shim
        return None


def _keys(subject: str) -> list[str]:
    names = [subject]
    for long, short in sorted(SHORT.items(), key=lambda pair: len(pair[0]), reverse=True):
        if subject.startswith(f"{long}."):
            return [*names, short + subject[len(long) :]]
    return names
