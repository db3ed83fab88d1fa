"""The machine that a chunk of CTAs runs on: special registers, memory, and the units that instructions use."""

import numpy as np

from .atomics import Atomics
from .bulk_copies import BulkCopies
from .cancels import Cancels
from .copies import Copies
from .errors import Fault
from .mbarriers import MBarriers
from .spaces import GenericSpace, GlobalSpace, LocalSpace, SharedSpace
from .tensor_cores import TensorCores
from .tensor_maps import TensorMaps
from .tensor_memory import TensorMemory
from .tensor_products import TensorProducts
from .types import u4, u8
from .warpgroups import Warpgroups
from .warps import Warps

_SPECIAL = {
    "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x",
    "%nctaid.y", "%nctaid.z", "%laneid", "%warpid", "%nwarpid", "%clusterid.x", "%clusterid.y", "%clusterid.z",
    "%nclusterid.x", "%nclusterid.y", "%nclusterid.z", "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z",
    "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z", "%cluster_ctarank", "%cluster_nctarank",
    "%is_explicit_cluster", "%smid", "%nsmid", "%gridid", "%lanemask_eq", "%lanemask_lt", "%lanemask_le",
    "%lanemask_gt", "%lanemask_ge", "%dynamic_smem_size", "%total_smem_size",
}  # fmt: skip
_CLOCKS = {"%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"}


def special(name):
    """The expression of a special register (u4 each), or None if it is unknown."""
    if name in _CLOCKS:
        return "S.clock()"
    return f"S.special[{name!r}]" if name in _SPECIAL else None


class Machine:
    """One chunk: `ctas` CTAs of `threads` threads each in lock step.

    Attributes:
        numbers: linear program id of each CTA, (CTAs,).
        progress: grows whenever something changes that another thread could see.
        polled: an instruction that may be repeated until it succeeds was executed.
        ended: threads that are done, (CTAs, threads); None while none is.
    """

    def __init__(self, launch, numbers):
        program = launch.program
        self.launch, self.program, self.watch = launch, program, launch.watch
        self.numbers = np.asarray(numbers, np.int64)
        self.ctas, self.threads = len(numbers), launch.threads
        self.backwards = launch.backwards
        self.progress = 0
        self.polled = False
        self.ended = None
        self._ticks = 0
        self.special = self._special_registers(launch)
        self.lane = self.special["%laneid"]
        self.global_ = GlobalSpace(self, launch.memory)
        self.shared = SharedSpace(self, launch.shared, launch.cluster_size)
        self.local = LocalSpace(self, program.local)
        self.generic = GenericSpace(self)
        self.warps = Warps(self)
        self.tensor_cores = TensorCores(self)
        self.atomics = Atomics(self)
        self.copies = Copies(self)
        self.mbarriers = MBarriers(self)
        self.tensor_maps = TensorMaps(self)
        self.bulk_copies = BulkCopies(self)
        self.warpgroups = Warpgroups(self)
        self.tensor_memory = TensorMemory(self)
        self.products = TensorProducts(self)
        self.cancels = Cancels(self)

    def _special_registers(self, launch):
        def constant(value):
            return np.full((1, 1), value, u4)

        grid, cluster = launch.grid, launch.cluster
        x, y, z = launch.threads_xyz
        thread = np.arange(self.threads, dtype=u4)[None]
        cta = self.numbers.astype(u4)[:, None]
        lane = thread & u4(31)
        registers = {
            "%laneid": lane, "%warpid": thread >> u4(5), "%nwarpid": constant(-(-self.threads // 32)),
            "%is_explicit_cluster": constant(launch.cluster_size > 1), "%smid": cta, "%nsmid": constant(launch.count),
            "%gridid": constant(1), "%dynamic_smem_size": constant(launch.dynamic_shared),
            "%total_smem_size": constant(launch.shared),
            "%lanemask_eq": u4(1) << lane, "%lanemask_lt": (u4(1) << lane) - u4(1),
            "%cluster_ctarank": (np.arange(self.ctas, dtype=u4) % u4(launch.cluster_size))[:, None],
            "%cluster_nctarank": constant(launch.cluster_size),
        }  # fmt: skip
        registers["%lanemask_le"] = registers["%lanemask_lt"] | registers["%lanemask_eq"]
        registers["%lanemask_gt"], registers["%lanemask_ge"] = (
            ~registers["%lanemask_le"],
            ~registers["%lanemask_lt"],
        )
        position = (
            cta % u4(grid[0]),
            cta // u4(grid[0]) % u4(grid[1]),
            cta // u4(grid[0] * grid[1]),
        )
        tids = (thread, constant(0), constant(0))
        if (y, z) != (1, 1):
            tids = (thread % u4(x), thread // u4(x) % u4(y), thread // u4(x * y))
        for axis, letter in enumerate("xyz"):
            registers[f"%tid.{letter}"], registers[f"%ntid.{letter}"] = (
                tids[axis],
                constant((x, y, z)[axis]),
            )
            registers[f"%ctaid.{letter}"] = position[axis]
            registers[f"%nctaid.{letter}"] = constant(grid[axis])
            registers[f"%clusterid.{letter}"] = position[axis] // u4(cluster[axis])
            registers[f"%nclusterid.{letter}"] = constant(grid[axis] // cluster[axis])
            registers[f"%cluster_ctaid.{letter}"] = position[axis] % u4(cluster[axis])
            registers[f"%cluster_nctaid.{letter}"] = constant(cluster[axis])
        return {
            name: np.broadcast_to(value, value.shape if value.ndim == 2 else (1, 1))
            for name, value in registers.items()
        }

    def clock(self):
        """A counter that always grows; it measures nothing."""
        self._ticks += 64
        self.polled = True
        return np.full((1, 1), self._ticks & 0xFFFFFFFF, u4)

    def parameter(self, offset, dtype):
        """Return the value at `offset` of the packed parameters, for all lanes."""
        return self.launch.parameter(offset, dtype)

    def parameter_address(self, offset):
        """Return the generic address of `offset` in the parameters."""
        return offset + u8(self.launch.parameter_block())

    def variable(self, name, offset):
        """The address of a global variable."""
        return np.full((1, 1), self.launch.variable(name) + offset, u8)

    def landed(self, lanes, index, size, done):
        """Copies of `size` bytes have arrived at the elements `index` of shared memory."""
        if self.watch is not None:
            self.watch.landed(self, lanes, index, size, done)

    def group(self, unit, mask):
        """Commit a group of `unit`'s operations for the threads of `mask`."""
        if self.watch is not None:
            self.watch.group(self, unit, mask)

    def waited_group(self, unit, newest, mask):
        """The threads of `mask` have waited for all but the `newest` last groups."""
        if self.watch is not None:
            self.watch.waited_group(self, unit, newest, mask)

    def program_id(self, cta):
        number, (x, y, _) = int(self.numbers[cta]), self.launch.grid
        return number % x, number // x % y, number // (x * y)

    def fault(self, kind, what, space, address, lane, at, nearest=""):
        """A `Fault` of the instruction `at`; `lane` is (CTA, thread) or None."""
        instruction = self.program.kernel.instructions[at]
        return Fault(
            kind, what, space=space, address=address, line=instruction.loc, instruction=instruction.text,
            program_id=None if lane is None else self.program_id(lane[0]), thread=None if lane is None else lane[1],
            nearest=nearest,
        )  # fmt: skip
