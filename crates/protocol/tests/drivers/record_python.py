"""Records what gremlinpython 3.8 sends, and checks that it reads what Evergraph's encoder writes.

    python -m venv /tmp/recording && /tmp/recording/bin/pip install 'gremlinpython==3.8.*'
    EVERGRAPH_RECORD=1 cargo test -p evergraph-protocol --test messages drivers    # frames.txt
    /tmp/recording/bin/python crates/protocol/tests/drivers/record_python.py       # the other two

Files, one record a line, with fields separated by tabs:

    python_requests.txt   name, format, bytes of the message in hexadecimal digits
    frames.txt            name, format, bytes of a frame that the encoder wrote (by the Rust test)
    python_results.txt    name, format, what gremlinpython reads in that frame
"""

import itertools
import json
import pathlib
import struct
import uuid
from datetime import datetime, timedelta, timezone

from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.driver.serializer import GraphBinarySerializersV1, GraphSONSerializersV3d0
from gremlin_python.driver.transport import AbstractBaseTransport
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import __
from gremlin_python.process.strategies import OptionsStrategy, ReadOnlyStrategy
from gremlin_python.process.traversal import Cardinality, Order, P, T, TextP
from gremlin_python.statics import SingleByte, SingleChar, bigint, long, short
from gremlin_python.structure.graph import Edge, Path, Property, Vertex, VertexProperty

FOLDER = pathlib.Path(__file__).parent
SERIALIZERS = {"graphbinary": GraphBinarySerializersV1, "graphson": GraphSONSerializersV3d0}

counter = itertools.count(1)
uuid.uuid4 = lambda: uuid.UUID(int=0x4500_0000_0000_4000_8000_0000_0000_0000 + next(counter))


class Recorder(AbstractBaseTransport):
    """A transport that keeps what is written, and answers a log-in first if there is a password, then 204."""

    def __init__(self, name, messages):
        self.name, self.messages, self.challenges = name, messages, 0

    def connect(self, url, headers=None):
        pass

    def write(self, message):
        message = bytes(message)
        self.last = message
        self.messages.append((self.name[0], message))

    def read(self):
        code = 204
        if self.challenges:
            self.challenges, code = self.challenges - 1, 407
        mime, body = self.last[1 : 1 + self.last[0]], self.last[1 + self.last[0] :]
        if b"graphbinary" in mime:
            return b"\x81\x00" + body[1:17] + struct.pack(">i", code) + b"\x01" + b"\0" * 8 + b"\xfe\x01"
        request = json.loads(body)["requestId"]["@value"]
        empty = {"@type": "g:Map", "@value": []}
        status = {"code": code, "message": "", "attributes": empty}
        response = {"requestId": str(request), "status": status, "result": {"data": None, "meta": empty}}
        return json.dumps(response).encode()

    def close(self):
        pass

    @property
    def closed(self):
        return False


