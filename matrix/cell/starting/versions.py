"""Identify this environment. A version string is no identity, so builds are named as far as they can be."""

import functools
import platform
from pathlib import Path
from typing import Dict

from crosswarp.compat import facts
from crosswarp.compat.versions import triton_version


@functools.lru_cache(maxsize=None)
def installed() -> Dict[str, str]:
    """Versions of triton, torch, numpy, python, ptxas, and `triton_build`: a digest of Triton's compiled part."""
    import numpy
    import torch
    import triton

    folder = Path(triton.__file__).parent
    distributions = [f"{build['name']} {build['version']}" for build in facts.tritons()]
    # The first, by its path, that answers; one that the environment chooses instead is not the wheel's.
    ptxas = [tool["version"] for tool in facts.ptxas(folder) if tool["from"] == "Triton"]
    return {
        "triton": triton_version() or triton.__version__,
        "triton_distribution": (distributions or ["unknown"])[0],
        "triton_build": facts.build_id(folder) or "unknown",
        "torch": torch.__version__,
        "torch_git": getattr(torch.version, "git_version", None) or "unknown",
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "ptxas": next((version for version in ptxas if version), "none"),
    }
