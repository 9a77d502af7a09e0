"""Gremlin as Python: gremlinpython's traversals on an embedded database, with no server.

>>> from evergraph.gremlin import traversal
>>> from gremlin_python.process.traversal import P
>>> g = traversal(db)
>>> g.V().has("Person", "born", P.lt(1800)).order().by("born").values("name").to_list()
['Mary', 'Charles']
>>> g.V().has_label("Person").next()
v[0]

See the guide to queries (docs/guide/queries.md). It needs gremlinpython: ``pip install evergraph[gremlin]``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evergraph.gremlin.connection import Connection, traversal

__all__ = ["Connection", "traversal"]


def __getattr__(name: str) -> object:
    """Import what needs gremlinpython when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.connection"), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"this needs {error.name}: pip install evergraph[gremlin]") from error
