"""The command line with the fake cell process (fake_suite.py) in the place of environments and Triton."""

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from conftest import FakePrepare, fake_argv  # noqa: E402

from crosswarp.reports import cli  # noqa: E402
from crosswarp.reports.commands import dispatched, run  # noqa: E402

run.Builder = lambda *given, **more: FakePrepare()
dispatched.COMMAND = (__file__,)
run.Runner = functools.partial(run.Runner, command=fake_argv)
sys.exit(cli.main())
