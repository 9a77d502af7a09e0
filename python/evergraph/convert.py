"""Conversions: copies of a snapshot for other libraries, which are imported only when needed."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evergraph._tables import library
from evergraph.errors import InvalidError
from evergraph.reader import names
from evergraph.values import EdgeId

if TYPE_CHECKING:
    from evergraph.snapshot import Snapshot

__all__ = [
    "attributes",
    "attributes_of_edges",
    "attributes_of_vertices",
    "names_of_nodes",
    "reserved_for_networkx",
    "stores_module",
    "to_igraph",
    "to_networkx",
    "to_scipy",
]


def to_scipy(
    snapshot: Snapshot,
    types: tuple[str, ...],
    labels: str | Iterable[str] | None,
    weight: str | None,
    missing_weight: float | None,
) -> tuple[Any, npt.NDArray[np.uint64]]:
    """See ``Snapshot.to_scipy``."""
    sparse = library("scipy.sparse", "scipy")
    csr = snapshot.compact_csr(*types, labels=labels, weight=weight, missing_weight=missing_weight)
    size = len(csr.vertices)
    # SciPy wants one type of numbers for both: the narrow one, unless there are too many edges for it.
    kind = np.int32 if max(len(csr.neighbors), size) < 2**31 else np.int64
    width = np.dtype(kind).itemsize

    def counted(count: int, width: int) -> Any:
        return snapshot.reserve("a matrix for SciPy", count * width)

    memory = counted(len(csr.neighbors), width), counted(size + 1, width)
    columns, offsets = csr.neighbors.astype(kind), csr.offsets.astype(kind)
    for reserved, array in zip(memory, (columns, offsets), strict=True):
        reserved.keep_with(array)
    if csr.weights is None:
        reserved = counted(len(csr.neighbors), 8)
        entries = np.ones(len(csr.neighbors))
        reserved.keep_with(entries)
    else:
        entries = csr.weights
    return sparse.csr_array((entries, columns, offsets), shape=(size, size)), csr.vertices


def _parts(
    snapshot: Snapshot, types: tuple[str, ...], labels: str | Iterable[str] | None, properties: bool
) -> tuple[Any, Any]:
    """Vertices, and edges between them."""
    wanted = None if properties else ()
    vertices = snapshot.vertices(*names(labels), properties=wanted)
    edges = snapshot.edges(*types, properties=wanted)
    if labels is not None:
        compute = importlib.import_module("pyarrow.compute")
        known = vertices.column(0).combine_chunks()
        inside = compute.and_(*(compute.is_in(edges.column(end), value_set=known) for end in (0, 1)))
        edges = edges.filter(inside)
    return vertices, edges


PLAIN = frozenset(
    ("bool", "byte", "short", "int", "long", "float", "double", "char", "string", "bytes", "date", "uuid")
)
"""Types of properties whose values a table has unchanged."""


def _column(column: Any, kinds: set[str]) -> list[Any] | None:
    """The values of one property if the table has them unchanged, and not, for example, as text."""
    if kinds <= PLAIN and len(kinds) == 1:
        return list(column.to_pylist())
    arrow = importlib.import_module("pyarrow")
    if kinds == {"datetime"}:
        # As Python's own, which count microseconds.
        return list(column.cast(arrow.timestamp("us", "UTC"), safe=False).to_pylist())
    of = getattr(column.type, "value_type", None)
    if kinds == {"list"} and of is not None and (arrow.types.is_integer(of) or arrow.types.is_floating(of)):
        return list(column.to_pylist())
    return None


def property_columns(snapshot: Snapshot, table: Any, edges_at: int | None = None) -> dict[str, list[Any]]:
    """The properties in a table of vertices or edges, with the values that ``Snapshot.get`` returns.

    Columns are identified by position, not by name: a property may have the name of a standard column.

    Parameters
    ----------
    snapshot : Snapshot
        The snapshot that the table is from.
    table : pyarrow.Table
        As of ``Snapshot.vertices``, ``edges`` or ``neighbors``.
    edges_at : int, optional
        Position of source, target, type and discriminator, if rows are edges; properties come after them.
    """
    if edges_at is None:
        ids, first = table.columns[:1], 2
        schemas = [snapshot.schema(label) for label in snapshot.labels()]
    else:
        ids, first = [table.column(edges_at + at) for at in (0, 2, 1, 3)], edges_at + 4
        schemas = [snapshot.schema(name, of="edges") for name in snapshot.edge_types()]
    found: dict[str, list[Any]] = {}
    items: list[Any] | None = None
    for at in range(first, table.num_columns):
        name, column = table.column_names[at], table.column(at)
        values = _column(column, {schema[name] for schema in schemas if name in schema})
        if values is None:
            if items is None:
                listed = [one.to_pylist() for one in ids]
                items = listed[0] if edges_at is None else list(map(EdgeId, *listed))
            there = column.is_valid().to_pylist()
            values = [snapshot.get(item, name) if one else None for item, one in zip(items, there, strict=True)]
        found[name] = values
    return found


def attributes(columns: dict[str, list[Any]], count: int) -> list[dict[str, Any]]:
    """A dict for each of `count` rows, without nulls."""
    if not columns:
        return [{} for _ in range(count)]
    rows = zip(*columns.values(), strict=True)
    return [{name: value for name, value in zip(columns, row, strict=True) if value is not None} for row in rows]


def _attributes_of(snapshot: Snapshot, table: Any, name: str, edges_at: int | None = None) -> list[dict[str, Any]]:
    """A dict a row: the label or the type as `name`, and the properties."""
    kinds = table.column(1 if edges_at is None else edges_at + 2).to_pylist()
    rows = attributes(property_columns(snapshot, table, edges_at), table.num_rows)
    return [{name: kind, **row} for kind, row in zip(kinds, rows, strict=True)]


def attributes_of_vertices(snapshot: Snapshot, table: Any) -> list[dict[str, Any]]:
    """A dict a vertex of a table: its properties, and its label as ``label``."""
    return _attributes_of(snapshot, table, "label")


def attributes_of_edges(snapshot: Snapshot, table: Any, at: int = 0) -> list[dict[str, Any]]:
    """A dict an edge of a table whose columns from `at` on are those of edges: properties, and ``type``."""
    return _attributes_of(snapshot, table, "type", at)


NODE_BYTES, EDGE_BYTES, MULTI_EDGE_BYTES = 600, 260, 490
"""What NetworkX's dictionaries take for a node, an edge, and an edge of a multigraph, without properties."""

