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
    """The graph as seen by a query that calls a service: its snapshot, with the writes of its transaction.

    The view is closed when the service returns.
    """

    __slots__ = ()

    def __init__(self, native: NativeGraph) -> None:
        """Queries create it."""
        self._native = native

    def __repr__(self) -> str:
        """Say whether it can be used."""
        return f"<evergraph.GraphView{state_of(self)}>"


class Request(NamedTuple):
    """The request of one row to a service.

    Attributes
    ----------
    input
        The current value of the row, as in ``Results``, except that a vertex is a ``VertexId``; ``None`` at the
        beginning of a query.
    parameters : dict
        The parameters of ``call()`` and of the ``with()`` after it.
    """

    input: Any
    parameters: dict[str, Any]


class Service:
    """A function that queries call, with the description that ``g.call()`` shows.

    Where a query takes services, a plain function is also accepted: it becomes ``Service(function)``.

    Parameters
    ----------
    function : callable
        ``function(graph, input, **parameters)`` returns an iterable with the results for one row, for example a
        generator. ``graph`` is a ``GraphView``; ``input`` is the current value of the row, ``None`` at the
        beginning of a query. A result may have any type that a variable may have; a vertex is a ``VertexId``, an
        edge an ``EdgeId``.
    summary : str, optional
        A one-line description; by default the first line of the function's docstring.
    kinds : sequence of {"start", "streaming"}
        Where it can be called: at the beginning of a query, after a step, or both (the default).
    parameters : mapping of str to str, optional
        Its parameters by name, with a one-line description each.
    batches : bool
        Whether the function takes many rows at once, as a function that queries a model or another database
        should: ``function(graph, requests)`` returns an iterable of results for each ``Request`` in a list.

    Notes
    -----
    Several queries may call a service at once. It runs on a thread of its own. An exception in it ends the query,
    and is raised where results are fetched. Ctrl-C and the query's timeout take effect only when the function
    returns.

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
        """Show the function."""
        return f"<evergraph.Service {self._function!r}>"


Services: TypeAlias = Mapping[str, Service | Callable[..., Any]]
"""Services by the names that queries call them by."""


def listed(results: Iterable[Any]) -> list[Any]:
    """Results as a list."""
    if isinstance(results, str | bytes | Mapping) or not isinstance(results, Iterable):
        raise InvalidError(f"a service gives an iterable of results, as by yield, not {results!r}")
    return list(results)


def described(services: Services | None) -> list[tuple[str, Any, str, list[str], list[tuple[str, str]]]]:
    """Give services in the form that the native module expects."""
    found = []
    for name, given in (services or {}).items():
        service = given if isinstance(given, Service) else Service(given)
        parameters = list(service.parameters.items())
        found.append((name, service._answers, service.summary, service.kinds, parameters))
    return found
