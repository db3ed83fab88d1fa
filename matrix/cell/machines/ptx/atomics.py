"""Atomic operations: lanes in their order, one round for each lane that meets the same address."""

import numpy as np

from . import floats
from .types import RAW, f2, f4, f8, i4, i8, type_of

_BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_FLOATS = {16: f2, 32: f4, 64: f8}


def _float_function(operation):
    return {"add": np.add, "min": floats.minimum, "max": floats.maximum}[operation]


def combine(operation, type_name, old, value, compare):
    """Return the raw bits in memory after an operation."""
    bits, kind = type_of(type_name)
    raw = RAW[bits]
    if operation == "exch":
        return value
    if operation == "cas":
        return np.where(old == compare, value, old)
    if operation in _BITWISE:
        return _BITWISE[operation](old, value)
    if operation == "inc":
        return np.where(old >= value, 0, old + raw.type(1)).astype(raw)
    if operation == "dec":
        return np.where((old == 0) | (old > value), value, old - raw.type(1)).astype(raw)
    if kind == "f16x2":
        function = _float_function(operation)
        return floats.pack_f16(function(floats.halves_f16(old), floats.halves_f16(value)))
    if kind == "bf16x2":
        function = _float_function(operation)
        return floats.pack_bf16(function(floats.halves_bf16(old), floats.halves_bf16(value)))
    if kind == "bf":
        function = _float_function(operation)
        return floats.to_bf16(function(floats.from_bf16(old), floats.from_bf16(value)))
    if kind == "f":
        floating = _FLOATS[bits]
        result = _float_function(operation)(old.view(floating), value.view(floating))
        return result.astype(floating).view(raw)
    signed = kind == "s" and operation in ("min", "max")
    own = np.dtype({32: i4, 64: i8}[bits]) if signed else raw
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[operation]
    return function(old.view(own), value.view(own)).view(raw)


class Atomics:
    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)

    def apply(self, at, space, operation, type_name, address, values, compare, condition):
        """Read, combine, write; return the contents before, one array for each of `values`.

        Several values are neighbours (`.v2`): each of them is atomic, not the vector.
        """
        machine = self.machine
        bits = type_of(type_name).bits
        size, raw = bits // 8, RAW[bits]
        if space == "generic":
            target, address = machine.generic.of_atomic(address, condition)
        else:
            target = machine.shared if space == "shared" else machine.global_
        results = [np.zeros(self.shape, raw) for _ in values]
        machine.polled = True
        if condition is not None:
            condition = np.broadcast_to(condition, self.shape)
            if not condition.any():
                return results
        address = np.broadcast_to(address, self.shape)
        active = np.ones(self.shape, bool) if condition is None else condition
        safe = address
        if condition is not None:
            safe = np.where(condition, address, address.flat[int(condition.argmax())])
        target.check(at, "atomic", safe, condition, size * len(values))
        data, index = target.elements(safe, active, size)
        if compare is not None:
            compare = np.broadcast_to(compare, self.shape)[active]
        for place, value in enumerate(values):
            value = np.broadcast_to(value, self.shape)[active]
            old = self._rounds(
                data,
                index + place if place else index,
                operation,
                type_name,
                value,
                compare,
                active,
            )
            results[place][active] = old
        return results

    def _rounds(self, data, index, operation, type_name, values, compare, active):
        order = np.argsort(index, kind="stable")
        if self.machine.backwards:
            # The CTAs run in reverse already; so do the threads of each. Results that depend on the order differ.
            cta, thread = np.nonzero(active)
            order = np.lexsort((-thread, cta, index))
        ordered = index[order]
        numbers = np.arange(len(ordered))
        begins = np.r_[True, ordered[1:] != ordered[:-1]]
        turn = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
        result = np.zeros(len(index), data.dtype)
        by_turn = np.argsort(turn, kind="stable")
        counts = np.bincount(turn)
        start = 0
        for count in counts:
            lanes = order[by_turn[start : start + count]]
            start += count
            old = data[index[lanes]]
            new = combine(
                operation,
                type_name,
                old,
                values[lanes],
                None if compare is None else compare[lanes],
            )
            if (new != old).any():
                self.machine.progress += 1
                data[index[lanes]] = new
            result[lanes] = old
        return result
