"""What the checks share."""

import sys
import time

from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.driver.serializer import GraphBinarySerializersV1, GraphSONSerializersV3d0
from gremlin_python.process.anonymous_traversal import traversal

SERIALIZERS = [GraphBinarySerializersV1, GraphSONSerializersV3d0]
ENDLESS = "g.inject(1).repeat(__.identity()).until(__.is(2))"


class Context:
    """A connection, a client and a source, in one format."""

    def __init__(self, url, serializer, **options):
        self.url, self.serializer = url, serializer
        self.is_binary = serializer is GraphBinarySerializersV1
        self.connection = DriverRemoteConnection(url, "g", message_serializer=serializer(), **options)
        self.g = traversal().with_(self.connection)
        self.client = Client(url, "g", message_serializer=serializer(), **options)

    def ask(self, text, /, **bindings):
        """The results of a query as a text."""
        return self.client.submit(text, bindings).all().result()

    def close(self):
        self.client.close()
        self.connection.close()


def refused(run, status):
    """The error of the server that `run` ends with."""
    try:
        run()
    except GremlinServerError as error:
        assert error.status_code == status, error
        return error
    raise AssertionError(f"status {status} was expected")


def clear(g):
    g.V().drop().iterate()


def run_checks(modules, open_context):
    """Runs each function of the modules whose name begins with `check_`, in both formats, and prints how many passed."""
    checks = [
        check for module in modules for name, check in vars(module).items() if name.startswith("check_")
    ]
    passed = 0
    for serializer in SERIALIZERS:
        context = open_context(serializer)
        for check in checks:
            began = time.monotonic()
            try:
                check(context)
            except BaseException:
                print(f"{check.__name__} with {serializer.__name__} failed", file=sys.stderr)
                raise
            print(f"{check.__name__}: {(time.monotonic() - began) * 1000:.0f} ms")
            passed += 1
        context.close()
    print(f"{passed} passed", flush=True)


def say(line):
    """Prints a line, and waits for the answer of the program that runs this."""
    print(line, flush=True)
    return sys.stdin.readline()
