"""Mappings: what rows of a PostgreSQL database become as vertices and edges.

A mapping is a TOML file with a ``[[table]]`` for each rule; the guide, "Mapping tables to a graph", describes its
language. ``propose_mapping`` writes one from the keys of a database, ``check_mapping`` says what stands in the way
of following it, and ``RgMapping`` writes one rule by rule.

The URL of a database is ``postgres://USER@HOST/DATABASE``, as PostgreSQL's own clients take it. Its password is in
``PGPASSWORD`` or ``~/.pgpass``, never in the URL.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from evergraph import _native

if TYPE_CHECKING:
    from typing_extensions import Self

    from evergraph.files import StrPath

__all__ = ["Finding", "RgMapping", "check_mapping", "propose_mapping"]


class Finding(NamedTuple):
    """Something that stands in the way of following a database, or may.

    Attributes
    ----------
    severity : {"error", "warning"}
        Nothing begins before an error is mended; with a warning all works, but may have to wait or to pause later.
    cause : str
        What is wrong: line and key of the mapping, if it is about a rule, and why.
    remedy : str or None
        The SQL that mends it, if there is one to choose.
    """

    severity: Literal["error", "warning"]
    cause: str
    remedy: str | None


def propose_mapping(source: str) -> str:
    """A mapping file from the keys of a PostgreSQL database, to look over and change.

    A table with a primary key becomes vertices, its foreign keys become edges, and a table whose primary key
    consists of two foreign keys becomes edges. Nothing is changed at the source.

    Parameters
    ----------
    source : str
        The URL of the database.

    Returns
    -------
    str
        The text of the mapping file.

    Raises
    ------
    InvalidError
        If no table has a primary key, or `source` is no such URL.
    IoError
        If the server cannot be reached.

    Examples
    --------
    >>> import evergraph as eg
    >>> text = eg.propose_mapping("postgres://graph@localhost/shop")  # doctest: +SKIP
    """
    return _native.propose_mapping(source)


def check_mapping(source: str, mapping: StrPath | RgMapping, *, publication: str = "evergraph") -> list[Finding]:
    """What stands in the way of following a PostgreSQL database by a mapping, and the SQL that mends it.

    Nothing is changed at the source.

    Parameters
    ----------
    source : str
        The URL of the database, with the role that will follow it.
    mapping : path or RgMapping
        The mapping file, or the rules themselves.
    publication : str
        The publication, which says at the source which tables are sent.

    Returns
    -------
    list of Finding
        Empty if there is nothing. A table without a replica identity is the one to take seriously: as soon as a
        publication has it, every UPDATE and DELETE of it fails at the source.

    Raises
    ------
    InvalidError
        If the mapping is no TOML, or has wrong keys; what does not fit the database is a finding.
    IoError
        If the server cannot be reached.

    Examples
    --------
    >>> import evergraph as eg
    >>> for finding in eg.check_mapping("postgres://graph@localhost/shop", "shop.toml"):  # doctest: +SKIP
    ...     print(finding.severity, finding.cause, finding.remedy)
    """
    text, name = text_of(mapping)
    return [Finding(*found) for found in _native.check_mapping(source, text, name, publication)]


def text_of(mapping: StrPath | RgMapping) -> tuple[str, str]:
    """The text of a mapping, and what errors call it."""
    if isinstance(mapping, RgMapping):
        return mapping.text(), "RgMapping"
    return Path(mapping).read_text(encoding="utf-8"), os.fspath(mapping)


class RgMapping:
    """A mapping, written rule by rule by the calls of GART's paper (USENIX ATC 2023, section 4.1).

    A column may be called ``table.column``; several columns of one key stand between commas. What a mapping file
    can say beyond the paper (conditions, types, undirected edges) can be written into its `text`.

    Parameters
    ----------
    source : str
        The URL of the database, whose tables and keys are read once.

    Raises
    ------
    IoError
        If the server cannot be reached.

    Examples
    --------
    >>> import evergraph as eg
    >>> mapping = eg.RgMapping("postgres://graph@localhost/social")  # doctest: +SKIP
    >>> mapping.def_vertex("Person", "person").add_vprop("Person", "name", "full_name")  # doctest: +SKIP
    >>> mapping.def_vertex("City", "city")  # doctest: +SKIP
    >>> mapping.def_edge("LIVES_IN", "Person", "City", "city_id")  # doctest: +SKIP
    >>> mapping.def_edge("KNOWS", "Person", "Person", "knows.from_id", "knows.to_id")  # doctest: +SKIP
    >>> mapping.add_eprop("KNOWS", "since", "since")  # doctest: +SKIP
    >>> replica = eg.replica("social.eg", "postgres://graph@localhost/social", mapping)  # doctest: +SKIP
    """

    __slots__ = ("_native",)

    def __init__(self, source: str) -> None:
        """Read the tables of a database."""
        self._native = _native.RgMapping(source)

    def def_vertex(self, label: str, table: str) -> Self:
        """Each row of `table` is a vertex with the label `label`. Its primary key is a property.

        Raises
        ------
        InvalidError
            If there is no such table, or the label is defined already.
        """
        self._native.def_vertex(label, table)
        return self

    def add_vprop(self, label: str, name: str, column: str) -> Self:
        """The column `column` of the vertices' table is their property `name`.

        Raises
        ------
        InvalidError
            If there is no such label or column.
        """
        self._native.add_vprop(label, name, column)
        return self

    def def_edge(self, edge_type: str, start: str, end: str, key: str, other_key: str | None = None) -> Self:
        """A foreign key is an edge from `start` to `end`; with `other_key`, each row of a join table is one.

        Parameters
        ----------
        edge_type : str
            The type of the edges.
        start, end : str
            The labels of their ends.
        key : str
            The foreign key, in the table of either label; of a join table, ``table.column``, which refers to
            `start`.
        other_key : str, optional
            The foreign key of the join table that refers to `end`.

        Raises
        ------
        InvalidError
            If there is no such label, or no such foreign key.
        """
        self._native.def_edge(edge_type, start, end, key, other_key)
        return self

    def add_eprop(self, edge_type: str, name: str, column: str) -> Self:
        """The column `column` of the edges' table is their property `name`.

        Raises
        ------
        InvalidError
            If there is no such type or column, or several tables have both.
        """
        self._native.add_eprop(edge_type, name, column)
        return self

    def text(self) -> str:
        """The mapping file that says these rules."""
        return self._native.text()

    def __repr__(self) -> str:
        """Show how many rules there are."""
        return f"<evergraph.RgMapping, {self.text().count('[[table]]')} rules>"
