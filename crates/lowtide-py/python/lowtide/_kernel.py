"""Regions and kernels: read from files, built from lists, or made from graphs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _lowtide
from ._arrays import as_list, numbers
from ._errors import InputError

if TYPE_CHECKING:
    from ._arrays import Numbers

#: An instruction: its name, its name and latency, or a mapping with ``op``, ``latency``, ``units``, ``flags``, ``micro_ops`` and ``address_space``.
Instruction = Union[str, "tuple[str, int]", Mapping[str, Any]]
#: A value: a mapping with ``class``, ``weight``, ``def``, ``uses``, ``live_out`` and ``name``.
Value = Mapping[str, Any]
#: A dependence: ``(from, to)``, ``(from, to, kind)`` or ``(from, to, kind, latency)``.
Dependence = Sequence[Any]


def read(path: Union[str, "os.PathLike[str]"]) -> list[Kernel]:
    """Read all kernels of a file: region files (``.jsonl``, ``.jsonl.gz``), dumps of LLVM, and shaders.

    A folder stands for the region files and shaders in it. Errors name file, line and element.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "kernels.jsonl"
    >>> _ = path.write_text(Kernel("k", [Region("r", ["load", "store"])]).to_lines())
    >>> read(path)
    [Kernel('k', 1 region, 2 instructions)]
    """
    return list(scan(path))


def scan(path: Union[str, "os.PathLike[str]"]) -> Iterator[Kernel]:
    """Read as :func:`read` does, one kernel at a time: for files that are larger than memory."""
    return map(Kernel._of, _lowtide.read(path))


class Region:
    """Straight-line code to schedule: instructions, values and dependences.

    An instruction is a name, a name with a latency, or a mapping with more. Instructions are in source order, which must be legal.

    A value is a mapping with its ``class``, the ``weight`` that it adds to the pressure while it is live (default 1), the instruction ``def`` that
    defines it (default: it is live at the start), the instructions ``uses`` that read it, and whether it is ``live_out`` at the end. The dependences from a
    definition to its uses follow from the values. Further ``dependences`` are ``(from, to)``, with a kind (default ``"data"``) and a latency (default: that of the
    earlier instruction) if wanted.

    >>> region = Region(
    ...     "body",
    ...     instructions=["load", ("add", 4), "store"],
    ...     values=[{"class": "vgpr", "def": 0, "uses": [1]}, {"class": "vgpr", "def": 1, "uses": [2]}],
    ...     dependences=[(0, 2, "memory", 1)],
    ... )
    >>> len(region), region.classes
    (3, ['vgpr'])
    >>> region.peaks()
    {'vgpr': 1}
    >>> Region("wrong", ["a", "b"], dependences=[(1, 0)])
    Traceback (most recent call last):
        ...
    lowtide.InputError: region "wrong": dependence instruction #1 b -> instruction #0 a goes backwards: instructions must be listed in a legal order
    """

    __slots__ = ("_native",)
    _native: _lowtide.Region

    def __init__(
        self,
        name: str,
        instructions: Iterable[Instruction],
        values: Iterable[Value] = (),
        dependences: Iterable[Dependence] = (),
        *,
        through: Optional[Mapping[str, int]] = None,
        loop_depth: int = 0,
        frequency: Optional[int] = None,
    ) -> None:
        try:
            self._native = _lowtide.Region.build(
                name,
                [_instruction(number, item) for number, item in enumerate(instructions)],
                [_value(number, item) for number, item in enumerate(values)],
                [_dependence(number, item) for number, item in enumerate(dependences)],
                list((through or {}).items()),
                loop_depth,
                frequency,
            )
        except (TypeError, OverflowError) as error:
            raise InputError(f'region "{name}": {error}') from error

    @classmethod
    def _of(cls, native: _lowtide.Region) -> Region:
        region = cls.__new__(cls)
        region._native = native
        return region

    @classmethod
    def from_graph(
        cls,
        graph: Any,
        weight: str = "bytes",
        *,
        name: str = "graph",
        latency: int = 1,
        class_name: str = "memory",
        inputs_stay: bool = False,
    ) -> Region:
        """Make a region of any weighted graph, to order its nodes for the least peak.

        Each node is a job whose result takes ``weight`` until the last successor has run. Results without a successor stay. The graph is a directed graph of
        NetworkX, whose nodes have the attribute ``weight`` (default 1), or a pair of node weights (a mapping) and edges. Schedule the region for the
        target ``generic`` with the goal ``minreg``: the peak has a bound that is proven. A cycle is a :class:`ValueError`.

        By default, a job frees the inputs that it reads last before its result takes space. With ``inputs_stay``, inputs and result take space together while the job runs. Each
        node then has two instructions: number ``2 * i`` makes the result, and number ``2 * i + 1`` lets the inputs go.

        Nodes keep their order where the edges allow it. ``operations()`` has their names.

        >>> region = Region.from_graph(({"a": 1, "b": 8, "c": 2, "d": 8, "e": 2, "f": 1},
        ...     [("a", "b"), ("b", "c"), ("a", "d"), ("d", "e"), ("c", "f"), ("e", "f")]))
        >>> from lowtide import schedule
        >>> best = schedule(region, target="generic", goal="minreg", nodes=100_000).regions[0]
        >>> best.peaks, best.peak_bounds
        ({'memory': 10}, {'memory': 10})
        """
        from ._graph import region_of

        return region_of(cls, graph, weight, name, latency, class_name, inputs_stay)

    @property
    def name(self) -> str:
        """The name, unique within the kernel."""
        return self._native.name

    def __len__(self) -> int:
        return len(self._native)

    @property
    def classes(self) -> list[str]:
        """The register classes."""
        return self._native.classes

    @property
    def loop_depth(self) -> int:
        """The number of loops around the region."""
        return self._native.loop_depth

    @property
    def frequency(self) -> Optional[int]:
        """How often a wave runs the region, if this is known."""
        return self._native.frequency

    @property
    def key(self) -> str:
        """The number of the graph: the same for all regions that differ only in names, and on every machine.

        >>> Region("one", ["load"]).key == Region("two", ["store"]).key
        True
        """
        return self._native.key

    def operations(self) -> list[str]:
        """Return the names of the instructions."""
        return [op for op, _ in self._native.operations()]

    def dependences(self) -> list[tuple[int, int, str, int]]:
        """Return the dependences: from, to, kind and latency."""
        return self._native.dependences()

    def values(self) -> list[dict[str, Any]]:
        """Return the values, in the form that the constructor takes."""
        keys = ("name", "class", "weight", "def", "uses", "live_out")
        return [dict(zip(keys, value)) for value in self._native.values()]

    def production(self) -> Optional[tuple[str, Numbers]]:
        """Return the recorded order of the production compiler with the compiler's name, if there is one."""
        found = self._native.production()
        return None if found is None else (found[0], numbers(found[1]))

    def peaks(self, order: Optional[Union[Sequence[int], Numbers]] = None) -> dict[str, int]:
        """Return the peak pressure of each class between instructions, of the source order or another legal one."""
        peaks = self._native.peaks(self._order(order))
        return {name: between for name, (between, _) in zip(self.classes, peaks)}

    def pressure(self, order: Optional[Union[Sequence[int], Numbers]] = None) -> dict[str, Numbers]:
        """Return the pressure of each class before the first instruction and after each."""
        rows = self._native.pressure(self._order(order))
        return {name: numbers(row) for name, row in zip(self.classes, rows)}

    def _order(self, order: Optional[Union[Sequence[int], Numbers]]) -> list[int]:
        return list(range(len(self))) if order is None else as_list(order)

    def to_dict(self) -> dict[str, Any]:
        """Return the region as an object of a region file."""
        result: dict[str, Any] = json.loads(self._native.line())
        return result

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Region:
        """Make a region from an object of a region file."""
        [kernel] = Kernel.from_lines(json.dumps({"lowtide": 1, "kernel": "k", **data}))
        return kernel.regions[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_region_from_line, (self._native.line(),))

    def __repr__(self) -> str:
        return f"Region({self.name!r}, {_counted(len(self), 'instruction')})"

    def _repr_html_(self) -> str:
        from ._draw import region_html

        return region_html(self)


