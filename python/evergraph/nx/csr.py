"""Csr: a graph without parallel edges as three arrays, and the searches that need NetworkX's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Csr", "Ints", "Tree", "breadth_first", "generations"]

Ints: TypeAlias = npt.NDArray[np.intp]
Floats: TypeAlias = npt.NDArray[np.float64]

NARROW = 64
"""Below so many rows a level is quicker by plain Python than by whole arrays."""


class Csr:
    """Rows of neighbours: each neighbour once, in the order of NetworkX's adjacency where there is one.

    An undirected edge is in both of its rows, a loop once in its row.

    Attributes
    ----------
    offsets : numpy.ndarray of shape (n + 1,) and intp
        ``neighbors[offsets[row]:offsets[row + 1]]`` are those of a row.
    neighbors : numpy.ndarray of shape (m,) and intp
        Rows.
    weights : numpy.ndarray of shape (m,) and float64, or None
        One an arc; ``None`` if all are 1.
    integral : bool
        Whether the weights were whole numbers of Python, so that sums of them are to be, too.
    """

    def __init__(
        self, offsets: Ints, neighbors: Ints, weights: Floats | None = None, integral: bool = True
    ) -> None:
        """Keep the arrays as they are."""
        self.offsets = offsets
        self.neighbors = neighbors
        self.weights = weights
        self.integral = integral

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.offsets) - 1

    @cached_property
    def degrees(self) -> Ints:
        """How many neighbours each row has: (n,) and intp."""
        return np.diff(self.offsets)

    @cached_property
    def sources(self) -> Ints:
        """The row of each neighbour: (m,) and intp."""
        return np.repeat(np.arange(self.size, dtype=np.intp), self.degrees)

    @cached_property
    def loops(self) -> Ints:
        """The rows with an edge to themselves, ascending."""
        found: Ints = self.neighbors[self.neighbors == self.sources]
        return found

    @cached_property
    def reversed(self) -> Csr:
        """The same edges the other way; rows ascend."""
        order = np.argsort(self.neighbors, kind="stable")
        offsets = np.zeros(self.size + 1, dtype=np.intp)
        np.cumsum(np.bincount(self.neighbors, minlength=self.size), out=offsets[1:])
        weights = None if self.weights is None else self.weights[order]
        return Csr(offsets, self.sources[order], weights, self.integral)

    def row(self, row: int) -> list[int]:
        """The neighbours of one row."""
        found: list[int] = self.neighbors[self.offsets[row] : self.offsets[row + 1]].tolist()
        return found

    def weighted_row(self, row: int) -> Iterable[tuple[int, float]]:
        """The neighbours of one row with their weights."""
        if self.weights is None:
            return zip(self.row(row), repeat(1.0))
        weights: list[float] = self.weights[self.offsets[row] : self.offsets[row + 1]].tolist()
        return zip(self.row(row), weights, strict=True)

    def arcs_of(self, rows: Ints) -> Ints:
        """The places of the neighbours of some rows, in order: of shape (their degrees together,)."""
        degrees = self.degrees[rows]
        ends = np.cumsum(degrees)
        total = int(ends[-1]) if len(ends) else 0
        found: Ints = np.arange(total, dtype=np.intp) + np.repeat(self.offsets[rows] - (ends - degrees), degrees)
        return found

    def chosen(self, arcs: npt.NDArray[np.bool_]) -> Csr:
        """The same rows with some arcs only, without weights."""
        offsets = np.zeros(self.size + 1, dtype=np.intp)
        np.cumsum(np.bincount(self.sources[arcs], minlength=self.size), out=offsets[1:])
        return Csr(offsets, self.neighbors[arcs])


class Tree(NamedTuple):
    """What a breadth-first search found, in its order.

    Attributes
    ----------
    order : numpy.ndarray of shape (k,) and intp
        The rows reached, sources first.
    parents : numpy.ndarray of shape (k,) and intp
        The row that each was reached from; -1 for sources.
    levels : list of int
        Where each level begins in `order`; and its end.
    """

    order: Ints
    parents: Ints
    levels: list[int]

    def depths(self) -> Ints:
        """How many edges each of `order` is away."""
        return np.repeat(np.arange(len(self.levels) - 1, dtype=np.intp), np.diff(self.levels))


def breadth_first(csr: Csr, sources: Iterable[int], depth_max: float | None = None) -> Tree:
    """Search breadth first, in the order of a queue and of each row.

    Cost: one look at each arc that is reached; a level of few rows is walked in Python, a wide one by arrays.
    """
    seen = np.zeros(csr.size, dtype=np.bool_)
    level = np.fromiter(dict.fromkeys(sources), dtype=np.intp)
    seen[level] = True
    order, parents, levels = [level], [np.full(len(level), -1, dtype=np.intp)], [0, len(level)]
    while len(level) and (depth_max is None or len(levels) - 1 <= depth_max):
        above, level = _narrow(csr, level, seen) if len(level) < NARROW else _wide(csr, level, seen)
        if len(level):
            order.append(level)
            parents.append(above)
            levels.append(levels[-1] + len(level))
    return Tree(np.concatenate(order), np.concatenate(parents), levels)


def _narrow(csr: Csr, level: Ints, seen: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    if int(csr.degrees[level].sum()) > 4 * NARROW:
        return _wide(csr, level, seen)
    above, below = [], []
    for row in level.tolist():
        for neighbor in csr.row(row):
            if not seen[neighbor]:
                seen[neighbor] = True
                above.append(row)
                below.append(neighbor)
    return np.array(above, dtype=np.intp), np.array(below, dtype=np.intp)


def _wide(csr: Csr, level: Ints, seen: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    arcs = csr.arcs_of(level)
    below = csr.neighbors[arcs]
    fresh = ~seen[below]
    arcs, below = arcs[fresh], below[fresh]
    # Of several ways to a row the first counts, as in a queue.
    _, first = np.unique(below, return_index=True)
    first.sort()
    below = below[first]
    seen[below] = True
    return csr.sources[arcs[first]], below


def generations(csr: Csr) -> Iterator[Ints]:
    """Peel off rows that no edge reaches any more, level after level, in NetworkX's order.

    Rows on a cycle, and behind one, are never given.
    """
    waiting = np.bincount(csr.neighbors, minlength=csr.size)
    level: Ints = np.flatnonzero(waiting == 0)
    while len(level):
        yield level
        below = csr.neighbors[csr.arcs_of(level)]
        if len(below) < NARROW:
            ready = []
            for row in below.tolist():
                waiting[row] -= 1
                if waiting[row] == 0:
                    ready.append(row)
            level = np.array(ready, dtype=np.intp)
        else:
            # A row is ready where its last edge is met.
            rows, last, counts = np.unique(below[::-1], return_index=True, return_counts=True)
            waiting[rows] -= counts
            free = waiting[rows] == 0
            level = rows[free][np.argsort(-last[free], kind="stable")]


def grouped(keys: npt.NDArray[Any]) -> Ints:
    """Where each run of equal keys begins, of sorted ones."""
    if len(keys) == 0:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
