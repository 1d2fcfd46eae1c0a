"""Two operations in each cycle, and shaders in passes."""

from __future__ import annotations

import json
from typing import Any, Optional, Union

from . import _lowtide
from ._errors import reraise
from ._kernel import Kernel, Region, as_kernel


class _Document:
    """The figures of a kernel under the names of the program's ``--json``."""

    __slots__ = ("_data",)

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    @property
    def regions(self) -> list[dict[str, Any]]:
        """One dictionary for each region."""
        regions: list[dict[str, Any]] = self._data["regions"]
        return regions

    def to_dict(self) -> dict[str, Any]:
        """Return all figures."""
        return self._data


class PackResult(_Document):
    """The result of :func:`pack`: for each region, ``length``, ``length_bound``, ``proof``, ``list_length`` and ``issues``."""

    __slots__ = ()

    @property
    def length(self) -> int:
        """The cycles of all regions together."""
        return sum(region["length"] for region in self.regions)

    @property
    def proven(self) -> bool:
        """Whether no region has a shorter packing, by proof."""
        return all(region["proof"] != "open" for region in self.regions)

    def __repr__(self) -> str:
        listed = sum(region["list_length"] for region in self.regions)
        return f"PackResult({self._data['name']!r}, {self.length} cycles, list schedule {listed}, proven: {self.proven})"


class PassResult(_Document):
    """The result of :func:`passes`: for each region, ``cost``, ``bound``, ``optimal`` and ``passes``."""

    __slots__ = ()

    @property
    def cost(self) -> int:
        """The cost of all regions together."""
        return sum(region["cost"] for region in self.regions)

    @property
    def proven(self) -> bool:
        """Whether no partition costs less, by proof."""
        return all(region["optimal"] for region in self.regions)

    def __repr__(self) -> str:
        count = sum(len(region["passes"]) for region in self.regions)
        return f"PassResult({self._data['name']!r}, {count} passes, cost {self.cost}, proven: {self.proven})"


def pack(
    kernel: Union[Kernel, Region],
    target: Optional[str] = None,
    budget: Optional[str] = None,
    nodes: Optional[int] = None,
    *,
    algorithm: str = "auto",
    registers: Optional[int] = None,
    splits: bool = True,
) -> PackResult:
    """Pack two operations into each cycle, as ``lowtide pack`` does.

    ``target`` must describe packing, such as ``vs`` or ``gfx1100``; None takes the target that the kernel was made for. ``budget`` limits the time for each
    operation (default ``"100ms"``, no limit with ``nodes``).

    >>> pack(Region("r", ["load", "store"]), target="gfx906")
    Traceback (most recent call last):
        ...
    lowtide.InputError: kernel "r", region r: target gfx906 has no section [pack]: it does not say how two operations issue together; choose one that does with --target (known are gfx1100, vs)
    """
    own = as_kernel(kernel)
    text, signal = _lowtide.pack(
        own._native, target=target, budget=budget, nodes=nodes, algorithm=algorithm, registers=registers, splits=splits
    )
    result = PackResult(json.loads(text))
    if signal is not None:
        reraise(signal, result)
    return result


def passes(
    kernel: Union[Kernel, Region],
    target: str = "ps20",
    budget: Optional[str] = None,
    nodes: Optional[int] = None,
    *,
    algorithm: str = "exact",
) -> PassResult:
    """Partition a shader into passes that fit a GPU, as ``lowtide passes`` does.

    ``target`` must describe passes, such as ``ps14`` or ``ps20``. ``budget`` limits the time for each operation (default ``"10ms"``, no limit with ``nodes``).
    """
    own = as_kernel(kernel)
    text, signal = _lowtide.passes(own._native, target=target, budget=budget, nodes=nodes, algorithm=algorithm)
    result = PassResult(json.loads(text))
    if signal is not None:
        reraise(signal, result)
    return result
