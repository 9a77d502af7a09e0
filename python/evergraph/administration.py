"""Administration: schema, statistics, indexes and plans of a database of a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from evergraph.errors import InvalidError, NotFoundError
from evergraph.progress import Progress, shown
from evergraph.query import variables_of
from evergraph.reader import index_kind, of_edges

if TYPE_CHECKING:
    from evergraph._native import RemoteDatabase as NativeRemoteDatabase
    from evergraph._native import _RemoteQuerySettings

__all__ = ["Administration"]


class Administration:
    """What a server tells and changes beside the graph, by HTTP. It needs roles of the user."""

    __slots__ = ()
    _native: NativeRemoteDatabase

    def labels(self) -> dict[str, int]:
        """The number of vertices of each label.

        Examples
        --------
        >>> social.labels()  # doctest: +SKIP
        {'Person': 3}
        """
        return {entry["label"]: entry["vertices"] for entry in self._schema()["labels"] if entry["vertices"]}

    def edge_types(self) -> dict[str, int]:
        """The number of edges of each type.

        Examples
        --------
        >>> social.edge_types()  # doctest: +SKIP
        {'KNOWS': 3}
        """
        return {entry["type"]: entry["edges"] for entry in self._schema()["edge_types"] if entry["edges"]}

    def schema(self, name: str, *, of: Literal["vertices", "edges"] = "vertices") -> dict[str, str]:
        """The properties of a label, or with ``of="edges"`` of an edge type, and their types.

        Raises
        ------
        NotFoundError
            If the name is not in the graph.

        Examples
        --------
        >>> social.schema("Person")  # doctest: +SKIP
        {'name': 'string', 'born': 'long'}
        """
        entries, member = ("edge_types", "type") if of_edges(of) else ("labels", "label")
        known = {entry[member]: entry["properties"] for entry in self._schema()[entries]}
        if name not in known:
            what = "edge type" if of_edges(of) else "label"
            there = ", ".join(sorted(known)[:20]) or "none"
            raise NotFoundError(f"{what} {name!r} isn't in the graph: there are {there}")
        return {entry["key"]: entry["type"] for entry in known[name]}

    def _schema(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._native.report("schema"))
        return found

    def stats(self) -> dict[str, Any]:
        """Counts and sizes: those that ``evergraph stats --json`` prints, with the names that it has for them.

        ``vertices`` by label and ``edges`` by type are added, as ``Database.stats`` has them. The server counts
        degrees, which takes some tens of nanoseconds a vertex and edge type.

        Examples
        --------
        >>> social.stats()["edges"]  # doctest: +SKIP
        {'KNOWS': 3}
        """
        found: dict[str, Any] = json.loads(self._native.report("statistics"))
        found["vertices"] = {entry["label"]: entry["vertices"] for entry in found["labels"]}
        found["edges"] = {entry["type"]: entry["edges"] for entry in found["edge_types"]}
        return found

    def indexes(self) -> list[dict[str, Any]]:
        """All indexes, each with its subject, kind and size, as ``Database.indexes`` has them.

        Examples
        --------
        >>> [(index["name"], index["key"], index["unique"]) for index in social.indexes()]  # doctest: +SKIP
        [('Person', 'name', True), ('Person', 'born', False)]
        """
        same = ("of", "key", "kind", "unique", "entries", "bytes", "file_bytes")
        return [
            {"name": entry["owner"], "ready": entry["state"] == "ready"} | {name: entry[name] for name in same}
            for entry in json.loads(self._native.report("indexes"))
        ]

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
        """Build an index as a job of the server, and wait for it. Needs the role admin.

        Ctrl-C stops the job, which leaves no index.

        Parameters
        ----------
        name, key, unique, ordered, newest_first, of
            See ``Database.create_index``.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        bool
            Whether the index is new.

        Raises
        ------
        InvalidError
            If the index is to be unique and a value occurs twice; if it is of two kinds; or if the user may not do
            it.

        Examples
        --------
        >>> social.create_index("KNOWS", "since", ordered=True, of="edges")  # doctest: +SKIP
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
        """Drop an index; `ordered` and `newest_first` choose one if there are several. Needs the role admin.

        Raises
        ------
        NotFoundError
            If there is no such index.
        """
        wanted = index_kind(ordered=ordered, newest_first=newest_first)
        subject = (name, "edges" if of_edges(of) else "vertices", key)
        found = [index for index in self.indexes() if (index["name"], index["of"], index["key"]) == subject]
        kinds = [index["kind"] for index in found if wanted in (None, index["kind"])]
        if not kinds:
            raise NotFoundError(f"there is no {wanted + ' ' if wanted else ''}index on {name}.{key}")
        if len(kinds) > 1:
            raise InvalidError(f"{name}.{key} has several indexes, {', '.join(kinds)}: choose one")
        self._native.drop_index(name, of_edges(of), key, kinds[0])

    def explain(self, text: str, /, *, bindings: Mapping[str, Any] | None = None, **variables: Any) -> str:
        """The plan of a query: its steps after all rewriting, and the indexes that they would use. Nothing runs.

        Parameters
        ----------
        text, bindings, **variables
            See ``RemoteDatabase.query``.

        Examples
        --------
        >>> print(social.explain("g.V().has('Person', 'name', 'Ada')"))  # doctest: +SKIP
        step ...
        """
        settings: _RemoteQuerySettings = {"timeout": None, "isolation": None, "strict": False}
        return self._native.plan(text, variables_of(bindings, variables), settings, False)

    def profile(
        self,
        text: str,
        /,
        *,
        bindings: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        **variables: Any,
    ) -> str:
        """Run a query to its end, and return figures for each of its steps. A query that writes is committed.

        Parameters
        ----------
        text, bindings, timeout, **variables
            See ``RemoteDatabase.query``.

        Examples
        --------
        >>> print(social.profile("g.V().hasLabel('Person').count()"))  # doctest: +SKIP
        step ...
        """
        settings: _RemoteQuerySettings = {"timeout": timeout, "isolation": None, "strict": False}
        return self._native.plan(text, variables_of(bindings, variables), settings, True)
