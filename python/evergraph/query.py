"""Queries: Gremlin as text, with variables, on a database, in a transaction, or on a snapshot."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from evergraph._html import ROWS_MAX, paragraph, results_table
from evergraph._tables import to_pandas, to_polars
from evergraph.errors import EvergraphError, InvalidError, NotFoundError, UnknownNameWarning
from evergraph.handle import Handle, state_of
from evergraph.services import described

if TYPE_CHECKING:
    from evergraph import _native
    from evergraph.services import Services

__all__ = ["Results", "query_settings", "results_of", "variables_of"]

FIRST_ROWS = 64
ROWS = 1024


class Results(Handle):
    """The results of a query, in its order; they can be fetched once.

    ``query`` of a ``Database``, a ``Transaction`` or a ``Snapshot`` returns them. They are an iterator. Results
    that are read from a snapshot are computed while they are fetched, some at a time.

    ========================  ==============================================================================
    result                    Python
    ========================  ==============================================================================
    null                      ``None``
    value                     as for properties: see ``evergraph.values``
    vertex, edge              its id, an ``int``; an ``EdgeId``: all methods accept both
    property                  ``Property``, with item, key and value
    list, path                ``list``
    set                       ``set``; a list in it is a ``tuple``, a set a ``frozenset``
    map, tree                 ``dict``; a key is made hashable in the same way
    entry of a map            ``tuple`` of key and value
    ``subgraph('x')``         ``Subgraph``, with vertices and edges
    ``T.id``, ``T.label``     ``"id"``, ``"label"``; ``"T.id"`` where the same map has a key ``"id"``
    ========================  ==============================================================================

    In Python ``1``, ``1.0`` and ``True`` are the same key, but in Gremlin they are three: a map with two of them
    is an error, so that no entry is lost; ``unfold()`` returns all entries.

    Examples
    --------
    >>> for name in snapshot.query("g.V().hasLabel('Person').values('name')"):
    ...     print(name)
    Ada
    Charles
    Mary
    """

    __slots__ = ("__weakref__", "_begun", "_fetched", "_native")

    def __init__(self, native: _native.Results) -> None:
        """Use ``query``."""
        self._native = native
        self._begun = False
        # Those that were fetched and not given yet.
        self._fetched: Iterator[Any] = iter(())

    def _fetch(self) -> bool:
        """Fetch a few results, then a batch at a time; whether there were any."""
        rows = self._native.fetch(ROWS if self._begun else FIRST_ROWS)
        self._begun = True
        self._fetched = iter(rows or ())
        return rows is not None

    def _next(self, most: int) -> list[Any]:
        # No more is made than is asked for.
        rows = list(islice(self._fetched, most))
        self._begun = True
        return rows + (self._native.fetch(most - len(rows)) or []) if len(rows) < most else rows

    def __iter__(self) -> Iterator[Any]:
        """Continue with the next result."""
        while True:
            yield from self._fetched
            if not self._fetch():
                return

    def __next__(self) -> Any:
        """Fetch the next result."""
        return next(iter(self))

    @property
    def is_open(self) -> bool:
        """Whether they are not closed."""
        return self._native.is_open

    def close(self) -> None:
        """Discard the rest, and release the snapshot that it is read from. Does nothing if they are closed."""
        self._native.close()
        self._fetched = iter(())

    def to_list(self) -> list[Any]:
        """All results that have not been fetched yet.

        Examples
        --------
        >>> snapshot.query("g.V().order().by('born').values('born')").to_list()
        [1780, 1791, 1815]
        """
        return list(self)

    def one(self) -> Any:
        """The only result. Closes the results.

        Raises
        ------
        NotFoundError
            If there is none.
        InvalidError
            If there are more.

        Examples
        --------
        >>> snapshot.query("g.V().count()").one()
        3
        """
        with self:
            rows = self._next(2)
        if not rows:
            raise NotFoundError("one result was requested, but there is none")
        if len(rows) > 1:
            raise InvalidError(
                "one result was requested, but there are more: end the query with limit(1), or use first()"
            )
        return rows[0]

    def first(self, default: Any = None) -> Any:
        """The next result, or `default` if there is none. Closes the results: the rest is not computed.

        Examples
        --------
        >>> snapshot.query("g.V().has('name', 'Ada').out('KNOWS')").first() == charles
        True
        """
        with self:
            rows = self._next(1)
        return rows[0] if rows else default

    def to_arrow(self) -> Any:
        """All results as a table.

        Returns
        -------
        pyarrow.Table
            Maps whose keys are strings have a column for each key, null where a map lacks it. Other results are in
            one column, ``result``: values as in ``Snapshot.vertices``, vertices as uint64, edges as a struct of
            source, target, type and discriminator, paths and lists as lists. In a list an edge is its Gremlin id,
            a string.

        Raises
        ------
        InvalidError
            If some were fetched already, or a table cannot hold them: trees, entries of maps, nulls in lists.

        Examples
        --------
        >>> text = "g.V().order().by('name').project('name', 'knows').by('name').by(out().count())"
        >>> snapshot.query(text).to_arrow().to_pydict()
        {'name': ['Ada', 'Charles', 'Mary'], 'knows': [1, 1, 1]}
        """
        if self._begun:
            raise InvalidError(
                "some of these results were fetched already: run the query again for a table of all"
            )
        self._begun = True
        return self._native.to_arrow()

    def to_pandas(self) -> Any:
        """All results as a data frame.

        Returns
        -------
        pandas.DataFrame
            See `to_arrow`. Integer and boolean columns with missing values have pandas' nullable types (``Int64``,
            ``boolean``), because floats would round them.

        Raises
        ------
        InvalidError
            See `to_arrow`.

        Examples
        --------
        >>> text = "g.V().order().by('name').project('name', 'born').by('name').by('born')"
        >>> frame = snapshot.query(text).to_pandas()
        >>> frame["born"].tolist()
        [1815, 1791, 1780]
        """
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """All results as a data frame, without a copy.

        Returns
        -------
        polars.DataFrame
            See `to_arrow`.

        Raises
        ------
        InvalidError
            See `to_arrow`. Also for durations with months or days, for which Polars has no type.

        Examples
        --------
        >>> text = "g.V().order().by('name').project('name', 'born').by('name').by('born')"
        >>> snapshot.query(text).to_polars()["born"].to_list()
        [1815, 1791, 1780]
        """
        return to_polars(self.to_arrow())

    def __repr__(self) -> str:
        """Say whether there may be more."""
        return f"<evergraph.Results{state_of(self)}>"

    def _repr_html_(self) -> str:
        """Show results that are already computed; nothing is run or fetched for it."""
        rows = self._at_hand()
        if rows is None:
            text = f"{self!r}: to_list(), to_pandas(), to_polars(), to_arrow() or a loop fetches them"
            return paragraph(text if state_of(self) == "" else repr(self))
        return results_table(rows) + paragraph("The next results; to_list() or a loop fetches them.")

    def _at_hand(self) -> list[Any] | None:
        """The next few results, without consuming them; ``None`` if the query would have to run for them."""
        rows = list(self._fetched)
        self._fetched = iter(rows)
        if rows:
            return rows[: ROWS_MAX + 1]
        try:
            return self._native.peek(ROWS_MAX + 1)
        except EvergraphError:
            return None


def query_settings(
    *,
    timeout: float | None = None,
    memory_limit: int | None = None,
    services: Services | None = None,
    files: bool = False,
    isolation: str | None = None,
    making: tuple[Any, bool] | None = None,
    strict: bool = False,
) -> _native._QuerySettings:
    """Give the options of a query in the form that the native module expects."""
    return {
        "timeout": timeout,
        "memory_limit": memory_limit,
        "services": described(services),
        "files": files,
        "isolation": isolation,
        "making": making,
        "strict": strict,
    }


def variables_of(bindings: Mapping[str, Any] | None, variables: dict[str, Any]) -> dict[str, Any]:
    """Merge both kinds of variables."""
    if bindings is None:
        return variables
    twice = sorted(bindings.keys() & variables)
    if twice:
        raise InvalidError(f"variable `{twice[0]}` is given twice: by its name, and in bindings")
    return {**bindings, **variables}


def results_of(native: _native.Results) -> Results:
    """Show the notes on a query as warnings at its caller, two calls above, and return its results."""
    for note in native.notes():
        warnings.warn(note, UnknownNameWarning, stacklevel=3)
    return Results(native)
