"""Asks a server by gremlinpython, as its users do: `python_checks.py ws://127.0.0.1:8182/gremlin`.

Each function whose name begins with `check_` is one check; the last line says how many passed. The program that runs
this restarts the server when it reads the line "restart", and then writes a line.
"""

import sys
import uuid
from datetime import datetime, timedelta, timezone

from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.driver.serializer import GraphBinarySerializersV1, GraphSONSerializersV3d0
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import __
from gremlin_python.process.traversal import Order, P, T
from gremlin_python.statics import BigDecimal, bigint, long
from gremlin_python.structure.graph import Edge, Path, Property, Vertex, VertexProperty

URL = sys.argv[1]


def connect(serializer=GraphBinarySerializersV1, **options):
    connection = DriverRemoteConnection(URL, "g", message_serializer=serializer(), **options)
    return connection, traversal().with_(connection)


def refused(run):
    """The error that `run` ends with."""
    try:
        run()
    except GremlinServerError as error:
        return error
    raise AssertionError("an error was expected")


def clear(g):
    g.V().drop().iterate()


def check_values_of_every_type(g):
    now = datetime(2024, 2, 3, 4, 5, 6, 789000, tzinfo=timezone.utc)
    values = [
        None, True, False, 1, -5, long(1 << 40), bigint(1 << 80), 1.5, "text", "ä😀", BigDecimal(2, 125),
        uuid.UUID(int=7), now, timedelta(seconds=90), [1, "a"], {"a": 1},
    ]
    for value in values:
        found = g.inject(value).to_list()
        assert found == [value], (value, found)


def check_decimals_and_bytes(g):
    client = Client(URL, "g", message_serializer=GraphBinarySerializersV1())
    found = client.submit("g.inject(1.25m)").all().result()
    assert (found[0].scale, found[0].unscaled_value) == (2, 125), found
    assert client.submit("g.inject(x)", {"x": b"\x00\xff"}).all().result() == [b"\x00\xff"]
    client.close()


def check_elements(g):
    clear(g)
    ann = g.add_v("person").property("name", "ann").property("age", 41).next()
    assert isinstance(ann, Vertex) and ann.label == "person", ann
    bob = g.add_v("person").property("name", "bob").next()
    edge = g.V(ann.id).add_e("knows").to(__.V(bob.id)).property("since", 1833).next()
    assert isinstance(edge, Edge) and (edge.outV.id, edge.inV.id) == (ann.id, bob.id), edge
    found = {property.key: property.value for property in g.V(ann).next().properties}
    assert found == {"name": "ann", "age": 41}, found
    property = g.V(ann).properties("name").next()
    assert isinstance(property, VertexProperty) and property.value == "ann", property
    property = g.E(edge).properties().next()
    assert isinstance(property, Property) and property.value == 1833, property
    path = g.V(ann).out("knows").values("name").path().next()
    assert isinstance(path, Path) and path.objects[2] == "bob", path
    assert g.V(ann).value_map().next() == {"name": ["ann"], "age": [41]}
    assert g.V(ann).element_map().next()[T.label] == "person"
    assert g.V().group_count().by("name").next() == {"ann": 1, "bob": 1}
    assert g.V().values("name").order().by(Order.desc).to_list() == ["bob", "ann"]
    assert g.V().has("age", P.gt(40)).count().next() == 1
    assert g.V().has("name", "nobody").to_list() == []


def check_bulk(g):
    assert g.inject(*[1] * 1000).barrier().to_list() == [1] * 1000


def check_transactions(g):
    clear(g)
    tx = g.tx()
    within = tx.begin()
    within.add_v("person").property("name", "ann").iterate()
    assert within.V().count().next() == 1
    assert g.V().count().next() == 0
    tx.commit()
    assert g.V().count().next() == 1
    tx = g.tx()
    within = tx.begin()
    within.add_v("person").iterate()
    tx.rollback()
    assert g.V().count().next() == 1
    # Closed without either: rolled back.
    tx = g.tx()
    tx.begin().add_v("person").iterate()
    tx.close()
    assert g.V().count().next() == 1


def check_conflicts(g):
    clear(g)
    g.add_v("counter").property("value", 0).iterate()
    first, second = g.tx(), g.tx()
    within_first, within_second = first.begin(), second.begin()
    within_first.V().property("value", 1).iterate()

    def write():
        within_second.V().property("value", 2).iterate()
        first.commit()
        second.commit().all().result()

    error = refused(write)
    assert error.status_code == 596, error
    assert "conflict" in str(error), error
    assert error.status_attributes["kind"] == "conflict", error.status_attributes
    if first.is_open():
        first.commit()
    if second.is_open():
        second.rollback()
    assert g.V().values("value").next() == 1


def check_errors(g):
    error = refused(lambda: g.V().has("name", P.gt(1)).fail("no stock").inject(1).fail("no stock").next())
    assert error.status_code == 595 and "no stock" in str(error), error
    client = Client(URL, "g", message_serializer=GraphBinarySerializersV1())
    error = refused(lambda: client.submit("g.V().otu()").all().result())
    assert error.status_code == 597, error
    attributes = error.status_attributes
    assert (attributes["kind"], attributes["line"], attributes["column"]) == ("invalid", 1, 7), attributes
    assert client.submit("g.inject(x)", {"x": 7}).all().result() == [7]
    error = refused(
        lambda: client.submit(
            "g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))", request_options={"evaluationTimeout": 100}
        ).all().result()
    )
    assert error.status_code == 598, error
    client.close()


def check_a_million_rows(g):
    clear(g)
    g.inject(0).repeat(__.union(__.identity(), __.identity())).times(10).limit(1000).add_v("point").iterate()
    assert g.V().count().next() == 1000
    client = Client(URL, "g", message_serializer=GraphBinarySerializersV1())
    rows = sum(len(part) for part in client.submit("g.V().as('a').V().as('b').select('b').id()"))
    assert rows == 1_000_000, rows
    client.close()


def check_many_at_once(g):
    client = Client(URL, "g", message_serializer=GraphBinarySerializersV1(), pool_size=4, max_workers=4)
    results = [client.submit_async("g.inject(x)", {"x": number}) for number in range(200)]
    assert [result.result().all().result() for result in results] == [[number] for number in range(200)]
    client.close()


def check_twenty_megabytes_in_a_hundred_rows(g):
    clear(g)
    text = "x" * 200_000
    client = Client(URL, "g", message_serializer=GraphBinarySerializersV1())
    query = (
        "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(7).limit(100)"
        ".addV('document').property('text', text).iterate()"
    )
    client.submit(query, {"text": text}).all().result()
    assert g.V().has_label("document").values("text").to_list() == [text] * 100
    clear(g)
    client.close()


def reconnects():
    """The driver keeps a connection that was closed; another one is to be made after the server was restarted."""
    connection, g = connect()
    clear(g)
    g.add_v("person").iterate()
    within = g.tx().begin()
    within.add_v("person").iterate()
    print("restart", flush=True)
    sys.stdin.readline()
    connection, g = connect()
    # The open transaction is gone.
    assert g.V().count().next() == 1
    connection.close()


def main():
    checks = [check for name, check in globals().items() if name.startswith("check_")]
    passed = 0
    for serializer in [GraphBinarySerializersV1, GraphSONSerializersV3d0]:
        connection, g = connect(serializer)
        for check in checks:
            try:
                check(g)
            except BaseException:
                print(f"{check.__name__} with {serializer.__name__} failed", file=sys.stderr)
                raise
            passed += 1
        connection.close()
    reconnects()
    print(f"{passed + 1} passed", flush=True)


main()
