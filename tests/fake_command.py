"""The command line with the fake cell process (fake_suite.py) in the place of environments and Triton."""

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from conftest import FakePrepare, fake_argv  # noqa: E402

from crosswarp.reports import cli  # noqa: E402
from crosswarp.reports.commands import commands  # noqa: E402

commands.Builder = lambda *given: FakePrepare()
commands.Runner = functools.partial(commands.Runner, suite=fake_argv)
sys.exit(cli.main())
