"""Databases of servers: queries, transactions and algorithms over a network."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypeVar

from evergraph import _native
from evergraph.administration import Administration
from evergraph.algorithms import Algorithms
from evergraph.handle import Block, Handle, state_of
from evergraph.query import Results, results_of, variables_of

if TYPE_CHECKING:
    from evergraph._native import RemoteDatabase as NativeRemoteDatabase
    from evergraph.files import StrPath

__all__ = ["RemoteDatabase", "RemoteTransaction", "connect"]

T = TypeVar("T")
Isolation: TypeAlias = Literal["snapshot", "serializable"]


def connect(
    url: str,
    *,
    user: str | None = None,
    password: str | None = None,
    password_file: StrPath | None = None,
    tls_root: StrPath | None = None,
    client_certificate: StrPath | None = None,
    client_key: StrPath | None = None,
    timeout: float | None = None,
    table_bytes_max: int | None = None,
) -> RemoteDatabase:
    """Connect to a database of a server: ``evergraph serve``.

    Parameters
    ----------
    url : str
        ``ws://HOST/NAME``, or with TLS ``wss://USER@HOST:PORT/NAME``. The port is 8182 by default; without NAME
        the server's ``g`` is meant. A URL has no password.
    user : str, optional
        Who logs in, if the URL does not say so.
    password : str, optional
        By default the first line of `password_file`, or the variable ``EVERGRAPH_PASSWORD``. It is sent to another
        machine only by TLS.
    password_file : path, optional
        A file that only its owner can read.
    tls_root : path, optional
        Certificates in PEM that sign the server's; by default those that the system trusts.
    client_certificate, client_key : path, optional
        The certificate that the client shows, and its key, in PEM.
    timeout : float, optional
        Seconds that connecting may take: 30 by default.
    table_bytes_max : int, optional
        Bytes that the table of an algorithm may have, so that a server cannot fill the memory: 4 GiB by default. A
        larger table is a ``LimitError``.

    Returns
    -------
    RemoteDatabase

    Raises
    ------
    InvalidError
        If the URL is none, the password is wrong, the user may not read the database, or a certificate cannot be
        used.
    NotFoundError
        If the server has no such database.
    IoError
        If there is no server, or its certificate is not trusted.
    LimitError
        If it takes too long.

    Examples
    --------
    >>> import evergraph as eg
    >>> with eg.connect("ws://localhost/social") as social:  # doctest: +SKIP
    ...     social.query("g.V().has('name', name).out('KNOWS').values('name')", name="Ada").to_list()
    ['Charles']
    """
    settings: _native._ConnectSettings = {
        "user": user,
        "password": password,
        "password_file": None if password_file is None else os.fspath(password_file),
        "tls_root": None if tls_root is None else os.fspath(tls_root),
        "client_certificate": None if client_certificate is None else os.fspath(client_certificate),
        "client_key": None if client_key is None else os.fspath(client_key),
        "timeout": timeout,
        "table_bytes_max": table_bytes_max,
    }
    return RemoteDatabase(_native.connect(url, settings))


class RemoteDatabase(Algorithms, Administration, Handle):
    """A database of a server. Any thread may use it.

    ``evergraph.connect`` returns one. As a context manager it closes at the end. Results that are being read and
    transactions have a connection each, so that none waits for another; idle connections are kept for the next.

    Values, ids of vertices and edges, and tables are those of a ``Database``. Others change the graph meanwhile:
    each query sees the newest commit, a transaction the graph of its beginning.

    Algorithms, such as ``pagerank``, have the parameters and tables of a ``Snapshot``. Each runs on the server, on
    a snapshot of its own, within the server's limits of time and memory; columns may have several chunks.
    ``progress`` is called while the server works, with the phase ``"server"`` and no fraction. They raise
    ``DatabaseClosed`` in place of ``SnapshotClosed``, ``InvalidError`` if the user may not read the database,
    ``BusyError`` if the server has too much to do, and ``IoError`` if the connection is lost.

    Examples
    --------
    >>> with eg.connect("ws://localhost/social") as social:  # doctest: +SKIP
    ...     social.pagerank(labels="Person", where=[("born", ">=", 1990)], keys="name").to_pandas()
    """

    __slots__ = ("__weakref__", "_native")
    _native: NativeRemoteDatabase

    def __init__(self, native: NativeRemoteDatabase) -> None:
        """Use ``evergraph.connect``."""
        self._native = native

    def close(self) -> None:
        """Close the connections; results and transactions that are open keep theirs.

        Does nothing if it is closed.
        """
        self._native.close()

    @property
    def url(self) -> str:
        """The server and the database, without the password."""
        return self._native.url

    @property
    def is_open(self) -> bool:
        """Whether it can still be used."""
        return self._native.is_open

    def query(
        self,
        text: str,
        /,
        *,
        bindings: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        isolation: Isolation | None = None,
        strict: bool = False,
        **variables: Any,
    ) -> Results:
        """Run a Gremlin query, in a transaction of its own.

        A query that reads is computed while its results are fetched. One that writes is committed before its first
        result comes, and run again after a conflict.

        Parameters
        ----------
        text : str
            The query: ``"g.V()..."``.
        bindings : mapping of str to value, optional
            More variables, of any name.
        timeout : float, optional
            Seconds from the start until the last result is fetched. The server has a limit of its own.
        isolation : {"snapshot", "serializable"}, optional
            Isolation level of a query that writes; by default the database's.
        strict : bool, optional
            Whether a label, an edge type or a property that the graph does not have is an ``InvalidError``; by
            default it is an ``UnknownNameWarning``.
        **variables
            The variables of the text and their values, as in ``Database.query``. An ``EdgeId`` must be of a type
            that an earlier result had.

        Returns
        -------
        Results
            A property of an edge (``g.E().properties()``) has no item: servers do not send it.

        Raises
        ------
        InvalidError
            If the text is not a valid query, with the position; or if the user may not do it.
        LimitError
            If a limit of time or memory is reached, also while results are fetched.
        ConflictError
            Only after many attempts.
        BusyError
            If the server has too much to do.
        UnknownOutcomeError
            If the connection was lost before the answer, and the query may have written. Nothing is tried again.

        Examples
        --------
        >>> social.query("g.V().has('born', lt(year)).count()", year=1800).one()  # doctest: +SKIP
        2
        """
        settings: _native._RemoteQuerySettings = {"timeout": timeout, "isolation": isolation, "strict": strict}
        return results_of(self._native.query(text, variables_of(bindings, variables), settings))

    def begin(self, *, isolation: Isolation | None = None, timeout: float | None = None) -> RemoteTransaction:
        """Begin a transaction at the newest commit.

        The server rolls it back if it is idle for a minute, or if the connection is lost.

        Parameters
        ----------
        isolation : {"snapshot", "serializable"}, optional
            Isolation level; by default the database's.
        timeout : float, optional
            Seconds that the transaction may take.

        Returns
        -------
        RemoteTransaction
            As a context manager it commits at the end, or rolls back on an exception.

        Examples
        --------
        >>> with social.begin() as tx:  # doctest: +SKIP
        ...     tx.query("g.addV('Person').property('name', 'Grace')").one()
        3
        """
        return RemoteTransaction(self._native.begin(isolation, timeout))

    def transact(
        self,
        body: Callable[[RemoteTransaction], T],
        *,
        isolation: Isolation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Run `body` in a transaction and commit it; after a conflict, run it again from the beginning.

        Parameters
        ----------
        body : callable
            Receives the transaction. It may run several times, so it must not have side effects that cannot be
            repeated.
        isolation, timeout
            See `begin`; all attempts share the timeout.

        Returns
        -------
        What `body` returned in the attempt that was committed.

        Raises
        ------
        ConflictError
            Only after many attempts.
        UnknownOutcomeError
            If the connection was lost before the answer to the commit. It is not tried again.

        Examples
        --------
        >>> social.transact(lambda tx: tx.query("g.V().has('name', 'Ada').property('born', 1815)").to_list())
        ... # doctest: +SKIP
        [0]
        """

        def attempt(native: _native.RemoteTransaction) -> T:
            try:
                outcome = body(RemoteTransaction(native))
                if native.is_open:
                    native.commit()
            finally:
                native.rollback()
            return outcome

        outcome: T = self._native.transact(attempt, isolation, timeout)
        return outcome

    def health(self, *, timeout: float = 5.0) -> tuple[str, str | None]:
        """How the server is, and why: ``"ready"``, ``"degraded"``, ``"not_ready"``, or ``"alive"``.

        A degraded server serves, but for what the reason says, as commits on a full disk. An older server that
        doesn't say whether it serves is alive.

        Raises
        ------
        IoError
            If nobody answers.
        LimitError
            If the answers take longer than `timeout` seconds.
        """
        return self._native.health(timeout)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: connections can't be."""
        raise TypeError("a RemoteDatabase can't be pickled: connect in each process")

    def __repr__(self) -> str:
        """Name the server, and say whether it is closed."""
        return f"<evergraph.RemoteDatabase {self.url}{state_of(self)}>"


