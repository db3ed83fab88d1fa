from _shared import kernel


class Interrupt(KeyboardInterrupt):
    def __str__(self):
        raise GeneratorExit


def launch(x):
    raise Interrupt


KERNEL = kernel("interrupts", launch)
