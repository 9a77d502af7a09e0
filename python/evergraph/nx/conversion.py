"""Conversion: a graph of NetworkX into a database in memory, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

import networkx
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evergraph.convert import attributes, attributes_of_edges, attributes_of_vertices, reserved_for_networkx
from evergraph.database import open as open_database
from evergraph.errors import InvalidError
from evergraph.nx.content import EDGE_TYPE, LABEL, Combine, Content, Live, numbers
from evergraph.nx.csr import Csr, Ints
from evergraph.nx.views import View, view_of
from evergraph.snapshot import Snapshot

__all__ = ["Converted", "from_networkx", "to_networkx"]


SOURCE, TARGET = "\N{RIGHTWARDS ARROW}source", "\N{RIGHTWARDS ARROW}target"
"""Columns that no attribute is called like."""


SHOWN_BY = ("__getitem__", "adj", "adjacency", "neighbors")
"""What classes of graphs have that show edges which they don't keep, say those of a complement."""


class Converted(Live):
    """The content of a graph that was NetworkX's, as it was when it was converted.

    The order of its adjacency is kept, for searches. The database is made when something reads it.

    Parameters
    ----------
    nodes : list
    csr : Csr
        Neighbours in NetworkX's order, without weights.
    starts : numpy.ndarray of shape (arcs + 1,) and intp, optional
        Of a multigraph: where the values of the parallel edges of each arc begin.
    node_columns, edge_columns : dict of pyarrow.Array
        Attributes of nodes, and of arcs or of each of their parallel edges. Absent ones are null.
    is_directed : bool
    """

    bare = True
    is_simple = False

    def __init__(
        self,
        nodes: list[Any],
        csr: Csr,
        starts: Ints | None,
        node_columns: dict[str, Any],
        edge_columns: dict[str, Any],
        is_directed: bool,
    ) -> None:
        """Keep them."""
        self._names = nodes
        self._csr = csr
        self._starts = starts
        self.node_columns = node_columns
        self.edge_columns = edge_columns
        self.types = self.labels = []
        self.key = "node"
        self.is_directed = is_directed
        self.is_multigraph = starts is not None

    def check_open(self) -> None:
        """Nobody closes it."""

    @property
    def nodes(self) -> list[Any]:
        """The nodes by row."""
        return self._names

    @property
    def counts(self) -> int:
        """How many nodes there are."""
        return len(self._names)

    @cached_property
    def vertices(self) -> npt.NDArray[np.uint64]:
        """The vertex of each row: its number."""
        return np.arange(len(self._names), dtype=np.uint64)

    def vertex_of(self, node: Any) -> int | None:
        """The vertex of a node."""
        return self.rows.get(node)

    def edge_ends(self) -> tuple[Ints, Ints, Any]:
        """The rows of the ends of each edge, and which of the values of arcs are theirs.

        An undirected edge goes from the earlier node to the later.
        """
        source, target = self._csr.sources, self._csr.neighbors
        if self._starts is not None:
            parallel = np.diff(self._starts)
            source, target = np.repeat(source, parallel), np.repeat(target, parallel)
        stored = np.ones(len(source), dtype=np.bool_) if self.is_directed else source <= target
        return source[stored], target[stored], pa.array(stored)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The graph in a database in memory."""
        source, target, stored = self.edge_ends()
        ends = {SOURCE: source.astype(np.uint64), TARGET: target.astype(np.uint64)}
        edges = {**{name: column.filter(stored) for name, column in self.edge_columns.items()}, **ends}
        nodes = self.node_columns or {"row": pa.nulls(len(self._names), pa.bool_())}
        database = open_database()
        try:
            if self._names:
                database.add_vertices(LABEL, nodes)
            if len(source):
                database.add_edges(EDGE_TYPE, edges, source=SOURCE, target=TARGET)
        except InvalidError as error:
            raise NotImplementedError(f"an attribute can't be a property: {error}") from error
        return database.snapshot()

    def _adjacency(self, weight: str | None, default: float, combine: Combine) -> Csr:
        csr = self._csr
        column: Any = None if weight is None else self.edge_columns.get(weight)
        known = column is not None and column.null_count < len(column)
        parallel = self._starts is not None and combine == "sum" and int(self._starts[-1]) > len(csr.neighbors)
        if not known and not parallel and (default == 1 or weight is None):
            return csr
        count = len(csr.neighbors) if self._starts is None else int(self._starts[-1])
        values, integral = (
            np.full(count, 1 if weight is None else default, dtype=np.float64),
            isinstance(default, int),
        )
        if known:
            kind = column.type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise NotImplementedError(f"{weight} of edges is {kind}, which is no number")
            integral = pa.types.is_integer(kind) and (integral or column.null_count == 0)
            values = numbers(column, default)
        if self._starts is not None and len(values):
            merge = np.add if combine == "sum" else np.minimum
            values = merge.reduceat(values, self._starts[:-1])
        return Csr(csr.offsets, csr.neighbors, values, integral)

    # Always on a copy that has each arc as an edge.
    kernel = Content.kernel
    _copied = Content._copied


def _column(rows: Iterable[Mapping[str, Any]], name: Any) -> Any:
    """One attribute of nodes or edges, null where it is absent."""
    if not isinstance(name, str):
        raise NotImplementedError(f"the attribute {name!r} isn't called by a str")
    rows = list(rows)
    try:
        column = pa.array([row.get(name) for row in rows])
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        OverflowError,
        AttributeError,
    ) as error:
        raise NotImplementedError(f"the attribute {name!r} can't be a column: {error}") from error
    kind = column.type
    if pa.types.is_list(kind):
        kind = kind.value_type
    if pa.types.is_struct(kind) and column.to_pylist() != [row.get(name) for row in rows]:
        raise NotImplementedError(f"the attribute {name!r} has dicts with other keys, which a column fills up")
    if column.null_count and any(row.get(name, 0) is None for row in rows):
        raise NotImplementedError(f"the attribute {name!r} is None somewhere, which isn't the same as absent here")
    return column


def _wanted(rows: Iterable[Mapping[str, Any]], chosen: Mapping[str, Any] | None, all_of_them: bool) -> list[Any]:
    if all_of_them:
        return list(dict.fromkeys(chain.from_iterable(rows)))
    return list(chosen or ())


def from_networkx(
    graph: Any,
    *,
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    preserve_edge_attrs: bool = True,
    preserve_node_attrs: bool = True,
    preserve_graph_attrs: bool = True,
) -> Any:
    """A graph of NetworkX as one of ours, with what it has now.

    Cost: some 100 ns an edge and each attribute of one.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    edge_attrs, node_attrs : mapping, optional
        The attributes to take along. The values mean nothing.
    preserve_edge_attrs, preserve_node_attrs, preserve_graph_attrs : bool
        Whether to take all.

    Returns
    -------
    Graph, DiGraph, MultiGraph or MultiDiGraph

    Raises
    ------
    NotImplementedError
        For attributes that can't be columns: of mixed types, dicts with different keys, or ``None`` in some
        places. For a class of graphs that shows its edges by methods of its own.

    Notes
    -----
    Of a column's values tuples become lists. Keys of parallel edges become 0, 1, ...

    Examples
    --------
    >>> import networkx as nx
    >>> import evergraph.nx as enx
    >>> graph = enx.from_networkx(nx.path_graph(3))
    >>> list(graph.edges)
    [(0, 1), (1, 2)]
    """
    if isinstance(graph, View):
        return graph
    kinds = (networkx.MultiDiGraph, networkx.MultiGraph, networkx.DiGraph, networkx.Graph)
    plain = next(kind for kind in kinds if isinstance(graph, kind))
    if any(getattr(type(graph), name) is not getattr(plain, name) for name in SHOWN_BY):
        raise NotImplementedError(f"{type(graph).__name__} may show other edges than it keeps")
    nodes = list(graph)
    adjacency = graph._adj
    # A row of a subgraph's view may count ends that it doesn't show.
    rows = [row if type(row) is dict else dict(row.items()) for row in (adjacency[node] for node in nodes)]
    degrees = np.fromiter(map(len, rows), dtype=np.intp, count=len(rows))
    offsets = np.zeros(len(rows) + 1, dtype=np.intp)
    np.cumsum(degrees, out=offsets[1:])
    ends: Iterable[Any] = chain.from_iterable(rows)
    if not _are_rows(nodes):
        ends = map(dict(zip(nodes, range(len(nodes)), strict=True)).__getitem__, ends)
    csr = Csr(offsets, np.fromiter(ends, dtype=np.intp, count=int(offsets[-1])))
    starts, edges = None, [row.values() for row in rows]
    if graph.is_multigraph():
        parallel = list(chain.from_iterable(edges))
        starts = np.zeros(len(parallel) + 1, dtype=np.intp)
        np.cumsum(np.fromiter(map(len, parallel), dtype=np.intp, count=len(parallel)), out=starts[1:])
        edges = [keys.values() for keys in parallel]
    edge_names = _wanted(chain.from_iterable(edges), edge_attrs, preserve_edge_attrs)
    node_names = _wanted(graph._node.values(), node_attrs, preserve_node_attrs)
    edge_columns = {name: _column(chain.from_iterable(edges), name) for name in edge_names}
    node_columns = {name: _column((graph._node[node] for node in nodes), name) for name in node_names}
    content = Converted(nodes, csr, starts, node_columns, edge_columns, graph.is_directed())
    return view_of(content, dict(graph.graph) if preserve_graph_attrs else {})


def _are_rows(nodes: list[Any]) -> bool:
    """Whether nodes are 0, 1, 2 ... themselves."""
    return all(type(node) is int for node in nodes) and nodes == list(range(len(nodes)))


def to_networkx(view: Any) -> Any:
    """A graph of NetworkX's own with all that one of ours shows. Anything else is given back.

    Examples
    --------
    >>> import evergraph.nx as enx
    >>> copy = enx.to_networkx(enx.DiGraph(snapshot, key="name"))
    >>> copy.add_edge("Charles", "Ada")
    >>> copy.number_of_edges()
    4
    """
    if not isinstance(view, View):
        return view
    content = view.content
    assert isinstance(content, Live)
    graph = view._plain()
    graph.graph.update(view.graph)
    nodes = content.nodes
    if isinstance(content, Converted):
        graph.add_nodes_from(nodes)
        graph.add_nodes_from(zip(nodes, _rows(content.node_columns, len(nodes)), strict=True))
        source, target, stored = content.edge_ends()
        columns = {name: column.filter(stored) for name, column in content.edge_columns.items()}
        rows = _rows(columns, len(source))
        _add_edges(graph, nodes, source, target, rows)
        return graph
    vertices = content.snapshot.vertices(*content.labels)
    source, target, edges = content.edge_rows(None)
    kept, meanwhile = reserved_for_networkx(content.snapshot, vertices, edges, content.is_multigraph)
    kept.keep_with(graph)
    with meanwhile:
        graph.add_nodes_from(zip(nodes, attributes_of_vertices(content.snapshot, vertices), strict=True))
        _add_edges(graph, nodes, source, target, attributes_of_edges(content.snapshot, edges))
    return graph


def _add_edges(graph: Any, nodes: list[Any], source: Ints, target: Ints, rows: list[dict[str, Any]]) -> None:
    ends = ([nodes[row] for row in rows.tolist()] for rows in (source, target))
    graph.add_edges_from(zip(*ends, rows, strict=True))


def _rows(columns: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """A dict a row, without what is null."""
    return attributes({name: column.to_pylist() for name, column in columns.items()}, count)
