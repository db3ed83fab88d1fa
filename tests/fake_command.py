"""The command line with the fake cell process (fake_suite.py) in the place of environments and Triton.

`fake_command.py --serve PATH` has imported it, and starts it as often as `prefork.py` asks.
"""

import functools
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import prefork  # noqa: E402
from conftest import FakePrepare, fake_argv  # noqa: E402

from crosswarp.reports import cli  # noqa: E402
from crosswarp.reports.commands import dispatched, run  # noqa: E402

run.Builder = lambda *given, **more: FakePrepare()
dispatched.COMMAND = (__file__,)
run.Runner = functools.partial(run.Runner, command=fake_argv)
if sys.argv[1:2] == ["--serve"]:
    for name in ("diff", "github", "merge", "plan", "report"):
        importlib.import_module(f"crosswarp.reports.commands.{name}")
    prefork.serve(sys.argv[2])
sys.exit(cli.main())
