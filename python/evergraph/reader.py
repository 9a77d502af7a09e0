"""Reader: what snapshots and transactions answer about one vertex or edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evergraph.errors import InvalidError
from evergraph.query import Results, results_of, variables_of
from evergraph.values import Direction, EdgeId, Item, Value

if TYPE_CHECKING:
    from evergraph._native import Snapshot as NativeSnapshot
    from evergraph._native import Transaction as NativeTransaction

__all__ = ["Reader"]


def single(properties: dict[str, Any]) -> tuple[str, Any]:
    """Give the one pair of `properties`."""
    if len(properties) != 1:
        raise InvalidError(f"one property is wanted, as in name='Ada', not {len(properties)}")
    return next(iter(properties.items()))


def names(given: str | Iterable[str] | None) -> list[str]:
    """Give one name, several or none as a list."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def of_edges(of: str) -> bool:
    """Tell edges from vertices."""
    if of not in ("vertices", "edges"):
        raise InvalidError(f'of={of!r}: "vertices" or "edges" is wanted')
    return of == "edges"


class Reader:
    """Reads of one item at a time. For many use the tables of a ``Snapshot``."""

    __slots__ = ("_native",)
    _native: NativeSnapshot | NativeTransaction

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
            The answer where there is no such property, or no such item.

        Examples
        --------
        >>> snapshot.get(ada, "born")
        1815
        """
        found = self._native.get(item, key)
        return default if found is None else found

    def properties(self, item: Item) -> dict[str, Any]:
        """All properties of a vertex or an edge; none if it isn't there.

        Examples
        --------
        >>> snapshot.properties(ada)
        {'name': 'Ada', 'born': 1815}
        """
        return self._native.properties(item)

    def has(self, item: Item) -> bool:
        """Whether the vertex or the edge is there.

        Examples
        --------
        >>> snapshot.has(ada), snapshot.has(1_000_000)
        (True, False)
        """
        return self._native.has(item)

    def label(self, vertex: int) -> str | None:
        """The label of a vertex; ``None`` if it isn't there.

        Examples
        --------
        >>> snapshot.label(ada)
        'Person'
        """
        return self._native.label(vertex)

    def find(self, label: str, /, **key: Value) -> int | None:
        """The vertex whose unique key has a value.

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
        """The vertices of which an indexed property has a value, ascending.

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
        """Vertices by the order of a property: values from `start` on, below `stop`.

        Parameters
        ----------
        label, key : str
            A label with an ordered index on the key.
        start, stop
            Where it begins and ends; ``None`` for no bound.
        limit : int
            The most to give.
        descending : bool
            From the greatest value down.

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

        Quick where the type is declared so (``Transaction.declare_newest_first``); else the list is sorted.

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
            Edges of these types; of all if none is given.
        direction : {"out", "in", "both"}
            Those that leave it, those that reach it, or both.

        Raises
        ------
        NotFoundError
            For a type that isn't in the graph.

        Examples
        --------
        >>> [snapshot.get(other, "name") for edge, other in snapshot.edges_of(ada, "KNOWS")]
        ['Charles']
        """
        found = self._native.edges_of(vertex, list(types), direction)
        return [(EdgeId(*edge), other) for edge, other in found]

    def degree(self, vertex: int, *types: str, direction: Direction = "out") -> int:
        """The number of edges of a vertex. No list is read for it.

        Examples
        --------
        >>> snapshot.degree(ada, "KNOWS", direction="both")
        2
        """
        return self._native.degree(vertex, list(types), direction)

    def query(
        self,
        text: str,
        /,
        *,
        bindings: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        strict: bool = False,
        **variables: Any,
    ) -> Results:
        """Run a query in Gremlin.

        On a snapshot, results are made while they are fetched, and end with the snapshot. In a transaction, the
        query sees what was written there, may write, and is run to its end at once, so that a loop over its
        results may write too; one that fails may have written a part of what it was to: roll back then.

        Parameters
        ----------
        text : str
            The query: ``"g.V()..."``.
        bindings : mapping of str to value, optional
            More variables, of any name.
        timeout : float, optional
            Seconds from its begin until its last result is fetched: 60 by default, ``math.inf`` for no limit.
        memory_limit : int, optional
            Bytes that it may hold at once beside the graph: a gibibyte by default.
        strict : bool, optional
            Whether a label, an edge type or a property that the graph doesn't have is an ``InvalidError``; by default
            it is an ``UnknownNameWarning``, with the name that was probably meant.
        **variables
            The variables of the text and their values: what a property can be, ``None``, a vertex, an
            ``EdgeId``, and lists, sets and dicts of them. One that the text doesn't have is no error.

        Returns
        -------
        Results

        Raises
        ------
        InvalidError
            For a text that is no query, showing the place; for a query that writes, on a snapshot; for a value
            that no variable can have, and for what a step can't do.
        LimitError
            When time or memory is over; also while results are fetched.

        Examples
        --------
        >>> snapshot.query("g.V().has('Person', 'born', lt(year)).values('name')", year=1790).to_list()
        ['Mary']
        >>> snapshot.query("g.V(who).out('KNOWS').path()", who=ada).one() == [ada, charles]
        True
        >>> with db.begin() as tx:
        ...     for person in tx.query("g.V().hasLabel('Person')"):
        ...         tx.set(person, seen=True)
        ...     tx.query("g.V().has('seen', true).count()").one()
        3
        """
        asked = variables_of(bindings, variables)
        return results_of(self._native.query(text, asked, timeout, memory_limit, None, strict))
