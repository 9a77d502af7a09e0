"""Canonical: one text for each value, the same as canonical.rs writes, so that equal texts are equal values.

value        text                             value        text
none         -                                date         1815-12-10
bool         true                             moment       t:0 (nanoseconds since 1970, UTC)
whole        -7, of any width                 decimal      d:1.50
float        f: and its 64 bits, as hex       uuid         u: and its 32 digits
text         s: and the text                  list         [1,2]
bytes        b: and hex                       map          {k=1,l=s:x}, keys sorted
"""

import datetime
import decimal
import json
import struct
import sys
import uuid
from typing import Any

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def text(value: Any) -> str:
    """The text of a value of Python."""
    match value:
        case None:
            return "-"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return "f:" + struct.pack(">d", value).hex()
        case str():
            return "s:" + value
        case bytes():
            return "b:" + value.hex()
        case datetime.datetime():
            utc = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
            return moment((utc - EPOCH) // datetime.timedelta(microseconds=1) * 1000)
        case datetime.date():
            return value.isoformat()
        case decimal.Decimal():
            return f"d:{value:f}"
        case uuid.UUID():
            return "u:" + value.hex
        case list():
            return "[" + ",".join(map(text, value)) + "]"
        case dict():
            return "{" + ",".join(f"{key}={text(value[key])}" for key in sorted(value)) + "}"
        case _:
            raise TypeError(f"{value!r} is a {type(value).__name__}")


def moment(nanoseconds: int) -> str:
    """The text of a moment, finer than Python's own are."""
    return f"t:{nanoseconds}"


def answer(value: Any) -> None:
    """Gives the answer to the test that runs the script."""
    json.dump(value, sys.stdout)
