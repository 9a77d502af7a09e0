"""Files: imports of those that others wrote, and exports that others read."""

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
    """What every import takes: see ``Database.import_files``."""

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
    """What imports of CSV files and lists take besides: see ``Database.import_files``."""

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
    """Those of all formats."""

    vertex_id: str | None
    edge_id: str | None


class Files:
    """Imports, each one commit of any size, and exports, each of one moment."""

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
        """Import files of any format that is known, plain or packed by gzip or zstd, as one commit.

        All files together are one graph. What a file holds follows from its name, its header and its first rows:
        see the guide to importing, which lists the formats. `import_csv` and its like import files of one.

        Parameters
        ----------
        *files : path
            Files, and folders of files.
        vertices, edges : dict of str to path or list of paths, optional
            By label, or edge type, files of which that is known.
        formats : str or iterable of str, optional
            The formats that are read, as mapping files call them: ``"gexf"``, ``"gml"``. A file of another one is
            refused, or left out if it lies in a folder; all by default.
        mapping : path, optional
            A file that says how each file is read, as `propose_mapping` writes it.
        on_bad_row : {"stop", "skip"}
            Whether a row that can't be loaded is an error, as by default, or left out and counted.
        bad_rows_max : int, optional
            Stop all the same at more than so many.
        bad_rows_report : path, optional
            A file to describe every bad row in.
        on_duplicate : {"fail", "first", "last"}
            What to do about a vertex whose id was there before; an error by default.
        on_unknown : {"fail", "skip", "create"}
            What to do about an edge to a vertex that isn't there; an error by default.
        memory : int, optional
            Bytes to take beside ids and the finished graph: a quarter of this machine's by default.
        temporary : path, optional
            The folder for rows beyond that: by default the database's own.
        threads : int, optional
            Threads to work on; by default one a core.
        progress
            See ``evergraph.progress``.
        delimiter, quote, escape, null, array_delimiter : str, optional
            Of CSV files and lists: how fields are written; ``quote=""`` for none. By default what the first line
            shows.
        first_line : {"header", "data"}, optional
            What the first line of CSV files is; by default what it looks like.
        header, replace_header : str, optional
            The header of CSV files that have none; the one to read in place of their first line.
        id_type : str, optional
            Of which type ids are whose header doesn't say: "string" (the default) or "long".
        vertex_label, edge_type : str, optional
            The label of vertices and the type of edges in lists: ``Vertex`` and ``EDGE`` by default.
        vertex_ids : range, optional
            The ids that there are in lists of edges, with edges or without.
        edge_columns, vertex_columns : str, optional
            What follows source and target, or the id, in lists: ``"weight,time:datetime{epoch:seconds}"``.
        vertex_id : str, optional
            The property that keeps the ids of vertices in files of vertices and edges, as GraphSON and GEXF
            are: by default ``id``, or ``_id`` if vertices have a property ``id`` of their own.
        edge_id : str, optional
            The property that keeps the ids of edges there; by default they are not kept.

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
        return self._import(names(formats), listed(files, vertices, edges), options, AllOptions)

    def import_csv(
        self,
        *files: StrPath,
        vertices: Named = None,
        edges: Named = None,
        **options: Unpack[TextOptions],
    ) -> dict[str, Any]:
        """Import CSV files, plain or packed by gzip or zstd, as one commit: those with a header, and lists.

        Parameters
        ----------
        *files, vertices, edges, **options
            As of `import_files`. A folder's files of other formats are left out, and listed.

        Returns
        -------
        dict
            As of `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            As `import_files`; for a file of another format.
        """
        formats = ("csv", "edge-list", "vertex-list")
        return self._import(formats, listed(files, vertices, edges), options, TextOptions)

    def import_edge_lists(
        self,
        *files: StrPath,
        vertex_lists: StrPath | Sequence[StrPath] = (),
        **options: Unpack[TextOptions],
    ) -> dict[str, Any]:
        r"""Import lists of edges as one commit: SNAP, Graphalytics, DIMACS, Matrix Market, and pairs of any name.

        Parameters
        ----------
        *files : path
            Lists of edges, and folders of lists.
        vertex_lists : path or list of paths, optional
            Lists of their vertices, an id a line; files ``.v`` are known among `files`.
        **options
            As of `import_files`.

        Returns
        -------
        dict
            As of `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            As `import_files`; for a file of another format.

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
        """Import Parquet files, as one commit, by the names of their columns.

        Parameters
        ----------
        *files, vertices, edges, **options
            As of `import_files`.

        Returns
        -------
        dict
            As of `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            As `import_files`; for a file of another format.
        """
        return self._import(("parquet",), listed(files, vertices, edges), options, ImportOptions)

    def import_graphson(
        self,
        *files: StrPath,
        vertex_id: str | None = None,
        edge_id: str | None = None,
        **options: Unpack[ImportOptions],
    ) -> dict[str, Any]:
        """Import GraphSON 3, 2 or 1, whatever the files are called, as one commit.

        Parameters
        ----------
        *files : path
            Files, and folders of files.
        vertex_id, edge_id : str, optional
            The properties that keep the ids of vertices and of edges, as of `import_files`.
        **options
            As of `import_files`.

        Returns
        -------
        dict
            As of `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            As `import_files`; for a file of another format.
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
        """Import GraphML, whatever the files are called, as one commit.

        Parameters
        ----------
        *files, vertex_id, edge_id, **options
            As of `import_graphson`.

        Returns
        -------
        dict
            As of `import_files`.

        Raises
        ------
        InvalidError, NotFoundError
            As `import_files`; for a file of another format.
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
        """The mapping file that says how `import_files` would read files, to be changed; nothing is imported.

        Parameters
        ----------
        *files, vertices, edges, **options
            As of `import_files`.

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
        """Write what is committed now as files that others read, and that `import_files` reads back.

        Others go on reading and writing. Files appear in whole or not at all.

        Parameters
        ----------
        path : path
            A folder for CSV and Parquet, a file for GraphSON and GraphML, either for edge lists.
        format : {"csv", "parquet", "graphson", "graphml", "edgelist"}, optional
            By default what the path's ending says; CSV for one without an ending.
        labels : str or iterable of str, optional
            Vertices of these labels, and edges between them; all by default.
        types : str or iterable of str, optional
            Edges of these types; all by default.
        edge_columns, vertex_columns : str or iterable of str, optional
            Properties in edge lists, and in the lists of vertices beside them: numbers, dates and the like.
        packing : {"none", "gzip", "zstd"}, optional
            How each file is packed; by default what the path's ending says.
        overwrite : bool
            Whether what is there is replaced: a file, or a folder that holds nothing but files of an export.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        dict
            ``vertices`` and ``edges`` written, ``files`` with name, rows and bytes of each, and ``losses``: what
            the files don't carry, a sentence each.

        Raises
        ------
        InvalidError
            For options that don't fit, a place that is taken, or what the format can't hold.
        NotFoundError
            For names that aren't in the graph.

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
    """Give files with what is known of them: path, what it holds, label, edge type."""
    found: list[tuple[str, str | None, str | None, str | None]] = [
        (os.fspath(file), None, None, None) for file in files
    ]
    for label, named in (vertices or {}).items():
        found += [(os.fspath(file), "vertices", label, None) for file in paths(named)]
    for edge_type, named in (edges or {}).items():
        found += [(os.fspath(file), "edges", None, edge_type) for file in paths(named)]
    return found


def of_role(files: Iterable[StrPath], role: str) -> list[tuple[str, str | None, str | None, str | None]]:
    """Give files that hold `role` whatever they are called; what is in folders must have a name that tells it."""
    return [(os.fspath(file), None if os.path.isdir(file) else role, None, None) for file in files]


def known(path: str) -> bool:
    """Whether a file is known for what it is, among lists: a folder, or a list of vertices."""
    return os.path.isdir(path) or path.removesuffix(".gz").removesuffix(".zst").endswith(".v")


def native_options(options: AllOptions | TextOptions | ImportOptions, allowed: type) -> dict[str, Any]:
    """Give options as the native module wants them.

    Raises
    ------
    TypeError
        For one that isn't among those allowed.
    """
    unknown = options.keys() - allowed.__annotations__.keys()
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    settings: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    ids = settings.get("vertex_ids")
    if ids is not None:
        if ids.step != 1:
            raise InvalidError(f"vertex_ids={ids!r}: a range without steps is wanted")
        settings["vertex_ids"] = (ids.start, ids.stop)
    return settings
