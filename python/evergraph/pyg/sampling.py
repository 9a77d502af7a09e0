"""Sampling: some neighbours of some vertices, hop by hop, as PyG's loaders want them; NumPy alone.

A hop takes every row that the hop before found for the first time, and for each edge type that reaches it draws
some of its edges. Rows are numbered in the order in which they were found, seeds first.

Source: GraphSAGE (Hamilton, Ying, Leskovec 2017), section 3.1; drawing without replacement is Floyd's (Bentley and
Floyd, "A sample of brilliance", 1987), all rows at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from evergraph.pyg.topology import EdgeType, Incoming, NodeType, Topology, ends

__all__ = ["Sample", "Seeds", "sample"]

_Longs: TypeAlias = npt.NDArray[np.int64]
_Times: TypeAlias = npt.NDArray[np.int64 | np.float64]


class Seeds(NamedTuple):
    """Where sampling begins, in one node type.

    Attributes
    ----------
    rows : numpy.ndarray of shape (seeds,) and int64
    times : numpy.ndarray of shape (seeds,), or None
        No edge later than its seed's time is drawn.
    """

    rows: _Longs
    times: _Times | None = None


class Sample(NamedTuple):
    """What was drawn; all arrays are of int64.

    Attributes
    ----------
    rows : dict of NodeType to array
        The rows that were found, in order. Seeds are there once for each time that they were given.
    trees : dict of NodeType to array, or None
        The seed whose tree each belongs to, if trees are kept apart.
    sources, targets : dict of EdgeType to array
        The ends of the edges that were drawn: places in `rows`.
    edges : dict of EdgeType to array
        Their numbers.
    rows_per_hop : dict of NodeType to list of int
        How many were found: seeds, then hop by hop.
    edges_per_hop : dict of EdgeType to list of int
    """

    rows: dict[NodeType, _Longs]
    trees: dict[NodeType, _Longs] | None
    sources: dict[EdgeType, _Longs]
    targets: dict[EdgeType, _Longs]
    edges: dict[EdgeType, _Longs]
    rows_per_hop: dict[NodeType, list[int]]
    edges_per_hop: dict[EdgeType, list[int]]


class _Found:
    """The rows of one node type found so far, numbered in the order in which they were."""

    def __init__(self, count: int, seeds: _Longs, trees: _Longs) -> None:
        self._count = count
        self.rows, self.trees = seeds, trees
        # A row of a tree is one number; rows are below 2^32.
        keys = trees * count + seeds
        self._known: _Longs
        self._known, first = np.unique(keys, return_index=True)
        self._places: _Longs = first.astype(np.int64)

    def add(self, rows: _Longs, trees: _Longs) -> _Longs:
        """Return the positions of `rows`; rows that are found for the first time come after all others."""
        keys, first, back = np.unique(trees * self._count + rows, return_index=True, return_inverse=True)
        at = np.asarray(np.searchsorted(self._known, keys))
        old = at < len(self._known)
        old[old] = self._known[at[old]] == keys[old]
        places = np.empty(len(keys), dtype=np.int64)
        places[old] = self._places[at[old]]
        new = np.flatnonzero(~old)
        new = new[np.argsort(first[new])]
        places[new] = len(self.rows) + np.arange(len(new))
        self.rows = np.concatenate([self.rows, rows[first[new]]])
        self.trees = np.concatenate([self.trees, trees[first[new]]])
        ascending = np.sort(new)
        self._known = np.insert(self._known, at[ascending], keys[ascending])
        self._places = np.insert(self._places, at[ascending], places[ascending])
        return places[back]


def sample(
    topology: Topology,
    seeds: Mapping[NodeType, Seeds],
    fanouts: Mapping[EdgeType, list[int]],
    random: np.random.Generator,
    *,
    replace: bool = False,
    disjoint: bool = False,
    newest: bool = False,
) -> Sample:
    """Draw neighbours against the direction of edges: from targets to sources.

    Parameters
    ----------
    topology : Topology
    seeds : dict of NodeType to Seeds
    fanouts : dict of EdgeType to list of int
        For each hop how many edges are drawn at each row; -1 for all of them. One length for all edge types.
    random : numpy.random.Generator
    replace : bool
        Whether an edge may be drawn twice at a row.
    disjoint : bool
        Whether each seed has a tree of its own, which shares no row with another.
    newest : bool
        With times: the latest edges that are not later than the seed, instead of any of them.

    Returns
    -------
    Sample
    """
    limit = _limits(seeds)
    assert disjoint or limit is None, "seeds with times have trees of their own"
    nothing = np.zeros(0, dtype=np.int64)
    found = {node_type: _Found(len(of), nothing, nothing) for node_type, of in topology.vertices.items()}
    trees_count = 0
    for node_type, given in seeds.items():
        trees = np.arange(trees_count, trees_count + len(given.rows)) if disjoint else np.zeros_like(given.rows)
        found[node_type] = _Found(len(topology.vertices[node_type]), given.rows, trees)
        trees_count += len(given.rows)

    drawn: dict[EdgeType, list[tuple[_Longs, _Longs, _Longs]]] = {edge_type: [] for edge_type in topology.incoming}
    rows_per_hop = {node_type: [len(of.rows)] for node_type, of in found.items()}
    begin = dict.fromkeys(found, 0)
    for hop in range(max(map(len, fanouts.values()), default=0)):
        end = {node_type: len(of.rows) for node_type, of in found.items()}
        for edge_type, incoming in topology.incoming.items():
            source, target = ends(edge_type)
            first, last = begin[target], end[target]
            at = found[target]
            stop = None
            if limit is not None and incoming.times is not None:
                stop = _until(incoming, at.rows[first:last], limit[at.trees[first:last]])
            places, edges = _draw(
                incoming, at.rows[first:last], stop, fanouts[edge_type][hop], random, replace, newest
            )
            sources = incoming.sources[edges].astype(np.int64)
            drawn[edge_type].append(
                (found[source].add(sources, at.trees[first:last][places]), first + places, edges)
            )
        begin = end
        for node_type, of in found.items():
            rows_per_hop[node_type].append(len(of.rows) - end[node_type])
    nothing_drawn = (nothing, nothing, nothing)
    joined = {
        edge_type: [np.concatenate(parts) for parts in zip(nothing_drawn, *hops, strict=True)]
        for edge_type, hops in drawn.items()
    }
    return Sample(
        rows={node_type: of.rows for node_type, of in found.items()},
        trees={node_type: of.trees for node_type, of in found.items()} if disjoint else None,
        sources={edge_type: parts[0] for edge_type, parts in joined.items()},
        targets={edge_type: parts[1] for edge_type, parts in joined.items()},
        edges={edge_type: parts[2] for edge_type, parts in joined.items()},
        rows_per_hop=rows_per_hop,
        edges_per_hop={edge_type: [len(hop[2]) for hop in hops] for edge_type, hops in drawn.items()},
    )


def _limits(seeds: Mapping[NodeType, Seeds]) -> _Times | None:
    """Give the times of all seeds, in the order of their trees."""
    times = [given.times for given in seeds.values() if given.times is not None]
    return np.concatenate(times) if times else None


def _until(incoming: Incoming, rows: _Longs, limit: _Times) -> _Longs:
    """Return the position of the first edge later than the limit in each row's list."""
    assert incoming.times is not None
    low, high = incoming.offsets[rows], incoming.offsets[rows + 1]
    while True:
        unsure = np.flatnonzero(low < high)
        if len(unsure) == 0:
            return low
        middle = (low[unsure] + high[unsure]) // 2
        early = incoming.times[middle] <= limit[unsure]
        low[unsure[early]] = middle[early] + 1
        high[unsure[~early]] = middle[~early]


