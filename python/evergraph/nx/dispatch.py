"""Dispatch: which functions of NetworkX run here, and with which arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

import networkx

from evergraph.nx.content import Content

__all__ = ["ALGORITHMS", "Refusal", "content_of", "native", "only", "unless"]

Refusal: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""Given the arguments of a call: why it can't run here, or ``None``."""

F = TypeVar("F", bound=Callable[..., Any])


class Algorithm(NamedTuple):
    """A function and what it refuses."""

    function: Callable[..., Any]
    signature: inspect.Signature
    refusals: tuple[Refusal, ...]

    def refused(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Why it can't run with these arguments, or ``None``."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            return f"the arguments are others: {error}"
        bound.apply_defaults()
        return next((reason for refusal in self.refusals if (reason := refusal(bound.arguments))), None)


ALGORITHMS: dict[str, Algorithm] = {}
"""By the name under which NetworkX dispatches."""


def native(*refusals: Refusal, name: str | None = None) -> Callable[[F], F]:
    """Register a function under its own name or under `name`: its arguments are those of NetworkX's."""

    def register(function: F) -> F:
        ALGORITHMS[name or function.__name__] = Algorithm(function, inspect.signature(function), refusals)
        return function

    return register


def only(parameter: str, *values: Any) -> Refusal:
    """Refuse all but some values of a parameter."""

    def refusal(arguments: Mapping[str, Any]) -> str | None:
        given = arguments[parameter]
        if any(given is value or (type(given) is type(value) and given == value) for value in values):
            return None
        return f"{parameter} can only be {' or '.join(map(repr, values))}"

    return refusal


def unless(condition: Callable[[Mapping[str, Any]], bool], reason: str) -> Refusal:
    """Refuse where a condition holds."""
    return lambda arguments: reason if condition(arguments) else None


def attribute(parameter: str = "weight") -> Refusal:
    """Refuse a weight that isn't the name of an attribute."""
    return lambda arguments: (
        None
        if arguments[parameter] is None or isinstance(arguments[parameter], str)
        else f"{parameter} must be the name of an attribute"
    )


undirected = unless(lambda arguments: arguments["G"].is_directed(), "the graph is directed")
not_multigraph = unless(lambda arguments: arguments["G"].is_multigraph(), "the graph is a multigraph")


def content_of(graph: Any) -> Content:
    """Give the content of one of our graphs."""
    content: Content = graph.content
    return content


def row_of(graph: Any, node: Any, what: str = "Node {} is not in the graph.") -> int:
    """Give the row of a node.

    Raises
    ------
    networkx.NodeNotFound
        If there is no such node; `what` is the text.
    """
    row = content_of(graph).rows.get(node)
    if row is None:
        raise networkx.NodeNotFound(what.format(node))
    return row


def by_node(graph: Any, values: Any) -> dict[Any, Any]:
    """A dict of an array with a row a node."""
    return dict(zip(content_of(graph).nodes, values.tolist(), strict=True))


def named(graph: Any, rows: Any) -> list[Any]:
    """The nodes of an array of rows."""
    nodes = content_of(graph).nodes
    return [nodes[row] for row in rows.tolist()]


def generator(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that only begins when it is iterated over, as NetworkX's generators do."""

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Any:
        yield from function(*args, **kwargs)

    return generate
