"""Asking: queries on a snapshot or in a transaction, and what they would do and did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evergraph.query import Results, query_settings, results_of, variables_of
from evergraph.reader import Reader

if TYPE_CHECKING:
    from evergraph._native import Snapshot as NativeSnapshot
    from evergraph._native import Transaction as NativeTransaction
    from evergraph.services import Services

__all__ = ["Asking"]


class Asking(Reader):
    """Queries in Gremlin on what a reader sees."""

    __slots__ = ()
    _native: NativeSnapshot | NativeTransaction

    def query(
        self,
        text: str,
        /,
        *,
        bindings: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        services: Services | None = None,
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
        services : mapping of str to Service or callable, optional
            What ``call()`` may call, by name: see ``evergraph.services``.
        strict : bool, optional
            Whether a label, an edge type or a property that the graph doesn't have is an ``InvalidError``; by
            default it is an ``UnknownNameWarning``, with the name that was probably meant.
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
        settings = query_settings(timeout=timeout, memory_limit=memory_limit, services=services, strict=strict)
        return results_of(self._native.query(text, variables_of(bindings, variables), settings))

    def explain(self, text: str, /, *, bindings: Mapping[str, Any] | None = None, **variables: Any) -> str:
        """What a query would do: its steps after all rewriting, and the indexes that they would ask. Nothing runs.

        Parameters
        ----------
        text, bindings, **variables
            As of `query`.

        Examples
        --------
        >>> steps = snapshot.explain("g.V().has('Person', 'name', name).out('KNOWS')", name="Ada")
        >>> "Person.name" in steps  # the index
        True
        """
        return self._native.explain(text, variables_of(bindings, variables), query_settings())

    def profile(
        self,
        text: str,
        /,
        *,
        bindings: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        services: Services | None = None,
        **variables: Any,
    ) -> str:
        """Run a query to its end, and tell what each of its steps did: rows, traversers, time.

        Its results are not kept; one that writes has written.

        Parameters
        ----------
        text, bindings, timeout, memory_limit, services, **variables
            As of `query`.

        Examples
        --------
        >>> print(snapshot.profile("g.V().hasLabel('Person').count()"))  # doctest: +ELLIPSIS
        step ...
        """
        settings = query_settings(timeout=timeout, memory_limit=memory_limit, services=services)
        return self._native.profile(text, variables_of(bindings, variables), settings)