def _draw(
    incoming: Incoming,
    rows: _Longs,
    stop: _Longs | None,
    fanout: int,
    random: np.random.Generator,
    replace: bool,
    newest: bool,
) -> tuple[_Longs, _Longs]:
    """Give edges of each row: places in `rows`, ascending, and numbers of edges."""
    start = incoming.offsets[rows]
    degrees = (incoming.offsets[rows + 1] if stop is None else stop) - start
    if newest and fanout >= 0:
        # The last of each list are the latest.
        kept = np.minimum(degrees, fanout)
        start, degrees = start + degrees - kept, kept
    if fanout < 0 or newest:
        return _whole(start, degrees)
    if replace:
        counts = np.where(degrees > 0, fanout, 0)
        places = np.repeat(np.arange(len(rows)), counts)
        return places, start[places] + random.integers(0, degrees[places])
    counts = np.minimum(degrees, fanout)
    places, edges = _whole(start, counts)
    many = np.flatnonzero(degrees > fanout)
    if len(many) and fanout:
        outcome = np.cumsum(counts) - counts
        slots = outcome[many][:, None] + np.arange(fanout)
        edges[slots] = start[many][:, None] + _some(degrees[many], fanout, random)
    return places, edges


def _whole(start: _Longs, counts: _Longs) -> tuple[_Longs, _Longs]:
    """Give `counts` edges of each list from `start` on."""
    places = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return places, np.arange(len(places)) + (start - before)[places]


def _some(degrees: _Longs, fanout: int, random: np.random.Generator) -> _Longs:
    """Give `fanout` different numbers below each of `degrees`, which are larger: each set as likely as another."""
    chosen = np.empty((len(degrees), fanout), dtype=np.int64)
    for at in range(fanout):
        top = degrees - fanout + at
        pick = random.integers(0, top + 1)
        taken = (chosen[:, :at] == pick[:, None]).any(axis=1)
        chosen[:, at] = np.where(taken, top, pick)
    return chosen
