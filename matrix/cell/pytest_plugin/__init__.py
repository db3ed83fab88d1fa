"""A library's own GPU tests on a machine without one: ``pytest --virtual-gpu sm_90``.

Entry point of the group `pytest11`. Without the option it is inert: it imports neither torch nor Triton, and adds some
lines to ``pytest --help``. With it, each test runs in a forked child, on tensors that claim to be on the GPU
(`virtual_torch`), and its launches go through one of three lanes (`lanes`).

Where crosswarp is on the path but not installed: ``-p crosswarp.matrix.cell.pytest_plugin``.

PYTEST_DONT_REWRITE
"""

from typing import Any

import pytest

from .options import add_options


def pytest_addoption(parser: Any) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    # Before any conftest, so that it imports the mapped names from torch.
    if early_config.known_args_namespace.virtual_gpu is not None:
        from .session import start

        start(early_config)
