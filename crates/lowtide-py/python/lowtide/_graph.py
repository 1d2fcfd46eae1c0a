"""Regions from weighted graphs."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._errors import InputError

if TYPE_CHECKING:
    from ._kernel import Region


def region_of(
    cls: type[Region], graph: Any, weight: str, name: str, latency: int, class_name: str, inputs_stay: bool
) -> Region:
    """Return a graph as a region: a node is an instruction, and its result a value."""
    weights, edges = _parts(graph, weight)
    nodes = list(weights)
    position = {node: number for number, node in enumerate(nodes)}
    successors: list[list[int]] = [[] for _ in nodes]
    waiting = [0] * len(nodes)
    for edge in edges:
        try:
            start, end = edge[0], edge[1]
        except (TypeError, IndexError):
            raise InputError(f"edge {edge!r} is not a pair of nodes") from None
        for node in (start, end):
            if node not in position:
                raise InputError(f"edge {start!r} -> {end!r}: {node!r} is not a node of the graph")
        successors[position[start]].append(position[end])
        waiting[position[end]] += 1
    order = _topological(nodes, successors, waiting)
    rank = {number: place for place, number in enumerate(order)}
    # With two instructions for a node, the first makes the result and the second lets the inputs go.
    step = 2 if inputs_stay else 1
    values: list[dict[str, Any]] = []
    dependences: list[tuple[Any, ...]] = []
    instructions: list[tuple[str, int]] = []
    for number in order:
        amount = weights[nodes[number]]
        if isinstance(amount, bool) or not isinstance(amount, int) or amount < 0:
            raise InputError(f"node {nodes[number]!r}: {weight} is {amount!r}, but must be a whole number from 0")
        own = step * rank[number]
        instructions += [(str(nodes[number]), latency), (f"end of {nodes[number]}", latency)][:step]
        if inputs_stay:
            dependences.append((own, own + 1, "barrier"))
        readers = sorted({step * rank[successor] for successor in successors[number]})
        if amount > 0:
            uses = [reader + part for reader in readers for part in range(step)]
            value = {"name": str(nodes[number]), "class": class_name, "weight": amount, "def": own}
            values.append({**value, "uses": uses, "live_out": not uses})
        else:
            dependences += [(own, reader) for reader in readers]
    through = {} if values else {class_name: 0}
    return cls(name, instructions, values, dependences, through=through)


def _parts(graph: Any, weight: str) -> tuple[dict[Hashable, Any], Iterable[Any]]:
    """Return the weight of each node, and the edges."""
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        if not graph.is_directed():
            raise InputError("the graph is not directed: an edge leads from a result to the job that reads it")
        return {node: data.get(weight, 1) for node, data in graph.nodes(data=True)}, graph.edges()
    if isinstance(graph, tuple) and len(graph) == 2 and isinstance(graph[0], Mapping):
        return dict(graph[0]), graph[1]
    raise InputError("a directed graph of NetworkX is needed, or a pair of node weights (a mapping) and edges")


def _topological(nodes: list[Hashable], successors: list[list[int]], waiting: list[int]) -> list[int]:
    """Return the nodes in an order that the edges allow, as near to their own order as possible."""
    ready = [number for number, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for successor in successors[number]:
            waiting[successor] -= 1
            if waiting[successor] == 0:
                heapq.heappush(ready, successor)
    if len(order) < len(nodes):
        stuck = next(node for node, count in zip(nodes, waiting) if count > 0)
        raise InputError(f"the graph has a cycle: no order has node {stuck!r} behind all its predecessors")
    return order
