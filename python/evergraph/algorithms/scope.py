"""Scope: the part of a graph that an algorithm runs on, and the options that all algorithms share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, TypedDict

from evergraph.errors import InvalidError
from evergraph.progress import Progress
from evergraph.reader import names

__all__ = ["Choices", "Condition", "Scope", "native_scope", "native_weight"]

Condition: TypeAlias = str | tuple[str, str, Any]
"""A property that must be there, or (property, comparison, value): = != < <= > >= in."""


class Scope(TypedDict, total=False):
    """The part of a graph that is meant; all of it by default."""

    labels: str | Iterable[str] | None
    types: str | Iterable[str] | None
    where: Iterable[Condition] | None
    where_edges: Iterable[Condition] | None
    progress: Progress


class Choices(Scope, total=False):
    """Arguments that all algorithms share; see ``Algorithms``."""

    keys: str | Iterable[str] | None
    numpy: bool


def native_scope(
    labels: str | Iterable[str] | None = None,
    types: str | Iterable[str] | None = None,
    where: Iterable[Condition] | None = None,
    where_edges: Iterable[Condition] | None = None,
) -> tuple[list[str], list[str], list[Any], list[Any]]:
    """Give a scope as the native module wants it."""
    conditions = [[given] if isinstance(given, str) else list(given or ()) for given in (where, where_edges)]
    return names(labels), names(types), conditions[0], conditions[1]


def native_weight(weight: str | None, missing: float | None) -> tuple[str, float | None] | None:
    """Give a weight as the native module wants it."""
    if weight is None:
        if missing is not None:
            raise InvalidError("missing_weight goes with weight")
        return None
    return weight, missing
