"""Snapshot: the whole graph as it was at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evergraph import convert
from evergraph._html import paragraph, table
from evergraph._tables import ids_of
from evergraph.algorithms import Algorithms
from evergraph.handle import Handle, state_of
from evergraph.lists import Lists
from evergraph.picture import Picture, draw
from evergraph.progress import Progress, shown
from evergraph.pyg.graph import read_graph
from evergraph.reader import names, of_edges
from evergraph.values import Direction, Subgraph

if TYPE_CHECKING:
    from evergraph._native import Snapshot as NativeSnapshot
    from evergraph.pyg.stores import Stores

__all__ = ["Snapshot"]


class Snapshot(Algorithms, Lists, Handle):
    """A read-only view of one moment: fixed, whatever is written meanwhile, and never in a writer's way.

    ``Database.snapshot`` takes one, in an instant. Any number of threads may read it. It keeps old versions of
    what others change until it is closed: by ``close``, at the end of a ``with`` block, or when it is collected.

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
        """Let go of it; calls that run go on. Does nothing if it is closed."""
        self._native.close()

    @property
    def timestamp(self) -> int:
        """The place in the order of commits that it shows: a count, not a time."""
        return self._native.timestamp

    def labels(self) -> dict[str, int]:
        """How many vertices each label has.

        Examples
        --------
        >>> snapshot.labels()
        {'Person': 3}
        """
        return dict(self._native.counts()[0])

    def edge_types(self) -> dict[str, int]:
        """How many edges each type has.

        Examples
        --------
        >>> snapshot.edge_types()
        {'KNOWS': 3}
        """
        return dict(self._native.counts()[1])

    def schema(self, name: str, *, of: str = "vertices") -> dict[str, str]:
        """The properties of a label, or with ``of="edges"`` of an edge type, with their types.

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
            Which properties; all by default.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and label (dictionary of string), and one a property
            One row a vertex, ascending. A property that a vertex lacks is null. Strings are large_string,
            datetimes timestamps in UTC, in nanoseconds or the next unit that holds them; durations are duration,
            or month_day_nano_interval with months or days; bigints uint64 or decimal128, decimals decimal128; maps
            structs, or maps if their keys aren't texts. Numbers of several types are of one that holds them; other
            values of several types are text.

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
            Their numbers: a NumPy array, a column of a table, or a list.
        *properties : str
            Which properties; all if none is given.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        pyarrow.Table
            As of `vertices`, in the order asked for; nulls for a vertex that isn't there.

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
            One row an edge, by source, type, target, discriminator; and one column a property.

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
            Over edges of these types; of all if none is given.
        direction : {"out", "in", "both"}
            Along which edges.
        properties : iterable of str, optional
            Which properties of the edges; none by default, all for ``None``.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        pyarrow.Table with columns vertex, neighbor (uint64), and those of `edges`
            One row a neighbour, in the order asked for.

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
            See `compact_csr`. Without a weight entries are 1; parallel edges are entries of their own,
            which ``sum_duplicates`` adds up.

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
            Vertices of these labels only, and edges between them.
        key : str, optional
            The property that names nodes; their numbers by default. Every vertex must have one of its own.
        properties : bool
            Whether properties become attributes. The label and the type always do, as ``label`` and ``type``,
            where no property is called so.
        multigraph : bool
            ``networkx.MultiDiGraph``; else a ``DiGraph``, where the last of parallel edges counts.

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
            Vertices have the attributes ``vertex`` (their number) and ``label``, edges ``type``.

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
        """A copy for PyTorch Geometric: a store a label, and one for each edge type and pair of labels.

        Parameters
        ----------
        *types, labels, features, edge_features, homogeneous
            See `torch_geometric_stores`.

        Returns
        -------
        torch_geometric.data.HeteroData, or Data if homogeneous
            Each label's store has ``num_nodes``, its features, and ``vertex``, the number of each of its vertices.
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
        """A ``(FeatureStore, GraphStore)`` pair, from which loaders of PyTorch Geometric draw batches.

        PyG counts the vertices of each label from 0. ``stores.rows(vertices, label)`` and
        ``stores.vertices(rows, label)`` go from one count to the other, and each batch has ``vertex``.
        ``evergraph.pyg.NeighborSampler`` draws without a compiled package beside PyG. See the guide to PyG.

        Parameters
        ----------
        *types : str
            Only edges of these types; by default all.
        labels : str or iterable of str, optional
            Vertices of these labels, and edges between them; of all by default.
        features : dict of str to dict of str to str or list of str, optional
            By label, features by name: a list of numeric properties becomes a matrix of float32, a property alone
            a vector of its own kind (int64, bool or float32; dates and datetimes int64), a property of lists that
            have one length a matrix. A list or a property without a name is ``"x"``.
        edge_features : dict of str to dict of str to str or list of str, optional
            By edge type; without a name ``"edge_attr"``. ``stores.add_edge_features`` puts them into batches.
        edge_times : dict of str to str, optional
            By edge type, the property by which edges are ordered, so that a sampler draws no edge later than its
            seed. It is the feature ``"time"``.
        homogeneous : bool
            One node type and one edge type for all that is chosen: `features` and `edge_features` have no level of
            labels and types then, and `edge_times` is the property.
        preload : bool
            Whether features of vertices are read now: batches are made faster, the snapshot is no longer needed,
            and worker processes can have the stores. Otherwise each batch is read from the snapshot.

        Returns
        -------
        evergraph.pyg.Stores
            The pair, ``features`` and ``graph``.

        Raises
        ------
        NotFoundError
            If a name is not in the graph.
        InvalidError
            If a feature is missing somewhere, or isn't made of numbers.
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

        Vertices have the colours of their labels, and edges are arrows. At most `limit` vertices are drawn, and
        the title says how many there are. It needs Matplotlib and NetworkX: ``pip install evergraph[show]``.

        Parameters
        ----------
        of : Subgraph, or array of int, optional
            What to draw: a result of ``subgraph('x')``, or vertices, from which neighbours are added as long as
            there is room. By default all vertices, or those around the first ones.
        types, labels : str or iterable of str, optional
            Edges of these types, vertices of these labels; all by default.
        caption : str, optional
            The property that vertices are called by; by default their unique key, or their number.
        limit : int
            How many vertices to draw at most, up to 500.
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
            For names and vertices that aren't in the graph.

        Examples
        --------
        >>> snapshot.show()
        <evergraph.Picture of 3 vertices and 3 edges>
        >>> snapshot.show([ada], limit=2)
        <evergraph.Picture of 2 of 3 vertices and 1 edge between them>
        """
        return draw(self, of, names(types), names(labels), caption, limit, size)

    def __repr__(self) -> str:
        """Say what it is of."""
        state = state_of(self)
        return f"<evergraph.Snapshot{state or f' at commit {self.timestamp}'}>"

    def _repr_html_(self) -> str:
        """Show its labels and edge types. Cost: a look at each segment."""
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
