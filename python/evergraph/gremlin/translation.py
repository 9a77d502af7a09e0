"""Traversals of gremlinpython as texts with variables."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from typing import Any

from aenum import Enum
from gremlin_python.process.strategies import OptionsStrategy
from gremlin_python.process.traversal import (
    Binding,
    Bytecode,
    CardinalityValue,
    P,
    TextP,
    Traversal,
    TraversalStrategy,
    WithOptions,
)
from gremlin_python.statics import BigDecimal, GremlinType, timestamp
from gremlin_python.structure.graph import Edge, Property, Vertex, VertexProperty
from gremlin_python.structure.io.util import SymbolUtil

from evergraph.errors import InvalidError

__all__ = ["Translation"]

#: What a driver tells its server, and has no meaning within a process.
OF_A_SERVER = {"batchSize", "requestId", "userAgent"}
CONNECTIVES = {"and", "or"}
#: Options of steps as texts have them: the name, and the words for its values.
OPTIONS = {
    WithOptions.tokens: ("tokens", {0: "none", 1: "ids", 2: "labels", 4: "keys", 8: "values", 15: "all"}),
    WithOptions.indexer: ("indexer", {0: "list", 1: "map"}),
}
#: Modulators whose argument a text says as a name or as a traversal.
ENDS = {"from", "to"}


class Translation:
    """A traversal as a text: what isn't of the language itself is a variable, whatever is in it.

    Attributes
    ----------
    text : str
        ``"g.V().has(v0, v1)"``.
    variables : dict
        The values by name.
    timeout : float or None
        Seconds, if the source says so: ``with_("evaluationTimeout", milliseconds)``.
    properties : bool or None
        Whether elements come with properties, if the source says so: ``with_("materializeProperties", ...)``.
    """

    def __init__(self, bytecode: Bytecode) -> None:
        """Translate it.

        Raises
        ------
        InvalidError
            For what can't be in a text: a lambda.
        """
        self.variables: dict[str, Any] = {}
        self.timeout: float | None = None
        self.properties: bool | None = None
        instructions = [each for each in bytecode.source_instructions if not self._is_options(each)]
        self.text = "g" + self._calls(instructions + bytecode.step_instructions)

    def _is_options(self, instruction: list[Any]) -> bool:
        """Take what options say that aren't of the language, and leave it out."""
        if instruction[0] != "withStrategies" or len(instruction) != 2:
            return False
        strategy = instruction[1]
        if not isinstance(strategy, OptionsStrategy):
            return False
        options = dict(strategy.configuration)
        for name in ("evaluationTimeout", "scriptEvaluationTimeout"):
            if name in options:
                # Gremlin's servers take 0 for no limit.
                self.timeout = options.pop(name) / 1000 or float("inf")
        if "materializeProperties" in options:
            self.properties = options.pop("materializeProperties") != "tokens"
        unknown = options.keys() - OF_A_SERVER
        if unknown:
            raise InvalidError(f"with_({min(unknown)!r}, ...): there is no such option of a source")
        return True

    def _calls(self, instructions: list[list[Any]]) -> str:
        return "".join(f".{name}({self._given(name, arguments)})" for name, *arguments in instructions)

    def _given(self, name: str, arguments: list[Any]) -> str:
        if name in ENDS and len(arguments) == 1 and isinstance(arguments[0], Vertex):
            return f"__.V({self._argument(arguments[0])})"
        if name == "with":
            # A plan asks what its options are before there are values of variables.
            return self._options(*arguments)
        return self._all(arguments)

    def _options(self, key: str, *values: Any) -> str:
        named = OPTIONS.get(key)
        if named is None:
            return ", ".join([json.dumps(key), *(self._argument(value) for value in values)])
        name, words = named
        unknown = [value for value in values if value not in words]
        if unknown:
            raise InvalidError(f"with_(WithOptions.{name}, {unknown[0]!r}): there is no such option")
        return ", ".join(f"WithOptions.{word}" for word in [name, *(words[value] for value in values)])

    def _all(self, arguments: list[Any]) -> str:
        return ", ".join(self._argument(argument) for argument in arguments)

    def _argument(self, argument: Any) -> str:
        for kinds, write in WRITERS:
            if isinstance(argument, kinds):
                return write(self, argument)
        if callable(argument):
            raise InvalidError("a lambda isn't data, and can't be run: say it in steps")
        return self._variable(argument)

    def _variable(self, value: Any) -> str:
        name = f"v{len(self.variables)}"
        self.variables[name] = value
        return name

    def _binding(self, binding: Binding) -> str:
        return self._argument(binding.value)

    def _cardinality(self, value: CardinalityValue) -> str:
        [[_, cardinality, held]] = value.source_instructions
        return f"{self._enum(cardinality)}({self._argument(held)})"

    def _child(self, bytecode: Bytecode) -> str:
        return "__" + self._calls(bytecode.step_instructions)

    def _traversal(self, child: Traversal) -> str:
        return self._child(child.bytecode)

    def _predicate(self, predicate: P) -> str:
        if predicate.operator in CONNECTIVES:
            left, right = self._predicate(predicate.value), self._argument(predicate.other)
            return f"{left}.{predicate.operator}({right})"
        given = [predicate.value] if predicate.other is None else [predicate.value, predicate.other]
        compared = given[0] if isinstance(given[0], (list, set)) else given
        if any(isinstance(each, (Vertex, Edge)) for each in compared):
            raise InvalidError("a predicate doesn't compare elements: compare their ids, as with has_id()")
        kind = "TextP" if isinstance(predicate, TextP) else "P"
        return f"{kind}.{predicate.operator}({self._all(given)})"

    def _enum(self, token: Enum) -> str:
        return f"{type(token).__name__}.{SymbolUtil.to_camel_case(token.name.rstrip('_'))}"

    def _strategy(self, strategy: TraversalStrategy) -> str:
        given = [f"{name}: {self._argument(value)}" for name, value in strategy.configuration.items()]
        name = strategy.strategy_name
        return f"new {name}({', '.join(given)})" if given else name

    def _type(self, of: GremlinType) -> str:
        return str(of.gremlin_type).rpartition(".")[2]

    def _class(self, of: type) -> str:
        return of.__name__

    def _map(self, entries: Mapping[Any, Any]) -> str:
        written = [f"({self._argument(key)}): {self._argument(value)}" for key, value in entries.items()]
        return f"[{', '.join(written) or ':'}]"

    def _collection(self, items: list[Any] | set[Any] | frozenset[Any]) -> str:
        if all(is_plain(item) for item in items):
            return self._variable(items)
        return f"[{self._all(list(items))}]" if isinstance(items, list) else f"{{{self._all(list(items))}}}"

    def _element(self, element: Vertex | Edge) -> str:
        return self._variable(element.id)

    def _property(self, of: Property | VertexProperty) -> str:
        raise InvalidError(f"{of!r} can't be an argument: give its element, its key or its value")

    def _decimal(self, number: BigDecimal) -> str:
        return self._variable(number.value)

    def _moment(self, seconds: timestamp) -> str:
        return self._variable(datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc))


#: How what is no plain value is written; the first that fits.
WRITERS: list[tuple[type | tuple[type, ...], Callable[[Translation, Any], str]]] = [
    (CardinalityValue, Translation._cardinality),
    (Bytecode, Translation._child),
    (Traversal, Translation._traversal),
    (Binding, Translation._binding),
    (P, Translation._predicate),
    (Enum, Translation._enum),
    (TraversalStrategy, Translation._strategy),
    (GremlinType, Translation._type),
    (type, Translation._class),
    ((Vertex, Edge), Translation._element),
    # A vertex' property is an element to gremlinpython, but not to be told by an id.
    ((VertexProperty, Property), Translation._property),
    (BigDecimal, Translation._decimal),
    (timestamp, Translation._moment),
    (Mapping, Translation._map),
    ((list, set, frozenset), Translation._collection),
]


def is_plain(value: Any) -> bool:
    """Whether a variable can hold it as it is."""
    if isinstance(value, (list, set, frozenset)):
        return all(is_plain(item) for item in value)
    return not callable(value) and not any(isinstance(value, kinds) for kinds, _ in WRITERS)
