"""Schedules of kernels: figures, bounds and proofs."""

from __future__ import annotations

import os
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _lowtide
from ._arrays import numbers
from ._errors import reraise
from ._kernel import Kernel, Region, as_kernel

if TYPE_CHECKING:
    from ._arrays import Numbers


def targets() -> dict[str, str]:
    """Return the built-in targets, with a description of each.

    >>> targets()["gfx906"]
    'AMD Vega 20 (Instinct MI50/MI60, Radeon VII)'
    """
    return dict(_lowtide.targets())


def algorithms() -> list[str]:
    """Return the names of the algorithms.

    >>> "auto" in algorithms()
    True
    """
    return _lowtide.algorithms()


class Session:
    """Answers for equal graphs: a graph that occurs in several kernels is solved once.

    Several threads can use a session at the same time. Its memory grows with the number of distinct graphs. After an :class:`Interrupted`, the session starts
    again without answers. ``store`` is a folder or an address (docs/store.md) that keeps the answers across processes. ``device`` is ``cpu``, ``cuda`` or ``auto``, as in the
    program: an NVIDIA GPU can run the algorithm ``colony``, with the same results.

    >>> session = Session()
    >>> [session.schedule(Region(name, ["load", "store"]), nodes=100).waves for name in "ab"]
    [10, 10]
    """

    __slots__ = ("_native",)

    def __init__(self, store: Optional[Union[str, "os.PathLike[str]"]] = None, *, device: str = "cpu") -> None:
        self._native = _lowtide.Session(None if store is None else os.fspath(store), device)

    def ask_gpu(
        self,
        kernels: Iterable[Union[Kernel, Region]],
        target: Optional[str] = "gfx906",
        goal: str = "occupancy",
        budget: Optional[str] = None,
        nodes: Optional[int] = None,
        *,
        registers: Optional[int] = None,
        waves: Optional[int] = None,
        filter: bool = True,
        latencies: str = "target",
    ) -> None:
        """Run the colony for all these kernels in one batch on the GPU, and keep the answers for :meth:`schedule` with ``algorithm="colony"`` and the same options.

        :meth:`schedule` asks for one kernel at a time, which leaves most of a GPU idle. A session without a GPU does nothing.
        """
        self._native.ask_gpu(
            [as_kernel(kernel)._native for kernel in kernels],
            target=target,
            goal=goal,
            budget=budget,
            nodes=nodes,
            registers=registers,
            waves=waves,
            filter=filter,
            latencies=latencies,
        )

    def schedule(
        self,
        kernel: Union[Kernel, Region],
        target: Optional[str] = "gfx906",
        goal: str = "occupancy",
        budget: Optional[str] = None,
        algorithm: str = "auto",
        nodes: Optional[int] = None,
        *,
        threads: int = 1,
        registers: Optional[int] = None,
        waves: Optional[int] = None,
        filter: bool = True,
        latencies: str = "target",
        certificate: bool = False,
        interruptible: bool = True,
    ) -> Result:
        """Schedule a kernel, as :func:`schedule` does, with the answers of this session."""
        own = as_kernel(kernel)
        if algorithm == "colony" and self._native.has_gpu:
            self.ask_gpu([own], target, goal, budget, nodes, registers=registers, waves=waves, filter=filter, latencies=latencies)
        native, signal = self._native.schedule(
            own._native,
            target=target,
            goal=goal,
            budget=budget,
            algorithm=algorithm,
            nodes=nodes,
            threads=threads,
            registers=registers,
            waves=waves,
            filter=filter,
            latencies=latencies,
            certificate=certificate,
            watched=interruptible,
        )
        result = Result._of(native, own)
        if signal is not None:
            reraise(signal, result)
        return result


