"""A command `nvidia-smi` for libraries that read it; only where the machine has none.

PYTEST_DONT_REWRITE
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from crosswarp.compat.record import Patches

# `--query-gpu=a,b --format=csv,noheader` answers the fields in their order, `-L` lists, anything else is a banner.
_SCRIPT = """#!/bin/sh
name='{name}'; capability='{major}.{minor}'; memory='{memory} MiB'
for argument in "$@"; do
  case "$argument" in
    -L|--list-gpus) echo "GPU 0: $name (UUID: GPU-00000000-0000-0000-0000-000000000000)"; exit 0 ;;
    --query-gpu=*)
      line=''
      for field in $(echo "${{argument#*=}}" | tr ',' ' '); do
        case "$field" in
          name|gpu_name) value="$name" ;;
          compute_cap) value="$capability" ;;
          memory.total|memory.free) value="$memory" ;;
          driver_version) value='570.00' ;;
          count) value=1 ;;
          *) value=0 ;;
        esac
        line="${{line:+$line, }}$value"
      done
      echo "$line"; exit 0 ;;
  esac
done
echo "NVIDIA-SMI (crosswarp's virtual GPU)   Driver Version: 570.00   CUDA Version: 12.8"
echo "|   0  $name   0MiB / $memory |"
"""


def install(patches: Patches, target: Any, properties: Any) -> None:
    """Put the command on PATH; the folder goes when the run ends."""
    if target.backend != "cuda" or shutil.which("nvidia-smi"):
        return
    folder = Path(tempfile.mkdtemp(prefix="crosswarp-"))
    command = folder / "nvidia-smi"
    text = _SCRIPT.format(
        name=properties.name,
        major=properties.major,
        minor=properties.minor,
        memory=properties.total_memory >> 20,
    )
    command.write_text(text, "utf-8")
    command.chmod(0o755)
    before = os.environ.get("PATH")
    os.environ["PATH"] = f"{folder}{os.pathsep}{before or os.defpath}"

    def undo() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        if before is None:
            os.environ.pop("PATH", None)
        else:
            os.environ["PATH"] = before

    patches.on_undo(undo)
