"""`crosswarp issues`: the known issues against a stored run, and records for what is not known."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from crosswarp.matrix import issues as known_issues
from crosswarp.matrix.store import Store
from crosswarp.reports import escape
from crosswarp.reports.drafts import drafts
from crosswarp.reports.view import view


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues.load(options.issues_file or known_issues.DEFAULT_FILE)
    with Store(options.store, must_exist=True) as store:
        shown = view(store, known, options.run)
    made = drafts(shown, known)
    print(
        escape.terminal("\n".join(made)) or "# Nothing is red that no known issue explains.\n",
        end="",
    )
    return 0
