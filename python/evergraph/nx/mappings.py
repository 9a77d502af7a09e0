"""Mappings: nodes and adjacency as NetworkX reads them, each item from the snapshot when it is asked for.

They are read-only. Iterating over items reads some thousand nodes at a time.
"""

from __future__ import annotations

import copy
from collections.abc import ItemsView, Iterator, Mapping
from typing import Any, NoReturn

import networkx
import numpy as np

from evergraph.convert import attributes_of_edges, attributes_of_vertices
from evergraph.nx.content import Live
from evergraph.values import Direction, EdgeId

__all__ = ["Adjacency", "Attributes", "Nodes"]

BATCH = 4096


class Attributes(dict[str, Any]):
    """A dict that can't be changed. Copies of it are plain and can."""

    __slots__ = ()

    def _frozen(self, *_: Any, **__: Any) -> NoReturn:
        raise networkx.NetworkXError("Frozen graph can't be modified")

    __setitem__ = __delitem__ = __ior__ = _frozen
    clear = pop = popitem = setdefault = update = _frozen

    def copy(self) -> dict[str, Any]:
        """Give a dict that can be changed."""
        return dict(self)

    def __copy__(self) -> dict[str, Any]:
        """Give a dict that can be changed."""
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """Give a dict that can be changed."""
        return copy.deepcopy(dict(self), memo)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a dict that can be changed."""
        return dict, (dict(self),)


class _Items(ItemsView[Any, Any]):
    """Items that are read in batches."""

    _mapping: Any

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping.in_batches()  # type: ignore[no-any-return]


class _ByNode(Mapping[Any, Any]):
    """What there is for each node of a graph."""

    __slots__ = ("content",)

    def __init__(self, content: Live) -> None:
        """Read nothing yet."""
        self.content = content

    def __len__(self) -> int:
        return self.content.counts

    def __iter__(self) -> Iterator[Any]:
        return iter(self.content.nodes)

    def __contains__(self, node: Any) -> bool:
        hash(node)
        return self.content.vertex_of(node) is not None

    def items(self) -> ItemsView[Any, Any]:
        """Pairs of nodes and what there is for them."""
        return _Items(self)

    def vertex(self, node: Any) -> int:
        hash(node)
        vertex = self.content.vertex_of(node)
        if vertex is None:
            raise KeyError(node)
        return vertex

    def batches(self) -> Iterator[tuple[list[Any], Any]]:
        """Nodes and their vertices, some at a time."""
        content = self.content
        for begin in range(0, len(content.nodes), BATCH):
            yield content.nodes[begin : begin + BATCH], content.vertices[begin : begin + BATCH]


class Nodes(_ByNode):
    """The attributes of each node: its properties, and its label as ``label``."""

    __slots__ = ()

    def __getitem__(self, node: Any) -> Attributes:
        """The attributes of one node."""
        vertex, snapshot = self.vertex(node), self.content.snapshot
        if self.content.bare:
            return Attributes(snapshot.properties(vertex))
        return Attributes({"label": snapshot.label(vertex), **snapshot.properties(vertex)})

    def in_batches(self) -> Iterator[tuple[Any, Attributes]]:
        """Nodes with their attributes."""
        if self.content.bare:
            yield from ((node, self[node]) for node in self)
            return
        for nodes, vertices in self.batches():
            snapshot = self.content.snapshot
            rows = attributes_of_vertices(snapshot, snapshot.properties_of(vertices))
            for node, row in zip(nodes, rows, strict=True):
                yield node, Attributes(row)


class Adjacency(_ByNode):
    """The neighbours of each node: those that its edges lead to, or from, or both."""

    __slots__ = ("direction",)

    def __init__(self, content: Live, direction: Direction) -> None:
        """Read nothing yet."""
        super().__init__(content)
        self.direction = direction

    def __getitem__(self, node: Any) -> Neighbors:
        """The neighbours of one node."""
        content, vertex = self.content, self.vertex(node)
        found = content.snapshot.edges_of(vertex, *content.types, direction=self.direction)
        edges: dict[int, list[EdgeId]] = {}
        for edge, other in found:
            edges.setdefault(other, []).append(edge)
        others = sorted(edges)
        nodes = content.nodes_of(np.array(others, dtype=np.uint64))
        pairs = zip(nodes, others, strict=True)
        return Neighbors(content, {name: edges[other] for name, other in pairs if name is not None})

    def in_batches(self) -> Iterator[tuple[Any, Mapping[Any, Any]]]:
        """Nodes with their neighbours."""
        content = self.content
        if content.bare:
            yield from ((node, self[node]) for node in self)
            return
        for nodes, vertices in self.batches():
            table = content.snapshot.neighbors(vertices, *content.types, direction=self.direction, properties=None)
            owners, others = table.column(0).to_pylist(), table.column(1).to_numpy()
            called = content.nodes_of(others)
            where = [table.column(at).to_pylist() for at in (2, 4, 3, 5)]
            rows = attributes_of_edges(content.snapshot, table, 2)
            gathered: dict[int, dict[Any, list[tuple[EdgeId, dict[str, Any]]]]] = {}
            order = np.argsort(others, kind="stable").tolist()
            edges = list(map(EdgeId, *where))
            for at in order:
                if called[at] is not None:
                    gathered.setdefault(owners[at], {}).setdefault(called[at], []).append((edges[at], rows[at]))
            for node, vertex in zip(nodes, vertices.tolist(), strict=True):
                of = gathered.get(vertex, {})
                yield (
                    node,
                    Neighbors(content, {other: [edge for edge, _ in pairs] for other, pairs in of.items()}, of),
                )


class Neighbors(Mapping[Any, Any]):
    """The neighbours of one node, and the attributes of the edges to them."""

    __slots__ = ("content", "edges", "read")

    def __init__(
        self,
        content: Live,
        edges: dict[Any, list[EdgeId]],
        read: dict[Any, list[tuple[EdgeId, dict[str, Any]]]] | None = None,
    ) -> None:
        self.content = content
        self.edges = edges
        self.read = read

    def __len__(self) -> int:
        return len(self.edges)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.edges)

    def __contains__(self, node: Any) -> bool:
        return node in self.edges

    def __getitem__(self, node: Any) -> Any:
        edges = self.edges[node]
        if self.read is not None:
            attributes = dict(self.read[node])
        else:
            snapshot, bare = self.content.snapshot, self.content.bare
            attributes = {edge: {} if bare else {"type": edge.type} for edge in edges}
            for edge, row in attributes.items():
                row.update(snapshot.properties(edge))
        # As a copy adds them: by source, type, target, discriminator. A loop is in both lists, and in here once.
        ordered = [Attributes(attributes[edge]) for edge in sorted(attributes, key=self.content.place)]
        if self.content.is_multigraph:
            return Attributes(enumerate(ordered))  # type: ignore[arg-type]
        merged: dict[str, Any] = {}
        for one in ordered:
            merged.update(one)
        return Attributes(merged)
