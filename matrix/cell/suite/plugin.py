"""The pytest plugin: items from the plan, records into the stream. Loaded with ``-p`` by `__main__`."""

import os

import pytest

from crosswarp.compat.isolate import die_with_parent
from crosswarp.matrix.cell.protocol import Cell, End, Start

from .specification import read_spec
from .stream import Stream

SPEC_ENV, LANE_ENV = "CROSSWARP_SPEC", "CROSSWARP_LANE"


def pytest_configure(config):
    # pytest dies with the process that the host started, and its workers with pytest.
    die_with_parent()
    config.crosswarp_spec = read_spec(os.environ[SPEC_ENV])


def pytest_generate_tests(metafunc):
    """Called where items are collected: in each worker, or here if there are none."""
    if "item" not in metafunc.fixturenames:
        return
    # One process a core: threads of torch inside them only get in each other's way, and do not survive a fork.
    import torch

    torch.set_num_threads(1)
    from crosswarp.compat import launch

    from . import preloading
    from .plan import shared_plan
    from .warm import warm

    spec = metafunc.config.crosswarp_spec
    lane = os.environ[LANE_ENV]
    # The lane compile compares nothing.
    warm(spec.get("preload"), references=lane != "compile", targets=spec["targets"].values())

    items, preload = shared_plan(spec, lane)
    preloading.load(preload)
    launch.ready_to_fork()
    metafunc.parametrize("item", items, ids=[item.id for item in items])


@pytest.fixture
def run_item(request):
    """Run an item and write its cells to the stream as they come; returns the verdict on the whole."""
    spec = request.config.crosswarp_spec
    stream = Stream(spec["records"])
    return lambda item: run_and_tell(item, spec, stream)


def run_and_tell(item, spec, stream):
    """What `run_item` does. Between the item's start and its end there is the cell of the whole, whatever happens."""
    from . import item as runner
    from .verdict import of_harness

    cells = 0

    def emit(config, verdict, seconds):
        nonlocal cells
        stream.write(
            Cell(
                target=item.target,
                lane=item.lane,
                mode=item.mode,
                kernel=item.kernel,
                case=item.case,
                config=config,
                seconds=round(seconds, 4),
                **vars(verdict),
            )
        )
        cells += 1

    # Before anything else: if this process dies, the host knows its victim.
    stream.write(Start(item.id))
    try:
        verdict = runner.run(item, spec, emit)
    except Exception as error:
        # A bug here. What is not told would be taken for not planned; if this fails too, the item stays open.
        verdict = of_harness(error)
        emit("", verdict, 0.0)
    stream.write(End(item.id, cells))
    return verdict
