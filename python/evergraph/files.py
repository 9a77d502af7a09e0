"""Files: imports and exports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from evergraph.errors import InvalidError
from evergraph.progress import Progress, shown
from evergraph.reader import names

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from evergraph._native import Database as NativeDatabase

__all__ = ["Files", "ImportOptions", "StrPath", "TextOptions"]

StrPath: TypeAlias = "str | os.PathLike[str]"
Named: TypeAlias = "Mapping[str, StrPath | Sequence[StrPath]] | None"


class ImportOptions(TypedDict, total=False):
    """Options of every import: see ``Database.import_files``."""

    mapping: StrPath | None
    on_bad_row: Literal["stop", "skip"]
    bad_rows_max: int | None
    bad_rows_report: StrPath | None
    on_duplicate: Literal["fail", "first", "last"]
    on_unknown: Literal["fail", "skip", "create"]
    memory: int | None
    temporary: StrPath | None
    threads: int | None
    progress: Progress


class TextOptions(ImportOptions, total=False):
    """Additional options for CSV files and lists: see ``Database.import_files``."""

    delimiter: str | None
    quote: str | None
    escape: str | None
    null: str | None
    array_delimiter: str | None
    first_line: Literal["header", "data"] | None
    header: str | None
    replace_header: str | None
    id_type: str | None
    vertex_label: str | None
    edge_type: str | None
    vertex_ids: range | None
    edge_columns: str | None
    vertex_columns: str | None


class AllOptions(TextOptions, total=False):
    """Options of all formats."""

    vertex_id: str | None
    edge_id: str | None


class Files:
    """Imports, each one commit of any size, and exports, each of one snapshot."""

    __slots__ = ()
    _native: NativeDatabase

    def import_files(
        self,
        *files: StrPath,
        vertices: Named = None,
        edges: Named = None,
        formats: str | Iterable[str] | None = None,
        **options: Unpack[AllOptions],
    ) -> dict[str, Any]:
        """Import files of any supported format, plain or compressed with gzip or zstd, as one commit.

        All files together form one graph. The content of a file is recognised from its name, its header and its
        first rows: see the guide to importing, which lists the formats. `import_csv` and similar methods import
        files of one format.

        Parameters
        ----------
        *files : path
            Files, and folders of files.
        vertices, edges : dict of str to path or list of paths, optional
            Files whose label or edge type is given, by that name.
        formats : str or iterable of str, optional
            The formats to read, named as in mapping files: ``"gexf"``, ``"gml"``; all by default. A file of
            another format is refused, or left out if it is in a folder.
        mapping : path, optional
            A file that says how each file is read, as written by `propose_mapping`.
        on_bad_row : {"stop", "skip"}
            Whether a row that cannot be loaded is an error (the default), or is skipped and counted.
        bad_rows_max : int, optional
            The greatest number of skipped rows; more are an error.
        bad_rows_report : path, optional
            A file to which every bad row is written.
        on_duplicate : {"fail", "first", "last"}
            What to do with a vertex whose id occurred before; by default an error.
        on_unknown : {"fail", "skip", "create"}
            What to do with an edge to an unknown vertex; by default an error.
        memory : int, optional
            Bytes to use in addition to ids and the finished graph: by default a quarter of the machine's memory.
        temporary : path, optional
            The folder for rows that do not fit into that memory: by default the database's own.
        threads : int, optional
            Number of threads; by default one a core.
        progress
            See ``evergraph.progress``.
        delimiter, quote, escape, null, array_delimiter : str, optional
            How fields of CSV files and lists are written; ``quote=""`` for none. By default guessed from the first
            line.
        first_line : {"header", "data"}, optional
            Whether the first line of CSV files is a header; guessed by default.
        header, replace_header : str, optional
            A header for CSV files without one; a header that replaces their first line.
        id_type : str, optional
            The type of ids whose header does not state it: "string" (the default) or "long".
        vertex_label, edge_type : str, optional
            The label of vertices and the type of edges in lists: ``Vertex`` and ``EDGE`` by default.
        vertex_ids : range, optional
            The ids of all vertices in edge lists, including those without edges.
        edge_columns, vertex_columns : str, optional
            The columns after source and target, or after the id, in lists:
            ``"weight,time:datetime{epoch:seconds}"``.
        vertex_id : str, optional
            The property that keeps the ids of vertices in graph files such as GraphSON and GEXF: by default
            ``id``, or ``_id`` if vertices have a property ``id`` of their own.
        edge_id : str, optional
            The property that keeps the ids of edges in graph files; by default they are not kept.

        Returns
        -------
        dict
            ``vertices`` and ``edges`` added, ``bad_rows``, ``notes`` and more.

        Raises
        ------
        InvalidError
            If a file is invalid; the message names file, line and column.
        NotFoundError
            If a file does not exist.
        """
        return self._import(names(formats), listed(files, vertices, edges), options, AllOptions)

    def import_csv(
        self,
        *files: StrPath,
        vertices: Named = None,
        edges: Named = None,
        **options: Unpack[TextOptions],
    ) -> dict[str, Any]:
        """Import CSV files and lists, plain or compressed with gzip or zstd, as one commit.

        Parameters
        ----------
        *files, vertices, edges, **options
            See `import_files`. Files of other formats in a folder are left out and listed.

        Returns
        -------
        dict
            See `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            See `import_files`. Also for a file of another format.
        """
        formats = ("csv", "edge-list", "vertex-list")
        return self._import(formats, listed(files, vertices, edges), options, TextOptions)

    def import_edge_lists(
        self,
        *files: StrPath,
        vertex_lists: StrPath | Sequence[StrPath] = (),
        **options: Unpack[TextOptions],
    ) -> dict[str, Any]:
        r"""Import edge lists as one commit: SNAP, Graphalytics, DIMACS, Matrix Market, and any other pairs.

        Parameters
        ----------
        *files : path
            Edge lists, and folders of lists.
        vertex_lists : path or list of paths, optional
            Lists of vertices, one id a line; files ``.v`` are also recognised among `files`.
        **options
            See `import_files`.

        Returns
        -------
        dict
            See `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            See `import_files`. Also for a file of another format.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "links.dat"
        ...     _ = path.write_text("1 2 0.5\n2 3 1.5\n")
        ...     done = db.import_edge_lists(path, vertex_label="Page", edge_type="LINK")
        >>> done["vertices"], done["edges"]
        (3, 2)
        """
        lists = listed(files, None, None)
        lists = [(path, None if known(path) else "edge-list", label, kind) for path, _, label, kind in lists]
        lists += [(os.fspath(path), "vertex-list", None, None) for path in paths(vertex_lists)]
        formats = ("edge-list", "vertex-list", "dimacs", "matrix-market")
        return self._import(formats, lists, options, TextOptions)

    def import_parquet(
        self,
        *files: StrPath,
        vertices: Named = None,
        edges: Named = None,
        **options: Unpack[ImportOptions],
    ) -> dict[str, Any]:
        """Import Parquet files as one commit; the column names define their content.

        Parameters
        ----------
        *files, vertices, edges, **options
            See `import_files`.

        Returns
        -------
        dict
            See `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            See `import_files`. Also for a file of another format.
        """
        return self._import(("parquet",), listed(files, vertices, edges), options, ImportOptions)

    def import_graphson(
        self,
        *files: StrPath,
        vertex_id: str | None = None,
        edge_id: str | None = None,
        **options: Unpack[ImportOptions],
    ) -> dict[str, Any]:
        """Import GraphSON 3, 2 or 1 as one commit, whatever the names of the files.

        Parameters
        ----------
        *files : path
            Files, and folders of files.
        vertex_id, edge_id : str, optional
            The properties that keep the ids of vertices and of edges: see `import_files`.
        **options
            See `import_files`.

        Returns
        -------
        dict
            See `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            See `import_files`. Also for a file of another format.
        """
        ids = {"vertex_id": vertex_id, "edge_id": edge_id}
        return self._import(("graphson",), of_role(files, "graphson"), options, ImportOptions, ids)

    def import_graphml(
        self,
        *files: StrPath,
        vertex_id: str | None = None,
        edge_id: str | None = None,
        **options: Unpack[ImportOptions],
    ) -> dict[str, Any]:
        """Import GraphML as one commit, whatever the names of the files.

        Parameters
        ----------
        *files, vertex_id, edge_id, **options
            See `import_graphson`.

        Returns
        -------
        dict
            See `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            See `import_files`. Also for a file of another format.
        """
        ids = {"vertex_id": vertex_id, "edge_id": edge_id}
        return self._import(("graphml",), of_role(files, "graphml"), options, ImportOptions, ids)

    def propose_mapping(
        self,
        *files: StrPath,
        vertices: Named = None,
        edges: Named = None,
        **options: Unpack[AllOptions],
    ) -> str:
        """A mapping file that says how `import_files` would read files, for editing; nothing is imported.

        Parameters
        ----------
        *files, vertices, edges, **options
            See `import_files`.

        Returns
        -------
        str
            TOML: see the guide to importing.
        """
        options.pop("progress", None)
        return self._native.propose_mapping(listed(files, vertices, edges), native_options(options, AllOptions))

    def _import(
        self,
        formats: Iterable[str],
        files: list[tuple[str, str | None, str | None, str | None]],
        options: AllOptions | TextOptions | ImportOptions,
        allowed: type,
        ids: Mapping[str, str | None] | None = None,
    ) -> dict[str, Any]:
        progress = options.pop("progress", None)
        settings = {**native_options(options, allowed), "formats": list(formats)}
        settings.update({name: key for name, key in (ids or {}).items() if key is not None})
        with shown(progress) as told:
            return self._native.import_files(files, settings, told)

    def export(
        self,
        path: StrPath,
        *,
        format: Literal["csv", "parquet", "graphson", "graphml", "edgelist"] | None = None,  # noqa: A002
        labels: str | Iterable[str] | None = None,
        types: str | Iterable[str] | None = None,
        edge_columns: str | Iterable[str] | None = None,
        vertex_columns: str | Iterable[str] | None = None,
        packing: Literal["none", "gzip", "zstd"] | None = None,
        overwrite: bool = False,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Write the current graph to files that other tools can read, and that `import_files` reads back.

        Others may read and write meanwhile. Files appear as a whole or not at all.

        Parameters
        ----------
        path : path
            A folder for CSV and Parquet, a file for GraphSON and GraphML, either for edge lists.
        format : {"csv", "parquet", "graphson", "graphml", "edgelist"}, optional
            By default the format of the path's ending; CSV for a path without one.
        labels : str or iterable of str, optional
            Only vertices of these labels, and edges between them; by default all.
        types : str or iterable of str, optional
            Only edges of these types; by default all.
        edge_columns, vertex_columns : str or iterable of str, optional
            Properties to write in edge lists and in their lists of vertices: numbers, dates and similar types.
        packing : {"none", "gzip", "zstd"}, optional
            The compression of each file; by default that of the path's ending.
        overwrite : bool
            Whether to replace existing files: a file, or a folder that holds only files of an export.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        dict
            ``vertices`` and ``edges`` written, ``files`` with name, rows and bytes of each, and ``losses``: the
            data that the format cannot hold, one sentence each.

        Raises
        ------
        InvalidError
            If options contradict each other, if `path` exists, or if the format cannot hold the data.
        NotFoundError
            If a name is not in the graph.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     done = db.export(Path(folder) / "people.json.gz")
        >>> done["vertices"], done["edges"], done["files"][0]["name"]
        (3, 3, 'people.json.gz')
        """
        settings = {
            "path": os.fspath(path),
            "format": format,
            "packing": packing,
            "overwrite": overwrite,
            "labels": names(labels),
            "types": names(types),
            "edge_columns": names(edge_columns),
            "vertex_columns": names(vertex_columns),
        }
        with shown(progress) as told:
            return self._native.export(settings, told)


def paths(given: StrPath | Sequence[StrPath]) -> Sequence[StrPath]:
    """Give one path or several as several."""
    return [given] if isinstance(given, str | os.PathLike) else given


def listed(
    files: Iterable[StrPath], vertices: Named, edges: Named
) -> list[tuple[str, str | None, str | None, str | None]]:
    """Give files with their known attributes: path, content, label, edge type."""
    found: list[tuple[str, str | None, str | None, str | None]] = [
        (os.fspath(file), None, None, None) for file in files
    ]
    for label, named in (vertices or {}).items():
        found += [(os.fspath(file), "vertices", label, None) for file in paths(named)]
    for edge_type, named in (edges or {}).items():
        found += [(os.fspath(file), "edges", None, edge_type) for file in paths(named)]
    return found


def of_role(files: Iterable[StrPath], role: str) -> list[tuple[str, str | None, str | None, str | None]]:
    """Give files that hold `role` whatever their names; files in folders are recognised by their names."""
    return [(os.fspath(file), None if os.path.isdir(file) else role, None, None) for file in files]


def known(path: str) -> bool:
    """Whether the name alone says what a list is: a folder, or a list of vertices."""
    return os.path.isdir(path) or path.removesuffix(".gz").removesuffix(".zst").endswith(".v")


def native_options(options: AllOptions | TextOptions | ImportOptions, allowed: type) -> dict[str, Any]:
    """Give options as the native module wants them.

    Raises
    ------
    TypeError
        If an option is not allowed.
    """
    unknown = options.keys() - allowed.__annotations__.keys()
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    settings: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    ids = settings.get("vertex_ids")
    if ids is not None:
        if ids.step != 1:
            raise InvalidError(f"vertex_ids={ids!r}: expected a range without steps")
        settings["vertex_ids"] = (ids.start, ids.stop)
    return settings
