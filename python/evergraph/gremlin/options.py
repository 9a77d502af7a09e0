"""Options of a traversal source that are settings, not steps."""

from __future__ import annotations

from typing import Any

from gremlin_python.process.strategies import OptionsStrategy
from gremlin_python.process.traversal import Bytecode

__all__ = ["Options"]


class Options:
    """A traversal without its options, and what they say.

    Options that mean something to other graphs, or to a server, are ignored.

    Attributes
    ----------
    bytecode : gremlin_python.process.traversal.Bytecode
        The traversal.
    timeout : float or None
        Seconds, if the source says so: ``with_("evaluationTimeout", milliseconds)``.
    properties : bool or None
        Whether elements come with properties, if the source says so: ``with_("materializeProperties", ...)``.
    strict : bool
        Whether a name that the graph doesn't have is an error: ``with_("strict")``.
    """

    def __init__(self, bytecode: Bytecode) -> None:
        """Take them."""
        self.timeout: float | None = None
        self.properties: bool | None = None
        self.strict = False
        self.bytecode = Bytecode()
        sources = [each for each in bytecode.source_instructions if not self._is_options(each)]
        self.bytecode.source_instructions = sources
        self.bytecode.step_instructions = bytecode.step_instructions

    def _is_options(self, instruction: list[Any]) -> bool:
        """Take what options say, and leave it out."""
        if instruction[0] != "withStrategies" or len(instruction) != 2:
            return False
        strategy = instruction[1]
        if not isinstance(strategy, OptionsStrategy):
            return False
        options = strategy.configuration
        for name in ("evaluationTimeout", "scriptEvaluationTimeout"):
            if name in options:
                # Gremlin's servers take 0 for no limit.
                self.timeout = options[name] / 1000 or float("inf")
        if "materializeProperties" in options:
            self.properties = options["materializeProperties"] != "tokens"
        self.strict = options.get("strict", self.strict) is True
        return True
