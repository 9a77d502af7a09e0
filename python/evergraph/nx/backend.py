"""Backend: what NetworkX loads by the entry point ``networkx.backends``, with a function for each of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from evergraph.nx import centrality, components, paths, structure, traversal
from evergraph.nx.conversion import from_networkx, to_networkx
from evergraph.nx.dispatch import ALGORITHMS

__all__ = ["backend"]

FAMILIES = (centrality, components, paths, structure, traversal)

NODES_MIN = 1000
"""Graphs of NetworkX's own with fewer nodes are answered there before they are converted."""


def convert_from_nx(graph: Any, *, name: str | None = None, graph_name: str | None = None, **kept: Any) -> Any:
    """Convert a graph of NetworkX: see ``conversion.from_networkx``."""
    return from_networkx(graph, **kept)


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Convert one of our graphs: see ``conversion.to_networkx``."""
    return to_networkx(result)


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether a function runs here with these arguments; a str says why not."""
    algorithm = ALGORITHMS.get(name)
    if algorithm is None:
        return "it isn't implemented"
    return algorithm.refused(args, kwargs) or True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether it is worth a conversion. What is asked for by ``backend="evergraph"`` always runs."""
    graph: Any = args[0] if args else kwargs.get("G")
    if len(graph) < NODES_MIN and "evergraph" not in getattr(graph, "__networkx_cache__", {}).get("backends", {}):
        return f"it has fewer than {NODES_MIN} nodes"
    return True


def on_start_tests(items: Any) -> None:
    """Mark what can't pass, when NetworkX's own tests run on this backend."""
    import pytest

    for item in items:
        # Without folders: which of them a test's name has depends on where pytest was called.
        reason = CANNOT_PASS.get(f"{item.path.name}::{item.nodeid.partition('::')[2]}")
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason))


CANNOT_PASS = {
    "test_dag.py::TestDAG::test_topological_sort6": "changes the graph while it is read; a converted one stays",
}
"""Tests of NetworkX by file and name, with why they fail here."""

backend = SimpleNamespace(
    on_start_tests=on_start_tests,
    convert_from_nx=convert_from_nx,
    convert_to_nx=convert_to_nx,
    can_run=can_run,
    should_run=should_run,
    **{name: algorithm.function for name, algorithm in ALGORITHMS.items()},
)
