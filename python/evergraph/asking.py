"""Asking: queries on a snapshot or in a transaction, with explain and profile."""

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
    """Gremlin queries on what a reader sees."""

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
        """Run a Gremlin query.

        On a snapshot, results are computed while they are fetched, and end with the snapshot. In a transaction,
        the query sees the transaction's writes, may write, and runs to its end at once, so that a loop over its
        results may write too. A query that fails may have made some of its writes already: roll back then.

        Parameters
        ----------
        text : str
            The query: ``"g.V()..."``.
        bindings : mapping of str to value, optional
            More variables, of any name.
        timeout : float, optional
            Seconds from the start until the last result is fetched: 60 by default, ``math.inf`` for no limit.
        memory_limit : int, optional
            Bytes that the query may hold at once, in addition to the graph: 1 GiB by default.
        services : mapping of str to Service or callable, optional
            Functions that ``call()`` may call, by name: see ``evergraph.services``.
        strict : bool, optional
            Whether a label, an edge type or a property that the graph does not have is an ``InvalidError``; by
            default it is an ``UnknownNameWarning``, which suggests the nearest name.
        **variables
            The variables of the text and their values: any property value, ``None``, a vertex, an ``EdgeId``, and
            lists, sets and dicts of these. An unused variable is ignored.

        Returns
        -------
        Results

        Raises
        ------
        InvalidError
            If the text is not a valid query, with the position; if a query on a snapshot writes; if a variable has
            an unsupported value; or if a step cannot do what it is asked to.
        LimitError
            If the time or memory limit is reached, also while results are fetched.

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
        """The plan of a query: its steps after all rewriting, and the indexes that they would use. Nothing runs.

        Parameters
        ----------
        text, bindings, **variables
            See `query`.

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
        """Run a query to its end, and return figures for each of its steps: rows, traversers, time.

        Results are not kept; writes are.

        Parameters
        ----------
        text, bindings, timeout, memory_limit, services, **variables
            See `query`.

        Examples
        --------
        >>> print(snapshot.profile("g.V().hasLabel('Person').count()"))  # doctest: +ELLIPSIS
        step ...
        """
        settings = query_settings(timeout=timeout, memory_limit=memory_limit, services=services)
        return self._native.profile(text, variables_of(bindings, variables), settings)
