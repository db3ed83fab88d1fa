from _shared import kernel


def launch(x):
    raise ValueError("\x1b[2J<script>alert(1)</script> | `quoted`")


KERNEL = kernel("raises", launch)
