"""Snapshot: the whole graph as of one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evergraph import convert
from evergraph._html import paragraph, table
from evergraph._tables import ids_of
from evergraph.algorithms import Algorithms
from evergraph.asking import Asking
from evergraph.handle import Handle, state_of
from evergraph.lists import Lists
from evergraph.picture import Picture, draw
from evergraph.progress import Progress, shown
from evergraph.pyg.graph import read_graph
from evergraph.reader import names, of_edges
from evergraph.values import Direction, Subgraph

if TYPE_CHECKING:
    from evergraph._native import ReservedMemory
    from evergraph._native import Snapshot as NativeSnapshot
    from evergraph.pyg.stores import Stores

__all__ = ["Snapshot"]


class Snapshot(Algorithms, Asking, Lists, Handle):
    """A read-only view of the graph as of one commit. It never changes, and never blocks a writer.

    ``Database.snapshot`` takes one, in an instant. Any number of threads may read it. While it is open, the
    database keeps the old versions of changed data. It is closed by ``close``, at the end of a ``with`` block, or
    when Python collects it.

    Tables are ``pyarrow.Table``, which pandas, Polars and NumPy read without a copy.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> with db.begin() as tx:
    ...     ada = tx.add_vertex("Person", name="Ada")
    >>> with db.snapshot() as snapshot:
    ...     snapshot.vertices("Person", properties=["name"]).to_pylist()
    [{'vertex': 0, 'label': 'Person', 'name': 'Ada'}]
    """

    __slots__ = ("__weakref__",)
    _native: NativeSnapshot

    def __init__(self, native: NativeSnapshot) -> None:
        """Use ``Database.snapshot``."""
        self._native = native

    def close(self) -> None:
        """Close it; running calls continue. Does nothing if it is closed."""
        self._native.close()

    @property
    def timestamp(self) -> int:
        """The number of the commit that it shows: a count, not a time."""
        return self._native.timestamp

    def reserve(self, purpose: str, size: int) -> ReservedMemory:
        """Reserve `size` bytes below the database's memory limit, for what is made of this snapshot.

        They are reserved until the end of a ``with`` block, or until the object is freed that
        ``keep_with(object)`` names.

        Raises
        ------
        LimitError
            If they do not fit: it names `purpose`, the bytes, and the limit.

        Examples
        --------
        >>> with snapshot.reserve("an array of mine", 8_000):
        ...     db.stats()["reserved"]["an array of mine"]
        8000
        """
        return self._native.reserve(purpose, size)

    def labels(self) -> dict[str, int]:
        """The number of vertices of each label.

        Examples
        --------
        >>> snapshot.labels()
        {'Person': 3}
        """
        return dict(self._native.counts()[0])

    def edge_types(self) -> dict[str, int]:
        """The number of edges of each type.

        Examples
        --------
        >>> snapshot.edge_types()
        {'KNOWS': 3}
        """
        return dict(self._native.counts()[1])

    def schema(self, name: str, *, of: str = "vertices") -> dict[str, str]:
        """The properties of a label, or with ``of="edges"`` of an edge type, and their types.

        Raises
        ------
        NotFoundError
            If the name is not in the graph.

        Examples
        --------
        >>> snapshot.schema("Person")
        {'name': 'string', 'born': 'long'}
        """
        return dict(self._native.schema(name, of_edges(of)))

    def vertices(
        self,
        *labels: str,
        properties: Iterable[str] | None = None,
        progress: Progress = None,
    ) -> Any:
        """All vertices as a table.

        Parameters
        ----------
        *labels : str
            Only these labels; by default all.
        properties : iterable of str, optional
            The properties to read; by default all.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and label (dictionary of string), and one a property
            One row a vertex, ascending. A missing property is null. Strings are large_string; datetimes are
            timestamps in UTC, in nanoseconds or the next unit that holds them; durations are duration, or
            month_day_nano_interval with months or days; bigints are uint64 or decimal128, decimals decimal128;
            maps are structs, or maps if their keys are not strings. Numbers of several types have one type that
            holds them all; other values of several types are text.

        Raises
        ------
        NotFoundError
            If a name is not in the graph.

        Examples
        --------
        >>> snapshot.vertices("Person").column_names
        ['vertex', 'label', 'name', 'born']
        """
        wanted = None if properties is None else names(properties)
        with shown(progress) as told:
            return self._native.vertices(list(labels), wanted, told)

    def properties_of(self, vertices: Any, *properties: str, progress: Progress = None) -> Any:
        """Properties of some vertices as a table.

        Parameters
        ----------
        vertices : array of int
            Their ids: a NumPy array, a column of a table, or a list.
        *properties : str
            The properties to read; by default all.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        pyarrow.Table
            As `vertices` returns, in the order of the argument; nulls for vertices that do not exist.

        Examples
        --------
        >>> snapshot.properties_of([mary, ada], "name")["name"].to_pylist()
        ['Mary', 'Ada']
        """
        wanted = list(properties) or None
        with shown(progress) as told:
            return self._native.properties_of(ids_of(vertices), wanted, told)

    def edges(
        self,
        *types: str,
        properties: Iterable[str] | None = None,
        progress: Progress = None,
    ) -> Any:
        """All edges as a table.

        Parameters
        ----------
        *types : str
            Only these edge types; by default all.
        properties, progress
            See `vertices`.

        Returns
        -------
        pyarrow.Table with columns source, target (uint64), type (dictionary of string), discriminator (uint16)
            One row an edge, sorted by source, type, target, discriminator; and one column a property.

        Raises
        ------
        NotFoundError
            If a name is not in the graph.

        Examples
        --------
        >>> snapshot.edges("KNOWS").to_pylist()[0]
        {'source': 0, 'target': 1, 'type': 'KNOWS', 'discriminator': 0, 'since': 1833}
        """
        wanted = None if properties is None else names(properties)
        with shown(progress) as told:
            return self._native.edges(list(types), wanted, told)

    def neighbors(
        self,
        vertices: Any,
        *types: str,
        direction: Direction = "out",
        properties: Iterable[str] | None = (),
        progress: Progress = None,
    ) -> Any:
        """The neighbours of some vertices as a table.

        Parameters
        ----------
        vertices : array of int
            Their ids.
        *types : str
            Only edges of these types; by default all.
        direction : {"out", "in", "both"}
            Which edges to follow.
        properties : iterable of str, optional
            Properties of the edges to read; by default none, all for ``None``.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        pyarrow.Table with columns vertex, neighbor (uint64), and those of `edges`
            One row a neighbour, in the order of `vertices`.

        Examples
        --------
        >>> snapshot.neighbors([ada, mary], "KNOWS").select(["vertex", "neighbor"]).to_pylist()
        [{'vertex': 0, 'neighbor': 1}, {'vertex': 2, 'neighbor': 0}]
        """
        wanted = None if properties is None else names(properties)
        with shown(progress) as told:
            return self._native.neighbors(ids_of(vertices), list(types), direction, wanted, told)

    def degrees(self, vertices: Any, *types: str, direction: Direction = "out") -> npt.NDArray[np.uint64]:
        """The number of edges of each of some vertices.

        Returns
        -------
        numpy.ndarray of shape (len(vertices),) and uint64

        Examples
        --------
        >>> snapshot.degrees([ada, mary], "KNOWS").tolist()
        [1, 1]
        """
        return self._native.degrees(ids_of(vertices), list(types), direction)

    def to_scipy(
        self,
        *types: str,
        labels: str | Iterable[str] | None = None,
        weight: str | None = None,
        missing_weight: float | None = None,
    ) -> tuple[Any, npt.NDArray[np.uint64]]:
        """The adjacency matrix for SciPy.

        Parameters
        ----------
        *types, labels, weight, missing_weight
            See `compact_csr`. Without a weight entries are 1. Parallel edges are separate entries, which
            ``sum_duplicates`` adds up.

        Returns
        -------
        matrix : scipy.sparse.csr_array of shape (n, n) and float64
            Rows are sources.
        vertices : numpy.ndarray of shape (n,) and uint64
            The vertex of each row and column.

        Examples
        --------
        >>> matrix, vertices = snapshot.to_scipy("KNOWS", weight="since")
        >>> matrix.shape, float(matrix[0, 1])
        ((3, 3), 1833.0)
        """
        return convert.to_scipy(self, types, labels, weight, missing_weight)

    def to_networkx(
        self,
        *types: str,
        labels: str | Iterable[str] | None = None,
        key: str | None = None,
        properties: bool = True,
        multigraph: bool = True,
    ) -> Any:
        """A copy for NetworkX.

        Parameters
        ----------
        *types : str
            Only edges of these types; by default all.
        labels : str or iterable of str, optional
            Only vertices of these labels, and edges between them.
        key : str, optional
            The property whose values name the nodes; by default nodes are vertex ids. Every vertex must have a
            value of its own.
        properties : bool
            Whether properties become attributes. The label and the type always do, as ``label`` and ``type``,
            unless a property has that name.
        multigraph : bool
            Whether to return a ``networkx.MultiDiGraph``; otherwise a ``DiGraph``, with the last of parallel
            edges.

        Returns
        -------
        networkx.MultiDiGraph or networkx.DiGraph

        Examples
        --------
        >>> graph = snapshot.to_networkx(key="name", multigraph=False)
        >>> graph.nodes["Ada"]["born"], graph.edges["Ada", "Charles"]["since"]
        (1815, 1833)
        """
        return convert.to_networkx(self, types, labels, key, properties, multigraph)

    def to_igraph(
        self,
        *types: str,
        labels: str | Iterable[str] | None = None,
        properties: bool = True,
    ) -> Any:
        """A copy for igraph, directed.

        Parameters
        ----------
        *types, labels, properties
            See `to_networkx`.

        Returns
        -------
        igraph.Graph
            Vertices have the attributes ``vertex`` (their id) and ``label``, edges ``type``.

        Examples
        --------
        >>> graph = snapshot.to_igraph()
        >>> graph.vcount(), graph.es["since"]
        (3, [1833, 1827, 1840])
        """
        return convert.to_igraph(self, types, labels, properties)

    def to_torch_geometric(
        self,
        *types: str,
        labels: str | Iterable[str] | None = None,
        features: Mapping[str, Any] | Sequence[str] | None = None,
        edge_features: Mapping[str, Any] | Sequence[str] | None = None,
        homogeneous: bool = False,
    ) -> Any:
        """A copy for PyTorch Geometric: a store for each label, and for each edge type and pair of labels.

        Parameters
        ----------
        *types, labels, features, edge_features, homogeneous
            See `torch_geometric_stores`.

        Returns
        -------
        torch_geometric.data.HeteroData, or Data if homogeneous
            Each label's store has ``num_nodes``, its features, and ``vertex``, the id of each of its vertices.
            Edges are sorted by target.

        Raises
        ------
        InvalidError, NotFoundError
            See `torch_geometric_stores`.
        """
        made = convert.stores_module()
        graph = read_graph(
            self, types, labels, features, edge_features, edge_times=None, homogeneous=homogeneous, preload=True
        )
        return made.copy_of(graph)

    def torch_geometric_stores(
        self,
        *types: str,
        labels: str | Iterable[str] | None = None,
        features: Mapping[str, Any] | Sequence[str] | None = None,
        edge_features: Mapping[str, Any] | Sequence[str] | None = None,
        edge_times: Mapping[str, str] | str | None = None,
        homogeneous: bool = False,
        preload: bool = True,
    ) -> Stores:
        """A ``(FeatureStore, GraphStore)`` pair, from which loaders of PyTorch Geometric sample batches.

        PyG numbers the vertices of each label from 0. ``stores.rows(vertices, label)`` and
        ``stores.vertices(rows, label)`` convert between ids and these numbers, and each batch has ``vertex``.
        ``evergraph.pyg.NeighborSampler`` samples without compiled packages in addition to PyG. See the guide to
        PyG.

        Parameters
        ----------
        *types : str
            Only edges of these types; by default all.
        labels : str or iterable of str, optional
            Only vertices of these labels, and edges between them; by default all.
        features : dict of str to dict of str to str or list of str, optional
            For each label, features by name. A list of numeric properties becomes a matrix of float32; a single
            property becomes a vector of the matching type (int64, bool or float32; dates and datetimes int64); a
            property of lists of one length becomes a matrix. A list or a property without a name is ``"x"``.
        edge_features : dict of str to dict of str to str or list of str, optional
            The same for each edge type; without a name ``"edge_attr"``. ``stores.add_edge_features`` adds them to
            batches.
        edge_times : dict of str to str, optional
            For each edge type, the property by which edges are ordered, so that a sampler returns no edge later
            than its seed. It is the feature ``"time"``.
        homogeneous : bool
            Whether to combine everything chosen into one node type and one edge type: `features` and
            `edge_features` are then not grouped by label and type, and `edge_times` is the property.
        preload : bool
            Whether to read features of vertices now: batches are then faster, the snapshot is no longer needed,
            and worker processes can use the stores. Otherwise each batch is read from the snapshot.

        Returns
        -------
        evergraph.pyg.Stores
            The pair, ``features`` and ``graph``.

        Raises
        ------
        NotFoundError
            If a name is not in the graph.
        InvalidError
            If a vertex or an edge lacks a feature, or a feature is not numeric.
        """
        made = convert.stores_module()
        graph = read_graph(self, types, labels, features, edge_features, edge_times, homogeneous, preload)
        stores: Stores = made.Stores(made.FeatureStore(graph), made.GraphStore(graph))
        return stores

    def show(
        self,
        of: Subgraph | npt.ArrayLike | None = None,
        /,
        *,
        types: str | Iterable[str] | None = None,
        labels: str | Iterable[str] | None = None,
        caption: str | None = None,
        limit: int = 100,
        size: tuple[float, float] = (9.0, 6.0),
    ) -> Picture:
        """A picture of a small graph, or of a part of a large one, for notebooks.

        Vertices are coloured by label, and edges are arrows. At most `limit` vertices are drawn, and the title
        gives their total number. Needs Matplotlib and NetworkX: ``pip install evergraph[show]``.

        Parameters
        ----------
        of : Subgraph, or array of int, optional
            What to draw: a result of ``subgraph('x')``, or vertices, to which neighbours are added up to the
            limit. By default all vertices, or those around the first ones.
        types, labels : str or iterable of str, optional
            Only edges of these types and vertices of these labels; by default all.
        caption : str, optional
            The property to use as caption of vertices; by default their unique key, or their id.
        limit : int
            Maximum number of vertices to draw, up to 500.
        size : tuple of float
            Width and height in inches.

        Returns
        -------
        Picture
            Notebooks show it. ``picture.save("graph.svg")`` writes it to a file, and ``picture.figure`` is
            Matplotlib's.

        Raises
        ------
        NotFoundError
            If a name or a vertex is not in the graph.

        Examples
        --------
        >>> snapshot.show()
        <evergraph.Picture of 3 vertices and 3 edges>
        >>> snapshot.show([ada], limit=2)
        <evergraph.Picture of 2 of 3 vertices and 1 edge between them>
        """
        return draw(self, of, names(types), names(labels), caption, limit, size)

    def __repr__(self) -> str:
        """Say which commit it shows."""
        state = state_of(self)
        return f"<evergraph.Snapshot{state or f' at commit {self.timestamp}'}>"

    def _repr_html_(self) -> str:
        """Show its labels and edge types. Cost: reads the counts of each segment."""
        return paragraph(repr(self)) + ("" if state_of(self) else self._counts_html())

    def _counts_html(self) -> str:
        """Labels and edge types with their counts and properties, as HTML."""
        parts = []
        for kind, of, counts in (
            ("label", "vertices", self.labels()),
            ("edge type", "edges", self.edge_types()),
        ):
            if counts:
                rows = ([name, f"{count:,}", self._properties_text(name, of)] for name, count in counts.items())
                parts.append(table([kind, of, "properties"], rows, len(counts)))
        return "".join(parts) or paragraph("empty")

    def _properties_text(self, name: str, of: str) -> str:
        return ", ".join(f"{key}: {kind}" for key, kind in self.schema(name, of=of).items())
