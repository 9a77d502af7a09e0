"""Topology: a snapshot's vertices and edges as PyG counts them, from 0 within each type, edges by target."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from evergraph._tables import ids_of
from evergraph.errors import NotFoundError

if TYPE_CHECKING:
    from evergraph.snapshot import Snapshot

__all__ = ["EdgeType", "Incoming", "NodeType", "Topology", "ends"]

NodeType: TypeAlias = str | None
"""A label; ``None`` is the only node type of a graph that is homogeneous."""

EdgeType: TypeAlias = tuple[str, str, str] | None
"""Label of the source, edge type, label of the target; ``None`` is the only one of a homogeneous graph."""

_Longs: TypeAlias = npt.NDArray[np.int64]


def ends(edge_type: EdgeType) -> tuple[NodeType, NodeType]:
    """Give the node types of source and target."""
    return (None, None) if edge_type is None else (edge_type[0], edge_type[2])


class Incoming(NamedTuple):
    """The edges of one edge type, by target: what PyG calls CSC.

    An edge's number, PyG's ``e_id``, is its place in `sources`.

    Attributes
    ----------
    offsets : numpy.ndarray of shape (targets + 1,) and int64
        ``sources[offsets[row]:offsets[row + 1]]`` are the sources of the edges that reach a row.
    sources : numpy.ndarray of shape (edges,) and uint32
        Rows of the source's node type. Ascending within a list, unless the lists are ordered by time.
    times : numpy.ndarray of shape (edges,) and int64 or float64, or None
        The time of each edge, ascending within a list, if lists are ordered by time.
    """

    offsets: _Longs
    sources: npt.NDArray[np.uint32]
    times: npt.NDArray[np.int64 | np.float64] | None = None

    def targets(self) -> _Longs:
        """The target's row of each edge, shape (edges,) and int64."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class Topology:
    """Vertices by node type, and edges by edge type and target.

    Arrays of its own: nothing here needs the snapshot any more, so worker processes may have it too.

    Attributes
    ----------
    vertices : dict of NodeType to numpy.ndarray of uint64
        The number of the vertex of each row, ascending.
    incoming : dict of EdgeType to Incoming
        Edge types that join two labels nowhere are not there.
    """

    __slots__ = ("incoming", "vertices")

    def __init__(self, vertices: dict[NodeType, npt.NDArray[np.uint64]]) -> None:
        """Have these vertices and no edges."""
        self.vertices = vertices
        self.incoming: dict[EdgeType, Incoming] = {}

    def rows(self, node_type: NodeType, vertices: object) -> _Longs:
        """The rows of vertices.

        Parameters
        ----------
        node_type : str or None
            Their label, or ``None`` in a homogeneous graph.
        vertices : array of int
            Their numbers in the database.

        Returns
        -------
        numpy.ndarray of shape (len(vertices),) and int64

        Raises
        ------
        NotFoundError
            If one isn't of this node type.
        """
        known, wanted = self.of_type(node_type), ids_of(vertices)
        if len(known) == 0:
            places = np.zeros(len(wanted), dtype=np.int64)
            strangers = wanted
        else:
            places = np.searchsorted(known, wanted)
            strangers = wanted[known[np.minimum(places, len(known) - 1)] != wanted]
        if len(strangers):
            of = "in these stores" if node_type is None else f"of label {node_type}"
            raise NotFoundError(f"vertex {strangers[0]} is not {of} ({len(strangers)} such)")
        return places.astype(np.int64, copy=False)

    def of_type(self, node_type: NodeType) -> npt.NDArray[np.uint64]:
        """The vertices of a node type; an error that lists all types if there is no such."""
        if node_type not in self.vertices:
            raise NotFoundError(f"no node type {node_type!r}: there are {list(self.vertices)}")
        return self.vertices[node_type]


class Layout(NamedTuple):
    """How the vertices of a snapshot are counted: what turns their numbers into types and rows.

    Attributes
    ----------
    node_types : list of NodeType
    type_of : numpy.ndarray of shape (bound,) and int32
        Place in `node_types` of each number of a vertex; -1 where there is none.
    row_of : numpy.ndarray of shape (bound,) and uint32
    """

    node_types: list[NodeType]
    type_of: npt.NDArray[np.int32]
    row_of: npt.NDArray[np.uint32]


