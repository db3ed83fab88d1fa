"""The error for requests that only a real GPU can serve."""


class NotOnVirtualGPU(RuntimeError):
    """The test needs what the virtual GPU does not have: the test does not apply here, and is not red by it."""
