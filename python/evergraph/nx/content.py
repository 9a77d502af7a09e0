"""Content: what a graph of NetworkX shows of a snapshot: its nodes, its edges, and how kernels read them.

A node has a *row*, from 0 to n - 1 in the order of nodes; arrays are by row. A kernel is an algorithm of
``Snapshot``. It counts parallel edges, edges both ways, and loops as they are stored, while ``networkx.Graph`` and
``DiGraph`` have each edge once. So `Content.kernel` gives the live snapshot where it has each edge once, and else
a copy in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evergraph.convert import names_of_nodes
from evergraph.database import open as open_database
from evergraph.errors import InvalidError, NotFoundError, SnapshotClosed
from evergraph.nx.csr import Csr, Ints, grouped
from evergraph.reader import names
from evergraph.snapshot import Snapshot
from evergraph.values import Direction, EdgeId

__all__ = ["Combine", "Content", "Kernel", "Live", "copied"]

Combine: TypeAlias = Literal["sum", "min"]
"""What the weights of parallel edges of a multigraph come to. Graphs that merge them have the last one's."""

LABEL, EDGE_TYPE, WEIGHT = "Node", "EDGE", "weight"
PURPOSE = "arrays for NetworkX"
NODE_BYTES = 150
"""What the list and the dictionary of nodes take for each."""

SMALL = 5_000
"""Edges up to which one transaction is quicker than a bulk load."""


class Kernel(NamedTuple):
    """A snapshot that has each edge of a graph once, and how it is read: ``kernel.run("wcc")``."""

    snapshot: Snapshot
    scope: dict[str, Any]
    direction: Direction
    vertices: npt.NDArray[np.uint64] | None
    weight: dict[str, Any]

    def vertex(self, row: int) -> int:
        """The number of the vertex of a row."""
        return row if self.vertices is None else int(self.vertices[row])

    def run(self, name: str, *given: Any, **parameters: Any) -> Any:
        """Run an algorithm: its table, rows in the order of nodes."""
        return getattr(self.snapshot, name)(*given, **self.scope, **parameters)

    def array(self, name: str, *given: Any, **parameters: Any) -> Any:
        """Run an algorithm: its last column as an array, a row a node."""
        return self.run(name, *given, numpy=True, **parameters)[-1]