def schedule(
    kernel: Union[Kernel, Region],
    target: Optional[str] = "gfx906",
    goal: str = "occupancy",
    budget: Optional[str] = None,
    algorithm: str = "auto",
    nodes: Optional[int] = None,
    store: Optional[Union[str, "os.PathLike[str]"]] = None,
    *,
    threads: int = 1,
    registers: Optional[int] = None,
    waves: Optional[int] = None,
    filter: bool = True,
    latencies: str = "target",
    certificate: bool = False,
) -> Result:
    """Schedule all regions of a kernel together.

    ``target`` is a name of :func:`targets` or a TOML file; None takes the target that the kernel was made for. ``goal`` is ``occupancy``, ``minreg``,
    ``length`` or ``throughput``. ``budget`` limits the time for each instruction and pass (default ``"1ms"``, no limit with ``nodes``). ``nodes``
    limits the steps for each region and pass: the result is then the same on every machine. ``registers``, ``waves``, ``filter`` and ``latencies`` are the
    options of the program with these names. ``certificate`` makes proofs for ``lowtide-verify``. ``store`` keeps the answers of searches across runs: a folder, or an
    address of docs/store.md.

    Other threads of Python run during the search. Ctrl-C ends it at once: :class:`Interrupted` has the best result so far.

    >>> result = schedule(Region("r", [("load", 80), "store"], [{"class": "vgpr", "def": 0, "uses": [1]}]), nodes=100)
    >>> result.waves, result.regions[0].length, result.regions[0].proven
    (10, 81, True)
    >>> result.check()
    >>> schedule(Region("r", ["load"]), target="gfx000")
    Traceback (most recent call last):
        ...
    lowtide.InputError: unknown target "gfx000": known are gfx906, gfx90a, gfx1030, gfx1100, sm_90, xe-hpg, vs, generic, ps14, ps20, one-pass, or a file that ends in .toml
    """
    return Session(store).schedule(
        kernel,
        target,
        goal,
        budget,
        algorithm,
        nodes,
        threads=threads,
        registers=registers,
        waves=waves,
        filter=filter,
        latencies=latencies,
        certificate=certificate,
    )


