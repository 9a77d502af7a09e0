"""Graph: what the stores for PyG serve, read from a snapshot; NumPy alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evergraph.errors import ForkError, InvalidError, NotFoundError
from evergraph.pyg.features import Feature, feature, features_by_name, properties_named, times
from evergraph.pyg.topology import EdgeType, NodeType, Topology, by_time, joined, layout_of, vertices_of
from evergraph.reader import names

if TYPE_CHECKING:
    from evergraph._native import ReservedMemory
    from evergraph.snapshot import Snapshot

__all__ = ["VERTEX", "Graph", "read_graph"]

_Array = npt.NDArray[Any]

VERTEX = "vertex"
"""The feature that every node type has: the numbers of its vertices in the database."""

TIME = "time"
"""What the feature of edges is called by which lists are ordered."""


PURPOSE = "arrays for PyG"
"""What a refusal of memory names."""


class Graph:
    """Topology, features of vertices and of edges.

    Attributes
    ----------
    topology : Topology
    vertex_features : dict of NodeType to dict of str to Feature
        The features, and the properties that they use.
    edge_values : dict of EdgeType to dict of str to numpy.ndarray
        A row an edge, by its number.
    memory : list of ReservedMemory
        What its arrays take of the database's memory limit, for as long as the graph lives.
    """

    __slots__ = ("_snapshot", "_vertex_values", "edge_values", "memory", "topology", "vertex_features")

    def __init__(
        self,
        topology: Topology,
        vertex_features: dict[NodeType, dict[str, Feature]],
        edge_values: dict[EdgeType, dict[str, _Array]],
        snapshot: Snapshot,
        preload: bool,
        memory: list[ReservedMemory],
    ) -> None:
        """Have these; `preload` reads the features of all vertices now, else the snapshot is asked each time."""
        self.memory = memory
        self.topology = topology
        self.vertex_features = vertex_features
        self.edge_values = edge_values
        self._vertex_values: dict[tuple[NodeType, str], _Array] = {}
        self._snapshot = snapshot
        if preload:
            for node_type, features in vertex_features.items():
                numbers = topology.vertices[node_type]
                for name, values in self._read(node_type, features, numbers, kept=True).items():
                    self._vertex_values[node_type, name] = values

    def reserve(self, size: int) -> None:
        """Reserve bytes for as long as the graph lives."""
        self.memory.append(self.meanwhile(size))

    def meanwhile(self, size: int) -> ReservedMemory:
        """Reserve bytes for a ``with`` block."""
        return self._snapshot.reserve(PURPOSE, size)

    def vertex_values(self, node_type: NodeType, name: str, rows: Any = None) -> _Array:
        """One feature of some vertices, or of all.

        Parameters
        ----------
        node_type : str or None
        name : str
            The feature.
        rows : array of int, slice or None
            Rows to read; ``None`` for all.

        Returns
        -------
        numpy.ndarray of shape (rows,) or (rows, columns)
            As `feature` makes it.

        Raises
        ------
        ForkError
            In a worker process, unless features were read beforehand.
        """
        if (node_type, name) in self._vertex_values:
            values = self._vertex_values[node_type, name]
            return values if rows is None else values[rows]
        made_of = self.vertex_features[node_type][name]
        numbers = self.topology.vertices[node_type]
        try:
            found = self._read(node_type, {name: made_of}, numbers if rows is None else numbers[rows])
        except ForkError as error:
            raise ForkError(
                f"{error}; worker processes of a loader need preload=True, or take num_workers=0"
            ) from error
        return found[name]

    def _read(
        self, node_type: NodeType, features: Mapping[str, Feature], numbers: _Array, *, kept: bool = False
    ) -> dict[str, _Array]:
        if not features:
            return {}
        table = _properties(self._snapshot.properties_of(numbers, *properties_named(features)), 2)
        if kept:
            self.reserve(_features_bytes(table, features))
        what = "vertices" if node_type is None else node_type
        return {name: feature(table, made_of, what) for name, made_of in features.items()}


def read_graph(
    snapshot: Snapshot,
    types: Iterable[str],
    labels: str | Iterable[str] | None,
    features: Mapping[str, Any] | Sequence[str] | None,
    edge_features: Mapping[str, Any] | Sequence[str] | None,
    edge_times: Mapping[str, str] | str | None,
    homogeneous: bool,
    preload: bool,
) -> Graph:
    """Read one. See ``Snapshot.torch_geometric_stores``."""
    chosen, called = list(types), names(labels)
    vertices = vertices_of(snapshot, called, homogeneous)
    topology = Topology(vertices)
    groups: dict[str | None, list[str]] = (
        {None: chosen} if homogeneous else {name: [name] for name in (chosen or snapshot.edge_types())}
    )
    vertex_features = _by_group(features, vertices, homogeneous, "x", "label", "features")
    of_edges = _by_group(edge_features, groups, homogeneous, "edge_attr", "edge type", "edge_features")
    ordered_by = _times_by_group(edge_times, groups, homogeneous)
    _check_names(vertex_features, of_edges, ordered_by)
    memory: list[ReservedMemory] = []
    edge_values: dict[EdgeType, dict[str, _Array]] = {}
    counts = snapshot.edge_types()
    with ExitStack() as meanwhile:
        bound = max((int(numbers[-1]) + 1 for numbers in vertices.values() if len(numbers)), default=0)
        meanwhile.enter_context(snapshot.reserve(PURPOSE, bound * LAYOUT_BYTES))
        layout = layout_of(vertices)
        for group, members in groups.items():
            if group in ordered_by and TIME in of_edges[group]:
                raise InvalidError(f"edge_features: {TIME!r} is the name of what edge_times gives; choose another")
            edges = sum(counts.get(name, 0) for name in dict.fromkeys(members or counts))
            memory.append(snapshot.reserve(PURPOSE, edges * SOURCE_BYTES))
            with ExitStack() as of_group:
                of_group.enter_context(snapshot.reserve(PURPOSE, edges * JOINING_BYTES))
                columns = _edge_columns(
                    snapshot,
                    members,
                    called,
                    layout.type_of,
                    of_edges[group],
                    ordered_by.get(group),
                    memory,
                    of_group,
                )
                for part in joined(snapshot, members, called, vertices, layout):
                    incoming, values = part.incoming, columns
                    memory.append(snapshot.reserve(PURPOSE, incoming.offsets.nbytes))
                    if part.places is not None:
                        values = {name: column[part.places] for name, column in values.items()}
                    if group in ordered_by:
                        incoming, order = by_time(incoming, values[TIME])
                        values = {name: column[order] for name, column in values.items()}
                    topology.incoming[part.edge_type] = incoming
                    edge_values[part.edge_type] = values
    return Graph(topology, vertex_features, edge_values, snapshot, preload, memory)


LAYOUT_BYTES = 8
"""Bytes of each number of a vertex for its type and its row, while edges are read."""

SOURCE_BYTES = 4
"""Bytes of an edge in a list."""

JOINING_BYTES = 40
"""Bytes of an edge while lists are split by what they join and put in order."""


def _features_bytes(table: Any, features: Mapping[str, Feature]) -> int:
    """Bytes of features at most, made of the columns of a table: 8 a value, or as many as lists have."""
    named = sum(1 if isinstance(made_of, str) else len(made_of) for made_of in features.values())
    return max(int(table.nbytes), 8 * int(table.num_rows) * named)


def _by_group(
    given: Mapping[str, Any] | Sequence[str] | None,
    groups: Iterable[str | None],
    homogeneous: bool,
    alone: str,
    kind: str,
    argument: str,
) -> dict[str | None, dict[str, Feature]]:
    """Give the features of each group; in a homogeneous graph they have no level of groups."""
    if homogeneous:
        return {None: features_by_name(given, alone)}
    if given is not None and not isinstance(given, Mapping):
        raise InvalidError(f"{argument}: expected a dict by {kind}, unless homogeneous=True")
    found: dict[str | None, dict[str, Feature]] = {group: {} for group in groups}
    for group, features in (given or {}).items():
        if group not in found:
            raise NotFoundError(f"{argument}: no {kind} {group!r} among {list(found)}")
        found[group] = features_by_name(features, alone)
    return found


def _check_names(
    of_vertices: Mapping[NodeType, Mapping[str, Feature]],
    of_edges: Mapping[str | None, Mapping[str, Feature]],
    ordered_by: Mapping[str | None, str],
) -> None:
    """Refuse names under which one feature would be given for another."""
    for label, features in of_vertices.items():
        if VERTEX in features:
            of = "" if label is None else f" of {label}"
            raise InvalidError(f"features{of}: {VERTEX!r} is the number of each vertex; choose another name")
    if None in of_vertices:
        # PyG has one group for both.
        both = of_vertices[None].keys() & {*of_edges[None], *([TIME] if None in ordered_by else [])}
        if both:
            raise InvalidError(f"features: {min(both)!r} is a feature of edges as well; choose another name")


def _properties(table: Any, first: int) -> Any:
    """The columns from `first` on: properties, which may be called as those before them."""
    return table.select(list(range(first, table.num_columns)))


def _times_by_group(
    given: Mapping[str, str] | str | None, groups: Iterable[str | None], homogeneous: bool
) -> dict[str | None, str]:
    if given is None:
        return {}
    if isinstance(given, str) != homogeneous:
        wanted = "the name of a property" if homogeneous else "a dict by edge type"
        raise InvalidError(f"edge_times: expected {wanted} with homogeneous={homogeneous}")
    if isinstance(given, str):
        return {None: given}
    strangers = [name for name in given if name not in groups]
    if strangers:
        raise NotFoundError(f"edge_times: no edge type {strangers[0]!r} among {list(groups)}")
    by_group: dict[str | None, str] = {}
    by_group.update(given)
    return by_group


def _edge_columns(
    snapshot: Snapshot,
    types: list[str],
    labels: list[str],
    type_of: npt.NDArray[np.int32],
    features: Mapping[str, Feature],
    ordered_by: str | None,
    memory: list[ReservedMemory],
    of_group: ExitStack,
) -> dict[str, _Array]:
    """Give features of all edges of `types`, by target and source as `joined` has them."""
    wanted = properties_named(features)
    if ordered_by is not None and ordered_by not in wanted:
        wanted.append(ordered_by)
    if not wanted:
        return {}
    # By source, type, target: a stable order by target leaves sources ascending.
    table = snapshot.edges(*types, properties=wanted)
    if labels:
        inside = np.ones(table.num_rows, dtype=np.bool_)
        for end in (0, 1):
            numbers = table.column(end).to_numpy()
            known = numbers < len(type_of)
            inside &= known
            inside[known] &= type_of[numbers[known]] >= 0
        table = table.filter(inside)
    order = np.argsort(table.column(1).to_numpy(), kind="stable")
    table = _properties(table, 4)
    size = _features_bytes(table, features) + (8 * table.num_rows if ordered_by is not None else 0)
    memory.append(snapshot.reserve(PURPOSE, size))
    # While they are put in order, and split.
    of_group.enter_context(snapshot.reserve(PURPOSE, 2 * size))
    what = " and ".join(types) or "edges"
    columns = {name: feature(table, made_of, what)[order] for name, made_of in features.items()}
    if ordered_by is not None:
        columns[TIME] = times(table, ordered_by, what)[order]
    return columns
