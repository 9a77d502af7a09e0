"""Traversal: breadth-first searches, orders along the edges, cycles. Orders are those of NetworkX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np

from evergraph.nx.csr import generations
from evergraph.nx.dispatch import content_of, generator, named, native, not_multigraph, only, unless
from evergraph.nx.reach import reached, tree

__all__: list[str] = []

order_of_predecessors = unless(
    lambda given: given["reverse"] and given["G"].is_directed(), "the order of predecessors isn't kept"
)


def _row(G: Any, node: Any) -> int:
    row = content_of(G).rows.get(node)
    if row is None:
        raise networkx.NetworkXError(f"The node {node} is not in the graph.")
    return row


def _edges(G: Any, source: Any, depth_limit: int | None) -> Iterator[tuple[Any, Any]]:
    content = content_of(G)
    # As many edges as there are nodes are enough; a limit of zero gives nothing.
    found = tree(content, [_row(G, source)], depth_limit)
    return zip(named(G, found.parents[1:]), named(G, found.order[1:]), strict=True)


@native(only("sort_neighbors", None), order_of_predecessors)
@generator
def bfs_edges(
    G: Any, source: Any, reverse: bool = False, depth_limit: int | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """The edges of a breadth-first search, as they are found."""
    return _edges(G, source, depth_limit)


@native(only("sort_neighbors", None), order_of_predecessors)
def bfs_tree(
    G: Any, source: Any, reverse: bool = False, depth_limit: int | None = None, sort_neighbors: Any = None
) -> Any:
    """The tree of a breadth-first search: a ``networkx.DiGraph`` of NetworkX's own."""
    found = networkx.DiGraph()
    found.add_node(source)
    found.add_edges_from(_edges(G, source, depth_limit))
    return found


@native(only("sort_neighbors", None))
@generator
def bfs_predecessors(
    G: Any, source: Any, depth_limit: int | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Each node with the one that it was found from."""
    return ((child, parent) for parent, child in _edges(G, source, depth_limit))


@native(only("sort_neighbors", None))
@generator
def bfs_successors(
    G: Any, source: Any, depth_limit: int | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    """Each node with those that were found from it."""
    found: dict[Any, list[Any]] = {}
    for parent, child in _edges(G, source, depth_limit):
        found.setdefault(parent, []).append(child)
    return iter((found or {source: []}).items())


@native()
@generator
def bfs_layers(G: Any, sources: Any) -> Iterator[list[Any]]:
    """The nodes by their distance from some."""
    starts = [sources] if sources in G else list(set(sources))
    found = tree(content_of(G), [_row(G, node) for node in starts])
    if starts:
        for begin, end in zip(found.levels, found.levels[1:], strict=False):
            yield named(G, found.order[begin:end])


@native()
def descendants_at_distance(G: Any, source: Any, distance: int) -> set[Any]:
    """The nodes at a distance."""
    _row(G, source)
    if distance < 0:
        return set()
    rows, levels = reached(content_of(G), source, distance)
    return set(named(G, rows[levels == distance]))


@native()
def descendants(G: Any, source: Any) -> set[Any]:
    """All that a node reaches, without itself."""
    _row(G, source)
    return set(named(G, reached(content_of(G), source)[0][1:]))


@native()
def ancestors(G: Any, source: Any) -> set[Any]:
    """All that reach a node, without itself."""
    _row(G, source)
    return set(named(G, reached(content_of(G), source, backwards=True)[0][1:]))


@native()
@generator
def topological_generations(G: Any) -> Iterator[list[Any]]:
    """Nodes by the longest way to them."""
    if not G.is_directed():
        raise networkx.NetworkXError("Topological sort not defined on undirected graphs.")
    content, given = content_of(G), 0
    for level in generations(content.plain):
        given += len(level)
        yield named(G, level)
    if given < len(content.nodes):
        raise networkx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


@native()
@generator
def topological_sort(G: Any) -> Iterator[Any]:
    """Every node after those that point to it."""
    for level in topological_generations(G):
        yield from level


def _has_cycle(G: Any) -> bool:
    content = content_of(G)
    return sum(map(len, generations(content.plain))) < len(content.nodes)


@native()
def has_cycle(G: Any) -> bool:
    """Whether edges form a cycle."""
    if not G.is_directed():
        raise networkx.NetworkXError("Topological sort not defined on undirected graphs.")
    return _has_cycle(G)


@native()
def is_directed_acyclic_graph(G: Any) -> bool:
    """Whether edges have directions and form no cycle."""
    return G.is_directed() and not _has_cycle(G)


@native(
    only("orientation", None),
    unless(lambda given: not given["G"].is_directed(), "the graph is undirected"),
    not_multigraph,
)
def find_cycle(G: Any, source: Any = None, orientation: str | None = None) -> list[tuple[Any, Any]]:
    """The cycle that a depth-first search closes first.

    Nodes without a way to a cycle are peeled off first. What is left always leads on, so that the search never
    turns back: it goes to each first neighbour until one comes again.
    """
    content = content_of(G)
    csr = content.plain
    left = np.ones(csr.size, dtype=np.bool_)
    for level in generations(csr.reversed):
        left[level] = False
    starts = content.nodes if source is None else list(G.nbunch_iter(source))
    start = next((content.rows[node] for node in starts if left[content.rows[node]]), None)
    if start is None:
        raise networkx.NetworkXNoCycle("No cycle found.")
    places: dict[int, int] = {}
    row = start
    while row not in places:
        places[row] = len(places)
        row = next(neighbor for neighbor in csr.row(row) if left[neighbor])
    cycle = named(G, np.array(list(places)[places[row] :]))
    return list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