class RemoteTransaction(Block):
    """A transaction on a server. It sees its own writes; others see them only after its commit.

    ``RemoteDatabase.begin`` returns one. As a context manager it commits at the end, or rolls back on an
    exception. It belongs to one thread at a time: a second thread that uses it at the same time gets
    ``BusyError``.
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.RemoteTransaction) -> None:
        """Use ``RemoteDatabase.begin``."""
        self._native = native

    @property
    def is_open(self) -> bool:
        """Whether it was neither committed nor rolled back."""
        return self._native.is_open

    def query(
        self,
        text: str,
        /,
        *,
        bindings: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        strict: bool = False,
        **variables: Any,
    ) -> Results:
        """Run a Gremlin query to its end, so that a loop over its results may write too.

        A query that fails may have made some of its writes already: the server then rolls back, and refuses
        everything else. After Ctrl-C, and if the connection is lost, the transaction is rolled back as well.

        Parameters
        ----------
        text, bindings, timeout, strict, **variables
            See ``RemoteDatabase.query``.

        Returns
        -------
        Results

        Raises
        ------
        InvalidError
            If the text is not a valid query, with the position; if the transaction was rolled back by the server.
        LimitError
            If a limit of time or memory is reached.
        IoError
            If the connection was lost: nothing was written.
        """
        settings: _native._RemoteQuerySettings = {"timeout": timeout, "isolation": None, "strict": strict}
        return results_of(self._native.query(text, variables_of(bindings, variables), settings))

    def commit(self) -> list[tuple[str, str]]:
        """Commit. When it returns, the commit is durable as the server's database is set.

        Returns
        -------
        list of pairs of str
            Edges that have another id than the transaction showed: their ids in Gremlin, before and after.

        Raises
        ------
        ConflictError
            If another transaction changed the same first: nothing was written.
        UnknownOutcomeError
            If the connection was lost before the answer: it may have been written.
        """
        return self._native.commit()

    def rollback(self) -> None:
        """Roll back. Does nothing if the transaction has ended."""
        self._native.rollback()

    def _end(self, well: bool) -> None:
        """Commit, or roll back if there was an exception. Does nothing if either was done already."""
        if not self._native.is_open:
            return
        if well:
            self._native.commit()
        else:
            self._native.rollback()

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a connection can't be."""
        raise TypeError("a RemoteTransaction can't be pickled")

    def __repr__(self) -> str:
        """Say whether it has ended."""
        return f"<evergraph.RemoteTransaction{state_of(self)}>"
