"""Features that a Triton or a target never had: a case that uses one is `unsupported` there in every lane, not failed.

Only features that its authors never promised belong here. A feature that was broken or removed is a known issue.
"""

import fnmatch
from typing import Collection, NamedTuple, Optional

from crosswarp.compat.versions import in_window


class Lack(NamedTuple):
    """Something that some versions or targets do not have.

    Attributes:
        uses: the feature, as in `Kernel.uses`.
        triton: the versions.
        why: for the record.
        target: glob of the targets that lack it; "*" is all of them, and the interpreter.
        shim: the shim that provides it, if any.
    """

    uses: str
    triton: str
    why: str
    target: str = "*"
    shim: str = ""


LACKS = (
    Lack("bf16", "<3.3", "Turing has no bfloat16, which Triton before 3.4 writes all the same", target="sm_75"),
    Lack("dot-3d", "<3.0", "tl.dot of three dimensions came with Triton 3.0"),
    Lack("dot-scaled", "<3.3", "tl.dot_scaled came with Triton 3.2, which takes no scale of the right-hand operand"),
    Lack("dot-scaled", "<3.5", "Triton before 3.5 cannot lower tl.dot_scaled for RDNA", target="gfx1[12]0?"),
    Lack("dot-scaled", "<3.5", "Triton before 3.5 cannot lower tl.dot_scaled for RDNA 3.5", target="gfx115?"),
    Lack("dot-scaled", "<3.8", "Triton before 3.8 cannot lower tl.dot_scaled for CDNA 1 to 3", target="gfx908"),
    Lack("dot-scaled", "<3.8", "Triton before 3.8 cannot lower tl.dot_scaled for CDNA 1 to 3", target="gfx90a"),
    Lack("dot-scaled", "<3.8", "Triton before 3.8 cannot lower tl.dot_scaled for CDNA 1 to 3", target="gfx942"),
    Lack("dot-scaled", ">=3.3", "no Triton lowers tl.dot_scaled for GPUs without matrix units", target="gfx906"),
    Lack("dot-scaled", ">=3.3", "no Triton lowers tl.dot_scaled for GPUs without matrix units", target="gfx1030"),
    Lack("gather", "<3.3", "tl.gather came with Triton 3.3", shim="gather"),
    Lack("gluon", "<3.5", "Gluon came with Triton 3.4, which has little of it, and nothing of AMD's"),
    Lack("gluon-async-load", "<3.8", "Gluon's async_load and async_store came with Triton 3.8", shim="gluon_names"),
    Lack("gluon-column-stride", "<3.6", "TensorMemoryLayout takes col_stride from Triton 3.6 on", shim="gluon_names"),
    Lack("gluon-mma-v2", "<3.6", "Gluon's mma_v2 came with Triton 3.6", shim="gluon_names"),
    Lack("gluon-of-3.6", "<3.6", "Gluon of Triton 3.5 lacks float2, gfx1250, WMMA and paddings by bases"),
    Lack("gluon-pairs", "<3.6", "warp_specialize takes pairs from Triton 3.6 on", shim="gluon_names"),
    Lack("gluon-tile-depth", "<3.6", "AMDMFMALayout takes three numbers from Triton 3.6 on", shim="gluon_names"),
    Lack("histogram", "<3.0", "tl.histogram came with Triton 3.0"),
    Lack("reverse-scan", "<3.0", "reverse scans came with Triton 3.0", shim="dot_and_reduce_arguments"),
    Lack("scan-of-tuple", "<3.0", "associative_scan of a tuple of tensors came with Triton 3.0"),
    Lack("tensor-descriptor", "<3.4", "tl.make_tensor_descriptor came with Triton 3.4"),
    Lack("tl-range", "<3.0", "tl.range came with Triton 3.0", shim="language_names"),
    Lack("tl-range-flatten", "<3.3", "tl.range takes flatten and disallow_acc_multi_buffer from Triton 3.3"),
    Lack("tuple-argument", "<3.3", "tuples as kernel arguments came with Triton 3.3"),
)  # fmt: skip


def lack(
    uses: Collection[str], triton: str, target: str, shims: Collection[str] = ()
) -> Optional[Lack]:
    """Return the first feature in `uses` that this Triton does not have on `target`, or None.

    Args:
        uses: the features that the kernel and its case use.
        triton: version.
        target: name as in targets.toml, or of the interpreter.
        shims: names of the active shims.
    """
    for candidate in LACKS:
        if candidate.uses not in uses or candidate.shim in shims:
            continue
        if in_window(candidate.triton, triton) and fnmatch.fnmatchcase(target, candidate.target):
            return candidate
    return None
