"""Values of every type, both ways: as arguments of a traversal and as variables of a text; and what this driver can't send
or read."""

import math
import struct
import uuid
from datetime import datetime, timedelta, timezone

from gremlin_python.process.traversal import Direction, GType, P, T
from gremlin_python.statics import BigDecimal, SingleByte, SingleChar, bigint, long, short
from support import clear, refused, say

WEST = timezone(timedelta(hours=-5, minutes=-30))
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1

# Values that come back as they were sent, and what the server takes them for.
VALUES = [
    (True, GType.BOOLEAN), (False, GType.BOOLEAN),
    (SingleByte(-4), GType.BYTE), (short(-300), GType.SHORT),
    (7, GType.INT), (-(1 << 31), GType.INT), ((1 << 31) - 1, GType.INT),
    (long(7), GType.LONG), (long(LONG_MIN), GType.LONG), (long(LONG_MAX), GType.LONG),
    (bigint(1 << 80), GType.BIGINT), (bigint(LONG_MIN - 1), GType.BIGINT),
    (0.1, GType.DOUBLE), (-5e-324, GType.DOUBLE), (math.inf, GType.DOUBLE), (-math.inf, GType.DOUBLE),
    (BigDecimal(2, 125), GType.BIGDECIMAL),
    ("", GType.STRING), ("ä\0\u2028 😀\U0010ffff", GType.STRING), (SingleChar("é"), GType.CHAR),
    (uuid.UUID("41d2e28a-20a4-4ab0-b379-d810dede3786"), GType.UUID),
    (datetime(2024, 2, 3, 4, 5, 6, 789123, tzinfo=timezone.utc), GType.DATETIME),
    (datetime(1, 1, 1, tzinfo=timezone.utc), GType.DATETIME),
    (datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=WEST), GType.DATETIME),
    (timedelta(seconds=86399, microseconds=7), GType.DURATION),
    ([1, "a", [None, []]], GType.LIST), ({"a": 1, 2: [3], "b": {}}, GType.MAP), ({1, "a"}, GType.SET),
]


def raises(kind, run):
    """The error of the driver itself that `run` ends with."""
    try:
        run()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def check_arguments_of_every_type(context):
    g = context.g
    for value, kind in VALUES:
        found = g.inject(value).is_(P.type_of(kind)).to_list()
        assert found == [value], (value, found)
    for value in [None, T.id, T.label, Direction.OUT, {T.id: 1}]:
        assert g.inject(value).to_list() == [value], value
    assert math.isnan(g.inject(math.nan).next())
    assert g.inject([1, 2], [3]).to_list() == [[1, 2], [3]]
    # A time without a zone is one of UTC.
    naive = datetime(2024, 2, 3, 4, 5, 6)
    assert g.inject(naive).to_list() == [naive.replace(tzinfo=timezone.utc)]


def check_variables_of_every_type(context):
    plain = (bool, float, list, str, int) if not context.is_binary else object
    for value, kind in VALUES:
        is_plain = isinstance(value, plain) and value not in (math.inf, -math.inf)
        if context.is_binary or is_plain:
            assert context.ask("g.inject(x)", x=value) == [value], value
    if context.is_binary:
        for value, kind in VALUES:
            assert context.ask(f"g.inject(x).is(P.typeOf(GType.{kind.name})).count()", x=value) == [1], value
        return
    # In GraphSON the driver sends variables as plain JSON, which has fewer types, and keys of maps are texts.
    for value in [uuid.UUID(int=7), datetime(2024, 2, 3), timedelta(1), {1}, b"a", BigDecimal(2, 125), T.id]:
        raises(TypeError, lambda: context.ask("g.inject(x)", x=value))
    assert context.ask("g.inject(x)", x={"a": 1, 2: None}) == [{"a": 1, "2": None}]
    refused(lambda: context.ask("g.inject(x)", x=math.inf), 498)
    assert context.ask("g.inject(x)", x=7) == [7]


def check_literals_of_every_type(context):
    texts = {
        "1b": (SingleByte, 1), "2s": (short, 2), "3i": (int, 3), "4l": (long, 4), "5n": (long, 5), "0.5f": (float, 0.5),
        "0.1d": (float, 0.1), "1.25m": (BigDecimal, BigDecimal(2, 125)), "'ä😀'": (str, "ä😀"), "null": (type(None), None),
        "UUID('41d2e28a-20a4-4ab0-b379-d810dede3786')": (uuid.UUID, uuid.UUID("41d2e28a-20a4-4ab0-b379-d810dede3786")),
        "datetime('2024-02-03T04:05:06.789-05:30')": (datetime, datetime(2024, 2, 3, 4, 5, 6, 789000, tzinfo=WEST)),
        "T.id": (T, T.id), "Direction.IN": (Direction, Direction.IN),
    }
    for text, (kind, value) in texts.items():
        (found,) = context.ask(f"g.inject({text})")
        # In GraphBinary the driver reads integers of all widths but a byte's as an int.
        is_same = type(found) is kind or (context.is_binary and kind in (short, long) and type(found) is int)
        assert is_same and found == value, (text, type(found), found)


def check_what_the_driver_cannot_send_or_read(context):
    g = context.g
    if context.is_binary:
        assert g.inject(b"\0\xff").to_list() == [b"\0\xff"] == context.ask("g.inject(x)", x=b"\0\xff")
        assert g.inject(BigDecimal(40, -(10**50))).to_list() == [BigDecimal(40, -(10**50))]
        # An int is one of 32 bits.
        raises(struct.error, lambda: g.inject(1 << 31).next())
        raises(Exception, lambda: g.inject(1 << 63).next())
        # The days of a duration are lost, those of a negative one too.
        assert g.inject(timedelta(days=2, seconds=5)).to_list() == [timedelta(seconds=5)]
        assert context.ask("g.inject(x)", x=timedelta(seconds=-5)) == [timedelta(seconds=86395)]
    else:
        assert g.inject(1 << 31, 1 << 63).to_list() == [1 << 31, 1 << 63]
        # The driver's binaries are not in base64.
        refused(lambda: g.inject(b"\0\xff").next(), 498)
        # A decimal is a double on its way.
        assert g.inject(BigDecimal(20, 10**20 + 1)).next() == BigDecimal(1, 10)
        assert g.inject(timedelta(days=2, seconds=5)).to_list() == [timedelta(days=2, seconds=5)]
        raises(Exception, lambda: g.inject(timedelta(seconds=-5)).next())
    clear(g)
    say("sample")
    for key, kind, text in [("date", "gx:LocalDate", "2024-02-03"), ("period", "gx:Period", "P1M3D")]:
        if context.is_binary:
            raises(ValueError, lambda: g.V().values(key).next())
        else:
            assert g.V().values(key).next() == {"@type": kind, "@value": text}
    # What is wrong in the driver leaves its connections as they were.
    assert g.inject(7).to_list() == [7]
