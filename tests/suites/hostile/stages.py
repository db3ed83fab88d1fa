from _shared import kernel


class Stage:
    """Of a class that no other process knows."""


def launch(x):
    error = ValueError("at a stage of its own")
    error.crosswarp_stage = {("backward", 1): Stage()}
    raise error from error


KERNEL = kernel("stages", launch)
