"""Copied into an unpacked release that has no tests: each of its modules that imports Triton can be imported."""

import importlib
import json
from pathlib import Path

import pytest

MODULES = json.loads(Path(__file__).with_name("modules.json").read_text("utf-8"))


@pytest.mark.parametrize("module", MODULES)
def test_import(module):
    importlib.import_module(module)
