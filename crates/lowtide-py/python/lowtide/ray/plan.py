"""Which kernels go together: the plan of a run, from facts alone.

A *bundle* is the work of one call of a worker. Kernels whose largest regions have the same graph are in one bundle, so that the session of one worker solves this graph
once. Kernels that are neighbours in the corpus stay together, since they share many of their small graphs. Bundles have about the same estimated work, a kernel with much work is alone, and bundles with the most work come first: so no worker is left with a long one at the end.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: Seconds for a region of n instructions: a constant, and a power of n. Fitted to measured times (docs/python.md).
BASE, FACTOR, POWER = 20e-6, 1.2e-6, 1.6

#: The share of the work for a kernel whose largest graph is known already.
KNOWN = 0.2

#: The least and the most work of a bundle in seconds: far above the cost of a call, and short enough to repeat.
LEAST, MOST = 0.5, 30.0

#: Bundles for each worker, so that the end of a run is even.
BUNDLES = 8

#: The most kernels of a bundle.
KERNELS = 5000


class Item(NamedTuple):
    """A kernel: the block and the row where its lines are, the estimated work, and the key of its largest graph."""

    block: int
    row: int
    work: float
    key: str


class Bundle(NamedTuple):
    """Kernels for one call of a worker."""

    items: tuple[Item, ...]
    work: float


def estimate(sizes: Iterable[int]) -> float:
    """Return the estimated seconds for a kernel with regions of these sizes."""
    return BASE + sum(BASE + FACTOR * math.pow(size, POWER) for size in sizes)


def bundles(items: Sequence[Item], workers: int) -> list[Bundle]:
    """Return the bundles of a run, the one with the most work first."""
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.key].append(item)
    sized = []
    for group in groups.values():
        group.sort(key=lambda item: (-item.work, item.block, item.row))
        sized.append((group[0].work + KNOWN * sum(item.work for item in group[1:]), group))
    total = sum(work for work, _ in sized)
    goal = min(MOST, max(LEAST, total / (max(workers, 1) * BUNDLES)))
    # In the order of the corpus. The kernels that come first in it stand for their groups.
    sized.sort(key=lambda pair: min((item.block, item.row) for item in pair[1]))
    made: list[Bundle] = []
    open_items: list[Item] = []
    open_work = 0.0
    for work, group in sized:
        if work >= goal or len(group) > KERNELS:
            made += [Bundle(tuple(part), sum(item.work for item in part)) for part in _parts(group)]
            continue
        if open_items and (open_work + work > goal or len(open_items) + len(group) > KERNELS):
            made.append(Bundle(tuple(open_items), open_work))
            open_items, open_work = [], 0.0
        open_items += group
        open_work += work
    if open_items:
        made.append(Bundle(tuple(open_items), open_work))
    made.sort(key=lambda bundle: -bundle.work)
    return made


def _parts(group: list[Item]) -> list[list[Item]]:
    """Return a group in parts of at most :data:`KERNELS`."""
    return [group[start : start + KERNELS] for start in range(0, len(group), KERNELS)]


def halves(bundle: Bundle) -> list[Bundle]:
    """Return a bundle in two parts."""
    middle = len(bundle.items) // 2
    parts = (bundle.items[:middle], bundle.items[middle:])
    return [Bundle(part, sum(item.work for item in part)) for part in parts]
