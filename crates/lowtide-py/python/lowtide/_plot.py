"""Figures of matplotlib."""

from __future__ import annotations

from typing import Any, Optional, Union

from ._curves import COLOURS, pictures
from ._errors import InputError
from ._kernel import Region
from ._result import RegionResult, Result


def plot(what: Union[Region, RegionResult, Result], class_name: Optional[str] = None, ax: Any = None) -> Any:
    """Plot the pressure of a class before and after, with the steps of occupancy and the bound. Return the axes.

    A :class:`Result` is plotted by its largest region. Without ``class_name``, the class is the one that matters most. ``ax`` are axes of matplotlib to draw on.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> axes = plot(Region("r", ["load", "store"], [{"class": "vgpr", "def": 0, "uses": [1]}]))
    >>> axes.get_ylabel()
    'pressure of vgpr'
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("lowtide.plot needs matplotlib: pip install 'lowtide[plot]'") from error
    region, result = _parts(what)
    drawn = {picture.class_name: picture for picture in pictures(region, result)}
    if class_name is None and result is not None:
        class_name = region.classes[result._parent._native.primary(result._position)]
    if class_name is None or (class_name not in drawn and class_name in region.classes):
        class_name = next(iter(drawn), class_name)
    if class_name not in drawn:
        raise InputError(f"the region has no class {class_name!r}: known are {', '.join(drawn)}")
    picture = drawn[class_name]
    if ax is None:
        _, ax = pyplot.subplots(figsize=(9, 3.5))
    for curve in picture.curves:
        width = 2.2 if curve.colour == COLOURS["after"] else 1.4
        label = f"{curve.name}: {curve.peak}"
        ax.step(range(len(curve.pressure)), curve.pressure, where="post", color=curve.colour, linewidth=width, label=label)
    for limit, waves in picture.steps:
        ax.axhline(limit, color=COLOURS["step"], linestyle="--", linewidth=1)
        ax.annotate(f"{waves} waves", (1, limit), xycoords=("axes fraction", "data"), xytext=(4, -3), textcoords="offset points", fontsize=8)
    if picture.bound is not None:
        ax.axhline(picture.bound, color=COLOURS["bound"], linewidth=1, label=f"every order: at least {picture.bound}")
    ax.set_xlabel("instructions")
    ax.set_ylabel(f"pressure of {class_name}")
    ax.set_title(region.name)
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8)
    return ax


def _parts(what: Union[Region, RegionResult, Result]) -> tuple[Region, Optional[RegionResult]]:
    if isinstance(what, Region):
        return what, None
    if isinstance(what, Result):
        if not what.regions:
            raise InputError("the kernel has no regions")
        what = max(what.regions, key=lambda one: len(one.region))
    return what.region, what
