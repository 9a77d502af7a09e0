"""Traversals as bytes: gremlinpython's GraphBinary, and values that it cannot write or would change."""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
from gremlin_python import statics
from gremlin_python.process.traversal import Bytecode, P, TextP
from gremlin_python.structure.io.graphbinaryV1 import (
    GraphBinaryWriter,
    OffsetDateTimeIO,
    PSerializer,
    TextPSerializer,
)

from evergraph.errors import InvalidError
from evergraph.values import Duration, EdgeId

__all__ = ["written"]

LONG_MAX = 2**63 - 1


def written(bytecode: Bytecode, edge_id: Callable[[EdgeId], str]) -> bytes:
    """The bytes of a traversal; ``edge_id`` says how queries name an edge.

    Raises
    ------
    InvalidError
        For what can't be in them: a lambda, an object of a class that isn't known.
    """
    out = bytearray()
    Writer({**OWN, EdgeId: Converted(edge_id)}).to_dict(bytecode, out)
    return bytes(out)


class Writer(GraphBinaryWriter):  # type: ignore[misc]
    """gremlinpython's writer, but that nothing is left out in silence."""

    def to_dict(self, obj: Any, to_extend: bytearray | None = None) -> Any:
        """Write a value with its type behind what is there."""
        out = bytearray() if to_extend is None else to_extend
        before = len(out)
        given = super().to_dict(obj, out)
        if len(out) == before:
            raise InvalidError(f"{obj!r} can't be an argument: no value is of {type(obj)}")
        return given


class Converted:
    """Writes a value as another one that stands for it."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        """Convert by this."""
        self._convert = convert

    def dictify(
        self, obj: Any, writer: Writer, to_extend: bytearray, as_value: bool = False, nullable: bool = True
    ) -> bytearray:
        """Write it."""
        writer.to_dict(self._convert(obj), to_extend)
        return to_extend


class Packed:
    """Writes numbers as the bytes of a type."""

    def __init__(self, code: int, form: str, parts: Callable[[Any], tuple[Any, ...]]) -> None:
        """The type's number, the form of its content for ``struct``, and the numbers in it."""
        self._code = code
        self._form = form
        self._parts = parts

    def dictify(
        self, obj: Any, writer: Writer, to_extend: bytearray, as_value: bool = False, nullable: bool = True
    ) -> bytearray:
        """Write it."""
        to_extend += bytes([self._code, 0]) + struct.pack(self._form, *self._parts(obj))
        return to_extend


class Compared:
    """Writes a predicate; a list that it compares with as one value, not as many."""

    def __init__(self, serializer: Any) -> None:
        """Write by this."""
        self._serializer = serializer

    def dictify(
        self, obj: Any, writer: Writer, to_extend: bytearray, as_value: bool = False, nullable: bool = True
    ) -> Any:
        """Write it."""
        if isinstance(obj.value, list) and obj.other is None and obj.operator not in ("within", "without"):
            obj = type(obj)(obj.operator, [obj.value])
        return self._serializer.dictify(obj, writer, to_extend, as_value, nullable)


class Moment:
    """Writes a date with a time to the microsecond; a naive one is in UTC."""

    @staticmethod
    def dictify(
        obj: Any, writer: Writer, to_extend: bytearray, as_value: bool = False, nullable: bool = True
    ) -> Any:
        """Write it."""
        aware = obj if obj.tzinfo is not None else obj.replace(tzinfo=datetime.timezone.utc)
        return OffsetDateTimeIO.dictify(aware, writer, to_extend, as_value, nullable)


def refuse_lambda(_: Any) -> NoReturn:
    raise InvalidError("lambdas are not supported: write the function in steps")


def integer(number: int) -> Any:
    """As wide as elsewhere in the package: 64 bits, or any number of them."""
    if -LONG_MAX - 1 <= number <= LONG_MAX:
        return statics.long(number)
    return statics.bigint(number)


def decimal_number(number: decimal.Decimal) -> Any:
    if not number.is_finite():
        raise InvalidError(f"{number} is not a valid decimal number")
    return statics.bigdecimal(number)


def seconds(time: datetime.timedelta) -> tuple[int, int]:
    return time.days * 86_400 + time.seconds, time.microseconds * 1_000


def duration(time: Duration) -> Any:
    if (time.months, time.days) == (0, 0):
        return Seconds(time)
    if (time.seconds, time.nanoseconds) == (0, 0):
        return Days(time)
    raise InvalidError(f"{time} can't be an argument: it has days or months and seconds; give one of them")


class Seconds:
    """A duration without days."""

    def __init__(self, time: Duration) -> None:
        self.time = time


class Days(Seconds):
    """A duration of days and months."""


#: Writers of what gremlinpython's have none for, or one that loses something.
OWN: dict[type, Any] = {
    FunctionType: Converted(refuse_lambda),
    int: Converted(integer),
    decimal.Decimal: Converted(decimal_number),
    datetime.datetime: Moment,
    datetime.date: Packed(0x84, ">ibb", lambda day: (day.year, day.month, day.day)),
    datetime.timedelta: Packed(0x81, ">qi", seconds),
    Duration: Converted(duration),
    Seconds: Packed(0x81, ">qi", lambda of: (of.time.seconds, of.time.nanoseconds)),
    Days: Packed(0x8A, ">iii", lambda of: (0, of.time.months, of.time.days)),
    P: Compared(PSerializer),
    TextP: Compared(TextPSerializer),
    frozenset: Converted(set),
    tuple: Converted(list),
    bytearray: Converted(bytes),
    np.int8: Packed(0x24, ">b", lambda number: (number,)),
    np.int16: Packed(0x26, ">h", lambda number: (number,)),
    np.int32: Packed(0x01, ">i", lambda number: (number,)),
    np.float32: Packed(0x08, ">f", lambda number: (number,)),
    np.generic: Converted(lambda scalar: scalar.item()),
}
