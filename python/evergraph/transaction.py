"""Transaction: writes that are applied together or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from evergraph._tables import table_of
from evergraph.asking import Asking
from evergraph.errors import InvalidError
from evergraph.handle import Block, state_of
from evergraph.reader import of_edges
from evergraph.values import EdgeId, Item, Value

if TYPE_CHECKING:
    from evergraph._native import Transaction as NativeTransaction

__all__ = ["KeyOf", "Transaction", "ends_of"]

KeyOf = tuple[str, str]
"""A label and its unique key."""


def ends_of(
    data: Any, source: str, target: str, source_key: KeyOf | None, target_key: KeyOf | None
) -> tuple[Any, tuple[str, KeyOf | None], tuple[str, KeyOf | None]]:
    """Give edges in the form that the native module expects."""
    return table_of(data, (source, target)), (source, source_key), (target, target_key)


class Transaction(Asking, Block):
    """A read-write transaction. It sees its own writes; others see them only after its commit.

    ``Database.begin`` returns one. As a context manager it commits at the end, or rolls back on an exception.
    New labels, edge types and properties are created on first use; a property has the type of its first value. A
    transaction belongs to one thread at a time: a second thread that uses it at the same time gets ``BusyError``.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> with db.begin() as tx:
    ...     ada = tx.add_vertex("Person", name="Ada")
    ...     charles = tx.add_vertex("Person", name="Charles")
    ...     knows = tx.add_edge(ada, "KNOWS", charles, since=1833)
    >>> db.snapshot().get(knows, "since")
    1833
    """

    __slots__ = ()
    _native: NativeTransaction

    def __init__(self, native: NativeTransaction) -> None:
        """Use ``Database.begin``."""
        self._native = native

    def _end(self, well: bool) -> None:
        """Commit, or roll back if there was an exception. Does nothing if either was done already."""
        if not self._native.is_open:
            return
        # Nobody asked which ids changed: no lists are made of them.
        if well:
            self._native.commit()
        else:
            self._native.rollback()

    def add_vertex(self, label: str, /, **properties: Value | None) -> int:
        """Add a vertex.

        Parameters
        ----------
        label : str
            Its label.
        **properties
            Its properties; ``None`` means no property.

        Returns
        -------
        int
            Its id.

        Raises
        ------
        InvalidError
            If a value does not have the property's type, or a unique key exists already.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     grace = tx.add_vertex("Person", name="Grace", born=1906)
        """
        return self._native.add_vertex(label, properties)

    def put_vertex(self, label: str, key: str, /, **properties: Value | None) -> int:
        """Create the vertex with a unique key, or update it to have exactly these properties (upsert).

        Parameters
        ----------
        label : str
            Its label.
        key : str
            The unique key by which it is found.
        **properties
            All properties that it has afterwards, including the key.

        Returns
        -------
        int
            Its id, new or existing.

        Raises
        ------
        InvalidError
            If the label has no unique index on the key, or `properties` does not have the key.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     tx.put_vertex("Person", "name", name="Ada", born=1815) == ada
        True
        """
        rest = dict(properties)
        value = rest.pop(key, None)
        if value is None:
            raise InvalidError(f"put_vertex finds the vertex by {key}, and its properties don't have it")
        return self._native.put_vertex(label, key, value, rest)

    def add_edge(self, source: int, edge_type: str, target: int, /, **properties: Value | None) -> EdgeId:
        """Add an edge, also if there are parallel ones.

        The discriminator of the id may change at commit if another transaction adds a parallel edge meanwhile:
        ``commit`` returns such changes.

        Raises
        ------
        NotFoundError
            If an end does not exist.
        InvalidError
            If a value does not fit its property, or for a second edge of a simple type.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     tx.add_edge(ada, "ADMIRES", charles)
        EdgeId(source=0, type='ADMIRES', target=1, discriminator=0)
        """
        return EdgeId(*self._native.add_edge(source, edge_type, target, properties, False))

    def put_edge(self, source: int, edge_type: str, target: int, /, **properties: Value | None) -> EdgeId:
        """Create the edge, or update it to have exactly these properties (upsert).

        Raises
        ------
        NotFoundError
            If an end does not exist.
        InvalidError
            If a value does not fit its property.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     edge = tx.put_edge(ada, "KNOWS", charles, since=1834)
        """
        return EdgeId(*self._native.add_edge(source, edge_type, target, properties, True))

    def set(self, item: Item, /, **properties: Value | None) -> None:
        """Set properties of a vertex or an edge; ``None`` removes one.

        Raises
        ------
        NotFoundError
            If the item does not exist.
        InvalidError
            If a value does not fit its property, or another vertex has the unique key.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     tx.set(ada, title="Countess", born=None)
        ...     tx.get(ada, "born", "unknown")
        'unknown'
        """
        self._native.set(item, properties)

    def remove(self, item: Item, /, *keys: str) -> None:
        """Remove properties of a vertex or an edge.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     tx.remove(ada, "born")
        """
        self._native.set(item, dict.fromkeys(keys))

    def delete_vertex(self, vertex: int) -> None:
        """Delete a vertex with all its edges.

        Raises
        ------
        NotFoundError
            If it does not exist.
        LimitError
            If the vertex has more than a million edges: see `Database.delete_vertex_in_parts`.
        """
        self._native.delete(int(vertex))

    def delete_edges_of(self, vertex: int, limit: int) -> int:
        """Delete at most `limit` edges that start or end at a vertex, of all types.

        Returns
        -------
        int
            Number of deleted edges; fewer than `limit` if no edges are left.

        Raises
        ------
        NotFoundError
            If the vertex does not exist.
        LimitError
            If so many deletions do not fit into one transaction; then none of them is done.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     tx.delete_edges_of(ada, 1)
        1
        """
        return self._native.delete_edges_of(int(vertex), limit)

    def delete_edge(self, edge: EdgeId) -> None:
        """Delete an edge.

        Raises
        ------
        NotFoundError
            If it does not exist.
        """
        self._native.delete(EdgeId(*edge))

    def add_vertices(self, label: str, data: Any) -> npt.NDArray[np.uint64]:
        """Add many vertices within this transaction: up to a million; ``Database.add_vertices`` takes more.

        Parameters
        ----------
        label : str
            Their label.
        data
            See ``Database.add_vertices``.

        Returns
        -------
        numpy.ndarray of shape (rows,) and uint64
            Their ids.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     people = tx.add_vertices("Person", [{"name": "Grace"}, {"name": "Alan", "born": 1912}])
        """
        return np.array(self._native.add_vertices(label, table_of(data)), dtype=np.uint64)

    def add_edges(
        self,
        edge_type: str,
        data: Any,
        *,
        source: str = "source",
        target: str = "target",
        source_key: KeyOf | None = None,
        target_key: KeyOf | None = None,
    ) -> int:
        """Add many edges within this transaction, up to a million, also if there are parallel ones.

        Parameters
        ----------
        edge_type : str
            Their type.
        data, source, target, source_key, target_key
            See ``Database.add_edges``.

        Returns
        -------
        int
            Number of edges.

        Raises
        ------
        NotFoundError
            If an end does not exist; the message names the row.

        Examples
        --------
        >>> person = ("Person", "name")
        >>> with db.begin() as tx:
        ...     tx.add_edges(
        ...         "KNOWS",
        ...         [{"source": "Charles", "target": "Ada", "since": 1833}],
        ...         source_key=person,
        ...         target_key=person,
        ...     )
        1
        """
        edges = ends_of(data, source, target, source_key, target_key)
        return self._native.write_edges(edge_type, edges, False)

    def put_edges(
        self,
        edge_type: str,
        data: Any,
        *,
        source: str = "source",
        target: str = "target",
        source_key: KeyOf | None = None,
        target_key: KeyOf | None = None,
    ) -> int:
        """Do `put_edge` for many edges: each then exists once, with exactly its row's properties."""
        edges = ends_of(data, source, target, source_key, target_key)
        return self._native.write_edges(edge_type, edges, True)

    def declare_property(
        self, name: str, key: str, value_type: str, *, of: Literal["vertices", "edges"] = "vertices"
    ) -> None:
        """Declare the type of a property; otherwise it is learned from its first value.

        Parameters
        ----------
        name : str
            The label, or with ``of="edges"`` the edge type.
        key : str
            The property.
        value_type : str
            ``"bool"``, ``"byte"``, ``"short"``, ``"int"``, ``"long"``, ``"float"``, ``"double"``, ``"bigint"``,
            ``"decimal"``, ``"char"``, ``"string"``, ``"bytes"``, ``"date"``, ``"datetime"``, ``"duration"``,
            ``"uuid"``, ``"list"``, ``"set"``, ``"map"`` or ``"any"``.

        Raises
        ------
        InvalidError
            If the property has another type already.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     tx.declare_property("KNOWS", "weight", "double", of="edges")
        """
        self._native.declare_property(name, of_edges(of), key, value_type)

    def declare_meta_properties(self, label: str, key: str) -> None:
        """Declare that values of a vertex property may have properties of their own, for Gremlin.

        Examples
        --------
        >>> with db.begin() as tx:
        ...     tx.declare_meta_properties("Person", "name")
        """
        self._native.declare_meta_properties(label, key)

    def declare_simple(self, edge_type: str) -> None:
        """Declare a new edge type as simple: at most one edge from a vertex to another."""
        self._native.declare_simple(edge_type)

    def declare_newest_first(self, edge_type: str, key: str, value_type: str) -> None:
        """Declare an edge type as newest-first by a property: see ``newest_edges``.

        With the disk and mapped engines the order is kept by an index:
        ``Database.create_index(..., newest_first=True)``.
        """
        self._native.declare_newest_first(edge_type, key, value_type)

    def commit(self) -> list[tuple[EdgeId, EdgeId]]:
        """Make the writes visible to others and, depending on the database's durability, durable.

        Returns
        -------
        list of (EdgeId, EdgeId)
            Added edges whose id changed because a parallel edge was committed first: the id that ``add_edge``
            returned, and the actual id.

        Raises
        ------
        ConflictError
            If a conflicting transaction committed first: nothing was written, and it is safe to run this one
            again.
        IoError
            If the log failed: the outcome is unknown until the database is opened again.
        UnknownOutcomeError
            On a cluster, if its log did not answer in time: see ``Database.settle``.
        """
        _, renamed = self._native.commit()
        return [(EdgeId(*old), EdgeId(*new)) for old, new in renamed]

    @property
    def committed_at(self) -> int | None:
        """Its place in the order of commits, once it has committed; ``None`` before, and after a rollback.

        If it wrote nothing, that of the commit that it read. On a cluster another node waits for it, given as
        `after` to ``Database.begin``, ``transact`` or ``snapshot``.
        """
        return self._native.committed_at

    def rollback(self) -> None:
        """Discard the writes. Does nothing if it was committed or rolled back."""
        self._native.rollback()

    def __repr__(self) -> str:
        """Say whether it can be used."""
        return f"<evergraph.Transaction{state_of(self)}>"
