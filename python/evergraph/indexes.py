"""Indexes of a database: what its look-ups go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from evergraph.progress import Progress, shown
from evergraph.reader import index_kind, of_edges

if TYPE_CHECKING:
    from evergraph._native import Database as NativeDatabase

__all__ = ["Indexes"]


class Indexes:
    """Indexes, each on a property of a label or of an edge type."""

    __slots__ = ()
    _native: NativeDatabase

    def create_index(
        self,
        name: str,
        key: str,
        *,
        unique: bool = False,
        ordered: bool = False,
        newest_first: bool = False,
        of: Literal["vertices", "edges"] = "vertices",
        progress: Progress = None,
    ) -> bool:
        """Build an index while others read and write.

        Parameters
        ----------
        name : str
            The label, or with ``of="edges"`` the edge type.
        key : str
            The property.
        unique : bool
            Whether at most one vertex or edge may have each value.
        ordered : bool
            Whether the index also finds ranges.
        newest_first : bool
            Whether to declare an edge type newest-first by the property
            (``Transaction.declare_newest_first``); with ``of="edges"``, and neither unique nor ordered. With the
            disk and mapped engines an index is built, by which the newest edges of a vertex are read without its
            others. With the memory engine lists have that order themselves.

        Returns
        -------
        bool
            Whether the index is new.

        Raises
        ------
        InvalidError
            If the index is to be unique and a value occurs twice; the message names five such values and their
            holders. If it is of two kinds.

        Examples
        --------
        >>> db.create_index("KNOWS", "since", ordered=True, of="edges")
        True
        """
        kind = index_kind(ordered=ordered, newest_first=newest_first) or "hash"
        with shown(progress) as told:
            return self._native.create_index(name, of_edges(of), key, kind, unique, told)

    def drop_index(
        self,
        name: str,
        key: str,
        *,
        ordered: bool | None = None,
        newest_first: bool = False,
        of: Literal["vertices", "edges"] = "vertices",
    ) -> None:
        """Drop an index; `ordered` and `newest_first` choose one if there are several.

        Raises
        ------
        NotFoundError
            If there is no such index.
        """
        kind = index_kind(ordered=ordered, newest_first=newest_first)
        self._native.drop_index(name, of_edges(of), key, kind)

    def indexes(self) -> list[dict[str, Any]]:
        """All indexes, each with its subject, kind and size.

        In a database that is open to read only: those that its look-ups use.

        Examples
        --------
        >>> [(index["name"], index["key"], index["unique"]) for index in db.indexes()]
        [('Person', 'name', True), ('Person', 'born', False)]
        """
        return self._native.indexes()
