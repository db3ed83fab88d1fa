"""SPEC.json, the request that the host writes and the process of a column reads.

One class for each kind of work; the fields that all kinds share are in `Asked`. A field that the host leaves out has
its default. A field of the wrong type is refused, and so is an unknown field.
"""

import collections.abc
import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import (
    Any,
    Dict,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

A = TypeVar("A")


@dataclass(frozen=True)
class Asked:
    """The fields that every kind of work has.

    Attributes:
        expect: the versions that must be installed.
        records: the stream.
        cache: Triton's.
        targets: rows of targets.toml, by name.
        emulated: the targets that the lane emulate covers; None: all.
        sample: how many programs of each launch the lane emulate executes, without comparing numbers; None: all.
        estimate: whether the lane emulate estimates how long each launch takes.
        batch: whether the lane emulate also computes a row alone and in a batch.
        warps: the numbers of warps with which that lane launches each case again; none: it does not.
        shard: the number of this shard of the cases, and how many there are.
        jobs: processes at a time, of all columns that run side by side together.
        turns: where those columns take turns; empty: they need not.
        time_limit: seconds for one configuration of a case; memory_limit_mb for the process that compiles it.
        time_limit_alone: seconds for a configuration that took longer and runs again alone; 0: it does not run again.
        reused: items that need not run.
        again: by lane, the items that run, where it is known that no others are left.
        planned: by lane, how many items there are, those in `reused` included.
        in_place: set by a process for its children only: they compile without forking a child each time.
    """

    column: str = ""
    expect: Mapping[str, str] = field(default_factory=dict)
    records: str = ""
    cache: str = ""
    targets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lanes: Sequence[str] = ()
    modes: Sequence[str] = ()
    kernels: Sequence[str] = ("*",)
    cases: Sequence[str] = ("*",)
    emulated: Optional[Sequence[str]] = None
    sanitize: bool = False
    sample: Optional[int] = None
    estimate: bool = False
    batch: bool = False
    warps: Sequence[int] = ()
    shard: Optional[Sequence[int]] = None
    jobs: int = 1
    turns: str = ""
    time_limit: float = 120
    time_limit_alone: float = 0
    memory_limit_mb: Optional[int] = None
    reused: Sequence[str] = ()
    again: Optional[Mapping[str, Sequence[str]]] = None
    planned: Mapping[str, int] = field(default_factory=dict)
    in_place: bool = False

    @property
    def strangers(self) -> bool:
        """Return whether the kernels are a user's, who may ask torch.cuda for its GPU."""
        return False


@dataclass(frozen=True)
class LibraryOps:
    """Ops of published releases, which find the releases by themselves.

    Attributes:
        releases: by library and release, the folder.
        configurations: to which an autotuned kernel is limited; 0: all.
    """

    releases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ops: Sequence[str] = ("*",)
    configurations: int = 0


@dataclass(frozen=True)
class AskedSuite(Asked):
    """
    Attributes:
        suite: the folder of its modules; None: crosswarp's own kernels.
        beside: folders that come before the column's own packages.
        left_out: by kernel, and by `LANE/TARGET`, the cases that do not run.
        preload: by folder, modules that are imported before the first fork; None: of no library.
    """

    suite: Optional[str] = None
    beside: Sequence[str] = ()
    left_out: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    libraries: Optional[LibraryOps] = None
    preload: Optional[Mapping[str, Sequence[str]]] = None

    @property
    def strangers(self) -> bool:
        # An op of a library maps torch for itself.
        return bool(self.suite) and self.libraries is None


@dataclass(frozen=True)
class AskedGuards(AskedSuite):
    """
    Attributes:
        guards: by id, the file of a version check, and its position there (library_guards/forcing.py).
        chosen: ids of those that are inverted.
        answers: the file for the results.
    """

    guards: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    chosen: Sequence[str] = ()
    answers: str = ""


@dataclass(frozen=True)
class AskedCheck(Asked):
    """
    Attributes:
        check: the file, and of each of its kernels the cases (signatures/signature.py, cell/kinds/check/importing.py).
        beside: folders that come before the column's own packages.
    """

    check: Dict[str, Any] = field(default_factory=dict)
    beside: Sequence[str] = ()

    @property
    def strangers(self) -> bool:
        return True


@dataclass(frozen=True)
class Programs:
    """Programs whose kernels torch.compile writes.

    Attributes:
        folder: where the kernels are written; empty: nowhere.
        programs: globs of ours; or the function `name` of a user's `file`, for any size of its inputs with `dynamic`.
        compile: have inductor compile its kernels, with the installed Triton.
        device: a real GPU, in place of the virtual one.
    """

    folder: str = ""
    programs: Sequence[str] = ("*",)
    compile: bool = False
    file: str = ""
    name: str = ""
    dynamic: bool = False
    device: Optional[str] = None


@dataclass(frozen=True)
class AskedInductor(Asked):
    inductor: Programs = Programs()


@dataclass(frozen=True)
class OwnTests:
    """A library's own tests.

    Attributes:
        root: the checkout.
        paths: of the tests, from there; folders: those from which tests are named.
        sample: how many tests, spread over the functions; None: all.
        stub: modules that are replaced by nothing.
        env: variables of the environment.
        beside: folders in which the library and its dependencies are installed.
    """

    root: str = ""
    paths: Sequence[str] = ()
    folders: Sequence[str] = ()
    cases: Sequence[str] = ()
    sample: Optional[int] = None
    stub: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    beside: Sequence[str] = ()


@dataclass(frozen=True)
class AskedTests(Asked):
    tests: OwnTests = OwnTests()


def read(path: Union[str, Path], kind: Type[A], needed: Sequence[str] = ()) -> A:
    """Return the host's request, read from SPEC.json.

    Args:
        needed: fields that must be present.

    Raises:
        OSError, ValueError: the file is missing, is no JSON object, or has a field that `kind` does not know.
    """
    fields = json.loads(Path(path).read_text("utf-8"))
    if not isinstance(fields, dict):
        msg = f"{path} is not a JSON object"
        raise ValueError(msg)
    for name in needed:
        if name not in fields:
            msg = f"{name} is not there"
            raise ValueError(msg)
    return _made(kind, fields)


def _made(kind: Type[A], given: Mapping[str, Any]) -> A:
    hints = get_type_hints(kind)
    unknown = sorted(given.keys() - {attribute.name for attribute in fields(kind)})  # type: ignore[arg-type]
    if unknown:
        msg = f"{', '.join(unknown)}: not known here. The two sides are of different releases of crosswarp"
        raise ValueError(msg)
    return kind(**{name: _value(name, hints[name], value) for name, value in given.items()})


def _value(name: str, hint: Any, value: Any) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Union:
        return None if value is None else _value(name, inner[0], value)
    if hasattr(hint, "__dataclass_fields__"):
        return _made(hint, _checked(name, value, dict))
    if hint is Any:
        return value
    if origin is None:
        return _checked(name, value, (int, float) if hint is float else hint)
    return _checked(
        name, value, dict if issubclass(origin, (dict, collections.abc.Mapping)) else list
    )


def _checked(name: str, value: Any, kind: Union[type, Tuple[type, ...]]) -> Any:
    # True is an int to Python, and no number of seconds.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        shown = kind if isinstance(kind, type) else kind[-1]
        msg = f"{name} is no {shown.__name__}"
        raise ValueError(msg)
    return value
