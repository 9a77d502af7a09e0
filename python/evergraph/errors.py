"""Errors: what can go wrong, by what to do about it.

=================  ==========================================================================
exception          what to do
=================  ==========================================================================
InvalidError       mend the request: its text names what is wrong
NotFoundError      the file, vertex, edge or name isn't there
ConflictError      run the transaction again (``Database.transact`` does)
CorruptionError    stored bytes are damaged: ``check_files``, a backup, ``evergraph salvage``
LimitError         a stated limit was reached: wait, or raise it
IoError            the system refused; after a failed write the outcome may be unknown
BusyError          another process or thread holds it
CancelledError     it was asked to stop
=================  ==========================================================================

``UnknownNameWarning`` is no error: it stands beside the results of a query.
"""

from __future__ import annotations

__all__ = [
    "BusyError",
    "CancelledError",
    "ClosedError",
    "ConflictError",
    "CorruptionError",
    "DatabaseClosed",
    "EvergraphError",
    "ForkError",
    "InvalidError",
    "IoError",
    "LimitError",
    "NotFoundError",
    "SnapshotClosed",
    "TransactionClosed",
    "UnknownNameWarning",
]


class EvergraphError(Exception):
    """What all errors of Evergraph are."""


class InvalidError(EvergraphError, ValueError):
    """The request cannot be carried out as it is."""


class NotFoundError(EvergraphError, LookupError):
    """What the request names isn't there."""


class ConflictError(EvergraphError):
    """Another transaction was first. Nothing was changed; running it again is safe."""


class CorruptionError(EvergraphError):
    """Stored bytes are not what was written; the text names file and offset."""


class LimitError(EvergraphError):
    """A stated limit was reached: memory, time, log space, counts, a type of Python."""


class IoError(EvergraphError, OSError):
    """The operating system refused a read or a write."""


class BusyError(EvergraphError):
    """Another process or thread holds what was asked for."""


class CancelledError(EvergraphError):
    """The caller asked to stop."""


class ClosedError(InvalidError):
    """Something was used after it was closed."""


class DatabaseClosed(ClosedError):  # noqa: N818 - the name of a state, as its siblings
    """A handle of a database was used after ``Database.close``."""


class SnapshotClosed(ClosedError):  # noqa: N818
    """A snapshot was used after ``Snapshot.close``."""


class TransactionClosed(ClosedError):  # noqa: N818
    """A transaction was used after it was committed or rolled back."""


class ForkError(InvalidError):
    """A fork used the database of its parent, whose threads it doesn't have."""


class UnknownNameWarning(UserWarning):
    """A query reads a label, an edge type or a property that the graph doesn't have: probably a misspelling."""
