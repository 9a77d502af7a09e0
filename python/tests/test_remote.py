"""Databases of servers: the same results as in this process, transactions, indexes, errors, threads, Ctrl-C."""

from __future__ import annotations

import gc
import pickle
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import people
from served import Served, program, serve

import evergraph as eg

ENDLESS = "g.V().repeat(out()).times(1000000000).count()"
QUERIES = [
    "g.V()",
    "g.E()",
    "g.V().outE().inV().path()",
    "g.V().valueMap()",
    "g.V().elementMap()",
    "g.E().elementMap()",
    "g.V().project('name', 'knows').by('name').by(out().count())",
    "g.V().group().by('name')",
    "g.V().groupCount().by(label)",
    "g.V().properties()",
    "g.V().out().out().tree()",
    "g.V().outE().subgraph('x').cap('x')",
    "g.V().values('born').fold()",
    "g.V().limit(0)",
    "g.inject(null, true, 1.5d, 7L, 'text', NaN).limit(5)",
    "g.inject({1, 2}, [[1], [2]], ['id': 1, (T.id): 2])",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the three in people.eg."""
    program()
    with eg.open(tmp_path / "people.eg") as db:
        people(db)
    return tmp_path


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    """Serve the three."""
    server = serve(folder)
    yield server
    server.process.kill()
    server.process.wait()


@pytest.fixture
def remote(served: Served) -> Iterator[eg.RemoteDatabase]:
    """Connect to the three."""
    with eg.connect(f"{served.url}/people") as db:
        yield db


def rows_of(db: Any) -> dict[str, Any]:
    """Ask all queries, and make a table where one can be made."""
    found: dict[str, Any] = {}
    for text in QUERIES:
        found[text] = db.query(text).to_list()
        try:
            found[f"{text} as a table"] = db.query(text).to_arrow()
        except eg.InvalidError as error:
            found[f"{text} as a table"] = "table" in str(error)
    return found


def test_results_are_those_of_a_database_in_this_process(folder: Path) -> None:
    with eg.open(folder / "people.eg") as db:
        local = rows_of(db)
    gc.collect()
    server = serve(folder)
    with eg.connect(server.url) as db:
        remote = rows_of(db)
    server.process.kill()
    server.process.wait()
    assert local.keys() == remote.keys()
    for text, rows in local.items():
        assert remote[text] == rows, text


def test_results_come_as_they_are_asked_for(remote: eg.RemoteDatabase) -> None:
    remote.query("g.inject(0).repeat(union(identity(), identity())).times(14).addV('Point')").to_list()
    results = remote.query("g.V().hasLabel('Point').count()")
    assert results.one() == 1 << 14
    assert not results.is_open
    results = remote.query("g.V().hasLabel('Point')")
    assert len([next(results) for _ in range(10)]) == 10
    assert "remote" not in repr(results)
    results.close()
    with pytest.raises(eg.ClosedError):
        next(results)
    assert remote.query("g.V().hasLabel('Point')").to_arrow().num_rows == 1 << 14
    assert remote.query("g.V().values('name')").first() in {"Ada", "Charles", "Mary"}
    with pytest.raises(eg.NotFoundError):
        remote.query("g.V().limit(0)").one()


def test_variables_are_values_vertices_and_edges(remote: eg.RemoteDatabase) -> None:
    ada = remote.query("g.V().has('name', name)", name="Ada").one()
    assert remote.query("g.V(who).out('KNOWS').values('name')", who=ada).to_list() == ["Charles"]
    edge = remote.query("g.V(who).outE()", who=ada).one()
    assert isinstance(edge, eg.EdgeId)
    assert remote.query("g.E(which).values('since')", which=edge).one() == 1833
    assert remote.query("g.inject(a)", bindings={"a": [1, "'); g.V().drop()", None]}).one()[1].startswith("'")
    with pytest.raises(eg.InvalidError, match="variable `a`"):
        remote.query("g.inject(a)", a=object())


def test_properties_of_edges_have_no_item(remote: eg.RemoteDatabase) -> None:
    assert remote.query("g.E().properties().order().by(value)").first() == eg.Property(None, "since", 1827)


def test_errors_are_exceptions_of_their_kind(remote: eg.RemoteDatabase) -> None:
    with pytest.raises(eg.InvalidError, match="line 1, column 7"):
        remote.query("g.V().otu()")
    with pytest.raises(eg.LimitError):
        remote.query(ENDLESS, timeout=0.2)
    with pytest.warns(eg.UnknownNameWarning, match="did you mean `Person`"):
        assert remote.query("g.V().hasLabel('Persn').count()").one() == 0
    with pytest.raises(eg.InvalidError, match="Person"):
        remote.query("g.V().hasLabel('Persn').count()", strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert remote.query("g.V().count()").one() == 3


def test_a_transaction_commits_at_its_end_or_rolls_back(remote: eg.RemoteDatabase) -> None:
    def count() -> int:
        found: int = remote.query("g.V().count()").one()
        return found

    with remote.begin() as tx:
        for _ in tx.query("g.V()"):
            tx.query("g.addV('Copy')")
        assert tx.query("g.V().count()").one() == 6
        assert count() == 3
    assert count() == 6
    with pytest.raises(KeyError), remote.begin(isolation="serializable") as tx:  # noqa: PT012 - what is raised inside
        tx.query("g.V().drop()")
        raise KeyError
    tx = remote.begin()
    tx.query("g.V().drop()")
    tx.rollback()
    assert count() == 6
    with pytest.raises(eg.TransactionClosed):
        tx.query("g.V()")
    first, second = remote.begin(), remote.begin()
    first.query("g.V().has('name', 'Ada').property('born', 1)")
    second.query("g.V().has('name', 'Ada').property('born', 2)")
    first.commit()
    with pytest.raises(eg.ConflictError):
        second.commit()


def test_conflicts_of_threads_are_retried(remote: eg.RemoteDatabase) -> None:
    def increment(tx: eg.RemoteTransaction) -> None:
        born = tx.query("g.V().has('name', 'Ada').values('born')").one()
        tx.query("g.V().has('name', 'Ada').property('born', next)", next=born + 1)

    def work() -> None:
        for _ in range(10):
            remote.transact(increment)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert remote.query("g.V().has('name', 'Ada').values('born')").one() == 1815 + 80
    with pytest.raises(eg.InvalidError):
        remote.transact(lambda tx: tx.query("g.V().otu()"))


def test_others_run_while_a_query_waits(remote: eg.RemoteDatabase) -> None:
    def wait() -> None:
        with pytest.raises(eg.LimitError):
            remote.query(ENDLESS, timeout=4.0)

    thread = threading.Thread(target=wait)
    thread.start()
    began = time.monotonic()
    while time.monotonic() < began + 0.5:
        assert remote.query("g.V().count()").one() == 3
    assert thread.is_alive(), "it ended before anything could run beside it"
    thread.join()


def test_ctrl_c_stops_a_query(remote: eg.RemoteDatabase) -> None:
    # Whoever started this process may have it ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    began = time.monotonic()

    def ask() -> None:
        # Not before, or it might come while nobody expects it yet.
        timer.start()
        remote.query(ENDLESS)

    try:
        with pytest.raises(KeyboardInterrupt):
            ask()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() < began + 60
    assert remote.query("g.V().count()").one() == 3


def test_schema_indexes_statistics_and_plans_are_those_of_a_database(folder: Path) -> None:
    query = "g.V().has('Person', 'name', name).out('KNOWS')"
    with eg.open(folder / "people.eg") as db, db.snapshot() as snapshot:
        counts = (snapshot.labels(), snapshot.edge_types())
        schemas = [snapshot.schema("Person"), snapshot.schema("KNOWS", of="edges")]
        indexes = sorted(db.indexes(), key=str)
        plan = db.explain(query, name="Ada")
        profile = db.profile(query, name="Ada")
    gc.collect()
    server = serve(folder)
    with eg.connect(server.url) as remote:
        assert (remote.labels(), remote.edge_types()) == counts
        assert [remote.schema("Person"), remote.schema("KNOWS", of="edges")] == schemas
        found = sorted(remote.indexes(), key=str)
        assert [index.keys() for index in found] == [index.keys() for index in indexes]
        assert [(index["name"], index["key"], index["kind"]) for index in found] == [
            (index["name"], index["key"], index["kind"]) for index in indexes
        ]
        assert (remote.stats()["vertices"], remote.stats()["edges"]) == counts
        assert remote.explain(query, name="Ada") == plan
        assert remote.profile(query, name="Ada").splitlines()[0].split() == profile.splitlines()[0].split()
        with pytest.raises(eg.NotFoundError, match=r"Persn.*Person"):
            remote.schema("Persn")
        with pytest.raises(eg.InvalidError, match="otu"):
            remote.explain("g.V().otu()")
    server.process.kill()
    server.process.wait()


def test_indexes_are_built_and_dropped(remote: eg.RemoteDatabase) -> None:
    told: list[str] = []
    assert remote.create_index(
        "KNOWS", "since", ordered=True, of="edges", progress=lambda *now: told.append(now[0])
    )
    assert not remote.create_index("KNOWS", "since", ordered=True, of="edges")
    assert remote.create_index("KNOWS", "since", of="edges")
    assert len(remote.indexes()) == 4
    with pytest.raises(eg.InvalidError, match="choose one"):
        remote.drop_index("KNOWS", "since", of="edges")
    remote.drop_index("KNOWS", "since", ordered=False, of="edges")
    remote.drop_index("KNOWS", "since", of="edges")
    with pytest.raises(eg.NotFoundError, match="since"):
        remote.drop_index("KNOWS", "since", of="edges")
    remote.query("g.addV('Person').property('name', 'Bob').property('born', 1815)").to_list()
    with pytest.raises(eg.InvalidError, match="1815"):
        remote.create_index("Person", "born", unique=True)
    assert len(remote.indexes()) == 2


def test_connecting_says_what_is_wrong(folder: Path, served: Served) -> None:
    for url, why in [
        ("people.eg", "ws://"),
        (served.url.replace("//", "//ann:secret@"), "EVERGRAPH_PASSWORD"),
    ]:
        with pytest.raises(eg.InvalidError, match=why) as caught:
            eg.connect(url)
        assert "secret" not in str(caught.value)
    with pytest.raises(eg.NotFoundError, match="nobody"):
        eg.connect(f"{served.url}/nobody")
    with pytest.raises(eg.InvalidError, match="another one"):
        eg.connect(served.url.replace("//", "//ann@"), user="bob")
    with pytest.raises(eg.InvalidError, match="exclude"):
        eg.connect(served.url, password="a", password_file=folder / "b")
    served.process.kill()
    served.process.wait()
    with pytest.raises(eg.IoError, match="evergraph serve"):
        eg.connect(served.url)


def refusal(call: Callable[[], Any]) -> str:
    """Why a call is invalid; an empty text if it is not."""
    try:
        call()
    except eg.InvalidError as error:
        return str(error)
    return ""


def test_users_log_in(folder: Path) -> None:
    def user(*arguments: str, said: str = "") -> None:
        subprocess.run([program(), "user", *arguments], cwd=folder, input=said, text=True, check=True)

    user("add", "users.json", "ann", said="correct horse\n")
    user("grant", "users.json", "ann", "people", "reader")
    server = serve(folder, "--users", "users.json")
    with pytest.raises(eg.InvalidError, match="name one in the URL"):
        eg.connect(server.url)
    with pytest.raises(eg.InvalidError):
        eg.connect(server.url, user="ann", password="battery staple")
    with eg.connect(server.url, user="ann", password="correct horse") as db:
        assert "ann@" in db.url
        assert "correct" not in repr(db)
        assert db.query("g.V().count()").one() == 3
        with pytest.raises(eg.InvalidError, match="writes"):
            db.query("g.V().drop()")
        assert db.pagerank(keys="name")["name"].to_pylist() == ["Ada", "Charles", "Mary"]
        assert db.labels() == {"Person": 3}
        with pytest.raises(eg.InvalidError, match="role"):
            db.create_index("Person", "age")
        user("revoke", "users.json", "ann", "people")
        user("grant", "users.json", "ann", "other", "reader")
        ends = time.monotonic() + 60
        while not (why := refusal(db.wcc)):
            assert time.monotonic() < ends
        # As the role went before the name of the database was asked for, or after that.
        assert "no role" in why or "no database that may be used" in why, why
        user("revoke", "users.json", "ann", "other")
        user("grant", "users.json", "ann", "people", "reader")
        while why := refusal(db.wcc):
            assert time.monotonic() < ends, why
    secret = folder / "password"
    secret.write_text("correct horse\n")
    secret.chmod(0o600)
    with eg.connect(server.url, user="ann", password_file=secret) as db:
        assert db.query("g.V().count()").one() == 3
    server.process.kill()
    server.process.wait()


def test_a_connection_is_closed_told_and_not_pickled(remote: eg.RemoteDatabase) -> None:
    state, reason = remote.health()
    assert state in {"ready", "alive"}
    assert reason is None
    for thing in [remote, remote.begin()]:
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(thing)
    remote.close()
    remote.close()
    assert not remote.is_open
    assert "closed" in repr(remote)
    with pytest.raises(eg.DatabaseClosed):
        remote.query("g.V()")
    with pytest.raises(eg.DatabaseClosed):
        remote.wcc()


def test_a_lost_server_is_an_error_that_says_what_is_known(remote: eg.RemoteDatabase, served: Served) -> None:
    tx = remote.begin()
    tx.query("g.addV('Lost')")
    served.process.kill()
    served.process.wait()
    with pytest.raises(eg.IoError):
        tx.commit()
    with pytest.raises(eg.IoError):
        remote.query("g.V()")
