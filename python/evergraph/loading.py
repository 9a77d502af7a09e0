"""Loading: many vertices and edges at once, from tables and from files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evergraph._tables import table_of
from evergraph.progress import Progress, shown
from evergraph.transaction import KeyOf, ends_of

if TYPE_CHECKING:
    from evergraph._native import Database as NativeDatabase

__all__ = ["Loading", "StrPath"]

StrPath: TypeAlias = "str | os.PathLike[str]"


class Loading:
    """Loads of tables, and imports of files: each is one commit, of any size."""

    __slots__ = ()
    _native: NativeDatabase

    def add_vertices(
        self,
        label: str,
        data: Any,
        *,
        unique_key: str | None = None,
        progress: Progress = None,
    ) -> npt.NDArray[np.uint64]:
        """Load vertices of one label: one commit, of any size, made durable by a checkpoint.

        Other commits are refused as busy until it is done; reads go on.

        Parameters
        ----------
        label : str
            Their label.
        data
            A column a property, a row a vertex: anything with Arrow's C interface (pyarrow, Polars, DuckDB), a
            pandas data frame, a structured NumPy array, a mapping of columns, or an iterable of mappings. Nulls
            are properties that a vertex lacks.
        unique_key : str, optional
            A property to be unique among the label's vertices, with an index, if it isn't yet.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        numpy.ndarray of shape (rows,) and uint64
            Their numbers.

        Raises
        ------
        InvalidError
            For a column that no property can be, or that this one isn't; for a unique key that is there twice.
        BusyError
            If another load runs.

        Examples
        --------
        >>> cities = db.add_vertices("City", {"name": ["Rome", "Pisa"]}, unique_key="name")
        >>> len(cities)
        2
        """
        table = table_of(data)
        with shown(progress) as told:
            first, rows = self._native.add_vertices(label, table, unique_key, told)
        return np.arange(first, first + rows, dtype=np.uint64)

    def add_edges(
        self,
        edge_type: str,
        data: Any,
        *,
        source: str = "source",
        target: str = "target",
        source_key: KeyOf | None = None,
        target_key: KeyOf | None = None,
        progress: Progress = None,
    ) -> int:
        """Load edges of one type between vertices that are there: as `add_vertices`.

        Parameters
        ----------
        edge_type : str
            Their type.
        data
            As of `add_vertices`; also a NumPy array of shape (rows, 2).
        source, target : str
            The columns that name their ends. All others are properties.
        source_key, target_key : (label, key), optional
            The columns hold values of this unique key, instead of numbers of vertices.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        int
            How many.

        Raises
        ------
        NotFoundError
            For an end that isn't there; the text names the row.
        InvalidError
            As of `add_vertices`.

        Examples
        --------
        >>> import numpy as np
        >>> db.add_edges("LIKES", np.array([[ada, mary], [mary, ada]]))
        2
        """
        edges = ends_of(data, source, target, source_key, target_key)
        with shown(progress) as told:
            return self._native.add_edges(edge_type, edges, told)

    def import_csv(
        self,
        *files: StrPath,
        vertices: dict[str, StrPath | Sequence[StrPath]] | None = None,
        edges: dict[str, StrPath | Sequence[StrPath]] | None = None,
        delimiter: str | None = None,
        quote: str | None = None,
        escape: str | None = None,
        null: str | None = None,
        array_delimiter: str | None = None,
        header: str | None = None,
        replace_header: str | None = None,
        id_type: str | None = None,
        mapping: StrPath | None = None,
        on_bad_row: Literal["stop", "skip"] = "stop",
        bad_rows_max: int | None = None,
        bad_rows_report: StrPath | None = None,
        on_duplicate: Literal["fail", "first", "last"] = "fail",
        on_unknown: Literal["fail", "skip", "create"] = "fail",
        memory: int | None = None,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Import CSV files and edge lists, plain or packed by gzip or zstd, as one commit.

        All files together are one graph. What a file holds follows from its header (Neo4j's ``id:ID``,
        ``:START_ID``, ... or plain names) and its first rows: see the guide to importing.

        Parameters
        ----------
        *files : path
            Files, and folders of files.
        vertices, edges : dict of str to path or list of paths, optional
            By label, or edge type, files of which that is known.
        delimiter, quote, escape, null, array_delimiter : str, optional
            How fields are written; ``quote=""`` for none. By default what the first line shows.
        header, replace_header : str, optional
            The header of files that have none; the one to read in place of their first line.
        id_type : str, optional
            Of which type ids are whose header doesn't say: "string" (the default) or "long".
        mapping : path, optional
            A file that says how each file is read, as ``evergraph import --propose`` writes it.
        on_bad_row : {"stop", "skip"}
            Whether a row that can't be loaded is an error, or left out and counted.
        bad_rows_max : int, optional
            Stop all the same at more than so many.
        bad_rows_report : path, optional
            A file to describe every bad row in.
        on_duplicate : {"fail", "first", "last"}
            What to do about a vertex whose id was there before.
        on_unknown : {"fail", "skip", "create"}
            What to do about an edge to a vertex that isn't there.
        memory : int, optional
            Bytes to take beside ids and the finished graph.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        dict
            ``vertices`` and ``edges`` added, ``bad_rows``, ``notes`` and more.

        Raises
        ------
        InvalidError
            What is wrong with the files, by file, line and column.
        NotFoundError
            For a file that isn't there.
        """
        settings = {
            "delimiter": delimiter,
            "quote": quote,
            "escape": escape,
            "null": null,
            "array_delimiter": array_delimiter,
            "header": header,
            "replace_header": replace_header,
            "id_type": id_type,
            "mapping": mapping,
            "on_bad_row": on_bad_row,
            "bad_rows_max": bad_rows_max,
            "bad_rows_report": bad_rows_report,
            "on_duplicate": on_duplicate,
            "on_unknown": on_unknown,
            "memory": memory,
        }
        return self._import(files, vertices, edges, settings, progress)

    def import_parquet(
        self,
        *files: StrPath,
        vertices: dict[str, StrPath | Sequence[StrPath]] | None = None,
        edges: dict[str, StrPath | Sequence[StrPath]] | None = None,
        mapping: StrPath | None = None,
        on_bad_row: Literal["stop", "skip"] = "stop",
        bad_rows_max: int | None = None,
        bad_rows_report: StrPath | None = None,
        on_duplicate: Literal["fail", "first", "last"] = "fail",
        on_unknown: Literal["fail", "skip", "create"] = "fail",
        memory: int | None = None,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Import Parquet files, as one commit: as `import_csv`, by the names of their columns."""
        settings = {
            "mapping": mapping,
            "on_bad_row": on_bad_row,
            "bad_rows_max": bad_rows_max,
            "bad_rows_report": bad_rows_report,
            "on_duplicate": on_duplicate,
            "on_unknown": on_unknown,
            "memory": memory,
        }
        return self._import(files, vertices, edges, settings, progress)

    def _import(
        self,
        files: Iterable[StrPath],
        vertices: dict[str, StrPath | Sequence[StrPath]] | None,
        edges: dict[str, StrPath | Sequence[StrPath]] | None,
        settings: dict[str, Any],
        progress: Progress,
    ) -> dict[str, Any]:
        listed: list[tuple[str, str | None, str | None, str | None]] = [
            (os.fspath(file), None, None, None) for file in files
        ]
        for label, named in (vertices or {}).items():
            listed += [(os.fspath(file), "vertices", label, None) for file in _paths(named)]
        for edge_type, named in (edges or {}).items():
            listed += [(os.fspath(file), "edges", None, edge_type) for file in _paths(named)]
        given = {name: _plain(value) for name, value in settings.items() if value is not None}
        with shown(progress) as told:
            return self._native.import_files(listed, given, told)


def _paths(given: StrPath | Sequence[StrPath]) -> Sequence[StrPath]:
    return [given] if isinstance(given, str | os.PathLike) else given


def _plain(setting: Any) -> Any:
    return os.fspath(setting) if isinstance(setting, os.PathLike) else setting
