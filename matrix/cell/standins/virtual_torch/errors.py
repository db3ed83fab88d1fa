"""What a test asks for that only a real GPU has."""


class NotOnVirtualGPU(RuntimeError):
    """The test needs what the virtual GPU does not have: the test does not apply here, and is not red by it."""
