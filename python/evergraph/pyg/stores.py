"""Stores: a snapshot's features and edges by PyTorch Geometric's interface of remote backends."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data, EdgeAttr, HeteroData, TensorAttr
from torch_geometric.data import FeatureStore as FeatureStoreBase
from torch_geometric.data import GraphStore as GraphStoreBase
from torch_geometric.data.graph_store import EdgeLayout

from evergraph.errors import InvalidError, NotFoundError
from evergraph.pyg.graph import VERTEX, Graph
from evergraph.pyg.topology import EdgeType, NodeType

__all__ = ["FeatureStore", "GraphStore", "Stores", "copy_of"]


def _read_only() -> NoReturn:
    raise InvalidError(
        "stores over a snapshot can't be written: change the graph in a transaction, then take another snapshot"
    )


def _tensor(values: npt.NDArray[Any]) -> Any:
    """Give a tensor that shares memory with `values` where PyTorch can."""
    if values.dtype in (np.uint64, np.uint32):
        values = values.astype(np.int64)
    return torch.from_numpy(np.ascontiguousarray(values))


class FeatureStore(FeatureStoreBase):
    """Features of vertices and edges. ``Snapshot.torch_geometric_stores`` makes it.

    A feature has a group, a name and an index. The group is a label, or ``(label, type, label)`` for features of
    edges, or ``None`` in a homogeneous graph. The index is a tensor or array of rows, a slice, one row, or
    ``None`` for all of them. ``"vertex"`` is the number that each vertex has in the database.
    """

    def __init__(self, graph: Graph) -> None:
        """Serve `graph`."""
        super().__init__()
        self._graph = graph

    def get_all_tensor_attrs(self) -> list[Any]:
        """All features, without an index.

        Those of edges are listed for graphs with types only: in a homogeneous graph PyG takes every feature for
        one of vertices.
        """
        attrs = []
        for node_type, features in self._graph.vertex_features.items():
            attrs += [TensorAttr(node_type, name) for name in (VERTEX, *features)]
        for edge_type, values in self._graph.edge_values.items():
            if edge_type is not None:
                attrs += [TensorAttr(edge_type, name) for name in values]
        return attrs

    def _get_tensor(self, attr: Any) -> Any:
        rows = attr.index
        if isinstance(rows, int):
            return self._values(attr, np.array([rows]))[0]
        return self._values(attr, rows.cpu().numpy() if isinstance(rows, torch.Tensor) else rows)

    def _values(self, attr: Any, rows: Any) -> Any:
        graph, group, name = self._graph, attr.group_name, attr.attr_name
        if self._is_of_edges(group, name):
            values = graph.edge_values[group][name]
            return _tensor(values if rows is None else values[rows])
        if name == VERTEX:
            numbers = graph.topology.of_type(group)
            return _tensor(numbers if rows is None else numbers[rows])
        if name not in graph.vertex_features.get(group, {}):
            known = [(attr.group_name, attr.attr_name) for attr in self.get_all_tensor_attrs()]
            raise NotFoundError(f"no feature {name!r} of {group!r}: there are {known}")
        return _tensor(graph.vertex_values(group, name, rows))

    def _is_of_edges(self, group: Any, name: str) -> bool:
        return name in self._graph.edge_values.get(group, {})

    def _get_tensor_size(self, attr: Any) -> tuple[int, ...] | None:
        graph, group, name = self._graph, attr.group_name, attr.attr_name
        if self._is_of_edges(group, name):
            return tuple(graph.edge_values[group][name].shape)
        count = len(graph.topology.of_type(group))
        if name is None or name == VERTEX:
            return (count,)
        # One row tells how many columns there are, without the others.
        return (count, *graph.vertex_values(group, name, slice(0, 1)).shape[1:])

    def _put_tensor(self, tensor: Any, attr: Any) -> bool:
        _read_only()

    def _remove_tensor(self, attr: Any) -> bool:
        _read_only()


class GraphStore(GraphStoreBase):
    """Edges by target. ``Snapshot.torch_geometric_stores`` makes it.

    Layouts are "csc" and "coo", both in the order that PyG's ``e_id`` counts. An edge type is ``(label, type,
    label)`` of source and target, or ``None`` in a homogeneous graph.
    """

    def __init__(self, graph: Graph) -> None:
        """Serve `graph`."""
        super().__init__()
        self._graph = graph

    def get_all_edge_attrs(self) -> list[Any]:
        """All edge types, by target, with their sizes."""
        topology = self._graph.topology
        attrs = []
        for edge_type, incoming in topology.incoming.items():
            source = None if edge_type is None else edge_type[0]
            size = (len(topology.vertices[source]), len(incoming.offsets) - 1)
            attrs.append(EdgeAttr(edge_type, EdgeLayout.CSC, size=size))
        return attrs

    def _get_edge_index(self, attr: Any) -> Any:
        incoming = self._graph.topology.incoming.get(attr.edge_type)
        if incoming is None or attr.layout == EdgeLayout.CSR:
            return None
        by_target = attr.layout == EdgeLayout.CSC
        return _tensor(incoming.sources), _tensor(incoming.offsets if by_target else incoming.targets())

    def _put_edge_index(self, edge_index: Any, edge_attr: Any) -> bool:
        _read_only()

    def _remove_edge_index(self, edge_attr: Any) -> bool:
        _read_only()


class Stores(NamedTuple):
    """The pair that PyG's loaders take, and what it is made of.

    Attributes
    ----------
    features : FeatureStore
    graph : GraphStore
    """

    features: FeatureStore
    graph: GraphStore

    @property
    def content(self) -> Graph:
        """What both serve."""
        return self.graph._graph

    @property
    def node_types(self) -> list[NodeType]:
        """Labels, or ``[None]`` of a homogeneous graph."""
        return list(self.content.topology.vertices)

    @property
    def edge_types(self) -> list[EdgeType]:
        """Triples of source's label, type and target's label that have edges, or ``[None]``."""
        return list(self.content.topology.incoming)

    @property
    def metadata(self) -> tuple[list[NodeType], list[EdgeType]]:
        """Node types and edge types, as ``torch_geometric.nn.to_hetero`` wants them."""
        return self.node_types, self.edge_types

    def vertices(self, rows: Any = None, node_type: NodeType = None) -> npt.NDArray[np.uint64]:
        """The vertex ids of rows, such as a batch's ``n_id``.

        Parameters
        ----------
        rows : tensor or array of int, optional
            All by default.
        node_type : str, optional
            The label; not in a homogeneous graph.

        Returns
        -------
        numpy.ndarray of shape (rows,) and uint64
        """
        numbers = self.content.topology.of_type(node_type)
        return numbers if rows is None else numbers[np.asarray(rows)]

    def rows(self, vertices: Any, node_type: NodeType = None) -> Any:
        """The rows of vertices, in the form that ``input_nodes`` of a loader takes.

        Parameters
        ----------
        vertices : array of int
            Their ids in the database.
        node_type : str, optional
            Their label; not in a homogeneous graph.

        Returns
        -------
        torch.Tensor of shape (len(vertices),) and int64

        Raises
        ------
        NotFoundError
            If a vertex is not of that type.
        """
        return _tensor(self.content.topology.rows(node_type, vertices))

    def add_edge_features(self, batch: Any) -> Any:
        """Put the features of edges into a batch: a loader's ``transform``, as PyG fetches those of vertices only.

        Parameters
        ----------
        batch : torch_geometric.data.Data or HeteroData
            With ``e_id``.

        Returns
        -------
        The batch.
        """
        for edge_type, values in self.content.edge_values.items():
            if edge_type is not None and edge_type not in batch.edge_types:
                continue
            store = batch if edge_type is None else batch[edge_type]
            for name, column in values.items():
                store[name] = _tensor(column[store["e_id"].numpy()])
        return batch


def copy_of(graph: Graph) -> Any:
    """Give a ``HeteroData``, or a ``Data`` of a homogeneous graph. See ``Snapshot.to_torch_geometric``."""
    data = Data() if None in graph.topology.vertices else HeteroData()
    # Of the tensors that share no memory with the graph's arrays: numbers and ends as int64.
    edges = sum(len(incoming.sources) for incoming in graph.topology.incoming.values())
    nodes = sum(len(numbers) for numbers in graph.topology.vertices.values())
    graph.reserve(16 * edges + 8 * nodes)
    for memory in graph.memory:
        memory.keep_with(data)
    largest = max((len(incoming.sources) for incoming in graph.topology.incoming.values()), default=0)
    with graph.meanwhile(24 * largest):
        return _filled(data, graph)


def _filled(data: Any, graph: Graph) -> Any:
    for node_type, numbers in graph.topology.vertices.items():
        store = data if node_type is None else data[node_type]
        store.num_nodes = len(numbers)
        store[VERTEX] = _tensor(numbers)
        for name in graph.vertex_features[node_type]:
            store[name] = _tensor(graph.vertex_values(node_type, name))
    for edge_type, incoming in graph.topology.incoming.items():
        store = data if edge_type is None else data[edge_type]
        store.edge_index = torch.stack([_tensor(incoming.sources), _tensor(incoming.targets())])
        for name, values in graph.edge_values[edge_type].items():
            store[name] = _tensor(values)
    return data
