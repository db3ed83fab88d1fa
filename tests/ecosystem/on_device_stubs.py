"""pytest plugin of on_device.py: stand-ins for the compiled extensions that AGREE_STUBS names. PYTEST_DONT_REWRITE"""

import os

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.pytest_plugin import stubs

stubs.install(Patches(), os.environ["AGREE_STUBS"].split(","))
stubs.running = False


def pytest_runtest_setup(item):
    stubs.running = True
