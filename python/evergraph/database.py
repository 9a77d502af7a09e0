"""Database: a path to open, transactions, snapshots, and what keeps it in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from evergraph import _native
from evergraph._html import paragraph
from evergraph.errors import InvalidError
from evergraph.files import Files
from evergraph.handle import Handle, state_of
from evergraph.loading import Loading
from evergraph.progress import Progress, shown
from evergraph.query import Results, query_settings, results_of, variables_of
from evergraph.reader import of_edges
from evergraph.snapshot import Snapshot
from evergraph.transaction import Transaction

if TYPE_CHECKING:
    from evergraph.files import StrPath
    from evergraph.services import Services

__all__ = ["Database", "check_files", "open", "salvage"]

T = TypeVar("T")
Durability: TypeAlias = Literal["sync", "interval", "none"]
Isolation: TypeAlias = Literal["snapshot", "serializable"]


def open(  # noqa: A001 - as the standard library's modules do
    path: StrPath | None = None,
    *,
    engine: Literal["memory"] = "memory",
    durability: Durability | None = None,
    sync_interval: float | None = None,
    read_only: bool = False,
    create: bool = True,
    isolation: Isolation | None = None,
    transaction_timeout: float | None = None,
    transaction_bytes_max: int | None = None,
    stall_max: float | None = None,
    memory_limit: int | None = None,
    checkpoint_after_bytes: int | None = None,
    log_file_bytes: int | None = None,
    progress: Progress = None,
) -> Database:
    """Open the database at a path, or a new one in memory.

    A path that this process has open gives the same database again, if no setting is asked for that it wasn't
    opened with; it closes with its last handle. One process opens a database at a time.

    Parameters
    ----------
    path : path, optional
        A directory, made if there is none. Without it the database lives in memory and is gone with its last
        handle.
    engine : {"memory"}
        The graph is in memory, its log and checkpoints on disk. There is no other engine yet.
    durability : {"sync", "interval", "none"}, optional
        When a commit returns: when it is on disk (the default), or when others see it, with a sync every
        `sync_interval` seconds (0.1) or none.
    read_only : bool
        Not there yet: refused.
    create : bool
        Whether to make the database if there is none.
    isolation : {"snapshot", "serializable"}, optional
        That of transactions which don't ask for another.
    transaction_timeout : float, optional
        Seconds that a transaction may take which doesn't ask for another time; no limit by default.
    transaction_bytes_max : int, optional
        Bytes that the writes of a transaction may take in memory: a gibibyte by default.
    stall_max : float, optional
        Seconds that a commit may wait for merges that fell behind: 10 by default.
    memory_limit : int, optional
        Bytes that algorithms and queries may take together.
    checkpoint_after_bytes : int, optional
        Bytes of commits in the log after which a checkpoint is made: 32 MiB by default.
    log_file_bytes : int, optional
        The size that log files grow to: 64 MiB by default.
    progress
        See ``evergraph.progress``.

    Returns
    -------
    Database

    Raises
    ------
    BusyError
        If another process has it open; the text names it.
    InvalidError
        For a directory of something else, a newer format, or what isn't there yet.
    CorruptionError
        If a file is damaged; the text names file and offset.
    NotFoundError
        If there is none and `create` is off.

    Examples
    --------
    >>> import evergraph as eg
    >>> with eg.open() as db:
    ...     db.stats()["vertices"]
    {}
    """
    if engine != "memory":
        raise InvalidError(f'engine={engine!r}: there is only "memory" so far')
    if read_only:
        raise InvalidError(
            "read_only=True: a database is opened to write, by one process at a time; take a backup and open that"
        )
    if path is None and not (durability in (None, "none") and sync_interval is None):
        raise InvalidError("a database in memory has no durability: give a path, or leave it out")
    settings: _native._OpenSettings = {
        "create": create,
        "durability": durability,
        "sync_interval": sync_interval,
        "isolation": isolation,
        "transaction_timeout": transaction_timeout,
        "transaction_bytes_max": transaction_bytes_max,
        "stall_max": stall_max,
        "memory_limit": memory_limit,
        "checkpoint_after_bytes": checkpoint_after_bytes,
        "log_file_bytes": log_file_bytes,
    }
    with shown(progress) as told:
        return Database(_native.open(None if path is None else os.fspath(path), settings, told))


def check_files(path: StrPath, *, progress: Progress = None) -> dict[str, Any]:
    """Check a database that nobody has open: its files, then the graph in them.

    Returns
    -------
    dict
        ``findings``, a list of str, is empty if all is well; ``findings_count`` and what was looked at.
    """
    with shown(progress) as told:
        return _native.check_files(os.fspath(path), told)


def salvage(path: StrPath, target: StrPath, *, progress: Progress = None) -> dict[str, Any]:
    """Write what verifies of a damaged database that nobody has open into a new one.

    Numbers of vertices, names and indexes stay what they were. Not a byte at `path` is changed.

    Parameters
    ----------
    path : path
        The damaged database.
    target : path
        The folder of the new one, which is new or empty.
    progress
        See ``evergraph.progress``.

    Returns
    -------
    dict
        ``complete``, whether nothing is missing; ``losses``, what is damaged and what came of it, a list of str;
        ``vertices``, ``edges`` and ``bytes_written`` of the new database; ``through``, the last commit that is in
        it, and ``commits_left``, how many verify behind one that is missing, and were not taken.

    Raises
    ------
    CorruptionError
        If nothing can be named.
    InvalidError
        If `target` is taken.
    """
    with shown(progress) as told:
        return _native.salvage(os.fspath(path), os.fspath(target), told)


class Database(Loading, Files, Handle):
    """A handle of an open graph database. Any thread may use it.

    ``evergraph.open`` gives one. As a context manager it closes at the end.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> db.create_index("Person", "name", unique=True)
    True
    >>> with db.begin() as tx:
    ...     ada = tx.add_vertex("Person", name="Ada", born=1815)
    ...     charles = tx.add_vertex("Person", name="Charles")
    ...     edge = tx.add_edge(ada, "KNOWS", charles, since=1833)
    >>> snapshot = db.snapshot()
    >>> snapshot.find("Person", name="Ada") == ada
    True
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.Database) -> None:
        """Use ``evergraph.open``."""
        self._native = native

    def close(self) -> None:
        """Let go of this handle; with the last one, of snapshots and transactions too, the database closes.

        Does nothing if it is closed.

        Raises
        ------
        IoError
            What the log says when it is synced for the last time.
        """
        self._native.close()

    @property
    def path(self) -> Path | None:
        """Where it is; ``None`` in memory."""
        path = self._native.path
        return None if path is None else Path(path)

    @property
    def durability(self) -> str:
        """When a commit returns: "sync", "interval" or "none"."""
        return self._native.durability

    @property
    def is_open(self) -> bool:
        """Whether this handle can still be used."""
        return self._native.is_open

    def begin(self, *, isolation: Isolation | None = None, timeout: float | None = None) -> Transaction:
        """Begin a transaction at the newest commit.

        Parameters
        ----------
        isolation : {"snapshot", "serializable"}, optional
            Isolation level; that of the database by default. See the guide, "Guarantees and limits".
        timeout : float, optional
            Seconds that it may take.

        Returns
        -------
        Transaction
            As a context manager it commits at the end, or rolls back on an exception.

        Examples
        --------
        >>> with db.begin(isolation="serializable") as tx:
        ...     tx.set(ada, born=1815)
        """
        return Transaction(self._native.begin(isolation, timeout))

    def transact(
        self,
        body: Callable[[Transaction], T],
        *,
        isolation: Isolation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Run `body` in a transaction and commit it; from the beginning when another was first.

        Parameters
        ----------
        body : callable
            Is given the transaction. It must not do anything that it can't do twice.
        isolation, timeout
            As of `begin`; attempts share the time.

        Returns
        -------
        What `body` returned in the attempt that was committed.

        Raises
        ------
        ConflictError
            Only after many attempts.

        Examples
        --------
        >>> db.transact(lambda tx: tx.get(ada, "name"))
        'Ada'
        """

        def attempt(native: _native.Transaction) -> T:
            try:
                outcome = body(Transaction(native))
                if native.is_open:
                    native.commit()
            finally:
                native.rollback()
            return outcome

        outcome: T = self._native.transact(attempt, isolation, timeout)
        return outcome

    def snapshot(self) -> Snapshot:
        """Take a snapshot of the newest commit that is readable. Cost: none to speak of.

        With durability "sync" that is the newest that a power cut would leave.

        Examples
        --------
        >>> with db.snapshot() as now:
        ...     now.labels()
        {'Person': 3}
        """
        return Snapshot(self._native.snapshot())

    def query(
        self,
        text: str,
        /,
        *,
        bindings: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        services: Services | None = None,
        files: bool = False,
        isolation: Isolation | None = None,
        strict: bool = False,
        **variables: Any,
    ) -> Results:
        """Run a query in Gremlin.

        One that only reads takes a snapshot, which its results hold until all are fetched, or they are closed or
        collected. One that writes is run to its end in a transaction of its own and committed before this
        returns; from the beginning when another was first.

        Parameters
        ----------
        text, bindings, services, strict, **variables
            As of ``Snapshot.query``.
        timeout, memory_limit
            The same; attempts and the commit are within the time.
        files : bool
            Whether it may read and write files: ``g.io('people.json').read()`` imports, ``.write()`` exports. A
            text from outside should not name files of this machine.
        isolation : {"snapshot", "serializable"}, optional
            That of its transaction, if it writes.

        Returns
        -------
        Results

        Raises
        ------
        InvalidError, LimitError
            As of ``Snapshot.query``.
        ConflictError
            Only after many attempts.

        Examples
        --------
        >>> db.query("g.V().has('Person', 'born', gt(year)).values('name')", year=1800).to_list()
        ['Ada']
        >>> grace = db.query("g.addV('Person').property('name', name)", name="Grace").one()
        >>> db.snapshot().get(grace, "name")
        'Grace'
        >>> db.query("g.V().otu('KNOWS')")
        Traceback (most recent call last):
            ...
        evergraph.errors.InvalidError: line 1, column 7: no step is called `otu`; did you mean `out`?
          g.V().otu('KNOWS')
                ^^^
        """
        settings = query_settings(
            timeout=timeout,
            memory_limit=memory_limit,
            services=services,
            files=files,
            isolation=isolation,
            strict=strict,
        )
        return results_of(self._native.query(text, variables_of(bindings, variables), settings))

    def explain(self, text: str, /, *, bindings: Mapping[str, Any] | None = None, **variables: Any) -> str:
        """What a query would do: its steps after all rewriting, and the indexes that they would ask. Nothing runs.

        Parameters
        ----------
        text, bindings, **variables
            As of `query`.

        Examples
        --------
        >>> "Person.name" in db.explain("g.V().has('Person', 'name', 'Ada').out('KNOWS')")  # the index
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
        isolation: Isolation | None = None,
        **variables: Any,
    ) -> str:
        """Run a query to its end, and tell what each of its steps did. One that writes is committed.

        Parameters
        ----------
        text, bindings, timeout, memory_limit, services, isolation, **variables
            As of `query`.

        Examples
        --------
        >>> print(db.profile("g.V().hasLabel('Person').count()"))  # doctest: +ELLIPSIS
        step ...
        """
        settings = query_settings(
            timeout=timeout, memory_limit=memory_limit, services=services, isolation=isolation
        )
        return self._native.profile(text, variables_of(bindings, variables), settings)

    def create_index(
        self,
        name: str,
        key: str,
        *,
        unique: bool = False,
        ordered: bool = False,
        of: Literal["vertices", "edges"] = "vertices",
        progress: Progress = None,
    ) -> bool:
        """Build an index while others read and write.

        Parameters
        ----------
        name : str
            The label, or with ``of="edges"`` the edge type.
        key : str
            The property.
        unique : bool
            At most one vertex or edge may have each value.
        ordered : bool
            For ranges, too.

        Returns
        -------
        bool
            Whether it wasn't there yet.

        Raises
        ------
        InvalidError
            If a value is there twice in an index to be unique; the text names five with their holders.

        Examples
        --------
        >>> db.create_index("KNOWS", "since", ordered=True, of="edges")
        True
        """
        with shown(progress) as told:
            return self._native.create_index(name, of_edges(of), key, ordered, unique, told)

    def delete_vertex_in_parts(self, vertex: int, *, progress: Progress = None) -> int:
        """Delete a vertex with all its edges in as many transactions as it takes.

        For a vertex that has more than a million edges, which are too many for one transaction. Others
        see it with what is left of its edges meanwhile, and may add some, which go as well. If it is stopped
        half-way the vertex is there, with the edges that were not reached; deleting it again goes on.

        Returns
        -------
        int
            How many edges went with it.

        Raises
        ------
        NotFoundError
            If it isn't there.

        Examples
        --------
        >>> db.delete_vertex_in_parts(ada)
        2
        """
        with shown(progress) as told:
            return self._native.delete_vertex_in_parts(int(vertex), told)

    def drop_index(
        self,
        name: str,
        key: str,
        *,
        ordered: bool | None = None,
        of: Literal["vertices", "edges"] = "vertices",
    ) -> None:
        """Drop an index; `ordered` says which, where there are both kinds.

        Raises
        ------
        NotFoundError
            If there is no such index.
        """
        self._native.drop_index(name, of_edges(of), key, ordered)

    def indexes(self) -> list[dict[str, Any]]:
        """All indexes: what they are on, of which kind, how big.

        Examples
        --------
        >>> [(index["name"], index["key"], index["unique"]) for index in db.indexes()]
        [('Person', 'name', True), ('Person', 'born', False)]
        """
        return self._native.indexes()

    def stats(self) -> dict[str, Any]:
        """Counts and sizes: vertices by label, edges by type, commits, conflicts, bytes of memory and log.

        Examples
        --------
        >>> db.stats()["edges"]
        {'KNOWS': 3}
        """
        return self._native.stats()

    def check(self, *, progress: Progress = None) -> dict[str, Any]:
        """Check the graph of a snapshot taken now, while others go on.

        Lists sorted, both sides of every edge, its ends alive, indexes against a scan.

        Returns
        -------
        dict
            ``findings``, a list of str, is empty if all is well; ``findings_count`` and what was looked at.

        Examples
        --------
        >>> db.check()["findings"]
        []
        """
        with shown(progress) as told:
            return self._native.check(told)

    def backup(self, path: StrPath, *, progress: Progress = None) -> dict[str, Any]:
        """Copy everything committed so far into a new directory, while others read and write.

        The copy is a database: opening it restores it.

        Returns
        -------
        dict
            ``vertices``, ``edges``, ``bytes_written``.

        Raises
        ------
        InvalidError
            If `path` is taken.
        """
        with shown(progress) as told:
            return self._native.backup(os.fspath(path), told)

    def checkpoint(self) -> int:
        """Write what changed into files, so that opening needs no long log; others go on.

        Returns
        -------
        int
            Bytes that were written.
        """
        return self._native.checkpoint()

    def __repr__(self) -> str:
        """Say where it is."""
        state = state_of(self)
        if state:
            return f"<evergraph.Database{state}>"
        return f"<evergraph.Database {'in memory' if self.path is None else f'at {self.path}'}>"

    def _repr_html_(self) -> str:
        """Show how many vertices and edges there are. Cost: a look at each segment."""
        if state_of(self):
            return paragraph(repr(self))
        with self.snapshot() as now:
            return paragraph(repr(self)) + now._counts_html()
