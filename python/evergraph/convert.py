"""Conversions: copies of a snapshot for other libraries, which are imported when they are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evergraph.errors import InvalidError
from evergraph.reader import names

if TYPE_CHECKING:
    from evergraph.snapshot import Snapshot

__all__ = ["stores_module", "to_igraph", "to_networkx", "to_scipy"]


def library(name: str, extra: str) -> Any:
    """Import an optional library."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install evergraph[{extra}]") from error


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
    entries = np.ones(len(csr.neighbors)) if csr.weights is None else csr.weights
    size = len(csr.vertices)
    # SciPy wants one type of numbers for both: the narrow one, unless there are too many edges for it.
    kind = np.int32 if max(len(csr.neighbors), size) < 2**31 else np.int64
    columns, offsets = csr.neighbors.astype(kind), csr.offsets.astype(kind)
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
        known = vertices["vertex"].combine_chunks()
        inside = compute.and_(
            compute.is_in(edges["source"], value_set=known), compute.is_in(edges["target"], value_set=known)
        )
        edges = edges.filter(inside)
    return vertices, edges


def attributes(table: Any, left_out: tuple[str, ...]) -> list[dict[str, Any]]:
    """A dict a row, without what is null."""
    table = table.drop_columns([name for name in left_out if name in table.column_names])
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]


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
    numbers = vertices["vertex"].to_pylist()
    called: dict[int, Any] = dict(zip(numbers, numbers, strict=True))
    if key is not None:
        values = snapshot.properties_of(vertices["vertex"], key)[key].to_pylist()
        called = dict(zip(numbers, values, strict=True))
        if None in values:
            raise InvalidError(f"vertex {numbers[values.index(None)]} has no {key} to be called by")
        if len(set(values)) < len(values):
            raise InvalidError(f"two vertices have one {key}: it can't name nodes")
    graph = networkx.MultiDiGraph() if multigraph else networkx.DiGraph()
    nodes = zip(called.values(), attributes(vertices, ("vertex",)), strict=True)
    graph.add_nodes_from(nodes)
    sources, targets = edges["source"].to_pylist(), edges["target"].to_pylist()
    rows = attributes(edges, ("source", "target", "discriminator"))
    graph.add_edges_from(
        (called[source], called[target], row) for source, target, row in zip(sources, targets, rows, strict=True)
    )
    return graph


def to_igraph(
    snapshot: Snapshot, types: tuple[str, ...], labels: str | Iterable[str] | None, properties: bool
) -> Any:
    """See ``Snapshot.to_igraph``."""
    igraph = library("igraph", "igraph")
    vertices, edges = _parts(snapshot, types, labels, properties)
    numbers = vertices["vertex"].to_numpy()
    # Numbers of vertices ascend, so a search finds their rows.
    rows = [np.searchsorted(numbers, edges[end].to_numpy()) for end in ("source", "target")]
    graph = igraph.Graph(n=len(numbers), edges=np.column_stack(rows), directed=True)
    for name in vertices.column_names:
        graph.vs[name] = vertices[name].to_pylist()
    for name in edges.column_names:
        if name not in ("source", "target", "discriminator"):
            graph.es[name] = edges[name].to_pylist()
    return graph


def stores_module() -> Any:
    """Import what makes PyG's objects, or say what is missing."""
    library("torch", "torch")
    library("torch_geometric", "torch")
    return importlib.import_module("evergraph.pyg.stores")
