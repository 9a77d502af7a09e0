"""Reader: reads of one vertex or edge, shared by snapshots, transactions and views of services."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from evergraph.errors import InvalidError
from evergraph.values import Direction, EdgeId, Item, Value

if TYPE_CHECKING:
    from evergraph._native import Graph as NativeGraph
    from evergraph._native import Snapshot as NativeSnapshot
    from evergraph._native import Transaction as NativeTransaction

__all__ = ["Reader"]


def single(properties: dict[str, Any]) -> tuple[str, Any]:
    """Give the only pair of `properties`."""
    if len(properties) != 1:
        raise InvalidError(f"expected one property, as in name='Ada', not {len(properties)}")
    return next(iter(properties.items()))


def names(given: str | Iterable[str] | None) -> list[str]:
    """Give one name, several or none as a list."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def of_edges(of: str) -> bool:
    """Whether `of` means edges, not vertices."""
    if of not in ("vertices", "edges"):
        raise InvalidError(f'of={of!r}: expected "vertices" or "edges"')
    return of == "edges"


def index_kind(*, ordered: bool | None, newest_first: bool) -> str | None:
    """The kind of index that is meant, if one is named."""
    if newest_first and ordered:
        raise InvalidError("an index is ordered or newest_first, not both")
    if newest_first:
        return "newest"
    return None if ordered is None else "ordered" if ordered else "hash"