class Content:
    """Nodes and edges by row. See ``Live`` and ``conversion.Converted``.

    Attributes
    ----------
    is_directed, is_multigraph : bool
        How edges are read.
    """

    is_directed: bool
    is_multigraph: bool

    @property
    def snapshot(self) -> Snapshot:
        """What is read, open."""
        raise NotImplementedError

    @property
    def vertices(self) -> npt.NDArray[np.uint64] | None:
        """The vertex of each row; ``None`` if rows are their numbers."""
        raise NotImplementedError

    @property
    def nodes(self) -> list[Any]:
        """The nodes by row."""
        raise NotImplementedError

    def check_open(self) -> None:
        """Refuse to answer from what is kept when the snapshot isn't open any more."""
        raise NotImplementedError

    @cached_property
    def rows(self) -> dict[Any, int]:
        """The row of each node."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    def adjacency(self, weight: str | None = None, default: float = 1, combine: Combine = "sum") -> Csr:
        """All edges, each once: out of each row, or both ways if they are undirected.

        Parameters
        ----------
        weight : str, optional
            The attribute that is the weight. If no edge has it, or without one, weights are ``None``; but parallel
            edges of a multigraph are counted if they are to be summed up.
        default : number
            That of edges without the attribute.
        combine : {"sum", "min"}
            What parallel edges of a multigraph come to.

        Raises
        ------
        NotImplementedError
            If the attribute isn't a number.
        """
        self.check_open()
        known: dict[Any, Csr] = self.__dict__.setdefault("_adjacencies", {})
        asked = (weight, default, combine)
        if asked not in known:
            known[asked] = self._adjacency(weight, default, combine)
        return known[asked]

    def _adjacency(self, weight: str | None, default: float, combine: Combine) -> Csr:
        raise NotImplementedError

    @property
    def plain(self) -> Csr:
        """The edges without weights, each once."""
        return self.adjacency(combine="min")

    def kernel(self, weight: str | None = None, default: float = 1, combine: Combine = "min") -> Kernel:
        """Where kernels run; with weights if asked for and there are any."""
        known: dict[Any, Kernel] = self.__dict__.setdefault("_kernels", {})
        csr = self.adjacency(weight, default, combine)
        asked = None if csr.weights is None else (weight, default, combine)
        if asked not in known:
            known[asked] = self._copied(csr)
        return known[asked]

    def _copied(self, csr: Csr) -> Kernel:
        return copied(csr)


def numbers(column: Any, default: float) -> npt.NDArray[np.float64]:
    """Give a column of numbers as floats, with `default` where there is none."""
    floats = pc.fill_null(column.cast(pa.float64(), safe=False), float(default))
    found: npt.NDArray[np.float64] = floats.to_numpy(zero_copy_only=False)
    return found


def copied(csr: Csr) -> Kernel:
    """Give a database in memory with the arcs of `csr` as edges."""
    database = open_database()
    vertices = {"row": pa.nulls(csr.size, pa.bool_())}
    edges: dict[str, Any] = {"source": csr.sources.astype(np.uint64), "target": csr.neighbors.astype(np.uint64)}
    if csr.weights is not None:
        edges[WEIGHT] = csr.weights
    if len(csr.neighbors) + csr.size <= SMALL:
        with database.begin() as transaction:
            if csr.size:
                transaction.add_vertices(LABEL, vertices)
            if len(csr.neighbors):
                transaction.add_edges(EDGE_TYPE, edges)
    else:
        database.add_vertices(LABEL, vertices)
        if len(csr.neighbors):
            database.add_edges(EDGE_TYPE, edges)
    weight = {} if csr.weights is None else {"weight": WEIGHT}
    return Kernel(database.snapshot(), {}, "out", None, weight)


class Live(Content):
    """The content of a snapshot, read when it is asked for.

    Parameters
    ----------
    snapshot : Snapshot
    types, labels : iterable of str, optional
        Edges of these types, between vertices of these labels.
    key : str, optional
        The property whose values are the nodes; numbers of vertices by default.

    Attributes
    ----------
    bare : bool
        Whether labels and types are left out of attributes: they mean nothing in what was NetworkX's.
    """

    bare = False

    def __init__(
        self,
        snapshot: Snapshot,
        types: str | Iterable[str] | None,
        labels: str | Iterable[str] | None,
        key: str | None,
        is_directed: bool,
        is_multigraph: bool,
    ) -> None:
        """Check the names; nothing is read."""
        self._snapshot = snapshot
        self.types = names(types)
        self.labels = names(labels)
        self.key = key
        self.is_directed = is_directed
        self.is_multigraph = is_multigraph
        for label in self.labels:
            snapshot.schema(label)
        for edge_type in self.types:
            snapshot.schema(edge_type, of="edges")

    @property
    def snapshot(self) -> Snapshot:
        """What is read, open."""
        self.check_open()
        return self._snapshot

    def check_open(self) -> None:
        """Refuse a closed snapshot."""
        if not self._snapshot.is_open:
            raise SnapshotClosed("the snapshot of this graph was closed: take another one")

    @cached_property
    def _table(self) -> Any:
        return self.snapshot.vertices(*self.labels, properties=[] if self.key is None else [self.key])

    @cached_property
    def _numbers(self) -> npt.NDArray[np.uint64]:
        found: npt.NDArray[np.uint64] = self._table.column(0).to_numpy()
        return found

    @property
    def vertices(self) -> npt.NDArray[np.uint64]:
        """The vertex of each row."""
        self.check_open()
        return self._numbers

    @property
    def nodes(self) -> list[Any]:
        """The nodes by row."""
        self.check_open()
        return self._nodes

    @cached_property
    def _nodes(self) -> list[Any]:
        # For as long as this lives, with the row of each, which is looked up by name.
        size = NODE_BYTES * self._table.num_rows + int(self._table.nbytes)
        self._nodes_memory = self.snapshot.reserve(PURPOSE, size)
        if self.key is None:
            numbers: list[Any] = self._numbers.tolist()
            return numbers
        return names_of_nodes(self.snapshot, self._table, self.key)

    @property
    def counts(self) -> int:
        """How many nodes there are. Cost: nothing is read for it."""
        counts = self.snapshot.labels()
        return sum(count for label, count in counts.items() if not self.labels or label in self.labels)

    @cached_property
    def _listed(self) -> tuple[Csr, bool]:
        """The adjacency without weights, and whether the snapshot has each edge once."""
        direction: Direction = "out" if self.is_directed else "both"
        size, count = self.counts, self._arcs_most()
        # Neighbours and sources in NumPy's width; while they are made, keys, and which of them differ.
        kept = self.snapshot.reserve(PURPOSE, 16 * (count + size + 1))
        with self.snapshot.reserve(PURPOSE, 18 * count):
            found, is_simple = self._read_lists(direction)
        kept.keep_with(found)
        return found, is_simple

    def _arcs_most(self) -> int:
        """How many arcs there are at most."""
        edges = self.snapshot.edge_types()
        count = sum(edges[name] for name in dict.fromkeys(self.types or edges))
        return count if self.is_directed else 2 * count

    def _read_lists(self, direction: Direction) -> tuple[Csr, bool]:
        given = self.snapshot.compact_csr(*self.types, labels=self.labels or None, direction=direction)
        stored = Csr(given.offsets.astype(np.intp), given.neighbors.astype(np.intp))
        keys = stored.sources * stored.size + stored.neighbors
        if np.any(keys[1:] < keys[:-1]):
            keys.sort()
        first = grouped(keys)
        if len(first) == len(keys):
            return stored, True
        keys = keys[first]
        sources = keys // stored.size
        offsets = np.searchsorted(sources, np.arange(stored.size + 1)).astype(np.intp)
        return Csr(offsets, keys % stored.size), False

    @property
    def is_simple(self) -> bool:
        """Whether the snapshot itself has each edge of the graph once: kernels may run on it as it is."""
        return self._listed[1]

    def _has(self, weight: str) -> bool:
        types = self.types or list(self.snapshot.edge_types())
        return any(weight in self.snapshot.schema(edge_type, of="edges") for edge_type in types)

    def _adjacency(self, weight: str | None, default: float, combine: Combine) -> Csr:
        known = weight is not None and self._has(weight)
        counted = self.is_multigraph and combine == "sum" and not self.is_simple
        if not known and not counted:
            plain = self._listed[0]
            if default == 1 or weight is None:
                return plain
            weights = np.full(len(plain.neighbors), default, dtype=np.float64)
            return Csr(plain.offsets, plain.neighbors, weights, isinstance(default, int))
        return self._weighted(weight if known else None, default, combine)

    def _weighted(self, weight: str | None, default: float, combine: Combine) -> Csr:
        count = self._arcs_most()
        kept = self.snapshot.reserve(PURPOSE, 24 * count + 16 * (self.counts + 1))
        with self.snapshot.reserve(PURPOSE, 64 * count):
            found = self._read_weighted(weight, default, combine)
        kept.keep_with(found)
        return found

    def _copied(self, csr: Csr) -> Kernel:
        """A database in memory, and what it takes; and twice the columns that it is loaded from."""
        arcs = len(csr.neighbors)
        kept = self.snapshot.reserve(PURPOSE, 32 * (arcs + csr.size))
        with self.snapshot.reserve(PURPOSE, 48 * arcs):
            found = super()._copied(csr)
        kept.keep_with(found.snapshot)
        return found

    def _read_weighted(self, weight: str | None, default: float, combine: Combine) -> Csr:
        source, target, table = self.edge_rows([] if weight is None else [weight])
        values, valid = np.full(len(source), default, dtype=np.float64), np.ones(len(source), dtype=np.bool_)
        integral = isinstance(default, int)
        if weight is not None:
            column = table.column(4).combine_chunks()
            if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
                raise NotImplementedError(f"{weight} of edges is {column.type}, which is no number")
            integral = pa.types.is_integer(column.type) and (integral or column.null_count == 0)
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            values = numbers(column, default)
        if not self.is_directed:
            other = source != target
            source, target = np.concatenate((source, target[other])), np.concatenate((target, source[other]))
            values, valid = np.concatenate((values, values[other])), np.concatenate((valid, valid[other]))
        size = len(self.vertices)
        keys = source * size + target
        # Parallel edges stay in the order of the table; of undirected ones that is the order of their places.
        place = np.arange(len(keys))
        if not self.is_directed:
            place = np.concatenate((place[: len(other)], np.flatnonzero(other)))
        order = np.lexsort((place, keys))
        keys, values, valid = keys[order], values[order], valid[order]
        first = grouped(keys)
        if len(first) < len(keys):
            values = _combined(values, valid, first, combine if self.is_multigraph else None, default)
        keys = keys[first]
        offsets = np.searchsorted(keys // max(size, 1), np.arange(size + 1)).astype(np.intp)
        return Csr(offsets, keys % max(size, 1), values, integral)

    def edge_rows(self, properties: list[str] | None) -> tuple[Ints, Ints, Any]:
        """Edges in the order of ``Snapshot.edges``: the rows of their ends, and their table."""
        table = self.snapshot.edges(*self.types, properties=properties)
        source, target = table.column(0).to_numpy(), table.column(1).to_numpy()
        if not self.labels:
            # All ends are there.
            return self.rows_of(source), self.rows_of(target), table
        inside = self._inside(source) & self._inside(target)
        return self.rows_of(source[inside]), self.rows_of(target[inside]), table.filter(pa.array(inside))

    def rows_of(self, vertices: npt.NDArray[np.uint64]) -> Ints:
        """The rows of vertices that are nodes."""
        size = len(self.vertices)
        if size and int(self.vertices[-1]) == size - 1:
            return vertices.astype(np.intp)
        return np.searchsorted(self.vertices, vertices)

    def _inside(self, vertices: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        if len(self.vertices) == 0:
            return np.zeros(len(vertices), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self.vertices, vertices), len(self.vertices) - 1)
        inside: npt.NDArray[np.bool_] = self.vertices[at] == vertices
        return inside

    def nodes_of(self, vertices: npt.NDArray[np.uint64]) -> list[Any]:
        """The nodes of vertices; ``None`` for one that isn't shown."""
        if self.key is None and not self.labels:
            numbers: list[Any] = vertices.tolist()
            return numbers
        nodes, inside = self.nodes, self._inside(vertices)
        rows = np.where(inside, np.searchsorted(self.vertices, vertices), -1).tolist()
        return [None if row < 0 else nodes[row] for row in rows]

    @cached_property
    def _type_places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.snapshot.edge_types())}

    def place(self, edge: EdgeId) -> tuple[int, int, int, int]:
        """Where an edge is among others: as in ``Snapshot.edges``."""
        return edge.source, self._type_places[edge.type], edge.target, edge.discriminator

    def vertex_of(self, node: Any) -> int | None:
        """The vertex of a node, or ``None`` if it isn't one."""
        snapshot = self.snapshot
        if self.key is None:
            if not isinstance(node, int | np.integer) or isinstance(node, bool) or not 0 <= node < 2**32:
                return None
            label = snapshot.label(int(node))
            return int(node) if label is not None and (not self.labels or label in self.labels) else None
        if "rows" not in self.__dict__ and len(self.labels) == 1:
            try:
                return snapshot.find(self.labels[0], **{self.key: node})
            except (InvalidError, NotFoundError, TypeError):
                # No unique index, or no value of a property: the nodes themselves know.
                pass
        row = self.rows.get(node)
        return None if row is None else int(self.vertices[row])

    def kernel(self, weight: str | None = None, default: float = 1, combine: Combine = "min") -> Kernel:
        """Where kernels run: on the snapshot itself if it has each edge once, else on a copy."""
        snapshot = self.snapshot
        if not self.is_simple:
            return super().kernel(weight, default, combine)
        weighted = self.adjacency(weight, default, combine).weights is not None
        chosen: dict[str, Any] = {}
        if weighted:
            if not self._has(str(weight)):
                return super().kernel(weight, default, combine)
            chosen = {"weight": weight, "missing_weight": float(default)}
        scope = {"labels": self.labels or None, "types": self.types or None}
        return Kernel(snapshot, scope, "out" if self.is_directed else "both", self.vertices, chosen)


def _combined(
    values: npt.NDArray[np.float64],
    valid: npt.NDArray[np.bool_],
    first: Ints,
    combine: Combine | None,
    default: float,
) -> npt.NDArray[np.float64]:
    """What the values of each group come to; without a `combine` the last one that is there."""
    if combine == "sum":
        return np.add.reduceat(values, first)
    if combine == "min":
        return np.minimum.reduceat(values, first)
    last = np.maximum.reduceat(np.where(valid, np.arange(len(values)), -1), first)
    return np.where(last < 0, default, values[last])
