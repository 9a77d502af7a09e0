"""Components: the connected parts of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np

from evergraph.nx.csr import Csr, Ints, generations
from evergraph.nx.dispatch import content_of, generator, named, native
from evergraph.nx.reach import is_small, reached, strong_components, weak_components

__all__: list[str] = []

POINTLESS = "Connectivity is undefined for the null graph."


COMPONENTS = {"wcc": weak_components, "scc": strong_components}


def _sets(G: Any, kernel: str) -> Iterator[set[Any]]:
    """Components in the order of their first nodes; strong ones after those that they lead to, as NetworkX's."""
    content = content_of(G)
    if not content.nodes:
        return
    component = COMPONENTS[kernel](content)
    order = np.argsort(component, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(component))[:-1])
    if kernel == "wcc" or not is_small(content):
        parts.sort(key=lambda rows: int(rows[0]))
    if kernel == "scc" and not is_small(content):
        parts = [
            parts[place] for level in generations(_backwards(content.plain, parts)) for place in level.tolist()
        ]
    for part in parts:
        yield set(named(G, part))


def _backwards(csr: Csr, parts: list[Ints]) -> Csr:
    """The edges between parts, the other way."""
    count = len(parts)
    place = np.empty(csr.size, dtype=np.intp)
    place[np.concatenate(parts)] = np.repeat(np.arange(count), [len(part) for part in parts])
    source, target = place[csr.sources], place[csr.neighbors]
    pairs = np.unique((target * count + source)[source != target])
    return Csr(np.searchsorted(pairs, np.arange(count + 1) * count).astype(np.intp), pairs % count)


def _count(G: Any, kernel: str) -> int:
    content = content_of(G)
    if not content.nodes:
        return 0
    return int(COMPONENTS[kernel](content).max()) + 1


def _is_one(G: Any, kernel: str) -> bool:
    if not content_of(G).nodes:
        raise networkx.NetworkXPointlessConcept(POINTLESS)
    return _count(G, kernel) == 1


@native()
@generator
def connected_components(G: Any) -> Iterator[set[Any]]:
    """The connected components."""
    return _sets(G, "wcc")


@native()
def number_connected_components(G: Any) -> int:
    """How many connected components there are."""
    return _count(G, "wcc")


@native()
def is_connected(G: Any) -> bool:
    """Whether there is one."""
    return _is_one(G, "wcc")


@native()
def node_connected_component(G: Any, n: Any) -> set[Any]:
    """The component of a node."""
    content = content_of(G)
    if n not in content.rows:
        raise KeyError(n)
    return set(named(G, reached(content, n)[0]))


@native()
@generator
def weakly_connected_components(G: Any) -> Iterator[set[Any]]:
    """The components without regard to directions."""
    return _sets(G, "wcc")


@native()
def number_weakly_connected_components(G: Any) -> int:
    """How many weakly connected components there are."""
    return _count(G, "wcc")


@native()
def is_weakly_connected(G: Any) -> bool:
    """Whether there is one."""
    return _is_one(G, "wcc")


@native()
@generator
def strongly_connected_components(G: Any) -> Iterator[set[Any]]:
    """The components whose nodes reach each other."""
    return _sets(G, "scc")


@native()
def number_strongly_connected_components(G: Any) -> int:
    """How many strongly connected components there are."""
    return _count(G, "scc")


@native()
def is_strongly_connected(G: Any) -> bool:
    """Whether there is one."""
    return _is_one(G, "scc")
