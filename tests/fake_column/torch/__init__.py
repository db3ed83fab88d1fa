"""As much of torch as the suite itself uses in the interpret lane, on lists of floats."""

import contextlib
import math
from types import SimpleNamespace

__version__ = "2.15.0"
version = SimpleNamespace(git_version="fake", hip=None)
no_grad = contextlib.nullcontext


class Tensor:
    def __init__(self, values):
        self.values = list(values)
        self.shape = (len(self.values),)

    def _new(self, values):
        return Tensor(values)

    def _self(self, *args, **kwargs):
        return self

    to = detach = double = cpu = contiguous = flatten = _self

    def clone(self):
        return self._new(self.values)

    def numel(self):
        return len(self.values)

    def new_empty(self, size):
        return self._new([0.0] * size)

    def abs(self):
        return self._new(map(abs, self.values))

    def any(self):
        return any(self.values)

    def sum(self):
        return self._new([sum(self.values)])

    def item(self):
        (value,) = self.values
        return value

    def tolist(self):
        return list(self.values)

    def __int__(self):
        return int(self.item())

    def __mul__(self, factor):
        return self._new(value * factor for value in self.values)

    def __sub__(self, other):
        return self._new(a - b for a, b in zip(self.values, other.values))

    def __and__(self, other):
        return self._new(a and b for a, b in zip(self.values, other.values))

    def __invert__(self):
        return self._new(not value for value in self.values)

    def __getitem__(self, at):
        if isinstance(at, Tensor):
            return self._new(value for value, taken in zip(self.values, at.values) if taken)
        return self._new([self.values[at]])


class Generator:
    def __init__(self, device=None):
        self.seed = 0

    def manual_seed(self, seed):
        self.seed = seed
        return self


class device:
    def __init__(self, name):
        self.type = name


class linalg:
    @staticmethod
    def vector_norm(tensor):
        return Tensor([math.sqrt(sum(value * value for value in tensor.values))])


def isnan(tensor):
    return Tensor(map(math.isnan, tensor.values))


def isposinf(tensor):
    return Tensor(value == math.inf for value in tensor.values)


def isneginf(tensor):
    return Tensor(value == -math.inf for value in tensor.values)


def isfinite(tensor):
    return Tensor(map(math.isfinite, tensor.values))


def nonzero(tensor):
    return Tensor(number for number, value in enumerate(tensor.values) if value)


def argmax(tensor):
    return tensor.values.index(max(tensor.values))


def where(which, one, other):
    return Tensor(a if take else b for take, a, b in zip(which.values, one.values, other.values))


def zeros_like(tensor):
    return Tensor([0.0] * tensor.numel())


def empty(size):
    return Tensor([0.0] * size)


empty_like = zeros_like
empty_strided = empty


def get_num_threads():
    return 1


def set_num_threads(count):
    pass
