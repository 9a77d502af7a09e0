"""Values: what a property can hold, and which Python types stand for it.

========================  ====================================================================
property                  Python
========================  ====================================================================
bool                      ``bool``
byte, short, int, long    ``int``; NumPy's integers keep their width
bigint                    ``int`` beyond 64 bits
float, double             ``float``; ``numpy.float32`` is a float
decimal                   ``decimal.Decimal``
char, string              ``str``
bytes                     ``bytes``
date                      ``datetime.date``
datetime                  ``datetime.datetime``: aware when read; a naive one is taken for UTC
duration                  ``datetime.timedelta``, which is seconds; ``Duration`` with days, months or nanoseconds
uuid                      ``uuid.UUID``
list, set, map            ``list`` or ``tuple``, ``set`` or ``frozenset``, ``dict``
========================  ====================================================================

A property has the type of its first value, or the one that was declared
(``Transaction.declare_property``). A whole number is stored in the width of its property.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

__all__ = ["Direction", "Duration", "EdgeId", "Item", "Property", "Subgraph", "Value", "VertexId"]


class VertexId(int):
    """The number of a vertex, where it must be told from other numbers.

    All methods take plain numbers for vertices, and give them. A service that a query calls is given a vertex as a
    ``VertexId``, and gives one so: see ``evergraph.services``.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Say that it is a vertex."""
        return f"VertexId({int(self)})"


class EdgeId(NamedTuple):
    """The identity of an edge.

    Attributes
    ----------
    source : int
        The vertex where it starts.
    type : str
        Its type.
    target : int
        The vertex where it ends.
    discriminator : int
        Zero unless edges of this type run parallel from source to target.
    """

    source: int
    type: str
    target: int
    discriminator: int = 0


class Duration(NamedTuple):
    """An amount of time with parts that ``datetime.timedelta`` lacks.

    A day of a calendar isn't always 24 hours, nor a month 30 days: ``Duration(days=1)`` is another value than
    ``timedelta(days=1)``, which is 86,400 seconds.

    Attributes
    ----------
    months, days, seconds : int
        Of either sign.
    nanoseconds : int
        From 0 to 999,999,999; counts forward from the seconds.
    """

    months: int = 0
    days: int = 0
    seconds: int = 0
    nanoseconds: int = 0


Value: TypeAlias = (
    bool
    | int
    | float
    | decimal.Decimal
    | str
    | bytes
    | bytearray
    | datetime.date
    | datetime.timedelta
    | Duration
    | uuid.UUID
    | list[Any]
    | tuple[Any, ...]
    | set[Any]
    | frozenset[Any]
    | dict[Any, Any]
    | np.generic
)
"""What a property can hold, as it is given; NumPy's scalars are never what is read."""

Item: TypeAlias = int | EdgeId
"""A vertex by its number, or an edge."""


class Property(NamedTuple):
    """A property as a query gives it: ``g.V().properties()``.

    Attributes
    ----------
    item : int, EdgeId or Property
        The vertex, the edge or the vertex' property that has it.
    key : str
        What it is called.
    value
        What it holds.
    """

    item: Item | Property
    key: str
    value: Any


class Subgraph(NamedTuple):
    """A part of the graph as a query gives it: ``g.E().subgraph('x').cap('x')``.

    Attributes
    ----------
    vertices : list of int
        The ends of its edges, ascending.
    edges : list of EdgeId
        Its edges.
    """

    vertices: list[int]
    edges: list[EdgeId]


Direction: TypeAlias = Literal["out", "in", "both"]
"""From source to target, against it, or both ways."""