ROW_BYTES, VALUE_BYTES = 300, 80
"""What a dictionary takes that is made on the way, with the ends of its edge; and what a value in one takes."""

IGRAPH_BYTES = 100
"""What igraph takes for a vertex or an edge, without properties."""


def value_bytes(table: Any, first: int) -> int:
    """The memory of the properties of a table as objects of Python; they are its columns from `first` on."""
    columns = table.columns[first:]
    return sum(VALUE_BYTES * (len(column) - column.null_count) + int(column.nbytes) for column in columns)


def reserved_for_networkx(snapshot: Snapshot, vertices: Any, edges: Any, multigraph: bool) -> tuple[Any, Any]:
    """Reserve, about, what a graph of NetworkX takes, and what is made on the way; see ``Snapshot.reserve``."""
    edge_bytes = MULTI_EDGE_BYTES if multigraph else EDGE_BYTES
    values = value_bytes(vertices, 2) + value_bytes(edges, 4)
    kept = vertices.num_rows * NODE_BYTES + edges.num_rows * edge_bytes + values
    purpose = "a graph of NetworkX"
    graph = snapshot.reserve(purpose, kept)
    return graph, snapshot.reserve(purpose, (vertices.num_rows + edges.num_rows) * ROW_BYTES)


def names_of_nodes(snapshot: Snapshot, table: Any, key: str) -> list[Any]:
    """The values of `key`, the only property of a table, which must name its vertices.

    Raises
    ------
    InvalidError
        If a vertex lacks the property, or two vertices have the same value.
    """
    [values] = property_columns(snapshot, table).values()
    if None in values:
        raise InvalidError(f"vertex {table.column(0)[values.index(None)]} has no {key} to be called by")
    if len(set(values)) < len(values):
        raise InvalidError(f"two vertices have one {key}: it can't name nodes")
    return values


def to_networkx(
    snapshot: Snapshot,
    types: tuple[str, ...],
    labels: str | Iterable[str] | None,
    key: str | None,
    properties: bool,
    multigraph: bool,
) -> Any:
    """See ``Snapshot.to_networkx``."""
    networkx = library("networkx", "networkx")
    vertices, edges = _parts(snapshot, types, labels, properties)
    graph = networkx.MultiDiGraph() if multigraph else networkx.DiGraph()
    kept, meanwhile = reserved_for_networkx(snapshot, vertices, edges, multigraph)
    kept.keep_with(graph)
    with meanwhile:
        numbers = vertices.column(0).to_pylist()
        called: dict[int, Any] = dict(zip(numbers, numbers, strict=True))
        if key is not None:
            keys = snapshot.vertices(*names(labels), properties=[key])
            called = dict(zip(numbers, names_of_nodes(snapshot, keys, key), strict=True))
        graph.add_nodes_from(zip(called.values(), attributes_of_vertices(snapshot, vertices), strict=True))
        sources, targets = edges.column(0).to_pylist(), edges.column(1).to_pylist()
        rows = attributes_of_edges(snapshot, edges)
        graph.add_edges_from(
            (called[source], called[target], row)
            for source, target, row in zip(sources, targets, rows, strict=True)
        )
    return graph


def to_igraph(
    snapshot: Snapshot, types: tuple[str, ...], labels: str | Iterable[str] | None, properties: bool
) -> Any:
    """See ``Snapshot.to_igraph``."""
    igraph = library("igraph", "igraph")
    vertices, edges = _parts(snapshot, types, labels, properties)
    numbers = vertices.column(0).to_numpy()
    count = vertices.num_rows + edges.num_rows
    kept = snapshot.reserve(
        "a graph of igraph", count * IGRAPH_BYTES + value_bytes(vertices, 2) + value_bytes(edges, 4)
    )
    # Numbers of vertices ascend, so a search finds their rows.
    rows = [np.searchsorted(numbers, edges.column(end).to_numpy()) for end in (0, 1)]
    graph = igraph.Graph(n=len(numbers), edges=np.column_stack(rows), directed=True)
    kept.keep_with(graph)
    graph.vs["vertex"], graph.vs["label"] = (vertices.column(at).to_pylist() for at in (0, 1))
    graph.es["type"] = edges.column(2).to_pylist()
    for items, table, edges_at in ((graph.vs, vertices, None), (graph.es, edges, 0)):
        for name, values in property_columns(snapshot, table, edges_at).items():
            items[name] = values
    return graph


def stores_module() -> Any:
    """Import the module that creates PyG's objects, or say what is missing."""
    library("torch", "torch")
    library("torch_geometric", "torch")
    return importlib.import_module("evergraph.pyg.stores")
