"""Maintenance of a database: figures, checks, copies and checkpoints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evergraph import _native
from evergraph.progress import Progress, shown

if TYPE_CHECKING:
    from evergraph._native import Database as NativeDatabase
    from evergraph.files import StrPath

__all__ = ["Engine", "Maintenance", "check_files", "processes", "salvage"]

Engine: TypeAlias = Literal["memory", "disk", "mapped"]


def check_files(path: StrPath, *, progress: Progress = None) -> dict[str, Any]:
    """Check a database that no process has open: its files, then the graph in them.

    Returns
    -------
    dict
        ``findings``, a list of str, empty if everything is valid; ``findings_count``, and counts of what was
        checked.
    """
    with shown(progress) as told:
        return _native.check_files(os.fspath(path), told)


def processes(path: StrPath) -> dict[str, Any]:
    """Say which processes have a database open. Any process may ask; nothing is changed.

    Only a database of the mapped engine has readers.

    Returns
    -------
    dict
        ``writer``, the id of the process that writes it, or ``None``; ``newest_commit``, which readers see, or
        ``None`` without a writer; and ``readers``, a list with a dict for each process that reads: ``process``,
        its id or ``None``; ``joined``, whether it reads what the writer commits, or by itself; its number of open
        ``snapshots``, ``None`` if it reads by itself; of the oldest one, or ``None``, the commit that it
        shows, ``oldest_snapshot``, and how long it has been open, ``oldest_snapshot_seconds``; and
        ``retained_bytes``, what the writer keeps for its snapshots, as it found when it looked last: what
        several processes need counts for the snapshot that has been open for longest, and what snapshots need
        that began at the same commit can count for each of their processes. ``None`` if it reads by itself.

    Raises
    ------
    NotFoundError
        If there is no database.
    """
    return _native.database_processes(os.fspath(path))


def salvage(path: StrPath, target: StrPath, *, progress: Progress = None) -> dict[str, Any]:
    """Write the verified data of a damaged database, which no process has open, to a new one.

    Vertex ids, names and indexes stay the same. Not a byte at `path` is changed.

    Parameters
    ----------
    path : path
        The damaged database.
    target : path
        The folder of the new database, which must be new or empty.
    progress
        See ``evergraph.progress``.

    Returns
    -------
    dict
        ``complete``, whether nothing is missing; ``losses``, a list of str, the damaged data and the consequences;
        ``vertices``, ``edges`` and ``bytes_written`` of the new database; ``through``, the last commit in it; and
        ``commits_left``, the number of commits that verify but come after a missing one, and were not applied.

    Raises
    ------
    CorruptionError
        If the names of labels, types and properties are lost.
    InvalidError
        If `target` is not empty.
    """
    with shown(progress) as told:
        return _native.salvage(os.fspath(path), os.fspath(target), told)


class Maintenance:
    """What keeps a database well, while others read and write."""

    __slots__ = ()
    _native: NativeDatabase

    def stats(self) -> dict[str, Any]:
        """Counts and sizes: vertices by label, edges by type, commits, conflicts, bytes of memory and log.

        ``oldest_snapshot`` is the commit that the oldest snapshot or transaction reads,
        ``oldest_snapshot_seconds`` how long the oldest snapshot has been open, and ``oldest_transaction`` the
        commit at which the oldest transaction began; ``None`` without one.

        ``reserved`` has the bytes reserved below ``memory_limit``, by purpose. With the disk engine ``tree``
        has its ``levels`` of files, from the newest, each with ``files``, ``topology_bytes``,
        ``property_bytes`` and ``pages_read``; its ``cache``, ``lists`` with the pages that were read for each,
        ``memory_graphs`` and why each is kept, ``pinned`` files that only snapshots read, ``flushes``,
        ``compactions``, ``write_amplification`` and ``stalls``. It is ``None`` with the other engines. What
        counts, counts since the database was opened. With the mapped engine ``mapped`` has the ``files`` of its
        arrays, their ``file_bytes``, the ``free_bytes`` in them, ``topology_bytes``, ``property_bytes`` and
        ``index_bytes`` of what they hold, ``live_bytes`` of changes that are not merged yet, their
        ``live_limit_bytes``, and the ``live_file_bytes`` of the file that they lie in; else ``None``. In a
        database that is open to read only, counts are those of the newest snapshot; what only the writer knows,
        ``mapped`` and sizes, is ``None`` or 0, and the rest is about this process.

        Examples
        --------
        >>> db.stats()["edges"]
        {'KNOWS': 3}
        """
        return self._native.stats()

    def check(self, *, progress: Progress = None) -> dict[str, Any]:
        """Check the graph of a snapshot taken now, while others read and write.

        Checks that lists are sorted, that both sides of every edge agree, that its ends exist, and that indexes
        match a scan.

        Returns
        -------
        dict
            ``findings``, a list of str, empty if everything is valid; ``findings_count``, and counts of what was
            checked.

        Examples
        --------
        >>> db.check()["findings"]
        []
        """
        with shown(progress) as told:
            return self._native.check(told)

    def backup(self, path: StrPath, *, progress: Progress = None) -> dict[str, Any]:
        """Copy everything that is committed now to a new directory, while others read and write.

        The copy is a database: to restore it, open it.

        Returns
        -------
        dict
            ``vertices``, ``edges``, ``bytes_written``.

        Raises
        ------
        InvalidError
            If `path` is not empty.
        """
        with shown(progress) as told:
            return self._native.backup(os.fspath(path), told)

    def convert(self, path: StrPath, *, engine: Engine, progress: Progress = None) -> dict[str, Any]:
        """Write the graph as it is now to a new database of an engine, while others read and write.

        Vertices and edges keep their ids; properties, names and indexes are the same. This database is not
        changed. A database in memory becomes one on disk by it.

        Parameters
        ----------
        path : path
            The folder of the new database, which must be new or empty.
        engine : {"memory", "disk", "mapped"}
            The engine of the new database.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        dict
            ``vertices``, ``edges``, ``bytes_written``.

        Raises
        ------
        InvalidError
            If `path` is not empty.
        """
        with shown(progress) as told:
            return self._native.convert(os.fspath(path), engine, told)

    def checkpoint(self) -> int:
        """Write changes to files, so that opening need not replay a long log. Others may read and write.

        Returns
        -------
        int
            Number of bytes written.
        """
        return self._native.checkpoint()