def _region_from_line(line: str) -> Region:
    return Kernel.from_lines(line)[0].regions[0]


class Kernel:
    """The regions of one function. ``max_occupancy`` is the most waves that local memory and launch bounds allow.

    >>> kernel = Kernel("add", [Region("body", ["load", "store"])], max_occupancy=8)
    >>> kernel.regions
    [Region('body', 2 instructions)]
    """

    __slots__ = ("_native",)
    _native: _lowtide.Kernel

    def __init__(
        self,
        name: str,
        regions: Iterable[Region],
        *,
        origin: str = "",
        target: Optional[str] = None,
        entry: bool = True,
        max_occupancy: Optional[int] = None,
    ) -> None:
        inner = [region._native for region in regions]
        self._native = _lowtide.Kernel.build(name, inner, origin, target, entry, max_occupancy)

    @classmethod
    def _of(cls, native: _lowtide.Kernel) -> Kernel:
        kernel = cls.__new__(cls)
        kernel._native = native
        return kernel

    @classmethod
    def from_lines(cls, lines: Union[str, bytes], *, file: str = "<lines>", name: Optional[str] = None) -> list[Kernel]:
        """Parse the lines of a region file. ``name`` renames a single kernel."""
        text = lines.encode() if isinstance(lines, str) else lines
        return [cls._of(native) for native in _lowtide.Kernel.parse(text, file, name)]

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._native.name

    @property
    def origin(self) -> str:
        """The source of the kernel, such as a file. Name and origin identify a kernel."""
        return self._native.origin

    @property
    def target(self) -> Optional[str]:
        """The target that the code was made for, if this is known."""
        return self._native.target

    @property
    def entry(self) -> bool:
        """Whether waves start here."""
        return self._native.entry

    @property
    def max_occupancy(self) -> Optional[int]:
        """The most waves that limits from outside allow."""
        return self._native.max_occupancy

    @property
    def size(self) -> int:
        """The number of instructions of all regions."""
        return self._native.size

    @property
    def regions(self) -> list[Region]:
        """The regions."""
        return [Region._of(self._native.region(position)) for position in range(len(self._native))]

    def __len__(self) -> int:
        return len(self._native)

    def to_lines(self) -> str:
        """Return the lines of a region file."""
        return self._native.lines()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_kernel_from_lines, (self.to_lines(),))

    def __repr__(self) -> str:
        regions, size = _counted(len(self), "region"), _counted(self.size, "instruction")
        return f"Kernel({self.name!r}, {regions}, {size})"


