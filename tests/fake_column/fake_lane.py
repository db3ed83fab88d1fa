"""Stands in for what the plugin needs of torch and Triton: a launch is counted. Named by a made-up library's `env`."""

from crosswarp.matrix.cell.pytest_plugin import lanes, session

count = 0


def launch():
    global count
    count += 1


class Lane:
    done = "compiled"
    judges_values = False
    proves = "nothing"
    too_slow = "red"

    def __init__(self, name):
        self.name = name

    def in_child(self):
        pass

    def launches(self):
        return count

    def left_out(self):
        return 0

    def kernels(self):
        return []

    def ended(self):
        return None

    def depends_on_numbers(self, error):
        return None


def _prepare(self, patches):
    self.versions = "Triton 3.9.0, torch 2.15.0"


session.Session._prepare = _prepare
lanes.make = Lane
