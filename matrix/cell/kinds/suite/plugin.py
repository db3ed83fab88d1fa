"""The pytest plugin: items from the plan, records into the stream. Loaded with ``-p`` by `__main__`."""

import os

import pytest

from crosswarp.compat.isolate import die_with_parent
from crosswarp.matrix.cell import asked
from crosswarp.matrix.cell.starting import specification, turns
from crosswarp.matrix.cell.starting.enduring import endure
from crosswarp.matrix.cell.stream import Stream

from .telling import run_and_tell

SPEC_ENV, LANE_ENV = "CROSSWARP_SPEC", "CROSSWARP_LANE"


def pytest_configure(config):
    # pytest dies with the process that the host started, and its workers with pytest.
    die_with_parent()
    endure()
    config.crosswarp_spec = asked.read(os.environ[SPEC_ENV], asked.AskedSuite)


def pytest_generate_tests(metafunc):
    """Called where items are collected: in each worker, or here if there are none."""
    if "item" not in metafunc.fixturenames:
        return
    # One process a core: threads of torch inside them only get in each other's way, and do not survive a fork.
    import torch

    torch.set_num_threads(1)
    from crosswarp.matrix.cell import forking
    from crosswarp.matrix.cell.kinds.suite import prepared
    from crosswarp.matrix.cell.starting import preloading
    from crosswarp.matrix.cell.starting.warm import warm

    from .plan import shared_plan

    spec = metafunc.config.crosswarp_spec
    lane = os.environ[LANE_ENV]
    # The lane compile compares nothing.
    warm(spec.preload, references=lane != "compile", targets=spec.targets.values())

    # To plan is to fork, too.
    forking.huge_pages()
    items, preload = shared_plan(spec, lane)
    preloading.load(preload)
    forking.ready()
    prepared.expect(items)
    metafunc.parametrize("item", items, ids=[item.id for item in items])


@pytest.fixture
def run_item(request):
    """Run an item and write its cells to the stream as they come; returns the verdict on the whole."""
    spec = request.config.crosswarp_spec
    stream = Stream(spec.records)

    def run(item):
        with turns.core(specification.turns(spec), spec.cores or spec.jobs):
            verdict = run_and_tell(item, spec, stream)
        specification.one_more_done(spec, os.environ[LANE_ENV])
        return verdict

    return run
