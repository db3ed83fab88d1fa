"""TLX where this Triton is a build that has it, as fbtriton is; otherwise a stand-in.

A case of such a module uses "tlx", whose probe is `lacking`, and is `unsupported` elsewhere.
"""

from crosswarp.kernels.gluon_import import optional

tlx = optional("triton.language.extra.tlx")


def lacking():
    """Why this Triton has no TLX, or None."""
    if hasattr(tlx, "__name__"):
        return None
    return "TLX (triton.language.extra.tlx) is fbtriton's, and in no release of Triton"
