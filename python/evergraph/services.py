"""Services: functions that a query calls with ``call()``.

>>> def age(graph, person, *, year):
...     born = graph.get(person, "born")
...     if born is not None:
...         yield year - born
>>> services = {"age": age}
>>> db.query("g.V().has('name', 'Ada').call('age', ['year': 1843])", services=services).to_list()
[28]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from evergraph.errors import InvalidError
from evergraph.handle import state_of
from evergraph.reader import Reader

if TYPE_CHECKING:
    from evergraph._native import Graph as NativeGraph

__all__ = ["GraphView", "Request", "Service", "Services"]

Kind: TypeAlias = Literal["start", "streaming"]


class GraphView(Reader):
    """The graph as a query sees it that calls a service: at its moment, with the writes of its transaction.

    It is closed when the service returns.
    """

    __slots__ = ()

    def __init__(self, native: NativeGraph) -> None:
        """Queries make it."""
        self._native = native

    def __repr__(self) -> str:
        """Say whether it can be used."""
        return f"<evergraph.GraphView{state_of(self)}>"


class Request(NamedTuple):
    """What a service is asked by one row.

    Attributes
    ----------
    input
        What the row is at, as ``Results`` gives it, a vertex as a ``VertexId``; ``None`` at the beginning of a
        query.
    parameters : dict
        What ``call()`` and the ``with()`` behind it say.
    """

    input: Any
    parameters: dict[str, Any]


class Service:
    """A function that queries call, and what ``g.call()`` tells of it.

    Where a query takes services, a function alone will do: it is ``Service(function)`` then.

    Parameters
    ----------
    function : callable
        ``function(graph, input, **parameters)`` gives the results for one row, an iterable: a generator, say.
        ``graph`` is a ``GraphView``, ``input`` what the row is at, ``None`` at the beginning of a query.
        A result is whatever a variable may be; a vertex is a ``VertexId``, an edge an ``EdgeId``.
    summary : str, optional
        What it does, in one line; by default the first one of the function's documentation.
    kinds : sequence of {"start", "streaming"}
        Where it can be called: at the beginning of a query, behind a step, or both, as by default.
    parameters : mapping of str to str, optional
        What it can be told, by name, a line each.
    batches : bool
        Whether the function takes many rows at once, as what asks a model or another database should:
        ``function(graph, requests)`` gives an iterable of results for each of a list of ``Request``.

    Notes
    -----
    Several queries may call it at once. It runs on a thread of its own; what it raises ends the query, and is
    raised where results are fetched. Ctrl-C and the query's time end the query when the function returns, not
    before.

    Examples
    --------
    >>> def degrees(graph, requests):
    ...     return [[graph.degree(request.input, direction="both")] for request in requests]
    >>> service = Service(degrees, summary="How many edges it has.", kinds=["streaming"], batches=True)
    >>> db.query("g.V().call('degree').fold()", services={"degree": service}).one()
    [2, 2, 2]
    """

    __slots__ = ("_batches", "_function", "kinds", "parameters", "summary")

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        summary: str | None = None,
        kinds: Sequence[Kind] = ("start", "streaming"),
        parameters: Mapping[str, str] | None = None,
        batches: bool = False,
    ) -> None:
        """Describe a function."""
        if not callable(function):
            raise InvalidError(f"a service is a function, not {function!r}")
        self._function = function
        self._batches = batches
        self.kinds: list[str] = [kinds] if isinstance(kinds, str) else list(kinds)
        self.parameters = dict(parameters or {})
        self.summary = summary if summary is not None else (getdoc(function) or "").partition("\n")[0]

    def _answers(self, native: NativeGraph, asked: list[tuple[Any, dict[str, Any]]]) -> list[list[Any]]:
        """A list of results for each of ``asked``; the native module calls it."""
        graph = GraphView(native)
        requests = [Request(*request) for request in asked]
        if not self._batches:
            return [listed(self._function(graph, request.input, **request.parameters)) for request in requests]
        answers = [listed(results) for results in listed(self._function(graph, requests))]
        if len(answers) != len(requests):
            raise InvalidError(f"a service gave {len(answers)} answers to {len(requests)} requests")
        return answers

    def __repr__(self) -> str:
        """Show what it calls."""
        return f"<evergraph.Service {self._function!r}>"


Services: TypeAlias = Mapping[str, Service | Callable[..., Any]]
"""Services by the names that queries call them by."""


def listed(results: Iterable[Any]) -> list[Any]:
    """Results as a list."""
    if isinstance(results, str | bytes | Mapping) or not isinstance(results, Iterable):
        raise InvalidError(f"a service gives an iterable of results, as by yield, not {results!r}")
    return list(results)


def described(services: Services | None) -> list[tuple[str, Any, str, list[str], list[tuple[str, str]]]]:
    """Give services as the native module wants them."""
    found = []
    for name, given in (services or {}).items():
        service = given if isinstance(given, Service) else Service(given)
        parameters = list(service.parameters.items())
        found.append((name, service._answers, service.summary, service.kinds, parameters))
    return found
