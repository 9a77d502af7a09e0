"""Database: opening, transactions, snapshots, and queries."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from evergraph import _native
from evergraph._html import paragraph
from evergraph.errors import InvalidError, UnknownOutcomeError
from evergraph.files import Files
from evergraph.handle import Handle, state_of
from evergraph.indexes import Indexes
from evergraph.loading import Loading
from evergraph.maintenance import Engine, Maintenance
from evergraph.progress import Progress, shown
from evergraph.query import Results, query_settings, results_of, variables_of
from evergraph.snapshot import Snapshot
from evergraph.transaction import Transaction

if TYPE_CHECKING:
    from evergraph.files import StrPath
    from evergraph.services import Services

__all__ = ["Database", "open"]

T = TypeVar("T")
Durability: TypeAlias = Literal["sync", "interval", "none"]
Isolation: TypeAlias = Literal["snapshot", "serializable"]
PersistentMemory: TypeAlias = Literal["as-created", "required", "emulated"]


def open(  # noqa: A001 - as the standard library's modules do
    path: StrPath | None = None,
    *,
    engine: Engine | None = None,
    persistent_memory: PersistentMemory | None = None,
    durability: Durability | None = None,
    sync_interval: float | None = None,
    read_only: bool = False,
    create: bool = True,
    isolation: Isolation | None = None,
    transaction_timeout: float | None = None,
    transaction_bytes_max: int | None = None,
    stall_max: float | None = None,
    memory_limit: int | None = None,
    io_threads: int | None = None,
    compaction_threads: int | None = None,
    checkpoint_after_bytes: int | None = None,
    log_file_bytes: int | None = None,
    live_bytes_max: int | None = None,
    progress: Progress = None,
) -> Database:
    """Open the database at a path, or a new one in memory.

    Opening a path that this process has open already returns the same database, provided that every given
    setting is the one it was opened with; it closes with its last handle. One process at a time opens a database
    to write. Others may read one of the mapped engine meanwhile, with `read_only`.

    Parameters
    ----------
    path : path, optional
        A directory, created if it does not exist. Without a path the database is in memory, and is gone when its
        last handle closes. ``"cluster:FOLDER"`` opens the graph of a cluster, by the node that has the folder,
        which runs in this process until the last handle closes: see the guide, "Cluster".
    engine : {"memory", "disk", "mapped"}, optional
        Where the graph of a new database is kept: in memory, with its log and checkpoints on disk (the
        default); on disk within a memory limit, for a graph larger than memory; or in mapped files, for one that
        fits in memory and opens without being read. An existing database knows its engine; naming another one is
        an error, and ``Database.convert`` changes it. See the guide, "Choose an engine".
    persistent_memory : {"as-created", "required", "emulated"}, optional
        Whether a database of the mapped engine lies in persistent memory, where its files are written by stores:
        if it was created so (the default); it must, on a file system that is mounted with ``dax``; or as if it
        did, on any file system, for tests: a power cut then loses commits.
    durability : {"sync", "interval", "none"}, optional
        When a commit returns: when it is on disk (the default), or when it is visible to others, with a sync every
        `sync_interval` seconds (0.1) or none.
    read_only : bool
        Open the database to read only, while another process has it open to write or none has. It must exist and
        have the mapped engine. Each snapshot and query sees what the other process has committed by then. All
        that writes raises ``InvalidError``, which names that process. See the guide, "Read from several
        processes".
    create : bool
        Whether to create the database if it does not exist. With `read_only` none is created.
    isolation : {"snapshot", "serializable"}, optional
        Default isolation level, for transactions that do not choose one.
    transaction_timeout : float, optional
        Default timeout in seconds, for transactions that do not set one; no limit by default.
    transaction_bytes_max : int, optional
        Bytes that the writes of a transaction may take in memory: 1 GiB by default.
    stall_max : float, optional
        Seconds that a commit may wait for merges that are behind: 10 by default.
    memory_limit : int, optional
        Bytes of memory. With the disk engine it limits everything that the database takes: half of the machine's
        memory by default, at least 64 MiB. With the others it limits what algorithms and queries, and with the
        mapped engine builds of indexes, take together in addition to the graph; no limit by default.
    io_threads : int, optional
        Threads that read pages of a database of the disk engine: 8 by default.
    compaction_threads : int, optional
        Threads that merge files of a database of the disk engine, 1 to 16: 1 by default.
    checkpoint_after_bytes : int, optional
        Bytes of commits in the log after which a checkpoint is made: 32 MiB by default.
    log_file_bytes : int, optional
        The size that log files grow to: 64 MiB by default.
    live_bytes_max : int, optional
        Bytes that changes may take in memory before a merge takes them in, with the old versions that open
        snapshots of any process need, in the mapped engine: 4 GiB by default, from 16 MiB to 256 GiB. A commit
        beyond it raises ``LimitError``.
    progress
        See ``evergraph.progress``.

    Returns
    -------
    Database

    Raises
    ------
    BusyError
        If another process has it open to write; the message names it. With `read_only`, if that process lets no
        readers in, for example because it checks or converts the database.
    InvalidError
        If the directory holds something else or a newer format, the database has another engine than `engine`,
        `memory_limit` is too low for the disk engine, or `live_bytes_max` or a number of threads is out of its
        range. With `read_only`, if the database does not have the mapped engine, or for a setting about
        writing.
    LimitError
        If what the disk engine keeps in memory of its files exceeds `memory_limit`; with `read_only`, if too many
        processes read.
    CorruptionError
        If a file is damaged; the message names file and offset.
    IoError
        If the system refuses a read or a write of the database's files. With `read_only`, if this process may not
        write the files ``live`` and ``reader-...`` in the directory. For a database in persistent memory, if the
        file system does not accept ``MAP_SYNC``.
    NotFoundError
        If the database does not exist and `create` is false, or with `read_only`.

    Examples
    --------
    >>> import evergraph as eg
    >>> with eg.open() as db:
    ...     db.stats()["vertices"]
    {}
    """
    if path is None and engine in ("disk", "mapped"):
        raise InvalidError(f'engine="{engine}": a database in files needs a path')
    if path is None and persistent_memory in ("required", "emulated"):
        raise InvalidError(f'persistent_memory="{persistent_memory}": a database in files needs a path')
    if read_only:
        writing = {
            "durability": durability,
            "sync_interval": sync_interval,
            "transaction_bytes_max": transaction_bytes_max,
            "stall_max": stall_max,
            "compaction_threads": compaction_threads,
            "checkpoint_after_bytes": checkpoint_after_bytes,
            "log_file_bytes": log_file_bytes,
            "live_bytes_max": live_bytes_max,
        }
        _check_read_only(path, engine, [name for name, setting in writing.items() if setting is not None])
    if path is not None and os.fspath(path).startswith("cluster:"):
        of_files = {
            "engine": engine,
            "persistent_memory": persistent_memory,
            "durability": durability,
            "sync_interval": sync_interval,
            "read_only": read_only or None,
            "stall_max": stall_max,
            "io_threads": io_threads,
            "compaction_threads": compaction_threads,
            "checkpoint_after_bytes": checkpoint_after_bytes,
            "log_file_bytes": log_file_bytes,
            "live_bytes_max": live_bytes_max,
        }
        _check_cluster([name for name, setting in of_files.items() if setting is not None])
    if path is None and not (durability in (None, "none") and sync_interval is None):
        raise InvalidError("a database in memory has no durability: give a path, or leave it out")
    settings: _native._OpenSettings = {
        "create": create,
        "read_only": read_only,
        "engine": engine,
        "persistent_memory": persistent_memory,
        "durability": durability,
        "sync_interval": sync_interval,
        "isolation": isolation,
        "transaction_timeout": transaction_timeout,
        "transaction_bytes_max": transaction_bytes_max,
        "stall_max": stall_max,
        "memory_limit": memory_limit,
        "io_threads": io_threads,
        "compaction_threads": compaction_threads,
        "checkpoint_after_bytes": checkpoint_after_bytes,
        "log_file_bytes": log_file_bytes,
        "live_bytes_max": live_bytes_max,
    }
    with shown(progress) as told:
        return Database(_native.open(None if path is None else os.fspath(path), settings, told))


def _check_read_only(path: StrPath | None, engine: Engine | None, writing: list[str]) -> None:
    """Refuse what makes no sense for a database that is only read; `writing` names settings about writing."""
    if path is None:
        raise InvalidError("read_only=True: no other process writes a database in memory; give a path")
    if engine in ("memory", "disk"):
        raise InvalidError(
            f'read_only=True, engine="{engine}": only a database of the mapped engine is read beside its writer'
        )
    if writing:
        raise InvalidError(f"{writing[0]} is about writing: leave it out, or read_only=True")


def _check_cluster(of_files: list[str]) -> None:
    """Refuse settings about the files of a database for the graph of a cluster."""
    if of_files:
        raise InvalidError(f"{of_files[0]} is about the files of one database, and not of a cluster: leave it out")


class Database(Loading, Files, Indexes, Maintenance, Handle):
    """A handle of an open graph database. Any thread may use it.

    ``evergraph.open`` returns one. As a context manager it closes at the end.

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
        """Close this handle. The database closes with its last handle, snapshot and transaction.

        Does nothing if the handle is closed.

        Raises
        ------
        IoError
            If the last sync of the log fails.
        """
        self._native.close()

    @property
    def path(self) -> Path | None:
        """The database's directory; ``None`` in memory."""
        path = self._native.path
        return None if path is None else Path(path)

    @property
    def engine(self) -> Engine | Literal["cluster"]:
        """Where the graph is kept: "memory", "disk" or "mapped"; "cluster" on the nodes of a cluster."""
        return self._native.engine

    @property
    def read_only(self) -> bool:
        """Whether it was opened to read only."""
        return self._native.read_only

    @property
    def writer_process(self) -> int | None:
        """The process that has the database open to write: this one, unless it is `read_only`.

        ``None`` if none is known to. A database that is read goes on to show the last commit then, and shows new
        ones when another process has opened it to write.
        """
        return self._native.writer_process

    @property
    def durability(self) -> str:
        """When a commit returns: "sync", "interval" or "none"; "none" as well where nothing is written."""
        return self._native.durability

    @property
    def is_open(self) -> bool:
        """Whether this handle can still be used."""
        return self._native.is_open

    def begin(
        self,
        *,
        isolation: Isolation | None = None,
        timeout: float | None = None,
        fresh: bool = False,
        after: int | None = None,
    ) -> Transaction:
        """Begin a transaction at the newest commit.

        Parameters
        ----------
        isolation : {"snapshot", "serializable"}, optional
            Isolation level; by default the database's. See the guide, "Guarantees and limits".
        timeout : float, optional
            Seconds that the transaction may take.
        fresh : bool
            On a cluster: wait until this node has every commit that was acknowledged to anybody before. By default
            a transaction sees what its node has, which may be a moment behind.
            Elsewhere it always sees everything.
        after : int, optional
            On a cluster: wait until this node has this commit, ``Transaction.committed_at`` or
            ``Snapshot.timestamp`` on any node.

        Returns
        -------
        Transaction
            As a context manager it commits at the end, or rolls back on an exception.

        Raises
        ------
        BusyError
            On a cluster, if its node does not have as much in time.
        InvalidError
            For `fresh` and `after` at once.

        Examples
        --------
        >>> with db.begin(isolation="serializable") as tx:
        ...     tx.set(ada, born=1815)
        """
        return Transaction(self._native.begin(isolation, timeout, fresh, after))

    def transact(
        self,
        body: Callable[[Transaction], T],
        *,
        isolation: Isolation | None = None,
        timeout: float | None = None,
        fresh: bool = False,
        after: int | None = None,
    ) -> T:
        """Run `body` in a transaction and commit it; after a conflict, run it again from the beginning.

        Parameters
        ----------
        body : callable
            Receives the transaction. It may run several times, so it must not have side effects that cannot be
            repeated.
        isolation, timeout, fresh, after
            See `begin`; all attempts share the timeout.

        Returns
        -------
        What `body` returned in the attempt that was committed.

        Raises
        ------
        ConflictError
            Only after many attempts.
        UnknownOutcomeError
            On a cluster, if its log did not answer in time: see `settle`. It is not run again.

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

        outcome: T = self._native.transact(attempt, isolation, timeout, fresh, after)
        return outcome

    def settle(self, unknown: UnknownOutcomeError | str) -> int | None:
        """Find out whether a transaction of a cluster has committed whose commit raised ``UnknownOutcomeError``.

        Any node of the cluster can be asked. A transaction that is still under way is called off: if it has not
        committed by now, it never will.

        Parameters
        ----------
        unknown : UnknownOutcomeError or str
            The exception that its commit raised, or its `transaction`.

        Returns
        -------
        int or None
            Its place in the order of commits; ``None`` if it was not written and never will be: it is safe to run
            it again.

        Raises
        ------
        UnknownOutcomeError
            If that is still not known: the log does not answer, or has forgotten the transaction.
        InvalidError
            If the exception names no transaction, or one of another cluster, or this database is not on a cluster.
        """
        transaction = unknown.transaction if isinstance(unknown, UnknownOutcomeError) else unknown
        if transaction is None:
            raise InvalidError("the exception names no transaction of a cluster: only a cluster can settle one")
        return self._native.settle(transaction)

    def snapshot(self, *, fresh: bool = False, after: int | None = None) -> Snapshot:
        """Take a snapshot of the newest readable commit. Cost: negligible, unless it waits.

        With durability "sync" that is the newest durable commit.

        Parameters
        ----------
        fresh, after
            See `begin`.

        Raises
        ------
        BusyError, InvalidError
            See `begin`.

        Examples
        --------
        >>> with db.snapshot() as now:
        ...     now.labels()
        {'Person': 3}
        """
        return Snapshot(self._native.snapshot(fresh, after))

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
        """Run a Gremlin query.

        A query that only reads takes a snapshot, which its results hold until all are fetched, or the results are
        closed or collected. A query that writes runs to its end in a transaction of its own, and is committed
        before this returns; after a conflict it runs again from the beginning.

        Parameters
        ----------
        text, bindings, services, strict, **variables
            See ``Snapshot.query``.
        timeout, memory_limit
            The same; the time includes all attempts and the commit.
        files : bool
            Whether it may read and write files: ``g.io('people.json').read()`` imports, ``.write()`` exports. A
            query from outside should not access files of this machine.
        isolation : {"snapshot", "serializable"}, optional
            Isolation level of its transaction, if it writes.

        Returns
        -------
        Results

        Raises
        ------
        InvalidError, LimitError
            See ``Snapshot.query``.
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
        """The plan of a query: its steps after all rewriting, and the indexes that they would use. Nothing runs.

        Parameters
        ----------
        text, bindings, **variables
            See `query`.

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
        """Run a query to its end, and return figures for each of its steps. A query that writes is committed.

        Parameters
        ----------
        text, bindings, timeout, memory_limit, services, isolation, **variables
            See `query`.

        Examples
        --------
        >>> print(db.profile("g.V().hasLabel('Person').count()"))  # doctest: +ELLIPSIS
        step ...
        """
        settings = query_settings(
            timeout=timeout, memory_limit=memory_limit, services=services, isolation=isolation
        )
        return self._native.profile(text, variables_of(bindings, variables), settings)

    def delete_vertex_in_parts(self, vertex: int, *, progress: Progress = None) -> int:
        """Delete a vertex with all its edges in as many transactions as it takes.

        For a vertex with more than a million edges, which are too many for one transaction. Meanwhile others see
        the vertex with its remaining edges, and may add edges, which are deleted as well. If the call is stopped
        half-way, the vertex and its remaining edges still exist; deleting it again continues.

        Returns
        -------
        int
            How many edges were deleted with it.

        Raises
        ------
        NotFoundError
            If it does not exist.

        Examples
        --------
        >>> db.delete_vertex_in_parts(ada)
        2
        """
        with shown(progress) as told:
            return self._native.delete_vertex_in_parts(int(vertex), told)

    def __repr__(self) -> str:
        """Say where it is."""
        state = state_of(self)
        if state:
            return f"<evergraph.Database{state}>"
        where = "in memory" if self.path is None else f"at {self.path}"
        return f"<evergraph.Database {where}{', read-only' if self.read_only else ''}>"

    def _repr_html_(self) -> str:
        """Show the numbers of vertices and edges. Cost: reads the counts of each segment."""
        if state_of(self):
            return paragraph(repr(self))
        with self.snapshot() as now:
            return paragraph(repr(self)) + now._counts_html()
