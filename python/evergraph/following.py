"""Replicas: databases that follow a PostgreSQL database while they are open.

>>> import evergraph as eg
>>> replica = eg.replica("shop.eg", "postgres://graph@localhost/shop", "shop.toml")  # doctest: +SKIP
>>> replica.wait()  # until it has what the source has now  # doctest: +SKIP
True
>>> replica.query("g.V().hasLabel('Customer').count()").one()  # doctest: +SKIP
2000
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from evergraph import _native
from evergraph.database import Database
from evergraph.handle import state_of
from evergraph.mapping import text_of
from evergraph.progress import Progress, shown
from evergraph.snapshot import Snapshot

if TYPE_CHECKING:
    from evergraph.files import StrPath
    from evergraph.mapping import RgMapping

__all__ = ["Epoch", "Replica", "replica"]


def replica(
    path: StrPath,
    source: str,
    mapping: StrPath | RgMapping,
    *,
    publication: str | None = None,
    slot: str | None = None,
    memory: int | None = None,
    transaction_memory: int | None = None,
    memory_limit: int | None = None,
    slot_alarm: int | None = None,
    epochs: int | None = None,
    progress: Progress = None,
) -> Replica:
    """Open a database that follows a PostgreSQL database, and is its graph, until it is closed.

    A new one copies the tables in one snapshot first; one that follows already goes on where it was. From then on
    each transaction of the source is one commit here, visible as a whole, some milliseconds after it. What
    `check_mapping` finds as an error is an error here.

    Parameters
    ----------
    path : path
        The directory of the database, created if it does not exist.
    source : str
        ``postgres://USER@HOST/DATABASE``. The password is in ``PGPASSWORD`` or ``~/.pgpass``.
    mapping : path or RgMapping
        What rows become as vertices and edges: a mapping file, or rules written in Python.
    publication : str, optional
        The publication, which says at the source which tables are sent: ``evergraph`` by default, created if
        there is none and the role owns the tables.
    slot : str, optional
        The replication slot, which keeps the source's log for this replica; by default named after the database.
    memory : int, optional
        Bytes for the copy, and for transactions that are under way: 1 GiB by default.
    transaction_memory : int, optional
        Bytes for the changed rows of one transaction, and as many for what is written of them: 1 GiB by default.
        Of a larger transaction that inserts rows alone, the rows go to a temporary file; any other pauses the
        replica.
    memory_limit : int, optional
        As of ``evergraph.open``.
    slot_alarm : int, optional
        Bytes of log at the source that are reported by `Replica.status`: 1 GiB by default.
    epochs : int, optional
        How many snapshots stay open by number: 16 by default, at least 2 ms apart.
    progress
        See ``evergraph.progress``; it shows the copy, and for which transactions the source waits before that
        begins.

    Returns
    -------
    Replica

    Raises
    ------
    InvalidError
        If the mapping does not fit, a right or a setting is missing (the message has the SQL that mends it), the
        database has a graph of its own, or follows by another mapping.
    BusyError
        If another process has the database open.
    IoError
        If the server cannot be reached.

    Examples
    --------
    >>> import evergraph as eg
    >>> with eg.replica("shop.eg", "postgres://graph@localhost/shop", "shop.toml") as replica:  # doctest: +SKIP
    ...     replica.wait()
    ...     ranks = replica.snapshot().pagerank()
    """
    settings: _native._FollowingSettings = {
        "publication": publication,
        "slot": slot,
        "memory": memory,
        "transaction_memory": transaction_memory,
        "memory_limit": memory_limit,
        "slot_alarm": slot_alarm,
        "epochs": epochs,
    }
    with shown(progress) as told:
        database, following = _native.replica(os.fspath(path), source, text_of(mapping), settings, told)
    return Replica(database, following)


class Epoch(NamedTuple):
    """A snapshot of a replica that stays open for some time.

    Attributes
    ----------
    number : int
        What `Replica.open` takes: the timestamp of the snapshot.
    position : str
        The position in the source's log that it shows.
    age : float
        Seconds since it was opened.
    """

    number: int
    position: str
    age: float


class Replica(Database):
    """A database that follows a PostgreSQL database until it is closed. Any thread may use it.

    ``evergraph.replica`` returns one. Reading is as of any `Database`; writes of anybody else than the source are
    refused. As a context manager it closes at the end.
    """

    __slots__ = ("_following",)

    def __init__(self, native: _native.Database, following: _native.Following) -> None:
        """Use ``evergraph.replica``."""
        super().__init__(native)
        self._following = following

    def close(self) -> None:
        """Stop following, and close this handle. The source keeps its log for the replica.

        ``evergraph replica verify``, ``resync`` and ``detach`` need it closed.

        Does nothing if it is closed.

        Raises
        ------
        IoError
            If the last sync of the log fails.
        """
        self._following.stop()
        super().close()

    def wait(self, position: str | None = None, timeout: float | None = None) -> bool:
        """Wait until the graph has what the source has up to a position.

        The source is compared with what is here before anything counts, so that another server, or a slot
        that is gone, is an error and no answer.

        Parameters
        ----------
        position : str, optional
            A position in the source's log, such as ``"16/B374D848"`` (``SELECT pg_current_wal_lsn()`` after a
            ``COMMIT``); by default its end now.
        timeout : float, optional
            Seconds to wait at most; by default as long as it takes, also while the source cannot be followed.

        Returns
        -------
        bool
            Whether it has, in time.

        Raises
        ------
        InvalidError
            If the replica has paused: the message has cause and remedy.

        Examples
        --------
        >>> replica.wait(timeout=10)  # doctest: +SKIP
        True
        """
        return self._following.wait(position, timeout)

    def source_position(self) -> str:
        """The end of the source's log now, for `wait`.

        Raises
        ------
        IoError
            If the server cannot be reached.
        """
        return self._following.source_position()

    def status(self) -> dict[str, Any]:
        """How it is: the document that ``evergraph replica status --json`` prints.

        Returns
        -------
        dict
            ``state`` ("copying", "following", "reconnecting", "paused" or "stopped"), with ``cause`` and
            ``remedy`` if it has paused; ``position``, ``lag_bytes``, ``lag_ms``, ``rows``, ``transactions``,
            ``rows_per_second``, ``waiting_rows``, ``losses``, ``retained_bytes``, ``restarts``, ``last_error`` and
            others: see the guide.

        Examples
        --------
        >>> replica.status()["state"]  # doctest: +SKIP
        'following'
        """
        status: dict[str, Any] = json.loads(self._following.status())
        return status

    def epochs(self) -> list[Epoch]:
        """The snapshots that stay open by number, the oldest first.

        Several readers that open the same number read the same moment.

        Examples
        --------
        >>> newest = replica.epochs()[-1]  # doctest: +SKIP
        >>> snapshot = replica.open(newest.number)  # doctest: +SKIP
        """
        return [Epoch(*epoch) for epoch in self._following.epochs()]

    def open(self, number: int) -> Snapshot | None:
        """The snapshot with this number, or ``None`` if it is not open any more.

        It stays open for as long as it is held.

        Parameters
        ----------
        number : int
            The number of one of `epochs`.

        Returns
        -------
        Snapshot or None
        """
        native = self._following.open(number)
        return None if native is None else Snapshot(native)

    def __repr__(self) -> str:
        """Say where it is, and whether it can be used."""
        return f"<evergraph.Replica{state_of(self)}>"
