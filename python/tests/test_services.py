"""Services: functions of Python that queries call, what they see, and what becomes of what they raise."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import People, need

import evergraph as eg


def friends(graph: eg.GraphView, person: eg.VertexId, *, since: int = 0) -> Iterator[eg.VertexId]:
    """Whom somebody knows.

    Since some year.
    """
    for edge, other in graph.edges_of(person, "KNOWS"):
        if graph.get(edge, "since") >= since:
            yield eg.VertexId(other)


def echo(graph: eg.GraphView, given: Any, **parameters: Any) -> Iterator[Any]:
    """What it was given."""
    yield {"input": given, "parameters": parameters}


SERVICES: dict[str, Callable[..., Any]] = {"friends": friends, "echo": echo}


@pytest.mark.parametrize("where", ["database", "transaction", "snapshot"])
def test_a_query_goes_on_with_what_a_service_gives(circle: People, where: str) -> None:
    things: dict[str, Any] = {
        "database": circle.db,
        "transaction": circle.db.begin(),
        "snapshot": circle.db.snapshot(),
    }
    found = things[where].query("g.V(v).call('friends').values('name')", v=circle.ada, services=SERVICES)
    assert found.to_list() == ["Charles"]
    none = things[where].query("g.V(v).call('friends', ['since': 1900])", v=circle.ada, services=SERVICES)
    assert none.to_list() == []


def test_a_service_sees_the_writes_of_its_transaction(circle: People) -> None:
    with circle.db.begin() as tx:
        tx.add_edge(circle.ada, "KNOWS", circle.mary, since=2000)
        found = tx.query("g.V(v).call('friends', ['since': 1900])", v=circle.ada, services=SERVICES)
        assert found.to_list() == [circle.mary]
        assert circle.db.query("g.V(v).call('friends').count()", v=circle.ada, services=SERVICES).one() == 1
    written = circle.db.query(
        "g.V(v).call('friends').property('seen', true).values('name')", v=circle.ada, services=SERVICES
    )
    assert sorted(written.to_list()) == ["Charles", "Mary"]
    assert circle.db.query("g.V().has('seen', true).count()").one() == 2


def test_inputs_and_results_are_what_they_were(circle: People) -> None:
    edge = eg.EdgeId(circle.ada, "KNOWS", circle.charles)

    def ask(text: str, **variables: Any) -> Any:
        return circle.db.query(text, services=SERVICES, **variables).one()

    assert ask("g.call('echo')") == {"input": None, "parameters": {}}
    told = ask("g.inject(7).call('echo', ['a': 1]).with('b', __.identity())")
    assert told == {"input": 7, "parameters": {"a": 1, "b": 7}}
    assert ask("g.E(e).call('echo').select('input').inV().values('name')", e=edge) == "Charles"
    assert ask("g.V(v).call('echo').select('input').values('name')", v=circle.ada) == "Ada"
    values = [None, 1.5, "text", [1, (2, 3)], {"k": [None]}, {1, 2}]
    back = circle.db.query("g.call('all').fold()", services={"all": lambda graph, given: values}).one()
    assert back == [None, 1.5, "text", [1, [2, 3]], {"k": [None]}, {1, 2}]
    # A number is a number, whichever vertex has it.
    number = circle.db.query("g.call('one').values('name')", services={"one": lambda graph, given: [circle.ada]})
    assert number.to_list() == []


def test_everything_that_a_reader_answers_is_answered_to_a_service(circle: People) -> None:
    edge = eg.EdgeId(circle.ada, "KNOWS", circle.charles)
    circle.db.create_index("Person", "name", ordered=True)
    circle.db.create_index("KNOWS", "since", ordered=True, of="edges")
    asked: dict[str, tuple[Any, ...]] = {
        "get": (circle.ada, "born"),
        "properties": (edge,),
        "has": (circle.mary,),
        "label": (circle.ada,),
        "key_of": (circle.ada,),
        "range": ("Person", "born", 1780, 1800),
        "prefix": ("Person", "name", "Ch"),
        "edges_in_range": ("KNOWS", "since", 1830, None),
        "newest_edges": (circle.ada, "KNOWS", "since"),
        "edges_of": (circle.ada, "KNOWS"),
        "degree": (circle.ada,),
    }
    snapshot = circle.db.snapshot()

    def answers(reader: Any) -> dict[str, Any]:
        told = {name: getattr(reader, name)(*arguments) for name, arguments in asked.items()}
        told["find"] = reader.find("Person", name="Mary")
        told["find_all"] = reader.find_all("Person", born=1815)
        told["edges_with"] = reader.edges_with("KNOWS", since=1833)
        return told

    seen: list[dict[str, Any]] = []

    def look(graph: eg.GraphView, given: Any) -> list[Any]:
        seen.append(answers(graph))
        return []

    with circle.db.begin() as tx:
        tx.query("g.call('look')", services={"look": look})
        seen.append(answers(tx))
    assert seen == [answers(snapshot)] * 2


def test_a_view_ends_with_its_service(circle: People) -> None:
    kept: list[eg.GraphView] = []

    def keep(graph: eg.GraphView, given: Any) -> list[Any]:
        kept.append(graph)
        return []

    circle.db.query("g.call('keep')", services={"keep": keep}).to_list()
    assert not kept[0].is_open
    assert repr(kept[0]) == "<evergraph.GraphView, closed>"
    with pytest.raises(eg.ClosedError, match="the service has returned"):
        kept[0].get(circle.ada, "name")


class OwnError(Exception):
    """What only these tests raise."""


def test_what_a_service_raises_is_raised_as_it_is(circle: People) -> None:
    def fail(graph: eg.GraphView, given: Any) -> Iterator[Any]:
        yield 1
        raise OwnError("a reason")

    with pytest.raises(OwnError, match="a reason"):
        circle.db.query("g.V().call('fail')", services={"fail": fail}).to_list()
    with pytest.raises(OwnError), circle.db.begin() as tx:
        tx.query("g.V().call('fail')", services={"fail": fail})
    # A query that writes isn't tried again, and nothing of it is kept.
    with pytest.raises(OwnError):
        circle.db.query("g.addV('X').call('fail')", services={"fail": fail})
    assert circle.db.query("g.V().hasLabel('X').count()").one() == 0


@pytest.mark.parametrize(
    ("service", "says"),
    [
        (lambda graph, given: 3, "a service gives an iterable of results, as by yield, not 3"),
        (lambda graph, given: "text", "not 'text'"),
        (lambda graph, given: [object()], "can't hold a object"),
        (eg.Service(lambda graph, requests: [[1]] * 5, batches=True), "a service gave 5 answers to 1 requests"),
        (eg.Service(echo, kinds=["streaming"]), "the service it can't begin a query"),
    ],
)
def test_a_service_that_is_wrong_is_told_so(circle: People, service: Any, says: str) -> None:
    with pytest.raises(eg.InvalidError, match=says):
        circle.db.query("g.call('it')", services={"it": service}).to_list()


def test_what_is_no_service_is_refused(circle: People) -> None:
    with pytest.raises(eg.InvalidError, match="no service is called `frends`; did you mean `friends`"):
        circle.db.query("g.call('frends')", services=SERVICES).to_list()
    with pytest.raises(eg.InvalidError, match="no service is registered"):
        circle.db.query("g.call('friends')").to_list()
    with pytest.raises(eg.InvalidError, match="a service is a function, not 3"):
        circle.db.query("g.V()", services={"x": 3})  # type: ignore[dict-item]
    with pytest.raises(eg.InvalidError, match='kind "middle"'):
        circle.db.query("g.V()", services={"x": eg.Service(echo, kinds=["middle"])})  # type: ignore[list-item]


def test_the_list_of_services_tells_what_they_are(circle: People) -> None:
    service = eg.Service(friends, kinds=["streaming"], parameters={"since": "a year"})
    services: dict[str, Any] = {"friends": service, "echo": echo}
    assert circle.db.query("g.call()", services=services).to_list() == ["echo", "friends"]
    found = circle.db.query("g.call('--list').with('service', 'friends').with('verbose', true)", services=services)
    assert found.one() == {
        "name": "friends",
        "summary": "Whom somebody knows.",
        "type": ["Streaming"],
        "params": {"since": "a year"},
    }


def test_a_batch_asks_once_for_many_rows() -> None:
    sizes: list[int] = []

    def double(graph: eg.GraphView, requests: list[eg.Request]) -> list[list[int]]:
        sizes.append(len(requests))
        return [[2 * request.input] for request in requests]

    with eg.open() as db:
        db.add_vertices("Point", {"at": list(range(5000))})
        services = {"double": eg.Service(double, batches=True)}
        found = db.query("g.V().values('at').call('double')", services=services).to_list()
    assert found == [2 * at for at in range(5000)]
    assert len(sizes) < 100


def test_a_service_may_run_queries_of_its_own_however_many_run_at_once(circle: People) -> None:
    # More at once than there are threads to work on: each service waits for a query that needs one.
    def count(graph: eg.GraphView, given: Any) -> Iterator[int]:
        yield circle.db.query("g.V().count()").one()
        yield len(circle.db.snapshot().pagerank())

    told: list[Any] = []

    def run() -> None:
        told.append(circle.db.query("g.V().call('count').fold()", services={"count": count}).one())

    # Threads that wait for each other for ever must not keep the interpreter from ending.
    threads = [threading.Thread(target=run, daemon=True) for _ in range(16)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 60
    for thread in threads:
        thread.join(timeout=max(0.0, end - time.monotonic()))
    assert told == [[3] * 6] * 16


def test_a_query_reads_and_writes_files_only_where_it_may(circle: People, tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    with pytest.raises(eg.InvalidError, match="does not allow: see Query"):
        circle.db.query("g.io(path).write()", path=str(path))
    circle.db.query(f"g.io('{path}').write()", files=True)
    with eg.open() as other:
        other.query(f"g.io('{path}').read()", files=True)
        assert sorted(other.query("g.V().values('name')").to_list()) == ["Ada", "Charles", "Mary"]


def test_a_query_that_writes_has_the_isolation_that_was_asked_for(circle: People) -> None:
    circle.db.query("g.V(v).property('born', 1816)", v=circle.ada, isolation="serializable")
    assert circle.db.snapshot().get(circle.ada, "born") == 1816
    with pytest.raises(eg.InvalidError, match='isolation "none"'):
        circle.db.query("g.V()", isolation="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("where", ["database", "transaction", "snapshot"])
def test_a_profile_tells_what_each_step_did(circle: People, where: str) -> None:
    things: dict[str, Any] = {
        "database": circle.db,
        "transaction": circle.db.begin(),
        "snapshot": circle.db.snapshot(),
    }
    said = things[where].profile("g.V().has('Person', 'born', gt(year)).count()", year=1785)
    assert "rows" in said
    assert "Person.born" in things[where].explain("g.V().has('Person', 'born', gt(year))", year=1785)
    assert things[where].query("g.V().count()").one() == 3


def test_gremlinpython_calls_services(circle: People) -> None:
    need("gremlin_python")
    from evergraph.gremlin import traversal

    g = traversal(circle.db, services=SERVICES)
    assert g.V(circle.ada).call("friends").values("name").to_list() == ["Charles"]
    tx = g.tx()
    gtx = tx.begin()
    assert gtx.V(circle.ada).call("friends").values("name").to_list() == ["Charles"]
    tx.rollback()
