"""Elements, properties and paths as gremlinpython has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gremlin_python.structure.graph import Edge, Path, Property, Vertex, VertexProperty

from evergraph.values import EdgeId, Value

__all__ = ["MAKER", "Maker"]


class Maker:
    """What makes them: the native module calls it for each."""

    def vertex(self, number: int, label: str, properties: Sequence[tuple[str, Value]]) -> Vertex:
        """A vertex; its id is its number."""
        vertex = Vertex(number, label)
        vertex.properties = [self.property(vertex, key, value) for key, value in properties]
        return vertex

    def edge(
        self, edge_id: EdgeId, source: Vertex, target: Vertex, properties: Sequence[tuple[str, Value]]
    ) -> Edge:
        """An edge; its id is an ``EdgeId``."""
        edge = Edge(edge_id, source, edge_id.type, target)
        edge.properties = [self.property(edge, key, value) for key, value in properties]
        return edge

    def property(self, of: Vertex | Edge | VertexProperty, key: str, value: Value) -> VertexProperty | Property:
        """A property; a vertex' has an id, its vertex and its key."""
        if isinstance(of, Vertex):
            return VertexProperty((of.id, key), key, value, of)
        return Property(key, value, of)

    def path(self, labels: list[set[str]], objects: Sequence[Any]) -> Path:
        """A path."""
        return Path(labels, list(objects))


MAKER = Maker()
