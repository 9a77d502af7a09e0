"""Structure: triangles, cores, communities, and measures of the whole graph."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np

from evergraph.nx.centrality import degrees
from evergraph.nx.content import Content
from evergraph.nx.csr import Ints
from evergraph.nx.dispatch import (
    attribute,
    by_node,
    content_of,
    named,
    native,
    not_multigraph,
    only,
    undirected,
    unless,
)
from evergraph.nx.reach import weak_components

__all__: list[str] = []


def _triangles(content: Content) -> Ints:
    found: Ints = content.kernel().array("triangles").astype(np.intp)
    return found


def _of_some(G: Any, nodes: Any, values: dict[Any, Any]) -> Any:
    """All, that of one node, or those of some, as NetworkX's `nodes` means it."""
    if nodes is None:
        return values
    if nodes in G:
        return values[nodes]
    return {node: values[node] for node in G.nbunch_iter(nodes)}


@native(undirected, not_multigraph)
def triangles(G: Any, nodes: Any = None) -> Any:
    """How many triangles each node is in."""
    content = content_of(G)
    return _of_some(G, nodes, by_node(G, _triangles(content)) if content.nodes else {})


def _pairs(content: Content) -> Ints:
    """How many ordered pairs of neighbours each row has."""
    csr = content.plain
    degree = csr.degrees - np.bincount(csr.loops, minlength=csr.size)
    return degree * (degree - 1)


def _clustering(G: Any) -> dict[Any, Any]:
    content = content_of(G)
    if not content.nodes:
        return {}
    twice, pairs = (2 * _triangles(content)).tolist(), _pairs(content).tolist()
    both = zip(content.nodes, twice, pairs, strict=True)
    return {node: closed / of if closed else 0 for node, closed, of in both}


@native(undirected, not_multigraph, only("weight", None))
def clustering(G: Any, nodes: Any = None, weight: str | None = None) -> Any:
    """How many of the pairs of each node's neighbours are connected."""
    return _of_some(G, nodes, _clustering(G))


@native(undirected, not_multigraph, only("weight", None))
def average_clustering(G: Any, nodes: Any = None, weight: str | None = None, count_zeros: bool = True) -> float:
    """The mean of `clustering`."""
    found = _of_some(G, nodes, _clustering(G)).values()
    if not count_zeros:
        found = [value for value in found if value > 0]
    mean: float = sum(found) / len(found)
    return mean


@native(undirected, not_multigraph)
def transitivity(G: Any) -> float:
    """How many of all pairs of neighbours are connected."""
    content = content_of(G)
    closed = 2 * int(_triangles(content).sum()) if content.nodes else 0
    return closed / int(_pairs(content).sum()) if closed else 0


@native(undirected, not_multigraph)
def core_number(G: Any) -> dict[Any, int]:
    """The innermost core that each node is in."""
    content = content_of(G)
    if len(content.plain.loops):
        raise networkx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return by_node(G, content.kernel().array("kcore")) if content.nodes else {}


# NetworkX has put the module's own generator in place of None.
UNSEEDED = (None, random._inst)
seeded = unless(lambda given: given["seed"] not in UNSEEDED, "a seed draws from NetworkX's generator")


@native(attribute(), undirected, only("max_level", None), seeded)
def louvain_communities(
    G: Any,
    weight: str | None = "weight",
    resolution: float = 1,
    threshold: float = 0.0000001,
    max_level: int | None = None,
    seed: Any = None,
) -> list[set[Any]]:
    """Communities by modularity. The answer is always the same: nothing is drawn at random."""
    content = content_of(G)
    csr = content.adjacency(weight, combine="sum")
    if len(csr.neighbors) == 0:
        return [{node} for node in content.nodes]
    if len(csr.loops):
        raise NotImplementedError("loops count otherwise in the kernel")
    if csr.weights is not None and not (np.all(np.isfinite(csr.weights)) and csr.weights.min() >= 0):
        raise NotImplementedError("a weight is negative")
    kernel = content.kernel(weight, combine="sum")
    found = kernel.array("louvain", resolution=float(resolution), tolerance=threshold, **kernel.weight)
    community = found.astype(np.intp)
    order = np.argsort(community, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(community))[:-1])
    return [set(named(G, part)) for part in parts]


@native()
def is_empty(G: Any) -> bool:
    """Whether there are no edges."""
    return len(content_of(G).plain.neighbors) == 0


@native(not_multigraph)
def number_of_selfloops(G: Any) -> int:
    """How many loops there are."""
    return len(content_of(G).plain.loops)


@native()
def isolates(G: Any) -> Iterator[Any]:
    """The nodes without edges."""
    content = content_of(G)
    return iter(named(G, np.flatnonzero(degrees(content, "both") == 0)))


@native()
def number_of_isolates(G: Any) -> int:
    """How many nodes have no edges."""
    return int(np.count_nonzero(degrees(content_of(G), "both") == 0))


def _is_forest(G: Any) -> tuple[bool, int]:
    """Whether no edge closes a circle; and how many trees there are then."""
    content = content_of(G)
    if not content.nodes:
        raise networkx.NetworkXPointlessConcept("G has no nodes.")
    if len(content.nodes) <= G.size():
        return False, 0
    components = int(weak_components(content).max()) + 1
    return len(content.nodes) - components == G.size(), components


@native()
def is_forest(G: Any) -> bool:
    """Whether all components are trees, without regard to directions."""
    return _is_forest(G)[0]


@native()
def is_tree(G: Any) -> bool:
    """Whether it is one tree, without regard to directions."""
    forest, components = _is_forest(G)
    return forest and components == 1
