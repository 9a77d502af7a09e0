"""A gremlinpython connection that stays within the process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

from gremlin_python.driver.remote_connection import RemoteConnection, RemoteTraversal
from gremlin_python.process.anonymous_traversal import traversal as anonymous
from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.process.traversal import Bytecode, Traverser

from evergraph.database import Database
from evergraph.errors import ClosedError, InvalidError
from evergraph.gremlin.elements import MAKER
from evergraph.gremlin.options import Options
from evergraph.gremlin.written import written
from evergraph.query import Results, query_settings, results_of
from evergraph.services import Services
from evergraph.snapshot import Snapshot
from evergraph.transaction import Transaction
from evergraph.values import EdgeId

__all__ = ["Connection", "traversal"]


class Connection(RemoteConnection):
    """The argument of ``traversal().with_(...)`` that runs on an embedded database instead of a server.

    On a ``Database`` a traversal that reads has a snapshot of its own, and one that writes has a transaction of
    its own, committed when it returns. ``g.tx().begin()`` returns a source whose traversals share one transaction.
    On a ``Snapshot`` or in a ``Transaction``, traversals run there.

    Traversals are sent as bytecode, as to a server, and treated like query texts: all limits of ``query`` apply,
    and an error names the step. Elements are returned as gremlinpython's ``Vertex`` and ``Edge``, with their
    properties; an edge's id is an ``EdgeId``. Results that are read from a snapshot are computed while they are
    fetched.

    Parameters
    ----------
    graph : Database, Snapshot or Transaction
        Where traversals run. Closing the connection leaves it open.
    timeout : float, optional
        Seconds for a traversal, 60 by default; ``with_("evaluationTimeout", milliseconds)`` says it for one
        source.
    memory_limit : int, optional
        Bytes that a traversal may hold at once beside the graph: a gibibyte by default.
    properties : bool
        Whether elements come with their properties; ``with_("materializeProperties", "tokens")`` leaves them out
        for one source.
    services : mapping of str to Service or callable, optional
        What ``call()`` may call: see ``evergraph.services``.
    files : bool
        Whether ``io()`` may read and write files, on a ``Database``.

    Examples
    --------
    >>> from gremlin_python.process.anonymous_traversal import traversal
    >>> g = traversal().with_(Connection(db))
    >>> g.V().has_label("Person").count().next()
    3
    >>> tx = g.tx()
    >>> gtx = tx.begin()
    >>> grace = gtx.add_v("Person").property("name", "Grace").next()
    >>> edge = gtx.V(grace).add_e("KNOWS").to(grace).iterate()
    >>> tx.commit()
    >>> g.V().has("name", "Grace").out("KNOWS").values("name").to_list()
    ['Grace']
    """

    def __init__(
        self,
        graph: Database | Snapshot | Transaction,
        *,
        timeout: float | None = None,
        memory_limit: int | None = None,
        properties: bool = True,
        services: Services | None = None,
        files: bool = False,
    ) -> None:
        """Use ``traversal().with_``."""
        super().__init__("evergraph", "g")
        self._graph: Database | Snapshot | Transaction = graph
        self._settings = query_settings(
            timeout=timeout, memory_limit=memory_limit, services=services, files=files, making=(MAKER, properties)
        )
        self._closed = False
        # Whether the transaction is this connection's to end.
        self._session = False

    def submit(self, bytecode: Bytecode) -> RemoteTraversal:
        """Run a traversal."""
        if self._closed:
            raise ClosedError("this connection was closed")
        asked = Options(bytecode)
        settings = self._settings.copy()
        if asked.timeout is not None:
            settings["timeout"] = asked.timeout
        if asked.properties is not None:
            settings["making"] = (MAKER, asked.properties)
        settings["strict"] = asked.strict
        said = written(asked.bytecode, self._edge_id)
        return RemoteTraversal(traversers(results_of(self._graph._native.query(said, {}, settings))))

    def _edge_id(self, edge: EdgeId) -> str:
        """The id by which queries name an edge."""
        asked = self._graph._native.query("g.inject(edge)", {"edge": edge}, query_settings())
        found: str = Results(asked).one()
        return found

    def submit_async(self, bytecode: Bytecode) -> Future[RemoteTraversal]:
        """Run a traversal at once: what is awaited is there."""
        future: Future[RemoteTraversal] = Future()
        try:
            future.set_result(self.submit(bytecode))
        except Exception as error:
            future.set_exception(error)
        return future

    def is_closed(self) -> bool:
        """Whether it was closed, or its transaction has ended."""
        return self._closed

    def close(self) -> None:
        """Take no more traversals; a transaction that it began is rolled back. What it is on stays open."""
        if self._session and not self._closed and isinstance(self._graph, Transaction):
            self._graph.rollback()
        self._closed = True

    def is_session_bound(self) -> bool:
        """Whether its traversals share a transaction."""
        return isinstance(self._graph, Transaction)

    def create_session(self) -> Connection:
        """Begin a transaction: what ``g.tx().begin()`` calls."""
        if not isinstance(self._graph, Database):
            raise InvalidError(
                "a transaction is begun on a database: this connection is on a snapshot or in one already"
            )
        session = Connection(self._graph.begin())
        session._settings = self._settings
        session._session = True
        return session

    def remove_session(self, session: Connection) -> None:
        """Close a connection that ``create_session`` gave: what ends of ``g.tx()`` call."""
        session.close()

    def commit(self) -> None:
        """Commit the transaction of ``g.tx()``."""
        self._transaction().commit()
        self._session = False

    def rollback(self) -> None:
        """Roll back the transaction of ``g.tx()``."""
        self._transaction().rollback()
        self._session = False

    def _transaction(self) -> Transaction:
        if not isinstance(self._graph, Transaction):
            raise InvalidError("this connection has no transaction: begin one with g.tx().begin()")
        return self._graph


def traversers(results: Results) -> Iterator[Traverser]:
    """The results as gremlinpython's objects, one a traverser."""
    for result in results:
        yield Traverser(result, 1)


def traversal(
    graph: Database | Snapshot | Transaction,
    *,
    timeout: float | None = None,
    memory_limit: int | None = None,
    properties: bool = True,
    services: Services | None = None,
    files: bool = False,
) -> GraphTraversalSource:
    """A source of gremlinpython's traversals on a database, on a snapshot or in a transaction.

    Parameters
    ----------
    graph, timeout, memory_limit, properties, services, files
        See ``Connection``.

    Returns
    -------
    gremlin_python.process.graph_traversal.GraphTraversalSource

    Examples
    --------
    >>> g = traversal(db)
    >>> sorted(g.V().values("name").to_list())
    ['Ada', 'Charles', 'Mary']
    >>> with db.snapshot() as moment:
    ...     traversal(moment).E().count().next()
    3
    """
    connection = Connection(
        graph,
        timeout=timeout,
        memory_limit=memory_limit,
        properties=properties,
        services=services,
        files=files,
    )
    return anonymous().with_(connection)