def requests(form):
    """What the driver sends for some traversals, in one format."""
    messages, name = [], [""]
    serializer = SERIALIZERS[form]

    def transport(challenges=0):
        recorder = Recorder(name, messages)
        recorder.challenges = challenges
        return recorder

    url = "ws://localhost:8182/gremlin"
    connection = DriverRemoteConnection(
        url, "social", transport_factory=transport, message_serializer=serializer(), pool_size=1, max_workers=1
    )
    g = traversal().with_(connection)

    def record(title, run):
        name[0] = title
        run()

    record("a traversal", lambda: g.V().has("person", "age", P.gt(30)).out("knows").values("name").to_list())
    record(
        "options",
        lambda: g.with_("evaluationTimeout", 500)
        .with_("batchSize", 10)
        .with_("materializeProperties", "tokens")
        .V()
        .to_list(),
    )
    record("strategies", lambda: g.with_strategies(ReadOnlyStrategy()).V().count().to_list())
    moment = datetime(2024, 2, 29, 12, 30, 15, 500_000, tzinfo=timezone(timedelta(hours=1)))
    values = [1, long(-2), 1.5, "é", True, None, uuid.UUID(int=7), moment, timedelta(seconds=5), SingleChar("x")]
    values += [[1, "a"], {"a": 1}, bigint(2**70)]
    record("values", lambda: g.inject(*values).to_list())
    record(
        "steps",
        lambda: g.V()
        .where(__.out().has("name", TextP.starting_with("a")))
        .order()
        .by("name", Order.desc)
        .property(Cardinality.list_, "k", "v")
        .value_map(True)
        .select(T.id)
        .to_list(),
    )
    record("an element", lambda: g.V(Vertex(17, "person")).add_e("knows").to(Vertex(4, "person")).to_list())

    transaction = g.tx()
    in_transaction = transaction.begin()
    record("in a transaction", lambda: in_transaction.add_v("person").iterate())
    record("commit", transaction.commit)
    transaction = g.tx()
    in_transaction = transaction.begin()
    record("in another transaction", lambda: in_transaction.V().to_list())
    record("rollback", transaction.rollback)

    client = Client(
        url, "g", transport_factory=transport, message_serializer=serializer(), pool_size=1, max_workers=1
    )
    bindings = {"age": 30, "names": ["ann", "bob"]}
    record("a text", lambda: client.submit("g.V().has('age', gt(age))", bindings).all().result())
    record(
        "options of a text",
        lambda: client.submit("g.V()", request_options={"evaluationTimeout": 500, "batchSize": 2}).all().result(),
    )
    locked = Client(
        url,
        "g",
        transport_factory=lambda: transport(1),
        message_serializer=serializer(),
        username="stephen",
        password="secret",
        pool_size=1,
        max_workers=1,
    )
    record("a log-in", lambda: locked.submit("g.V()").all().result())
    session = Client(
        url,
        "g",
        session="a session",
        transport_factory=transport,
        message_serializer=serializer(),
        pool_size=1,
        max_workers=1,
    )
    record("a text in a session", lambda: session.submit("g.V()").all().result())
    record("the end of a session", session.close)
    return messages


def plain(value):
    """A text of what the driver read, in which types and ids can be seen."""
    match value:
        case Vertex() | Edge() | VertexProperty():
            properties = sorted((plain(found) for found in value.properties or []), key=str)
            text = f"{type(value).__name__}({plain(value.id)}, {value.label!r}"
            if isinstance(value, Edge):
                text += f", {plain(value.outV)} -> {plain(value.inV)}"
            if isinstance(value, VertexProperty):
                text += f", {plain(value.value)}"
            return f"{text}, [{', '.join(properties)}])"
        case Property():
            return f"Property({value.key!r}, {plain(value.value)})"
        case Path():
            labels = [sorted(labels) for labels in value.labels]
            return f"Path({labels}, [{', '.join(map(plain, value.objects))}])"
        case dict():
            return "{" + ", ".join(f"{plain(key)}: {plain(found)}" for key, found in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(plain, value)) + "]"
        case set():
            return "{" + ", ".join(sorted(map(plain, value))) + "}"
    if type(value).__name__ == "Traverser":
        return f"{value.bulk} x {plain(value.object)}"
    if type(value).__name__ == "BigDecimal":
        return f"BigDecimal({value.scale}, {value.unscaled_value})"
    if isinstance(value, float) and not isinstance(value, bool):
        return f"float({value!r})"
    if type(value) in (long, short, SingleByte, SingleChar):
        return f"{type(value).__name__}({value!r})"
    return repr(value)


def results():
    """What the driver reads in each frame of `frames.txt`; an error of the driver is its own text."""
    for line in (FOLDER / "frames.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, form, digits = line.split("\t")
        try:
            message = SERIALIZERS[form]().deserialize_message(bytes.fromhex(digits))
            status, result = message["status"], message["result"]
            found = f"{status['code']} {status['message'] or ''!r} {plain(status['attributes'])} {plain(result['data'])}"
            assert message["requestId"] == "41d2e28a-20a4-4ab0-b379-d810dede3786", message["requestId"]
        except Exception as error:
            found = f"refused: {type(error).__name__}: {error}"
        yield name, form, found


def write(name, rows):
    head = f"# Made by record_python.py with gremlinpython {version()}.\n"
    (FOLDER / name).write_text(head + "".join("\t".join(row) + "\n" for row in rows))


def version():
    from importlib.metadata import version

    return version("gremlinpython")


if __name__ == "__main__":
    write(
        "python_requests.txt",
        ((name, form, message.hex()) for form in SERIALIZERS for name, message in requests(form)),
    )
    if (FOLDER / "frames.txt").exists():
        write("python_results.txt", results())
