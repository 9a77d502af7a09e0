"""Database: a path to open, transactions, snapshots, and what keeps it in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from evergraph import _native
from evergraph._tables import table_of
from evergraph.errors import InvalidError
from evergraph.progress import Progress, shown
from evergraph.reader import of_edges
from evergraph.snapshot import Snapshot
from evergraph.transaction import KeyOf, Transaction, ends_of

if TYPE_CHECKING:
    StrPath: TypeAlias = str | os.PathLike[str]

__all__ = ["Database", "check_files", "open"]

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
    timeout: float | None = None,
    memory_limit: int | None = None,
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
    timeout : float, optional
        Seconds that a transaction may take which doesn't ask for another time.
    memory_limit : int, optional
        Bytes that algorithms may take.
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
        "timeout": timeout,
        "memory_limit": memory_limit,
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


class Database:
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

    def __enter__(self) -> Database:
        """Begin a block that closes it at its end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

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
            How far it is kept apart from others: see README, "What it guarantees".
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

    def add_vertices(
        self,
        label: str,
        data: Any,
        *,
        unique_key: str | None = None,
        progress: Progress = None,
    ) -> npt.NDArray[np.uint64]:
        """Load vertices of one label: one commit, of any size, made durable by a checkpoint.

        Other commits are refused as busy until it is done; reads go on.

        Parameters
        ----------
        label : str
            Their label.
        data
            A column a property, a row a vertex: anything with Arrow's C interface (pyarrow, Polars, DuckDB), a
            pandas data frame, a structured NumPy array, a mapping of columns, or an iterable of mappings. Nulls
            are properties that a vertex lacks.
        unique_key : str, optional
            A property to be unique among the label's vertices, with an index, if it isn't yet.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        numpy.ndarray of shape (rows,) and uint64
            Their numbers.

        Raises
        ------
        InvalidError
            For a column that no property can be, or that this one isn't; for a unique key that is there twice.
        BusyError
            If another load runs.

        Examples
        --------
        >>> cities = db.add_vertices("City", {"name": ["Rome", "Pisa"]}, unique_key="name")
        >>> len(cities)
        2
        """
        table = table_of(data)
        with shown(progress) as told:
            first, rows = self._native.add_vertices(label, table, unique_key, told)
        return np.arange(first, first + rows, dtype=np.uint64)

    def add_edges(
        self,
        edge_type: str,
        data: Any,
        *,
        source: str = "source",
        target: str = "target",
        source_key: KeyOf | None = None,
        target_key: KeyOf | None = None,
        progress: Progress = None,
    ) -> int:
        """Load edges of one type between vertices that are there: as `add_vertices`.

        Parameters
        ----------
        edge_type : str
            Their type.
        data
            As of `add_vertices`; also a NumPy array of shape (rows, 2).
        source, target : str
            The columns that name their ends. All others are properties.
        source_key, target_key : (label, key), optional
            The columns hold values of this unique key, instead of numbers of vertices.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        int
            How many.

        Raises
        ------
        NotFoundError
            For an end that isn't there; the text names the row.
        InvalidError
            As of `add_vertices`.

        Examples
        --------
        >>> import numpy as np
        >>> db.add_edges("LIKES", np.array([[ada, mary], [mary, ada]]))
        2
        """
        edges = ends_of(data, source, target, source_key, target_key)
        with shown(progress) as told:
            return self._native.add_edges(edge_type, edges, told)

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

    def import_csv(
        self,
        *files: StrPath,
        vertices: dict[str, StrPath | Sequence[StrPath]] | None = None,
        edges: dict[str, StrPath | Sequence[StrPath]] | None = None,
        delimiter: str | None = None,
        quote: str | None = None,
        escape: str | None = None,
        null: str | None = None,
        array_delimiter: str | None = None,
        header: str | None = None,
        replace_header: str | None = None,
        id_type: str | None = None,
        mapping: StrPath | None = None,
        on_bad_row: Literal["stop", "skip"] = "stop",
        bad_rows_max: int | None = None,
        bad_rows_report: StrPath | None = None,
        on_duplicate: Literal["fail", "first", "last"] = "fail",
        on_unknown: Literal["fail", "skip", "create"] = "fail",
        memory: int | None = None,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Import CSV files and edge lists, plain or packed by gzip or zstd, as one commit.

        All files together are one graph. What a file holds follows from its header (Neo4j's ``id:ID``,
        ``:START_ID``, ... or plain names) and its first rows: see the guide to importing.

        Parameters
        ----------
        *files : path
            Files, and folders of files.
        vertices, edges : dict of str to path or list of paths, optional
            By label, or edge type, files of which that is known.
        delimiter, quote, escape, null, array_delimiter : str, optional
            How fields are written; ``quote=""`` for none. By default what the first line shows.
        header, replace_header : str, optional
            The header of files that have none; the one to read in place of their first line.
        id_type : str, optional
            Of which type ids are whose header doesn't say: "string" (the default) or "long".
        mapping : path, optional
            A file that says how each file is read, as ``evergraph import --propose`` writes it.
        on_bad_row : {"stop", "skip"}
            Whether a row that can't be loaded is an error, or left out and counted.
        bad_rows_max : int, optional
            Stop all the same at more than so many.
        bad_rows_report : path, optional
            A file to describe every bad row in.
        on_duplicate : {"fail", "first", "last"}
            What to do about a vertex whose id was there before.
        on_unknown : {"fail", "skip", "create"}
            What to do about an edge to a vertex that isn't there.
        memory : int, optional
            Bytes to take beside ids and the finished graph.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        dict
            ``vertices`` and ``edges`` added, ``bad_rows``, ``notes`` and more.

        Raises
        ------
        InvalidError
            What is wrong with the files, by file, line and column.
        NotFoundError
            For a file that isn't there.
        """
        settings = {
            "delimiter": delimiter,
            "quote": quote,
            "escape": escape,
            "null": null,
            "array_delimiter": array_delimiter,
            "header": header,
            "replace_header": replace_header,
            "id_type": id_type,
            "mapping": None if mapping is None else os.fspath(mapping),
            "on_bad_row": on_bad_row,
            "bad_rows_max": bad_rows_max,
            "bad_rows_report": None if bad_rows_report is None else os.fspath(bad_rows_report),
            "on_duplicate": on_duplicate,
            "on_unknown": on_unknown,
            "memory": memory,
        }
        return self._import(files, vertices, edges, settings, progress)

    def import_parquet(
        self,
        *files: StrPath,
        vertices: dict[str, StrPath | Sequence[StrPath]] | None = None,
        edges: dict[str, StrPath | Sequence[StrPath]] | None = None,
        mapping: StrPath | None = None,
        on_bad_row: Literal["stop", "skip"] = "stop",
        bad_rows_max: int | None = None,
        bad_rows_report: StrPath | None = None,
        on_duplicate: Literal["fail", "first", "last"] = "fail",
        on_unknown: Literal["fail", "skip", "create"] = "fail",
        memory: int | None = None,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Import Parquet files, as one commit: as `import_csv`, by the names of their columns."""
        settings = {
            "mapping": None if mapping is None else os.fspath(mapping),
            "on_bad_row": on_bad_row,
            "bad_rows_max": bad_rows_max,
            "bad_rows_report": None if bad_rows_report is None else os.fspath(bad_rows_report),
            "on_duplicate": on_duplicate,
            "on_unknown": on_unknown,
            "memory": memory,
        }
        return self._import(files, vertices, edges, settings, progress)

    def _import(
        self,
        files: Iterable[StrPath],
        vertices: dict[str, StrPath | Sequence[StrPath]] | None,
        edges: dict[str, StrPath | Sequence[StrPath]] | None,
        settings: dict[str, Any],
        progress: Progress,
    ) -> dict[str, Any]:
        listed: list[tuple[str, str | None, str | None, str | None]] = [
            (os.fspath(file), None, None, None) for file in files
        ]
        for label, named in (vertices or {}).items():
            listed += [(os.fspath(file), "vertices", label, None) for file in _paths(named)]
        for edge_type, named in (edges or {}).items():
            listed += [(os.fspath(file), "edges", None, edge_type) for file in _paths(named)]
        given = {name: value for name, value in settings.items() if value is not None}
        with shown(progress) as told:
            return self._native.import_files(listed, given, told)

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
        if not self.is_open:
            return "<evergraph.Database, closed>"
        return f"<evergraph.Database {'in memory' if self.path is None else f'at {self.path}'}>"


def _paths(given: StrPath | Sequence[StrPath]) -> Sequence[StrPath]:
    return [given] if isinstance(given, str | os.PathLike) else given
