"""Reference: the pages about Python's names, of which docstrings say all but the order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "evergraph"


def _module(name: str) -> ast.Module:
    file = PACKAGE / f"{name}.py"
    return ast.parse((file if file.exists() else PACKAGE / name / "__init__.py").read_text())


def _all(name: str) -> list[str]:
    """What a module says to be public."""
    for statement in _module(name).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    raise ValueError(f"{name} has no __all__")


PUBLIC = frozenset(_all("__init__"))
"""The names of `evergraph`."""


def pages() -> Iterator[tuple[str, str]]:
    """Give the place and the text of each page."""
    yield "reference/index.md", _overview()
    yield "reference/database.md", _page("Database", "", "open", "Database", "processes", "check_files", "salvage")
    yield "reference/transaction.md", _page("Transaction", "", "Transaction")
    # Its algorithms have a page of their own.
    kinds = (("reader", "Reader"), ("asking", "Asking"), ("snapshot", "Snapshot"), ("lists", "Lists"))
    listed = "\n".join(f"        - {name}" for kind in kinds for name in _methods(*kind))
    snapshot = f"::: evergraph.Snapshot\n    options:\n      members:\n{listed}\n"
    also = "Its [algorithms](algorithms.md) have a page of their own.\n"
    yield (
        "reference/snapshot.md",
        f"# Snapshot\n\n{also}\n{snapshot}\n{_entries('CompactCsr', 'CsrPiece', 'Picture')}",
    )
    yield "reference/algorithms.md", _algorithms()
    yield "reference/results.md", _page("Results", "", "Results")
    yield "reference/services.md", _page("Services", _docstring("services"), "Service", "Request", "GraphView")
    values = _docstring("values")
    named = ("EdgeId", "VertexId", "Duration", "Property", "Subgraph")
    yield "reference/values.md", _page("Values", values, *named)
    errors = [name for name in _all("errors") if name in PUBLIC]
    yield "reference/errors.md", _page("Errors", _docstring("errors"), *errors)
    yield "reference/following.md", _page("Replicas", _docstring("following"), "replica", "Replica", "Epoch")
    mapping = ("propose_mapping", "check_mapping", "Finding", "RgMapping")
    yield "reference/mapping.md", _page("Mappings", _docstring("mapping"), *mapping)
    yield "reference/packed.md", _page("Packed graphs", _docstring("packed"), "PackedGraph", "PackedView")
    yield "reference/progress.md", _page("Progress", _docstring("progress"))


def _overview() -> str:
    rows = "\n".join(
        f"| [{title}]({place}.md) | {what} |"
        for title, place, what in [
            (
                "Database",
                "database",
                "`open`, `processes`, `check_files`, `salvage`, `Database`: loads, indexes, checks, backups",
            ),
            ("Transaction", "transaction", "Writes, and reads that see them"),
            ("Snapshot", "snapshot", "Reads of one moment: items, tables, arrays, copies for other libraries"),
            ("Algorithms", "algorithms", "What a snapshot computes about the whole of a graph"),
            ("Results", "results", "What queries in Gremlin give"),
            ("Services", "services", "Functions that queries call"),
            ("Values", "values", "What properties hold, and how edges are called"),
            ("Errors", "errors", "What can go wrong, by what to do about it"),
            ("Replicas", "following", "Databases that follow a PostgreSQL database"),
            ("Mappings", "mapping", "What rows of a PostgreSQL database become as vertices and edges"),
            ("Packed graphs", "packed", "Raw edges on persistent memory, without transactions"),
            ("Progress", "progress", "Bars, callbacks, and how to stop"),
        ]
    )
    what = "Everything public of the Python package, from its docstrings."
    return f"# Reference\n\n{what}\n\n| | |\n|---|---|\n{rows}\n"


def _algorithms() -> str:
    text = _docstring("algorithms", "Algorithms").replace("Algorithms on a snapshot.", "", 1).strip()
    # The list of what all of them take, in NumPy's style without its heading.
    text = re.sub(
        r"^(\w[\w, ]*) : (.+)\n((?:    .+\n?)+)",
        lambda item: f"- **`{item[1]}`** ({item[2]}): {' '.join(item[3].split())}\n",
        text,
        flags=re.MULTILINE,
    )
    kinds = [base.id for base in _class("algorithms", "Algorithms").bases if isinstance(base, ast.Name)]
    names = [name for kind in kinds for name in _methods(f"algorithms/{kind.lower()}", kind)]
    entries = "\n".join(f"::: evergraph.Snapshot.{name}\n    options:\n      heading_level: 2\n" for name in names)
    return f"# Algorithms\n\nMethods of a [snapshot](snapshot.md).\n\n{text}\n\n{entries}"


def _page(title: str, introduction: str, *names: str) -> str:
    return f"# {title}\n\n{introduction}\n\n{_entries(*names)}"


def _entries(*names: str) -> str:
    return "\n".join(f"::: evergraph.{name}\n" for name in names)


def _class(module: str, name: str) -> ast.ClassDef:
    for statement in _module(module).body:
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return statement
    raise ValueError(f"{module} has no class {name}")


def _methods(module: str, name: str) -> list[str]:
    """The public methods of a class, in their order."""
    defined = (statement.name for statement in _class(module, name).body if isinstance(statement, ast.FunctionDef))
    return [method for method in defined if not method.startswith("_")]


def _docstring(module: str, name: str | None = None) -> str:
    """The docstring of a module or a class as Markdown, without the caption of a module."""
    text = ast.get_docstring(_module(module) if name is None else _class(module, name)) or ""
    if name is None:
        text = text.split("\n", 1)[1].strip()
    return re.sub(r"^=+ +=+\n(.*?)\n=+ +=+\n(.*?)\n=+ +=+$", _table, text, flags=re.MULTILINE | re.DOTALL)


def _table(rows: re.Match[str]) -> str:
    """A table of reStructuredText in Markdown."""
    head, *body = [re.split(r"\s{2,}", line, maxsplit=1) for line in f"{rows[1]}\n{rows[2]}".splitlines()]
    lines = [head, ["---", "---"], *body]
    return "\n".join(f"| {left} | {right} |" for left, right in lines)
