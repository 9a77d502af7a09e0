"""Values: the types of properties, and the Python types that represent them.

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
datetime                  ``datetime.datetime``: aware when read; a naive one counts as UTC
duration                  ``datetime.timedelta``, which is seconds; ``Duration`` with days, months or nanoseconds
uuid                      ``uuid.UUID``
list, set, map            ``list`` or ``tuple``, ``set`` or ``frozenset``, ``dict``
========================  ====================================================================

A property has its declared type (``Transaction.declare_property``), or else the type of its first value. A whole
number is stored in the width of its property.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

__all__ = ["Direction", "Duration", "EdgeId", "Item", "Property", "Subgraph", "Value", "VertexId"]


class VertexId(int):
    """The id of a vertex, where it must be distinguished from other numbers.

    All methods take and return plain numbers for vertices. A service that a query calls receives a vertex as a
    ``VertexId``, and returns it as one: see ``evergraph.services``.
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
        The vertex at which it begins.
    type : str
        Its type.
    target : int
        The vertex at which it ends.
    discriminator : int
        Zero unless there are parallel edges of this type from source to target.
    """

    source: int
    type: str
    target: int
    discriminator: int = 0


class Duration(NamedTuple):
    """An amount of time with parts that ``datetime.timedelta`` lacks.

    A calendar day is not always 24 hours, nor a month 30 days: ``Duration(days=1)`` differs from
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
"""Types that can be written to a property; reads never return NumPy scalars."""

Item: TypeAlias = int | EdgeId
"""A vertex by its id, or an edge."""


class Property(NamedTuple):
    """A property as a query returns it: ``g.V().properties()``.

    Attributes
    ----------
    item : int, EdgeId, Property or None
        The vertex, the edge or the vertex property that has it; ``None`` if a server sent the property of an edge.
    key : str
        Its key.
    value
        Its value.
    """

    item: Item | Property | None
    key: str
    value: Any


class Subgraph(NamedTuple):
    """A part of the graph as a query returns it: ``g.E().subgraph('x').cap('x')``.

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
"""From source to target, from target to source, or both."""
