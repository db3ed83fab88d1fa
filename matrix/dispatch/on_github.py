"""A workflow of GitHub Actions: a job for each share, and one that merges what they made.

What a matrix runs is decided here, from what the store knows of its cost; the workflow only moves files between jobs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from crosswarp.matrix.dispatch.shares import Share
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.running import jobs

# As in .github/workflows/matrix.yml, where a test compares them.
CHECKOUT = "actions/checkout@11d5960a326750d5838078e36cf38b85af677262  # v4.4.0"
PYTHON = "actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065  # v5.6.0"
UPLOAD = "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02  # v4.6.2"
DOWNLOAD = "actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093  # v4.3.0"

_SETUP = f"""\
      - uses: {CHECKOUT}
      - uses: {PYTHON}
        with:
          python-version: "3.11"
      - name: Install
        run: python -m pip install "$CROSSWARP"
"""
_WORKFLOW = f"""\
# Made by `@COMMAND@`. Make it anew when the columns, the suite or its cost have changed.
name: crosswarp

on:
  workflow_dispatch:

permissions:
  contents: read

env:
  CROSSWARP: crosswarp[matrix]
  PLAN: |
    @PLAN@

jobs:
  share:
    name: ${{{{ matrix.name }}}}
    runs-on: ubuntu-latest
    timeout-minutes: 180
    strategy:
      fail-fast: false
      matrix: @PLAN@
    steps:
{_SETUP}\
      - name: Run
        env:
          RUN: ${{{{ matrix.run }}}}
          NAME: ${{{{ matrix.name }}}}
        run: |
          read -ra options <<< "$RUN"
          crosswarp run "${{options[@]}}" @OPTIONS@--store "part/$NAME.db"
      # Also of a share that is red: the merged run is judged as a whole.
      - uses: {UPLOAD}
        if: ${{{{ !cancelled() }}}}
        with:
          name: part-${{{{ matrix.name }}}}
          path: part/

  merge:
    needs: share
    if: ${{{{ !cancelled() }}}}
    runs-on: ubuntu-latest
    steps:
{_SETUP}\
      - uses: {DOWNLOAD}
        with:
          pattern: part-*
          path: parts
          merge-multiple: true
      - name: Merge
        run: |
          printf '%s' "$PLAN" > plan.json
          crosswarp merge parts/*.db --into merged/store.db --expect plan.json
      - name: Report
        if: ${{{{ !cancelled() }}}}
        run: crosswarp report --store merged/store.db --format comment >> "$GITHUB_STEP_SUMMARY"
      - uses: {UPLOAD}
        if: ${{{{ !cancelled() }}}}
        with:
          name: report
          path: merged/
"""


def workflow(shares: Sequence[Share], options: Sequence[str], argv: Sequence[str]) -> str:
    """Its text. `options`: what every share has beside its selection.

    Raises:
        UsageError: there are more shares than a job matrix holds.
    """
    if len(shares) > jobs.MAX_JOBS:
        raise UsageError(
            f"{len(shares)} shares are more than the {jobs.MAX_JOBS} jobs of a matrix of GitHub Actions. Take fewer "
            "--shards or fewer --columns."
        )
    plan = jobs.github([share.job for share in shares]).strip()
    told = "".join(f"{option} " for option in options)
    command = json.dumps(" ".join(("crosswarp", *argv)))[1:-1]
    return (
        _WORKFLOW.replace("@PLAN@", plan).replace("@OPTIONS@", told).replace("@COMMAND@", command)
    )
