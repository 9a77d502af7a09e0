"""Graphs: snapshots as NetworkX graphs, without a copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import networkx
import numpy as np

from evergraph.errors import InvalidError
from evergraph.nx.content import Content, Live
from evergraph.nx.mappings import Adjacency, Nodes
from evergraph.snapshot import Snapshot

__all__ = ["DiGraph", "Graph", "MultiDiGraph", "MultiGraph", "View", "view_of"]


class View:
    """What the four kinds of graphs share.

    Parameters
    ----------
    snapshot : Snapshot
        The snapshot to show. It must stay open as long as the graph is used.
    types : str or iterable of str, optional
        Only edges of these types; by default all.
    labels : str or iterable of str, optional
        Only vertices of these labels, and edges between them.
    key : str, optional
        The property whose values are the nodes; numbers of vertices by default. Every vertex must have one of
        its own. One label with a unique index on it is quickest.

    Attributes of nodes are the properties of vertices and ``label``, those of edges their properties and ``type``.
    All can be read, none changed: methods that would raise ``networkx.NetworkXError``, as a frozen graph's do.
    ``copy`` gives a graph of NetworkX's own.
    """

    __networkx_backend__ = "evergraph"
    frozen = True
    content: Content
    _plain: Any
    graph: dict[str, Any]

    def __new__(cls, snapshot: Any = None, **_: Any) -> Any:
        """Give a graph of NetworkX's own without a snapshot: so it asks for an empty one of a class."""
        return cls._plain() if snapshot is None else object.__new__(cls)

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        types: str | Iterable[str] | None = None,
        labels: str | Iterable[str] | None = None,
        key: str | None = None,
    ) -> None:
        """See the class."""
        if not isinstance(snapshot, Snapshot):
            raise InvalidError(f"expected a snapshot, as from database.snapshot(), not {type(snapshot).__name__}")
        self._show(Live(snapshot, types, labels, key, self.is_directed(), self.is_multigraph()), {})

    def _show(self, content: Live, graph: dict[str, Any]) -> None:
        self.content = content
        self.graph = graph
        self.__networkx_cache__: dict[str, Any] = {}
        self._node = Nodes(content)
        if self.is_directed():
            self._adj = Adjacency(content, "out")
            self._pred = Adjacency(content, "in")
        else:
            self._adj = Adjacency(content, "both")

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        raise NotImplementedError

    def is_multigraph(self) -> bool:
        """Whether parallel edges are edges of their own."""
        raise NotImplementedError

    def size(self, weight: str | None = None) -> Any:
        """How many edges there are, or the sum of their weights."""
        if weight is not None:
            return super().size(weight)  # type: ignore[misc]
        csr = self.content.adjacency()
        of_arcs = np.ones(len(csr.neighbors)) if csr.weights is None else csr.weights
        total = of_arcs.sum()
        if not self.is_directed():
            total = (total + of_arcs[csr.neighbors == csr.sources].sum()) / 2
        return int(total)

    def _frozen(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to change anything."""
        raise networkx.NetworkXError("Frozen graph can't be modified")

    add_node = add_nodes_from = remove_node = remove_nodes_from = _frozen
    add_edge = add_edges_from = add_weighted_edges_from = remove_edge = remove_edges_from = _frozen
    clear = clear_edges = update = _frozen

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a snapshot can't be."""
        raise TypeError("a graph on a snapshot can't be pickled; its copy() can")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Give a copy of NetworkX's own."""
        return self.copy()  # type: ignore[attr-defined]


class Graph(View, networkx.Graph):  # type: ignore[misc]
    """A snapshot as a ``networkx.Graph``: undirected, at most one edge between two nodes.

    Parallel edges and edges in opposite directions are one edge. If several have the same attribute, the last
    one's value is used, in the order of ``Snapshot.edges``. See ``View`` for the parameters.

    Examples
    --------
    >>> import networkx as nx
    >>> import evergraph.nx as enx
    >>> graph = enx.Graph(snapshot, key="name")
    >>> graph["Ada"]["Mary"]["since"]
    1840
    >>> nx.shortest_path(graph, "Ada", "Mary")
    ['Ada', 'Mary']
    >>> nx.triangles(graph)
    {'Ada': 1, 'Charles': 1, 'Mary': 1}
    """

    _plain = networkx.Graph
    is_directed = networkx.Graph.is_directed
    is_multigraph = networkx.Graph.is_multigraph


class DiGraph(View, networkx.DiGraph):  # type: ignore[misc]
    """A snapshot as a ``networkx.DiGraph``: at most one edge from one node to another.

    Parallel edges are one edge, as in ``Graph``. See ``View`` for the parameters.

    Examples
    --------
    >>> import networkx as nx
    >>> import evergraph.nx as enx
    >>> graph = enx.DiGraph(snapshot, types="KNOWS", key="name")
    >>> list(graph.successors("Ada")), graph.nodes["Ada"]["born"]
    (['Charles'], 1815)
    >>> nx.shortest_path(graph, "Ada", "Mary")
    ['Ada', 'Charles', 'Mary']
    """

    _plain = networkx.DiGraph
    is_directed = networkx.DiGraph.is_directed
    is_multigraph = networkx.DiGraph.is_multigraph


class MultiGraph(View, networkx.MultiGraph):  # type: ignore[misc]
    """A snapshot as a ``networkx.MultiGraph``: undirected, with every edge.

    The keys of the edges between two nodes are 0, 1, ... in the order of ``Snapshot.edges``. See ``View`` for the
    parameters.

    Examples
    --------
    >>> import evergraph.nx as enx
    >>> graph = enx.MultiGraph(snapshot, key="name")
    >>> graph.number_of_edges("Ada", "Mary")
    1
    """

    _plain = networkx.MultiGraph
    is_directed = networkx.MultiGraph.is_directed
    is_multigraph = networkx.MultiGraph.is_multigraph


class MultiDiGraph(View, networkx.MultiDiGraph):  # type: ignore[misc]
    """A snapshot as a ``networkx.MultiDiGraph``: with every edge and its direction.

    Keys are those of ``MultiGraph``. See ``View`` for the parameters.

    Examples
    --------
    >>> import evergraph.nx as enx
    >>> graph = enx.MultiDiGraph(snapshot, key="name")
    >>> graph["Ada"]["Charles"][0]["since"]
    1833
    """

    _plain = networkx.MultiDiGraph
    is_directed = networkx.MultiDiGraph.is_directed
    is_multigraph = networkx.MultiDiGraph.is_multigraph


KINDS: dict[tuple[bool, bool], Any] = {
    (False, False): Graph,
    (True, False): DiGraph,
    (False, True): MultiGraph,
    (True, True): MultiDiGraph,
}


def view_of(content: Any, graph: dict[str, Any]) -> Any:
    """Give a graph of the kind that `content` is."""
    view = object.__new__(KINDS[content.is_directed, content.is_multigraph])
    view._show(content, graph)
    return view
