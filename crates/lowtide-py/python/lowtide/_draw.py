"""Pictures for notebooks: plain SVG without scripts, which needs no network and survives in saved and untrusted notebooks."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Optional

from ._curves import COLOURS, Curve, Picture, pictures

if TYPE_CHECKING:
    from ._kernel import Region
    from ._result import RegionResult, Result

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 92, 14, 30

#: Longer curves are drawn with the highest and lowest pressure of each column.
_MOST_POINTS = 1200


def region_html(region: Region) -> str:
    """Draw the pressure of the known orders of a region."""
    title = f"<b>{escape(region.name)}</b>, {len(region)} instructions"
    return _wrap(title, "".join(_svg(picture, len(region)) for picture in pictures(region, None)))


def region_result_html(result: RegionResult) -> str:
    """Draw a region before and after."""
    before = result.before()
    region = result.region
    proven = "proven optimal" if result.proven else "not proven"
    title = (
        f"<b>{escape(result.name)}</b>, {len(region)} instructions: waves {_change(before['waves'], result.waves)}, "
        f"length {_change(before['length'], result.length)} (at least {result.length_bound}), {proven}"
    )
    return _wrap(title, "".join(_svg(picture, len(region)) for picture in pictures(region, result)))


def result_html(result: Result) -> str:
    """Draw the largest region of a kernel, under the figures of the kernel."""
    title = (
        f"<b>{escape(result.kernel.name)}</b> on {escape(result.target)}: {result.waves} waves (at most {result.waves_bound}), "
        f"length {result.length}, {len(result._native)} regions"
    )
    regions = result.regions
    if not regions:
        return _wrap(title, "")
    largest = max(regions, key=lambda region: len(region.region))
    return _wrap(title, region_result_html(largest))


def _wrap(title: str, body: str) -> str:
    style = f"font: 13px system-ui, sans-serif; color: {COLOURS['ink']}; background: #ffffff; padding: 4px"
    return f'<div class="lowtide" style="{style}"><div>{title}</div>{body}</div>'


def _change(before: int, after: int) -> str:
    return str(after) if before == after else f"{before} → {after}"


def _svg(picture: Picture, count: int) -> str:
    across = (_WIDTH - _LEFT - _RIGHT) / max(count, 1)
    top = picture.top * 1.05
    up = (_HEIGHT - _TOP - _BOTTOM) / top

    def x(place: float) -> float:
        return round(_LEFT + place * across, 1)

    def y(pressure: float) -> float:
        return round(_HEIGHT - _BOTTOM - pressure * up, 1)

    parts = []
    for share in range(5):
        value = round(picture.top * share / 4)
        parts.append(_line(x(0), y(value), x(count), y(value), COLOURS["grid"]))
        parts.append(_text(_LEFT - 6, y(value) + 4, str(value), COLOURS["muted"], "end"))
    for limit, waves in picture.steps:
        parts.append(_line(x(0), y(limit), x(count), y(limit), COLOURS["step"], dashed=True))
        parts.append(_text(x(count) + 6, y(limit) + 4, f"{waves} waves", COLOURS["step"]))
    if picture.bound is not None:
        parts.append(_line(x(0), y(picture.bound), x(count), y(picture.bound), COLOURS["bound"]))
    for curve in picture.curves:
        width = 2.2 if curve.colour == COLOURS["after"] else 1.4
        points = _points(curve, x, y)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{curve.colour}" stroke-width="{width}"/>')
        peak = curve.pressure.index(curve.peak)
        parts.append(f'<circle cx="{x(peak)}" cy="{y(curve.peak)}" r="3.5" fill="{curve.colour}"/>')
    legend = [(curve.colour, f"{curve.name} {curve.peak}") for curve in picture.curves]
    if picture.bound is not None:
        legend.append((COLOURS["bound"], f"every order: at least {picture.bound}"))
    place = float(_LEFT)
    for colour, text in legend:
        parts.append(f'<rect x="{place}" y="{_HEIGHT - 14}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(place + 14, _HEIGHT - 5, text, COLOURS["ink"]))
        place += 30 + 6.6 * len(text)
    label = f"Pressure of {picture.class_name} along the orders"
    return (
        f'<div>Registers of class {escape(picture.class_name)}</div><svg role="img" aria-label="{escape(label)}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" style="max-width: 100%">{"".join(parts)}</svg>'
    )


def _points(curve: Curve, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    step = max(1, len(curve.pressure) * 2 // _MOST_POINTS)
    points: list[tuple[float, float]] = []
    for start in range(0, len(curve.pressure), step):
        part = curve.pressure[start : start + step]
        before: Optional[float] = points[-1][1] if points else None
        for pressure in [part[0]] if step == 1 else [min(part), max(part)]:
            # Pressure changes at instructions, not between them.
            if before is not None and before != y(pressure):
                points.append((x(start), before))
            before = y(pressure)
            points.append((x(start), before))
    points.append((x(len(curve.pressure) - 1), y(curve.pressure[-1])))
    return " ".join(f"{across},{down}" for across, down in points)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="5 3"' if dashed else ""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"{dashes}/>'


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-size="11" text-anchor="{anchor}">{escape(text)}</text>'
