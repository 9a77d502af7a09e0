"""Runner: runs an algorithm in the native module, and returns its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evergraph.algorithms.scope import Choices, native_scope
from evergraph.progress import shown
from evergraph.reader import names

if TYPE_CHECKING:
    from evergraph._native import PackedView as NativePackedView
    from evergraph._native import RemoteDatabase as NativeRemoteDatabase
    from evergraph._native import Snapshot as NativeSnapshot

__all__ = ["Runner"]


def to_numpy(column: Any) -> Any:
    """Give a column as an array, without a copy where it is plain numbers."""
    if column.num_chunks == 1:
        chunk = column.chunk(0)
        plain = chunk.null_count == 0 and (pa.types.is_integer(chunk.type) or pa.types.is_floating(chunk.type))
        return chunk.to_numpy(zero_copy_only=plain)
    return column.to_numpy()


class Runner:
    """What the algorithms of each kind share."""

    __slots__ = ()
    _native: NativeSnapshot | NativeRemoteDatabase | NativePackedView

    def _run(self, name: str, parameters: dict[str, Any], choices: Choices) -> Any:
        unknown = set(choices) - set(Choices.__annotations__)
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument {min(unknown)!r}")
        scope = native_scope(
            choices.get("labels"), choices.get("types"), choices.get("where"), choices.get("where_edges")
        )
        keys = names(choices.get("keys"))
        with shown(choices.get("progress")) as progress:
            table = self._native.algorithm(name, parameters, scope, keys, progress)
        if choices.get("numpy"):
            return tuple(to_numpy(column) for column in table.columns)
        return table
