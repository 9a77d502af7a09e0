"""Paths: shortest ones, by edges or by weights."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

import networkx
import numpy as np

from evergraph.nx.content import SMALL, Content, Live
from evergraph.nx.conversion import Converted
from evergraph.nx.csr import Csr, Ints, breadth_first
from evergraph.nx.dispatch import attribute, content_of, generator, named, native, row_of, unless
from evergraph.nx.pairs import path_by_edges, path_by_weight
from evergraph.nx.reach import lists, reached, tree
from evergraph.values import Direction

__all__: list[str] = []

WHOLE_MAX = 2.0**53
"""Above this not every whole number is a float64."""

bellman_ford = unless(lambda given: given["method"] == "bellman-ford", "the method is Bellman and Ford's")
weights_backwards = unless(
    lambda given: given["weight"] is not None and given["source"] is None, "weights go from a source only"
)


def _depth(cutoff: float | None) -> float | None:
    """A cutoff as the farthest level: NetworkX goes on while levels are below it."""
    return None if cutoff is None or cutoff == float("inf") else float(np.ceil(cutoff))


@native()
def single_source_shortest_path_length(G: Any, source: Any, cutoff: float | None = None) -> dict[Any, int]:
    """How many edges each node is away from one."""
    return _lengths(G, source, cutoff, backwards=False)


@native()
def single_target_shortest_path_length(G: Any, target: Any, cutoff: float | None = None) -> dict[Any, int]:
    """How many edges one node is away from each."""
    return _lengths(G, target, cutoff, backwards=True)


def _lengths(G: Any, node: Any, cutoff: float | None, *, backwards: bool) -> dict[Any, int]:
    row_of(G, node, f"{'Target' if backwards else 'Source'} {{}} is not in G")
    rows, levels = reached(content_of(G), node, _depth(cutoff), backwards=backwards)
    return dict(zip(named(G, rows), levels.tolist(), strict=True))


@native()
@generator
def all_pairs_shortest_path_length(G: Any, cutoff: float | None = None) -> Iterator[tuple[Any, dict[Any, int]]]:
    """How many edges each node is away from each."""
    content = content_of(G)
    for row, node in enumerate(content.nodes):
        found = tree(content, [row], _depth(cutoff))
        yield node, dict(zip(named(G, found.order), found.depths().tolist(), strict=True))


def _paths(G: Any, row: int, cutoff: float | None, *, backwards: bool = False) -> dict[Any, list[Any]]:
    content = content_of(G)
    found = tree(content, [row], _depth(cutoff), backwards=backwards)
    return _along(G, found.order, found.parents, backwards=backwards)


def _along(G: Any, order: Ints, parents: Ints, *, backwards: bool = False) -> dict[Any, list[Any]]:
    """The path to each node of a tree, whose parents come first."""
    names = named(G, order)
    paths: dict[Any, list[Any]] = {names[0]: [names[0]]}
    for node, parent in zip(names[1:], named(G, parents[1:]), strict=True):
        paths[node] = [node, *paths[parent]] if backwards else [*paths[parent], node]
    return paths


@native()
def single_source_shortest_path(G: Any, source: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """A shortest path from one node to each that it reaches."""
    return _paths(G, row_of(G, source, "Source {} not in G"), cutoff)


@native()
def single_target_shortest_path(G: Any, target: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """A shortest path to one node from each that reaches it."""
    return _paths(G, row_of(G, target, "Target {} not in G"), cutoff, backwards=True)


@native()
@generator
def all_pairs_shortest_path(G: Any, cutoff: float | None = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """A shortest path from each node to each that it reaches."""
    for row, node in enumerate(content_of(G).nodes):
        yield node, _paths(G, row, cutoff)


@native()
def bidirectional_shortest_path(G: Any, source: Any, target: Any) -> list[Any]:
    """A shortest path between two nodes, searched from both ends."""
    content = content_of(G)
    if isinstance(content, Live) and not isinstance(content, Converted):
        return _live_path(content, source, target)
    start, goal = row_of(G, source, "Source {} is not in G"), row_of(G, target, "Target {} is not in G")
    path = path_by_edges(content.plain, lists(content, backwards=True), start, goal)
    if path is None:
        raise networkx.NetworkXNoPath(f"No path between {source} and {target}.")
    return [content.nodes[row] for row in path]


def _live_path(content: Live, source: Any, target: Any) -> list[Any]:
    ends = []
    for node, what in ((source, "Source"), (target, "Target")):
        vertex = content.vertex_of(node)
        if vertex is None:
            raise networkx.NodeNotFound(f"{what} {node} is not in G")
        ends.append(vertex)
    direction: Direction = "out" if content.is_directed else "both"
    path = content.snapshot.shortest_path(
        *ends, direction=direction, labels=content.labels or None, types=content.types or None
    )
    if path.num_rows == 0:
        raise networkx.NetworkXNoPath(f"No path between {source} and {target}.")
    return content.nodes_of(path["vertex"].to_numpy())


@native()
def has_path(G: Any, source: Any, target: Any) -> bool:
    """Whether one node reaches another."""
    try:
        bidirectional_shortest_path(G, source, target)
    except networkx.NetworkXNoPath:
        return False
    return True


def _check_method(method: str) -> None:
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")


@native(attribute(), bellman_ford, weights_backwards)
def shortest_path(
    G: Any, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra"
) -> Any:
    """Shortest paths between two nodes, from one, to one, or between all."""
    _check_method(method)
    if source is None:
        return all_pairs_shortest_path(G) if target is None else single_target_shortest_path(G, target)
    if target is None:
        if weight is None:
            return single_source_shortest_path(G, source)
        return single_source_dijkstra_path(G, source, weight=weight)
    if weight is None:
        return bidirectional_shortest_path(G, source, target)
    return bidirectional_dijkstra(G, source, target, weight)[1]


@native(attribute(), bellman_ford, weights_backwards)
def shortest_path_length(
    G: Any, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra"
) -> Any:
    """The lengths of shortest paths between two nodes, from one, to one, or between all."""
    _check_method(method)
    if source is None:
        if target is None:
            return all_pairs_shortest_path_length(G)
        return _lengths(G, target, None, backwards=True)
    if target is None:
        if weight is None:
            return single_source_shortest_path_length(G, source)
        return single_source_dijkstra_path_length(G, source, weight=weight)
    if weight is None:
        return len(bidirectional_shortest_path(G, source, target)) - 1
    return dijkstra_path_length(G, source, target, weight)


class _Distances:
    """Distances by weight from one node.

    Raises
    ------
    NotImplementedError
        For weights that a kernel doesn't add up as NetworkX would: negative, not finite, or whole and too large.
    """

    def __init__(self, G: Any, source: Any, weight: str | None, cutoff: float | None = None) -> None:
        content: Content = content_of(G)
        self.row = row_of(G, source, "Node {} not found in graph")
        self.csr: Csr = content.adjacency(weight, combine="min")
        self.whole = True
        if self.csr.weights is None:
            rows, levels = reached(content, source)
            self.found = np.full(len(content.nodes), np.inf)
            self.found[rows] = levels
        else:
            _check(self.csr)
            kernel = content.kernel(weight)
            self.whole = self.csr.integral
            distances = kernel.run("sssp", kernel.vertex(self.row), direction=kernel.direction, **kernel.weight)
            self.found = distances["distance"].fill_null(np.inf).to_numpy()
        if cutoff is not None:
            self.found = np.where(self.found <= cutoff, self.found, np.inf)

    def of(self, row: int | None) -> float | None:
        """The distance of one row as NetworkX gives it; ``None`` if there is no way."""
        if row is None or not np.isfinite(self.found[row]):
            return None
        return int(self.found[row]) if self.whole else float(self.found[row])

    def by_node(self, G: Any, rows: Ints | None = None) -> dict[Any, float]:
        """The distances of rows that are reached; of all, the nearest first, by default."""
        if rows is None:
            rows = np.flatnonzero(np.isfinite(self.found))
            rows = rows[np.argsort(self.found[rows], kind="stable")]
        distances = self.found[rows]
        return dict(
            zip(named(G, rows), (distances.astype(np.int64) if self.whole else distances).tolist(), strict=True)
        )

    def arcs(self, goal: int | None = None) -> Csr:
        """The arcs that distances come from; with a `goal` those that lead there."""
        weights = 1.0 if self.csr.weights is None else self.csr.weights
        from_, to = self.found[self.csr.sources], self.found[self.csr.neighbors]
        arcs = self.csr.chosen(np.isfinite(from_) & (from_ + weights == to))
        if goal is None:
            return arcs
        leads = np.zeros(arcs.size, dtype=np.bool_)
        leads[breadth_first(arcs.reversed, [goal]).order] = True
        return arcs.chosen(leads[arcs.neighbors])

    def only_path(self, goal: int) -> Ints | None:
        """The shortest path, if there is one and no other."""
        arcs = self.arcs(goal)
        rows = breadth_first(arcs, [self.row]).order
        return rows if len(arcs.neighbors) == len(rows) - 1 else None

    def tree(self, goal: int | None = None) -> tuple[Ints, Ints]:
        """Rows with their parents, parents first, in the order in which Dijkstra's algorithm finds them."""
        arcs = self.arcs(goal)
        if self.csr.weights is None:
            found = breadth_first(arcs, [self.row])
            return found.order, found.parents
        # Of rows at one distance, the one that was found first goes on first.
        order: list[int] = []
        parents = {self.row: -1}
        fringe = [(0.0, 0, self.row)]
        while fringe:
            _, _, row = heappop(fringe)
            order.append(row)
            for neighbor in arcs.row(row):
                if neighbor not in parents:
                    heappush(fringe, (float(self.found[neighbor]), len(parents), neighbor))
                    parents[neighbor] = row
        return np.array(order, dtype=np.intp), np.array([parents[row] for row in order], dtype=np.intp)


