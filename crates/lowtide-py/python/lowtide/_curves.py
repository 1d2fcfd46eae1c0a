"""The picture of a region as data: the pressure of a class before and after, the steps of occupancy, and the bound.

The report of ``lowtide view`` draws the same curves in the same colours (``pressure.js``). ``_draw`` makes an SVG of them, and ``_plot`` a figure of matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Optional

from ._arrays import as_list

if TYPE_CHECKING:
    from ._kernel import Region
    from ._result import RegionResult

#: The colours of the report.
COLOURS = {
    "source": "#b4540a",
    "production": "#7a3fb0",
    "after": "#0b6bcb",
    "bound": "#0b7a4b",
    "step": "#8793a1",
    "grid": "#e7ebf0",
    "ink": "#17212e",
    "muted": "#55616f",
}


class Curve(NamedTuple):
    """The pressure along an order: before the first instruction and after each."""

    name: str
    colour: str
    pressure: list[int]

    @property
    def peak(self) -> int:
        """The highest pressure."""
        return max(self.pressure)


class Picture(NamedTuple):
    """A class of a region."""

    class_name: str
    curves: list[Curve]
    bound: Optional[int]
    #: Steps of occupancy in view: most registers, waves.
    steps: list[tuple[int, int]]

    @property
    def top(self) -> int:
        """The highest value to show."""
        return max([curve.peak for curve in self.curves] + [limit for limit, _ in self.steps] + [1])


def pictures(region: Region, result: Optional[RegionResult]) -> list[Picture]:
    """Return a picture for each class that has any pressure."""
    orders: list[tuple[str, str, list[int]]] = [("source order", "source", list(range(len(region))))]
    production = region.production()
    if production is not None:
        orders.append((production[0], "production", as_list(production[1])))
    if result is not None:
        orders.append(("lowtide", "after", as_list(result.order)))
    along = [(name, colour, region.pressure(order)) for name, colour, order in orders]
    bounds = result.peak_bounds if result is not None else {}
    drawn = []
    for name in region.classes:
        curves = [Curve(title, COLOURS[colour], as_list(pressure[name])) for title, colour, pressure in along]
        if any(curve.peak > 0 for curve in curves):
            highest = max(curve.peak for curve in curves)
            drawn.append(Picture(name, curves, bounds.get(name), _steps(result, region, name, highest)))
    return drawn


def _steps(result: Optional[RegionResult], region: Region, name: str, highest: int) -> list[tuple[int, int]]:
    """Return the steps below the highest pressure, and the next one above unless it is far away."""
    if result is None:
        return []
    files = result._parent._native.steps()
    own = next((file for file in files if name in file[0]), None) or next((file for file in files if file[0] == ["*"]), None)
    # Classes that share a file have no steps of their own.
    if own is None or sum(other in own[0] for other in region.classes) > 1:
        return []
    view = [step for step in own[1] if step[0] <= highest * 1.02]
    above = [step for step in own[1] if step[0] > highest * 1.02]
    return view + [step for step in above[:1] if step[0] <= highest * 1.5 + 4]
