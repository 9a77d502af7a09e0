"""Evergraph: a transactional property graph database with analysis of live data.

Open a database, change it in transactions, and run algorithms on a snapshot while others continue to write.

>>> import evergraph as eg
>>> db = eg.open()  # eg.open("social.eg") keeps it on disk
>>> with db.begin() as tx:
...     ada = tx.add_vertex("Person", name="Ada", born=1815)
...     charles = tx.add_vertex("Person", name="Charles")
...     edge = tx.add_edge(ada, "KNOWS", charles, since=1833)
>>> with db.snapshot() as snapshot:
...     ranks = snapshot.pagerank(keys="name")
>>> ranks.column_names
['vertex', 'score', 'name']

Queries in Gremlin run on the database, in a transaction, or on a snapshot:

>>> db.query("g.V().has('Person', 'name', name).out('KNOWS').values('name')", name="Ada").to_list()
['Charles']

``evergraph.connect("ws://localhost/social")`` does the same on a database of a server, ``evergraph serve``.

``help(evergraph.Database)``, ``Transaction`` and ``Snapshot`` describe the rest. ``evergraph.values`` lists the
types of properties, ``evergraph.errors`` the exceptions, and ``evergraph.progress`` how to watch long calls.
"""

from evergraph._native import __version__
from evergraph.algorithms import Condition
from evergraph.database import Database, open  # noqa: A004 - eg.open is the name
from evergraph.errors import (
    BusyError,
    CancelledError,
    ClosedError,
    ConflictError,
    CorruptionError,
    DatabaseClosed,
    EvergraphError,
    ForkError,
    InvalidError,
    IoError,
    LimitError,
    NotFoundError,
    SnapshotClosed,
    TransactionClosed,
    UnknownNameWarning,
    UnknownOutcomeError,
)
from evergraph.following import Epoch, Replica, replica
from evergraph.lists import CompactCsr, CsrPiece
from evergraph.maintenance import check_files, processes, salvage
from evergraph.mapping import Finding, RgMapping, check_mapping, propose_mapping
from evergraph.packed import PackedGraph, PackedView
from evergraph.picture import Picture
from evergraph.query import Results
from evergraph.remote import RemoteDatabase, RemoteTransaction, connect
from evergraph.services import GraphView, Request, Service
from evergraph.snapshot import Snapshot
from evergraph.transaction import Transaction
from evergraph.values import Duration, EdgeId, Property, Subgraph, VertexId

__all__ = [
    "BusyError",
    "CancelledError",
    "ClosedError",
    "CompactCsr",
    "Condition",
    "ConflictError",
    "CorruptionError",
    "CsrPiece",
    "Database",
    "DatabaseClosed",
    "Duration",
    "EdgeId",
    "Epoch",
    "EvergraphError",
    "Finding",
    "ForkError",
    "GraphView",
    "InvalidError",
    "IoError",
    "LimitError",
    "NotFoundError",
    "PackedGraph",
    "PackedView",
    "Picture",
    "Property",
    "RemoteDatabase",
    "RemoteTransaction",
    "Replica",
    "Request",
    "Results",
    "RgMapping",
    "Service",
    "Snapshot",
    "SnapshotClosed",
    "Subgraph",
    "Transaction",
    "TransactionClosed",
    "UnknownNameWarning",
    "UnknownOutcomeError",
    "VertexId",
    "__version__",
    "check_files",
    "check_mapping",
    "connect",
    "open",
    "processes",
    "propose_mapping",
    "replica",
    "salvage",
]