def _kernel_from_lines(lines: str) -> Kernel:
    [kernel] = Kernel.from_lines(lines)
    return kernel


def as_kernel(kernel: Union[Kernel, Region]) -> Kernel:
    """Return a kernel. A region becomes the only one of a kernel of its name."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, Region):
        return Kernel(kernel.name, [kernel])
    raise TypeError(f"a Kernel or a Region is needed, not {type(kernel).__name__}")


_INSTRUCTION = {"op", "latency", "units", "flags", "micro_ops", "address_space"}
_VALUE = {"name", "class", "weight", "def", "uses", "live_out"}


def _instruction(number: int, item: Instruction) -> tuple[str, int, list[tuple[str, int]], str, int, int]:
    if isinstance(item, str):
        return (item, 1, [], "", 1, -1)
    if isinstance(item, Mapping):
        _known(f"instruction {number}", item, _INSTRUCTION, {"op"})
        get = item.get
        units = list(get("units", {}).items())
        return (item["op"], get("latency", 1), units, get("flags", ""), get("micro_ops", 1), get("address_space", -1))
    if isinstance(item, tuple) and len(item) == 2:
        return (item[0], item[1], [], "", 1, -1)
    raise InputError(f"instruction {number}: {item!r} is not a name, a pair of name and latency, or a mapping")


def _value(number: int, item: Value) -> tuple[str, str, int, Optional[int], list[int], bool]:
    if not isinstance(item, Mapping):
        raise InputError(f"value {number}: {item!r} is not a mapping")
    _known(f"value {number}", item, _VALUE, {"class"})
    get = item.get
    name = get("name", f"v{number}")
    return (name, item["class"], get("weight", 1), get("def"), list(get("uses", ())), get("live_out", False))


def _dependence(number: int, item: Dependence) -> tuple[int, int, str, Optional[int]]:
    if not 2 <= len(item) <= 4:
        raise InputError(f"dependence {number}: {item!r} is not (from, to), (from, to, kind) or (from, to, kind, latency)")
    earlier, later = item[:2]
    kind = item[2] if len(item) > 2 else "data"
    return (earlier, later, kind, item[3] if len(item) > 3 else None)


def _known(who: str, item: Mapping[str, Any], known: set[str], needed: set[str]) -> None:
    for key in item:
        if key not in known:
            raise InputError(f"{who}: unknown key {key!r}: known are {', '.join(sorted(known))}")
    for key in sorted(needed - set(item)):
        raise InputError(f"{who}: {key!r} is missing")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
