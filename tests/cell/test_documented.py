"""What docs/shim-only.md shows a reader runs on this column."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "shim-only.md"


def test_the_program_of_the_page_prints_three_names(tmp_path):
    (program,) = re.findall(r'```python title="main.py"\n(.*?)```', PAGE.read_text("utf-8"), re.S)
    (tmp_path / "main.py").write_text(program)
    command = [sys.executable, "-W", "ignore", str(tmp_path / "main.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.match(r"(\w+ ){3}and [1-9]\d* more, on Triton \d", printed), printed