def _check(csr: Csr) -> None:
    if csr.weights is None or len(csr.weights) == 0:
        return
    if not (np.all(np.isfinite(csr.weights)) and csr.weights.min() >= 0):
        raise NotImplementedError("a weight is negative or not finite")
    if csr.integral and csr.weights.max() * csr.size >= WHOLE_MAX:
        raise NotImplementedError("whole weights are so large that their sums aren't exact")


@native(attribute())
def single_source_dijkstra_path_length(
    G: Any, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, float]:
    """The least sum of weights to each node."""
    return _Distances(G, source, weight, cutoff).by_node(G)


@native(attribute())
def single_source_dijkstra_path(
    G: Any, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, list[Any]]:
    """A path of the least sum of weights to each node."""
    paths: dict[Any, list[Any]] = single_source_dijkstra(G, source, None, cutoff, weight)[1]
    return paths


@native(attribute())
def single_source_dijkstra(
    G: Any, source: Any, target: Any = None, cutoff: float | None = None, weight: str | None = "weight"
) -> tuple[Any, Any]:
    """The least sums of weights, and paths."""
    distances = _Distances(G, source, weight, cutoff)
    if target is None:
        order, parents = distances.tree()
        return distances.by_node(G, order), _along(G, order, parents)
    if target == source:
        return 0, [target]
    row = content_of(G).rows.get(target)
    length = distances.of(row)
    if row is None or length is None:
        raise networkx.NetworkXNoPath(f"No path to {target}.")
    order, parents = distances.tree(row)
    above = dict(zip(order.tolist(), parents.tolist(), strict=True))
    path = [row]
    while path[-1] != distances.row:
        path.append(above[path[-1]])
    return length, named(G, np.array(path[::-1]))