class Reader:
    """Reads of one item at a time. For many items use the tables of a ``Snapshot``."""

    __slots__ = ("_native",)
    _native: NativeSnapshot | NativeTransaction | NativeGraph

    @property
    def is_open(self) -> bool:
        """Whether it can still be used."""
        return self._native.is_open

    def get(self, item: Item, key: str, default: Any = None) -> Any:
        """One property of a vertex or an edge.

        Parameters
        ----------
        item : int or EdgeId
            The vertex or the edge.
        key : str
            The property.
        default
            Returned if the property or the item does not exist.

        Examples
        --------
        >>> snapshot.get(ada, "born")
        1815
        """
        found = self._native.get(item, key)
        return default if found is None else found

    def properties(self, item: Item) -> dict[str, Any]:
        """All properties of a vertex or an edge; empty if it does not exist.

        Examples
        --------
        >>> snapshot.properties(ada)
        {'name': 'Ada', 'born': 1815}
        """
        return self._native.properties(item)

    def has(self, item: Item) -> bool:
        """Whether the vertex or the edge exists.

        Examples
        --------
        >>> snapshot.has(ada), snapshot.has(1_000_000)
        (True, False)
        """
        return self._native.has(item)

    def label(self, vertex: int) -> str | None:
        """The label of a vertex; ``None`` if it does not exist.

        Examples
        --------
        >>> snapshot.label(ada)
        'Person'
        """
        return self._native.label(vertex)

    def key_of(self, vertex: int) -> tuple[str, Any] | None:
        """The unique key of a vertex and its value, by which `find` finds it. ``None`` if it has none.

        Examples
        --------
        >>> snapshot.key_of(ada)
        ('name', 'Ada')
        """
        return self._native.key_of(vertex)

    def find(self, label: str, /, **key: Value) -> int | None:
        """The vertex whose unique key has the given value.

        Parameters
        ----------
        label : str
            The label.
        **key
            The key and its value: ``name="Ada"``.

        Raises
        ------
        InvalidError
            If the label has no unique index on the key.

        Examples
        --------
        >>> snapshot.find("Person", name="Ada") == ada
        True
        """
        name, value = single(key)
        return self._native.find(label, name, value)

    def find_all(self, label: str, /, **key: Value) -> list[int]:
        """The vertices whose indexed property has the given value, ascending.

        Raises
        ------
        InvalidError
            If the label has no index on the key.

        Examples
        --------
        >>> snapshot.find_all("Person", name="Ada") == [ada]
        True
        """
        name, value = single(key)
        return self._native.find_all(label, name, value)

    def range(
        self,
        label: str,
        key: str,
        start: Value | None = None,
        stop: Value | None = None,
        *,
        limit: int = 1000,
        descending: bool = False,
    ) -> list[tuple[Any, int]]:
        """Vertices in the order of a property: values from `start` (inclusive) to `stop` (exclusive).

        Parameters
        ----------
        label, key : str
            A label with an ordered index on the key.
        start, stop
            Bounds of the values; ``None`` for no bound.
        limit : int
            Maximum number of results.
        descending : bool
            Whether to begin with the greatest value.

        Returns
        -------
        list of (value, vertex)

        Raises
        ------
        InvalidError
            If the label has no ordered index on the key.

        Examples
        --------
        >>> [born for born, vertex in snapshot.range("Person", "born", 1790, 1800)]
        [1791]
        """
        return self._native.range(label, key, start, stop, limit, descending)

    def prefix(self, label: str, key: str, prefix: str, *, limit: int = 1000) -> list[tuple[str, int]]:
        """Vertices whose value begins with a prefix, in the order of their values.

        Parameters
        ----------
        label, key : str
            A label with an ordered index on the key.
        prefix : str
            Beginning of the value.
        limit : int
            Maximum number of results.

        Returns
        -------
        list of (value, vertex)

        Raises
        ------
        InvalidError
            If the label has no ordered index on the key.

        Examples
        --------
        >>> db.create_index("Person", "name", ordered=True)
        True
        >>> [name for name, vertex in db.snapshot().prefix("Person", "name", "Ch")]
        ['Charles']
        """
        return self._native.prefix(label, key, prefix, limit)

    def edges_with(self, edge_type: str, /, **key: Value) -> list[EdgeId]:
        """The edges of a type whose indexed property has the given value, ascending.

        Raises
        ------
        InvalidError
            If the type has no index on the key.

        Examples
        --------
        >>> db.create_index("KNOWS", "since", of="edges")
        True
        >>> db.snapshot().edges_with("KNOWS", since=1833)
        [EdgeId(source=0, type='KNOWS', target=1, discriminator=0)]
        """
        name, value = single(key)
        return [EdgeId(*edge) for edge in self._native.edges_with(edge_type, name, value)]

    def edges_in_range(
        self,
        edge_type: str,
        key: str,
        start: Value | None = None,
        stop: Value | None = None,
        *,
        limit: int = 1000,
        descending: bool = False,
    ) -> list[tuple[Any, EdgeId]]:
        """Edges in the order of a property: see `range`.

        Returns
        -------
        list of (value, EdgeId)

        Raises
        ------
        InvalidError
            If the type has no ordered index on the key.

        Examples
        --------
        >>> db.create_index("KNOWS", "since", ordered=True, of="edges")
        True
        >>> [since for since, edge in db.snapshot().edges_in_range("KNOWS", "since", 1830)]
        [1833, 1840]
        """
        found = self._native.edges_in_range(edge_type, key, start, stop, limit, descending)
        return [(value, EdgeId(*edge)) for value, edge in found]

    def newest_edges(
        self,
        vertex: int,
        edge_type: str,
        key: str,
        *,
        limit: int = 100,
        start: Value | None = None,
        stop: Value | None = None,
    ) -> list[tuple[Any, EdgeId]]:
        """The out-edges of a vertex with the greatest values of a property, the greatest first.

        Fast if the type is declared newest-first (``Transaction.declare_newest_first``), with the disk and mapped
        engines by an index (``Database.create_index``); otherwise the list is sorted.

        Returns
        -------
        list of (value, EdgeId)

        Examples
        --------
        >>> [since for since, edge in snapshot.newest_edges(ada, "KNOWS", "since", limit=1)]
        [1833]
        """
        found = self._native.newest_edges(vertex, edge_type, key, start, stop, limit)
        return [(value, EdgeId(*edge)) for value, edge in found]

    def edges_of(self, vertex: int, *types: str, direction: Direction = "out") -> list[tuple[EdgeId, int]]:
        """The edges of a vertex, each with the vertex at the other end.

        Parameters
        ----------
        vertex : int
            The vertex.
        *types : str
            Only edges of these types; by default all.
        direction : {"out", "in", "both"}
            Edges that leave it, edges that reach it, or both.

        Raises
        ------
        NotFoundError
            If a type is not in the graph.

        Examples
        --------
        >>> [snapshot.get(other, "name") for edge, other in snapshot.edges_of(ada, "KNOWS")]
        ['Charles']
        """
        found = self._native.edges_of(vertex, list(types), direction)
        return [(EdgeId(*edge), other) for edge, other in found]

    def degree(self, vertex: int, *types: str, direction: Direction = "out") -> int:
        """The number of edges of a vertex, without reading a list.

        Examples
        --------
        >>> snapshot.degree(ada, "KNOWS", direction="both")
        2
        """
        return self._native.degree(vertex, list(types), direction)