def vertices_of(
    snapshot: Snapshot, labels: list[str], homogeneous: bool
) -> dict[NodeType, npt.NDArray[np.uint64]]:
    """Return the vertices of each label, or of all labels as one type; no label means all."""
    if homogeneous:
        return {None: snapshot.vertices(*labels, properties=())["vertex"].to_numpy()}
    return {
        label: snapshot.vertices(label, properties=())["vertex"].to_numpy()
        for label in (labels or snapshot.labels())
    }


def layout_of(vertices: dict[NodeType, npt.NDArray[np.uint64]]) -> Layout:
    """Give types and rows by number."""
    bound = max((int(numbers[-1]) + 1 for numbers in vertices.values() if len(numbers)), default=0)
    type_of = np.full(bound, -1, dtype=np.int32)
    row_of = np.zeros(bound, dtype=np.uint32)
    for at, numbers in enumerate(vertices.values()):
        type_of[numbers] = at
        row_of[numbers] = np.arange(len(numbers), dtype=np.uint32)
    return Layout(list(vertices), type_of, row_of)


class Joined(NamedTuple):
    """The edges between two node types, as a part of all lists that were read together.

    Attributes
    ----------
    edge_type : EdgeType
    incoming : Incoming
    places : numpy.ndarray of shape (edges,) and int64, or None
        Which of all edges that were read these are; ``None`` for every one of them, in order.
    """

    edge_type: EdgeType
    incoming: Incoming
    places: _Longs | None


def joined(
    snapshot: Snapshot,
    types: list[str],
    labels: list[str],
    vertices: dict[NodeType, npt.NDArray[np.uint64]],
    layout: Layout,
) -> list[Joined]:
    """Give the edges of `types` between vertices of `labels`, split by the node types that they join.

    In a homogeneous graph they join its only one; otherwise `types` is one type. No name stands for all of them.
    """
    offsets, neighbors = snapshot.csr(*types, direction="in", labels=labels or None)
    if len(neighbors) == 0:
        # The only edge type of a homogeneous graph is there without edges, too.
        return [Joined(None, _no_edges(len(numbers)), None) for kind, numbers in vertices.items() if kind is None]
    bound = len(layout.type_of)
    # Numbers beyond those of the last vertex have no edges.
    degrees = np.diff(offsets)[:bound]
    sources = layout.row_of[neighbors]
    count = len(layout.node_types)
    pairs = layout.type_of[neighbors].astype(np.int64) * count + np.repeat(layout.type_of, degrees)
    single = pairs.min() == pairs.max()
    found = []
    for pair in [pairs[0]] if single else np.unique(pairs):
        source, target = layout.node_types[pair // count], layout.node_types[pair % count]
        edge_type = None if source is None or target is None else (source, types[0], target)
        numbers = vertices[target]
        compact = np.zeros(len(numbers) + 1, dtype=np.int64)
        if single:
            np.cumsum(degrees[numbers], out=compact[1:])
            found.append(Joined(edge_type, Incoming(compact, sources), None))
            continue
        places = np.flatnonzero(pairs == pair)
        rows = np.repeat(layout.row_of, degrees)[places]
        np.cumsum(np.bincount(rows, minlength=len(numbers)), out=compact[1:])
        found.append(Joined(edge_type, Incoming(compact, sources[places]), places))
    return found


def _no_edges(targets: int) -> Incoming:
    return Incoming(np.zeros(targets + 1, dtype=np.int64), np.zeros(0, dtype=np.uint32))


def by_time(incoming: Incoming, times: npt.NDArray[np.int64 | np.float64]) -> tuple[Incoming, _Longs]:
    """Order each list by time, earliest first.

    Returns
    -------
    Incoming
        With times.
    order : numpy.ndarray of shape (edges,) and int64
        The place that each edge had before.
    """
    order = np.lexsort((times, incoming.targets()))
    return Incoming(incoming.offsets, incoming.sources[order], times[order]), order
