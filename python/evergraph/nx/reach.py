"""Reach: the nodes that can be reached from a node, and their distances in edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from evergraph.nx.content import SMALL, Content, Live
from evergraph.nx.conversion import Converted
from evergraph.nx.csr import Csr, Ints, Tree, breadth_first
from evergraph.values import Direction

__all__ = ["is_small", "lists", "reached", "strong_components", "tree", "weak_components"]


def lists(content: Content, backwards: bool) -> Csr:
    """The edges as they are walked."""
    return content.plain.reversed if backwards and content.is_directed else content.plain


def tree(content: Content, sources: list[int], depth_max: float | None = None, *, backwards: bool = False) -> Tree:
    """Search from some rows breadth first, in NetworkX's order."""
    return breadth_first(lists(content, backwards), sources, depth_max)


def reached(
    content: Content, node: Any, depth_max: float | None = None, *, backwards: bool = False
) -> tuple[Ints, Ints]:
    """The rows that are reached from a node, by level, and their levels.

    A snapshot is searched by its kernel, which needs no copy whatever edges there are; what was converted is
    searched in its arrays.
    """
    row = content.rows[node]
    if isinstance(content, Converted) or not isinstance(content, Live):
        found = tree(content, [row], depth_max, backwards=backwards)
        return found.order, found.depths()
    direction: Direction = "both" if not content.is_directed else "in" if backwards else "out"
    scope: dict[str, Any] = {"labels": content.labels or None, "types": content.types or None}
    source = int(content.vertices[row])
    if depth_max is not None and depth_max < len(content.nodes):
        near = content.snapshot.k_hop(source, depth=max(int(depth_max), 0), direction=direction, **scope)
        return content.rows_of(near["vertex"].to_numpy()), near["distance"].to_numpy().astype(np.intp)
    column = content.snapshot.bfs(source, direction=direction, **scope)["level"]
    levels = column.fill_null(2**32 - 1).to_numpy()
    rows = np.flatnonzero(levels != 2**32 - 1)
    rows = rows[np.argsort(levels[rows], kind="stable")]
    return rows, levels[rows].astype(np.intp)


def is_small(content: Content) -> bool:
    """Whether plain Python is quicker than making a database for a kernel."""
    return isinstance(content, Converted) and content.plain.size + len(content.plain.neighbors) <= SMALL


def weak_components(content: Content) -> Ints:
    """The component of each row without regard to directions, from 0 on: (n,) and intp."""
    if is_small(content):
        return _united(content.plain)
    found: Ints = content.kernel().array("wcc").astype(np.intp)
    return found


def _united(csr: Csr) -> Ints:
    """Components by union and find."""
    above = list(range(csr.size))

    def root(row: int) -> int:
        while above[row] != row:
            above[row] = above[above[row]]
            row = above[row]
        return row

    for source, target in zip(csr.sources.tolist(), csr.neighbors.tolist(), strict=True):
        above[root(source)] = root(target)
    return np.unique([root(row) for row in range(csr.size)], return_inverse=True)[1].astype(np.intp)


def strong_components(content: Content) -> Ints:
    """The component of each row along directions, from 0 on: (n,) and intp.

    Those of a small graph are in the order in which NetworkX finds them.
    """
    if is_small(content):
        return _tarjan(content.plain)
    found: Ints = content.kernel().array("scc").astype(np.intp)
    return found


def _tarjan(csr: Csr) -> Ints:
    """Components by Tarjan's algorithm: one search depth first, from each row in turn."""
    component, count = [-1] * csr.size, 0
    entered, lowest = [0] * csr.size, [0] * csr.size
    turn, waiting = 0, []
    for root in range(csr.size):
        path = [] if entered[root] else [(root, iter(csr.row(root)))]
        while path:
            row, rest = path[-1]
            if not entered[row]:
                turn += 1
                entered[row] = lowest[row] = turn
                waiting.append(row)
            for neighbor in rest:
                if not entered[neighbor]:
                    path.append((neighbor, iter(csr.row(neighbor))))
                    break
                if component[neighbor] < 0:
                    lowest[row] = min(lowest[row], entered[neighbor])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[row])
                if lowest[row] == entered[row]:
                    while component[row] < 0:
                        component[waiting.pop()] = count
                    count += 1
    return np.array(component, dtype=np.intp)
