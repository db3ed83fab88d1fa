"""The error for requests that only a real GPU can serve."""


class NotOnVirtualGPU(RuntimeError):
    """The test needs a feature that the virtual GPU lacks: it does not apply here, which is no failure."""
