"""Errors: the exceptions, grouped by how to react to them.

=================  ==========================================================================
exception          meaning and action
=================  ==========================================================================
InvalidError       the request is invalid: its message says why
NotFoundError      the file, vertex, edge or name does not exist
ConflictError      run the transaction again (``Database.transact`` does)
CorruptionError    stored bytes are damaged: ``check_files``, a backup, ``evergraph salvage``
LimitError         a stated limit was reached: wait, or raise it
IoError            the system or the network refused; after a failed write the outcome may be unknown
BusyError          another process or thread holds it
CancelledError     the caller asked the call to stop
=================  ==========================================================================

``UnknownOutcomeError`` is an ``IoError``: a connection to a server was lost before the answer to a write, or the
server, or the log of a cluster, does not know whether it was written.
``UnknownNameWarning`` is not an error: it accompanies the results of a query.
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
    "UnknownOutcomeError",
]


class EvergraphError(Exception):
    """The base class of all errors of Evergraph."""


class InvalidError(EvergraphError, ValueError):
    """The request is invalid."""


class NotFoundError(EvergraphError, LookupError):
    """Something that the request names does not exist."""


class ConflictError(EvergraphError):
    """Another transaction committed first. Nothing was changed; it is safe to run this one again."""


class CorruptionError(EvergraphError):
    """Stored bytes differ from what was written; the message names file and offset."""


class LimitError(EvergraphError):
    """A stated limit was reached: memory, time, log space, counts, a type of Python."""


class IoError(EvergraphError, OSError):
    """The operating system refused a read or a write."""


class BusyError(EvergraphError):
    """Another process or thread holds the database or the transaction."""


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


class UnknownOutcomeError(IoError):
    """A write or a commit was sent to a server, and it is not known whether it was written.

    The connection was lost before its answer came, or the server does not know. Nothing is tried again by itself:
    look whether it is there first. On a cluster, `transaction` names the transaction, and
    ``Database.settle`` finds out what became of it.

    Attributes
    ----------
    transaction : str or None
        The transaction, as in "2.7.143@57-00c0ffee00c0ffee", if a cluster named it.
    """

    transaction: str | None = None


class ForkError(InvalidError):
    """A forked process used the database of its parent, whose threads it does not have."""


class UnknownNameWarning(UserWarning):
    """A query reads a label, an edge type or a property that the graph does not have: probably a misspelling."""
