"""Logs in by gremlinpython, as its users do: `python_logins.py URL PASSWORD ROOT`.

The server has the users reader, writer and nobody, all with this password, and its certificate is signed by ROOT, a file
in PEM. The last line says how many checks passed.
"""

import ssl
import sys

from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.driver.serializer import GraphBinarySerializersV1, GraphSONSerializersV3d0
from gremlin_python.process.anonymous_traversal import traversal

URL, PASSWORD, ROOT = sys.argv[1:]
TLS = ssl.create_default_context(cafile=ROOT)


def options(user, password, serializer):
    return {"username": user, "password": password, "message_serializer": serializer(), "ssl_options": TLS}


def connect(user, serializer, password=PASSWORD):
    connection = DriverRemoteConnection(URL, "g", **options(user, password, serializer))
    return connection, traversal().with_(connection)


def refused(run, status):
    """The error that `run` ends with."""
    try:
        run()
    except GremlinServerError as error:
        assert error.status_code == status, error
        return error
    raise AssertionError(f"status {status} was expected")


def check_a_writer_writes_and_a_reader_reads(serializer):
    connection, g = connect("writer", serializer)
    g.add_v("person").property("name", "ann").iterate()
    reading, read = connect("reader", serializer)
    assert read.V().values("name").to_list() == ["ann"]
    error = refused(lambda: read.add_v("person").iterate(), 403)
    assert "reader" in str(error), error
    assert g.V().count().next() == 1
    g.V().drop().iterate()
    reading.close()
    connection.close()


def check_transactions_log_in_on_connections_of_their_own(serializer):
    connection, g = connect("writer", serializer)
    for _ in range(5):
        tx = g.tx()
        tx.begin().add_v("person").iterate()
        tx.commit()
    assert g.V().count().next() == 5
    g.V().drop().iterate()
    connection.close()


def check_a_pool_logs_in_each_connection(serializer):
    client = Client(URL, "g", pool_size=4, max_workers=4, **options("reader", PASSWORD, serializer))
    results = [client.submit_async("g.inject(x)", {"x": number}) for number in range(50)]
    assert [result.result().all().result() for result in results] == [[number] for number in range(50)]
    client.close()


def check_wrong_log_ins_are_refused(serializer):
    connection, g = connect("writer", serializer, "wrong horse")
    refused(lambda: g.V().to_list(), 401)
    connection.close()
    connection, g = connect("nobody", serializer)
    error = refused(lambda: g.V().to_list(), 403)
    assert "no role" in str(error), error
    connection.close()


def main():
    checks = [check for name, check in globals().items() if name.startswith("check_")]
    passed = 0
    for serializer in [GraphBinarySerializersV1, GraphSONSerializersV3d0]:
        for check in checks:
            try:
                check(serializer)
            except BaseException:
                print(f"{check.__name__} with {serializer.__name__} failed", file=sys.stderr)
                raise
            passed += 1
    print(f"{passed} passed")


main()
