"""Linear layers of gemlite, 256 x 256, for one and for 64 rows."""

import pytest
import torch
from gemlite import helper


@pytest.mark.parametrize("rows", [1, 64])
@pytest.mark.parametrize("kind", ["A16W8_INT8", "A8W8_int8_dynamic", "A16W8_FP8"])
def test_linear(kind, rows):
    linear = torch.nn.Linear(256, 256, bias=False, device="cuda", dtype=torch.float16)
    layer = getattr(helper, kind)(device="cuda", dtype=torch.float16).from_linear(linear)
    layer(torch.randn(rows, 256, device="cuda", dtype=torch.float16))
