"""Centralities: how important nodes are."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import numpy.typing as npt

from evergraph.nx.content import Content
from evergraph.nx.csr import Csr, Ints
from evergraph.nx.dispatch import attribute, by_node, content_of, native, not_multigraph, only, row_of, unless
from evergraph.nx.reach import reached

__all__: list[str] = []

Vector = npt.NDArray[np.float64]


def degrees(content: Content, direction: str) -> Ints:
    """How many edges each row has, parallel ones and both ends of loops counted as NetworkX does."""
    csr = content.adjacency()

    def side(rows: Ints) -> Any:
        return np.bincount(rows, weights=csr.weights, minlength=csr.size)

    found = side(csr.neighbors) if direction == "in" else side(csr.sources)
    if direction == "both" and content.is_directed:
        found = found + side(csr.neighbors)
    elif direction == "both":
        loops = csr.neighbors == csr.sources
        found = found + np.bincount(
            csr.sources[loops], weights=None if csr.weights is None else csr.weights[loops], minlength=csr.size
        )
    counts: Ints = found.astype(np.intp)
    return counts


def _degree_centrality(G: Any, direction: str) -> dict[Any, Any]:
    content = content_of(G)
    count = len(content.nodes)
    if count <= 1:
        return dict.fromkeys(content.nodes, 1)
    return by_node(G, degrees(content, direction) * (1.0 / (count - 1.0)))


@native()
def degree_centrality(G: Any) -> dict[Any, Any]:
    """The share of other nodes that each is connected to."""
    return _degree_centrality(G, "both")


@native()
def in_degree_centrality(G: Any) -> dict[Any, Any]:
    """The share of other nodes that point to each."""
    return _degree_centrality(G, "in")


@native()
def out_degree_centrality(G: Any) -> dict[Any, Any]:
    """The share of other nodes that each points to."""
    return _degree_centrality(G, "out")


def _given(content: Content, values: Any) -> Vector:
    return np.array([values.get(node, 0) for node in content.nodes], dtype=np.float64)


def _pagerank(
    csr: Csr, alpha: float, start: Vector, person: Vector, dangling: Vector, max_iter: int, tol: float
) -> Vector:
    """NetworkX's power iteration on arrays, for weights and for what else the kernel doesn't have."""
    weights = np.ones(len(csr.neighbors)) if csr.weights is None else csr.weights
    sums = np.bincount(csr.sources, weights=weights, minlength=csr.size)
    nowhere = sums == 0
    sums[nowhere] = 1.0
    shares = weights / sums[csr.sources]
    scores: Vector = start
    for _ in range(max_iter):
        last = scores
        walked = np.bincount(csr.neighbors, weights=last[csr.sources] * shares, minlength=csr.size)
        scores = alpha * (walked + last[nowhere].sum() * dangling) + (1 - alpha) * person
        if np.absolute(scores - last).sum() < csr.size * tol:
            return scores
    raise networkx.PowerIterationFailedConvergence(max_iter)


@native(attribute())
def pagerank(
    G: Any,
    alpha: float = 0.85,
    personalization: Any = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Any = None,
    weight: str | None = "weight",
    dangling: Any = None,
) -> dict[Any, float]:
    """PageRank: by the kernel, or by NumPy if there are weights or starts."""
    content = content_of(G)
    count = len(content.nodes)
    if count == 0:
        return {}
    csr = content.adjacency(weight)
    plain = personalization is None and nstart is None and dangling is None
    if plain and csr.weights is None and 0 <= alpha <= 1 and 0 <= tol < np.inf:
        kernel = content.kernel()
        ranks = kernel.run(
            "pagerank", damping=alpha, iterations=max_iter, tolerance=tol, direction=kernel.direction
        )
        if ranks.schema.metadata[b"converged"] != b"true":
            raise networkx.PowerIterationFailedConvergence(max_iter)
        return by_node(G, ranks["score"].to_numpy())
    even = np.full(count, 1.0 / count)
    start, person = even, even
    if nstart is not None:
        start = _given(content, nstart)
        start /= start.sum()
    if personalization is not None:
        person = _given(content, personalization)
        if person.sum() == 0:
            raise ZeroDivisionError("the personalization sums to zero")
        person /= person.sum()
    lost = person
    if dangling is not None:
        lost = _given(content, dangling)
        lost /= lost.sum()
    return by_node(G, _pagerank(csr, alpha, start, person, lost, max_iter, tol))


@native(attribute(), not_multigraph)
def eigenvector_centrality(
    G: Any, max_iter: int = 100, tol: float = 1.0e-6, nstart: Any = None, weight: str | None = None
) -> dict[Any, float]:
    """How important those are that point to each node."""
    content = content_of(G)
    if len(content.nodes) == 0:
        raise networkx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    csr = content.adjacency(weight)
    if nstart is not None:
        return by_node(G, _eigenvector(content, csr, max_iter, tol, nstart))
    kernel = content.kernel(weight)
    found = kernel.run(
        "eigenvector", iterations=max_iter, tolerance=tol, direction=kernel.direction, **kernel.weight
    )
    if found.schema.metadata[b"converged"] != b"true":
        raise networkx.PowerIterationFailedConvergence(max_iter)
    return by_node(G, found["score"].to_numpy())


def _eigenvector(content: Content, csr: Csr, max_iter: int, tol: float, nstart: Any) -> Vector:
    if all(value == 0 for value in nstart.values()):
        raise networkx.NetworkXError("initial vector cannot have all zero values")
    missing = [node for node in content.nodes if node not in nstart]
    if missing:
        raise KeyError(missing[0])
    scores: Vector = _given(content, nstart) / sum(nstart.values())
    weights = np.ones(len(csr.neighbors)) if csr.weights is None else csr.weights
    for _ in range(max_iter):
        last = scores
        scores = last + np.bincount(csr.neighbors, weights=last[csr.sources] * weights, minlength=csr.size)
        scores = scores / (np.linalg.norm(scores) or 1)
        if np.absolute(scores - last).sum() < csr.size * tol:
            return scores
    raise networkx.PowerIterationFailedConvergence(max_iter)


@native(
    only("weight", None),
    only("endpoints", False),
    unless(lambda given: given["k"] not in (None, len(given["G"])), "a sample is NetworkX's own"),
)
def betweenness_centrality(
    G: Any,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """How many shortest paths lead through each node, from a search from every node."""
    content = content_of(G)
    count = len(content.nodes)
    if count == 0:
        return {}
    kernel = content.kernel()
    scores = kernel.array("betweenness", normalized=False, direction=kernel.direction)
    # The kernel takes both ways of an undirected path as one, unless they are edges of their own.
    ordered = scores if content.is_directed or kernel.direction == "out" else scores * 2
    if count <= 2:
        return by_node(G, ordered)
    if normalized:
        return by_node(G, ordered * (1 / ((count - 1) * (count - 2))))
    return by_node(G, ordered if content.is_directed else ordered * 0.5)


@native(
    only("distance", None),
    unless(lambda given: given["u"] is None and not given["wf_improved"], "wf_improved is off"),
)
def closeness_centrality(G: Any, u: Any = None, distance: str | None = None, wf_improved: bool = True) -> Any:
    """How near each node is to those that reach it."""
    content = content_of(G)
    count = len(content.nodes)
    if u is not None:
        row_of(G, u, "Source {} is not in G")
        rows, levels = reached(content, u, backwards=True)
        total, others = int(levels.sum()), len(rows) - 1
        if total == 0:
            return 0.0
        return others / total * (others / (count - 1) if wf_improved else 1.0)
    if count == 0:
        return {}
    kernel = content.kernel()
    return by_node(G, kernel.array("closeness", direction="in" if kernel.direction == "out" else "both"))