def _pair(G: Any, source: Any, target: Any, weight: str | None) -> tuple[float, list[Any]]:
    """One path by weight, from the source; in a live graph it is searched from both ends."""
    content = content_of(G)
    csr = content.adjacency(weight, combine="min")
    if csr.weights is None or isinstance(content, Converted) or not csr.weights.all():
        return single_source_dijkstra(G, source, target, None, weight)
    _check(csr)
    start, goal = row_of(G, source, "Node {} not found in graph"), content.rows.get(target)
    kernel = content.kernel(weight)
    path = None
    if goal is not None:
        path = kernel.run(
            "shortest_path", kernel.vertex(start), kernel.vertex(goal), direction=kernel.direction, **kernel.weight
        )
    if path is None or path.num_rows == 0:
        raise networkx.NetworkXNoPath(f"No path to {target}.")
    rows = path["vertex"].to_numpy()
    rows = rows if kernel.vertices is None else np.searchsorted(kernel.vertices, rows)
    # Its length is added up from both ends; NetworkX adds from the source.
    length: float = 0
    for above, below in zip(rows.tolist(), rows.tolist()[1:], strict=False):
        begin, end = csr.offsets[above], csr.offsets[above + 1]
        arc = begin + int(np.flatnonzero(csr.neighbors[begin:end] == below)[0])
        length += float(csr.weights[arc])
    return int(length) if csr.integral else length, named(G, rows)


@native(attribute())
def dijkstra_path(G: Any, source: Any, target: Any, weight: str | None = "weight") -> list[Any]:
    """A path of the least sum of weights between two nodes."""
    return _pair(G, source, target, weight)[1]


@native(attribute())
def dijkstra_path_length(G: Any, source: Any, target: Any, weight: str | None = "weight") -> float:
    """The least sum of weights between two nodes."""
    row_of(G, source, "Node {} not found in graph")
    if source == target:
        return 0
    content = content_of(G)
    if isinstance(content, Converted):
        length = _Distances(G, source, weight).of(content.rows.get(target))
        if length is None:
            raise networkx.NetworkXNoPath(f"Node {target} not reachable from {source}")
        return length
    try:
        return _pair(G, source, target, weight)[0]
    except networkx.NetworkXNoPath as error:
        raise networkx.NetworkXNoPath(f"Node {target} not reachable from {source}") from error


@native(attribute())
def bidirectional_dijkstra(
    G: Any, source: Any, target: Any, weight: str | None = "weight"
) -> tuple[float, list[Any]]:
    """The least sum of weights between two nodes, and a path, searched from both ends."""
    content = content_of(G)
    start, goal = row_of(G, source, "Source {} is not in G"), row_of(G, target, "Target {} is not in G")
    if start == goal:
        return 0, [source]
    if not isinstance(content, Converted):
        try:
            return _pair(G, source, target, weight)
        except networkx.NetworkXNoPath as error:
            raise networkx.NetworkXNoPath(f"No path between {source} and {target}.") from error
    csr = content.adjacency(weight, combine="min")
    _check(csr)
    if csr.weights is not None and len(csr.neighbors) > SMALL:
        # The kernel is quicker, and where there is one path only it can't be another one.
        distances = _Distances(G, source, weight)
        length, rows = distances.of(goal), distances.only_path(goal)
        if length is None:
            raise networkx.NetworkXNoPath(f"No path between {source} and {target}.")
        if rows is not None:
            return length, named(G, rows)
    found = path_by_weight(csr, csr.reversed if content.is_directed else csr, start, goal)
    if found is None:
        raise networkx.NetworkXNoPath(f"No path between {source} and {target}.")
    total, path = found
    return int(total) if csr.integral else total, [content.nodes[row] for row in path]