class Result:
    """The schedules of a kernel, and what is proven about all others."""

    __slots__ = ("_native", "kernel")
    _native: _lowtide.Outcome
    #: The kernel that was scheduled.
    kernel: Kernel

    @classmethod
    def _of(cls, native: _lowtide.Outcome, kernel: Kernel) -> Result:
        result = cls.__new__(cls)
        result._native, result.kernel = native, kernel
        return result

    @property
    def target(self) -> str:
        """The target."""
        return self._native.target

    @property
    def goal(self) -> str:
        """The goal."""
        return self._native.goal

    @property
    def latencies(self) -> str:
        """The latencies of the schedules: ``target``, ``target`` times a factor, or ``recorded``."""
        return self._native.latencies

    @property
    def waves(self) -> int:
        """The waves of the kernel: those that all regions allow together."""
        return self._native.waves

    @property
    def waves_bound(self) -> int:
        """No schedules have more waves."""
        return self._native.waves_bound

    @property
    def filtered(self) -> bool:
        """Whether the filter has rejected waves that cost too many cycles."""
        return self._native.filtered

    @property
    def seconds(self) -> float:
        """The time that the searches took."""
        return self._native.seconds

    @property
    def length(self) -> int:
        """The cycles of all regions together."""
        return sum(region.length for region in self.regions)

    @property
    def proven(self) -> bool:
        """Whether every region is proven optimal for the goal."""
        return all(region.proven for region in self.regions)

    @property
    def certificate(self) -> list[str]:
        """The lines of a certificate file, if certificates were asked for."""
        return self._native.certificate

    @property
    def regions(self) -> list[RegionResult]:
        """One result for each region."""
        return [RegionResult(self, position) for position in range(len(self._native))]

    def check(self) -> None:
        """Check all schedules by the independent checker, and all bounds by cuts. A mistake is an :class:`InternalError`."""
        self._native.check()

    def to_lines(self) -> list[str]:
        """Return the lines of a schedule file, as ``lowtide schedule -o`` writes them."""
        return self._native.lines()

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, under the names of ``lowtide schedule --json``."""
        result: dict[str, Any] = json.loads(self._native.json())
        return result

    def __repr__(self) -> str:
        waves = f"{self.waves} waves" if self.waves == self.waves_bound else f"{self.waves} waves (at most {self.waves_bound})"
        proven = sum(region.proven for region in self.regions)
        return f"Result({self.kernel.name!r}, {waves}, length {self.length}, {proven} of {len(self._native)} regions proven)"

    def _repr_html_(self) -> str:
        from ._draw import result_html

        return result_html(self)


class RegionResult:
    """The schedule of a region, and what is proven about all others."""

    __slots__ = ("_parent", "_position")

    def __init__(self, parent: Result, position: int) -> None:
        self._parent, self._position = parent, position

    @property
    def region(self) -> Region:
        """The region that was scheduled."""
        return Region._of(self._parent.kernel._native.region(self._position))

    @property
    def name(self) -> str:
        """The name of the region."""
        return self.region.name

    @property
    def order(self) -> Numbers:
        """The instructions in the order of issue: an array that reads its memory in place."""
        return numbers(self._parent._native.order(self._position))

    @property
    def cycles(self) -> Numbers:
        """The cycle in which each instruction issues, by instruction."""
        return numbers(self._parent._native.cycles(self._position))

    @property
    def waves(self) -> int:
        """The waves that fit, by the registers of this region alone."""
        return self._parent._native.figures(self._position)[0]

    @property
    def length(self) -> int:
        """The cycle of the last issue, plus one."""
        return self._parent._native.figures(self._position)[1]

    @property
    def spilled(self) -> int:
        """The registers that have to be spilled."""
        return self._parent._native.figures(self._position)[2]

    @property
    def peaks(self) -> dict[str, int]:
        """The peak pressure of each class between instructions."""
        return self._peaks(0)

    @property
    def peaks_at(self) -> dict[str, int]:
        """The peak pressure of each class at instructions, where operands and results count together."""
        return self._peaks(1)

    def _peaks(self, which: int) -> dict[str, int]:
        peaks = self._parent._native.figures(self._position)[3]
        return {name: peak[which] for name, peak in zip(self.region.classes, peaks)}

    @property
    def length_bound(self) -> int:
        """No schedule that competes under the goal is shorter."""
        return self._parent._native.bounds(self._position)[0]

    @property
    def peak_bounds(self) -> dict[str, int]:
        """No schedule has a lower peak."""
        return {name: value for name, value, _ in self._parent._native.bounds(self._position)[1]}

    @property
    def reasons(self) -> dict[str, Any]:
        """The reason for each bound on a peak: a cut, a search or a solver, as in schedule files."""
        return {name: json.loads(reason) for name, _, reason in self._parent._native.bounds(self._position)[1]}

    @property
    def proven(self) -> bool:
        """Whether the schedule is proven optimal for the goal."""
        return self._parent._native.proven(self._position)[0]

    @property
    def proven_waves(self) -> bool:
        """Whether no schedule spills less and none has more useful waves, by proof."""
        return self._parent._native.proven(self._position)[1]

    def before(self) -> dict[str, Any]:
        """Return waves, length and peaks of the recorded production order, or of the source order if none is recorded."""
        recorded = self.region.production() is not None
        waves, length, spilled, peaks = self._parent._native.figures_before(self._position, recorded)
        by_class = {name: peak[0] for name, peak in zip(self.region.classes, peaks)}
        return {"waves": waves, "length": length, "spilled": spilled, "peaks": by_class}

    def __repr__(self) -> str:
        peaks = ", ".join(f"{name} {peak}" for name, peak in self.peaks.items())
        proven = "proven" if self.proven else f"at least {self.length_bound} cycles"
        return f"RegionResult({self.name!r}, {peaks}, length {self.length}, {proven})"

    def _repr_html_(self) -> str:
        from ._draw import region_result_html

        return region_result_html(self)
