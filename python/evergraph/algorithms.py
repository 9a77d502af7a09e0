"""Algorithms: what a snapshot can be asked about the whole of its graph."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import pyarrow as pa

from evergraph._tables import ids_of
from evergraph.errors import InvalidError
from evergraph.progress import Progress, shown
from evergraph.reader import Reader, names
from evergraph.values import Direction

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from evergraph._native import Snapshot as NativeSnapshot

__all__ = ["Algorithms", "Choices", "Condition", "Scope"]

Condition: TypeAlias = str | tuple[str, str, Any]
"""A property that must be there, or (property, comparison, value): = != < <= > >= in."""


class Scope(TypedDict, total=False):
    """The part of a graph that is meant; all of it by default."""

    labels: str | Iterable[str] | None
    types: str | Iterable[str] | None
    where: Iterable[Condition] | None
    where_edges: Iterable[Condition] | None
    progress: Progress


class Choices(Scope, total=False):
    """What every algorithm can be told; see ``Algorithms``."""

    keys: str | Iterable[str] | None
    numpy: bool


def native_scope(
    labels: str | Iterable[str] | None = None,
    types: str | Iterable[str] | None = None,
    where: Iterable[Condition] | None = None,
    where_edges: Iterable[Condition] | None = None,
) -> tuple[list[str], list[str], list[Any], list[Any]]:
    """Give a scope as the native module wants it."""
    conditions = [[given] if isinstance(given, str) else list(given or ()) for given in (where, where_edges)]
    return names(labels), names(types), conditions[0], conditions[1]


def native_weight(weight: str | None, missing: float | None) -> tuple[str, float | None] | None:
    """Give a weight as the native module wants it."""
    if weight is None:
        if missing is not None:
            raise InvalidError("missing_weight goes with weight")
        return None
    return weight, missing


def to_numpy(column: Any) -> Any:
    """Give a column as an array, without a copy where it is plain numbers."""
    if column.num_chunks == 1:
        chunk = column.chunk(0)
        plain = chunk.null_count == 0 and (pa.types.is_integer(chunk.type) or pa.types.is_floating(chunk.type))
        return chunk.to_numpy(zero_copy_only=plain)
    return column.to_numpy()


class Algorithms(Reader):
    """Algorithms on a snapshot.

    They run on all cores without the GIL, straight on the database's own lists; writers go on. Ctrl-C stops them.

    All of them take:

    labels : str or list of str, optional
        Vertices of these labels only. Edges to others are left out.
    types : str or list of str, optional
        Edges of these types only.
    where, where_edges : list of conditions, optional
        Vertices, or edges, whose properties satisfy all of these: ``("age", ">=", 18)``,
        ``("city", "in", ["Rome", "Pisa"])``, or a property's name if it must be there.
    keys : str or list of str, optional
        Properties of the vertices to put beside them, say their unique key.
    numpy : bool
        NumPy arrays in place of a table: a tuple, in the order of the columns. What has nulls becomes
        floats with NaN.
    progress : bool or callable, optional
        See ``evergraph.progress``.

    And raise, besides what is said there, ``SnapshotClosed``, ``NotFoundError`` for names that the graph doesn't
    have, ``InvalidError`` for parameters out of range, ``LimitError`` if ``memory_limit`` doesn't suffice.

    Figures about the answer are in the table's metadata: ``table.schema.metadata``.
    """

    __slots__ = ()
    _native: NativeSnapshot

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

    def pagerank(
        self,
        *,
        damping: float = 0.85,
        iterations: int = 20,
        tolerance: float | None = None,
        direction: Direction = "out",
        **choices: Unpack[Choices],
    ) -> Any:
        """PageRank of every vertex, by pull.

        Parameters
        ----------
        damping : float
            The probability of following an edge rather than jumping anywhere: from 0 to 1.
        iterations : int
            Rounds: 20, as in the papers; Graphalytics has 10. With a tolerance, at most.
        tolerance : float, optional
            Stop after a round in which scores changed by less than this a vertex, on average; NetworkX has 1e-6.
        direction : {"out", "in", "both"}
            Along which edges rank flows.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and score (float64)
            One row a vertex, in vertex order; the scores sum to 1.

        Raises
        ------
        SnapshotClosed
            If the snapshot was released.

        Examples
        --------
        >>> ranks = snapshot.pagerank(keys="name")
        >>> ranks.sort_by([("score", "descending")])["name"][0].as_py()
        'Ada'
        >>> vertex, score = snapshot.pagerank(numpy=True)
        >>> round(score.sum(), 6).item()
        1.0
        """
        parameters = {
            "damping": damping,
            "iterations": iterations,
            "tolerance": tolerance,
            "direction": direction,
        }
        return self._run("pagerank", parameters, choices)

    def betweenness(
        self,
        *,
        direction: Direction = "out",
        sample: int | None = None,
        seed: int = 0,
        normalized: bool = True,
        **choices: Unpack[Choices],
    ) -> Any:
        """How many shortest paths lead through each vertex, by Brandes.

        Parameters
        ----------
        direction : {"out", "in", "both"}
            Along which edges paths go.
        sample : int, optional
            Estimate from so many sources, drawn at random by `seed`. Without it a search from every vertex.
        normalized : bool
            Divide by the number of pairs that a vertex could be between.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and score (float64)
            One row a vertex, in vertex order.

        Examples
        --------
        >>> snapshot.betweenness()["score"].to_pylist()
        [0.5, 0.5, 0.5]
        """
        parameters = {"direction": direction, "sample": sample, "seed": seed, "normalized": normalized}
        return self._run("betweenness", parameters, choices)

    def closeness(
        self,
        *,
        direction: Direction = "in",
        sample: int | None = None,
        seed: int = 0,
        **choices: Unpack[Choices],
    ) -> Any:
        """How near each vertex is to all others, as NetworkX defines it.

        Parameters
        ----------
        direction : {"out", "in", "both"}
            "in" measures ways from the others to the vertex, "out" from it to the others.
        sample : int, optional
            Estimate from so many others, drawn at random by `seed`.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and score (float64)
            One row a vertex, in vertex order.

        Examples
        --------
        >>> snapshot.closeness(direction="both")["score"].to_pylist()
        [1.0, 1.0, 1.0]
        """
        parameters = {"direction": direction, "sample": sample, "seed": seed}
        return self._run("closeness", parameters, choices)

    def eigenvector(
        self,
        *,
        iterations: int = 100,
        tolerance: float = 1e-6,
        direction: Direction = "out",
        weight: str | None = None,
        missing_weight: float | None = None,
        **choices: Unpack[Choices],
    ) -> Any:
        """How important those are that point to each vertex.

        Parameters
        ----------
        iterations : int
            Rounds at most.
        tolerance : float
            Stop when scores change by less than this a vertex, on average, in a round.
        direction : {"out", "in", "both"}
            Along which edges importance flows.
        weight : str, optional
            The edge property that says how much flows.
        missing_weight : float, optional
            That of edges without the property; without it such an edge is an error.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and score (float64)
            One row a vertex, in vertex order. Whether it converged is in the metadata.

        Examples
        --------
        >>> snapshot.eigenvector(direction="both").num_rows
        3
        """
        parameters = {
            "iterations": iterations,
            "tolerance": tolerance,
            "direction": direction,
            "weight": native_weight(weight, missing_weight),
        }
        return self._run("eigenvector", parameters, choices)

    def bfs(self, source: int, *, direction: Direction = "out", **choices: Unpack[Choices]) -> Any:
        """How many edges each vertex is away from a source.

        Parameters
        ----------
        source : int
            The vertex where it begins.
        direction : {"out", "in", "both"}
            Along which edges it goes.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and level (uint32)
            One row a vertex, in vertex order; null where there is no path.

        Examples
        --------
        >>> snapshot.bfs(ada)["level"].to_pylist()
        [0, 1, 2]
        """
        return self._run("bfs", {"source": source, "direction": direction}, choices)

    def sssp(
        self,
        source: int,
        *,
        weight: str = "weight",
        missing_weight: float | None = None,
        direction: Direction = "out",
        delta: float | None = None,
        **choices: Unpack[Choices],
    ) -> Any:
        """The least sum of weights on a path from a source to each vertex, by delta-stepping.

        Parameters
        ----------
        source : int
            The vertex where paths begin.
        weight : str
            The edge property that is the weight: a number, not negative.
        missing_weight : float, optional
            That of edges without the property; without it such an edge is an error.
        direction : {"out", "in", "both"}
            Along which edges paths go.
        delta : float, optional
            The width of a bin; the answer doesn't depend on it.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and distance (float64)
            One row a vertex, in vertex order; null where there is no path.

        Examples
        --------
        >>> snapshot.sssp(ada, weight="since")["distance"].to_pylist()
        [0.0, 1833.0, 3660.0]
        """
        parameters = {
            "source": source,
            "weight": native_weight(weight, missing_weight),
            "direction": direction,
            "delta": delta,
        }
        return self._run("sssp", parameters, choices)

    def shortest_path(
        self,
        source: int,
        target: int,
        *,
        weight: str | None = None,
        missing_weight: float | None = None,
        direction: Direction = "out",
        length_max: float = math.inf,
        **choices: Unpack[Choices],
    ) -> Any:
        """One shortest path between two vertices, searched from both ends. Nothing is frozen for it.

        Parameters
        ----------
        source, target : int
            The vertices where it begins and ends.
        weight : str, optional
            The edge property whose sum is the length; without it edges are counted.
        missing_weight : float, optional
            That of edges without the property; without it such an edge is an error.
        direction : {"out", "in", "both"}
            Along which edges it goes.
        length_max : float
            Longer paths are not looked for.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and length (float64)
            One row a vertex of the path, from source to target, with the length up to there; no row if there
            is no path.

        Examples
        --------
        >>> snapshot.shortest_path(ada, mary)["length"].to_pylist()
        [0.0, 1.0, 2.0]
        """
        parameters = {
            "source": source,
            "target": target,
            "weight": native_weight(weight, missing_weight),
            "direction": direction,
            "length_max": length_max,
        }
        return self._run("shortest_path", parameters, choices)

    def k_hop(
        self,
        sources: int | Iterable[int],
        *,
        depth: int = 2,
        direction: Direction = "out",
        limit: int | None = None,
        **choices: Unpack[Choices],
    ) -> Any:
        """The vertices within a few edges of some. Nothing is frozen for it.

        Parameters
        ----------
        sources : int or iterable of int
            The vertices where it begins.
        depth : int
            The farthest, in edges.
        direction : {"out", "in", "both"}
            Along which edges it goes.
        limit : int, optional
            The most vertices, sources included. Whether it left some out is in the metadata.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and distance (uint32)
            One row a vertex found, by distance, then by number.

        Examples
        --------
        >>> snapshot.k_hop(ada, depth=1)["distance"].to_pylist()
        [0, 1]
        """
        parameters = {
            "sources": ids_of(sources).tolist(),
            "depth": depth,
            "direction": direction,
            "limit": limit,
        }
        return self._run("k_hop", parameters, choices)

    def wcc(self, **choices: Unpack[Choices]) -> Any:
        """Weakly connected components: which vertices hang together, whatever the edges' direction.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and component (uint64)
            One row a vertex, in vertex order. Component 0 is the largest, then 1 and so on; of equally large
            ones that with the lowest vertex is first.

        Examples
        --------
        >>> snapshot.wcc()["component"].to_pylist()
        [0, 0, 0]
        """
        return self._run("wcc", {}, choices)

    def scc(self, **choices: Unpack[Choices]) -> Any:
        """Strongly connected components: which vertices reach each other.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and component (uint64)
            As of `wcc`.

        Examples
        --------
        >>> snapshot.scc()["component"].to_pylist()
        [0, 0, 0]
        """
        return self._run("scc", {}, choices)

    def cycles(
        self,
        *,
        through: int | None = None,
        length_min: int = 2,
        length_max: int = 6,
        limit: int = 1_000_000,
        **choices: Unpack[Choices],
    ) -> Any:
        """Simple cycles up to a length.

        Parameters
        ----------
        through : int, optional
            Only cycles through this vertex; nothing is frozen then.
        length_min, length_max : int
            The fewest and the most edges; 1 is a loop.
        limit : int
            The most cycles. Whether it left some out is in the metadata.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns cycle (uint64), position (uint32) and vertex (uint64)
            One row for each vertex of each cycle, from its lowest vertex on.

        Examples
        --------
        >>> snapshot.cycles()["vertex"].to_pylist() == [ada, charles, mary]
        True
        """
        parameters = {
            "through": through,
            "length_min": length_min,
            "length_max": length_max,
            "limit": limit,
        }
        return self._run("cycles", parameters, choices)

    def flow_rings(
        self,
        *,
        amount: str,
        time: str,
        pause_max: float,
        length_min: int = 3,
        length_max: int = 6,
        kept_min: float = 0.96,
        since: float = -math.inf,
        **choices: Unpack[Choices],
    ) -> Any:
        """Rings of payments: cycles along which about the same amount passes on within a short time.

        Parameters
        ----------
        amount, time : str
            The edge properties that are the amount and the time, both numbers.
        pause_max : float
            The longest time from one edge to the next, in the unit of `time`.
        length_min, length_max : int
            The fewest edges, at least 2, and the most, at most 16.
        kept_min : float
            The least share of an amount that is passed on: above 0, at most 1.
        since : float
            Only edges at or after this time.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table
            With columns ring (uint64), position (uint32), vertex (uint64), amount and time (float64): one row for
            each vertex of each ring, from the source of its earliest edge on, with the edge that leaves it.

        Examples
        --------
        >>> payments = [(ada, mary, 100, 9), (mary, charles, 99, 10), (charles, ada, 97, 12)]
        >>> with db.begin() as tx:
        ...     for source, target, amount, hour in payments:
        ...         edge = tx.add_edge(source, "PAID", target, amount=amount, hour=hour)
        >>> rings = db.snapshot().flow_rings(amount="amount", time="hour", pause_max=3, types="PAID", keys="name")
        >>> rings["name"].to_pylist(), rings["amount"].to_pylist()
        (['Ada', 'Mary', 'Charles'], [100.0, 99.0, 97.0])
        """
        parameters = {
            "amount": amount,
            "time": time,
            "pause_max": pause_max,
            "length_min": length_min,
            "length_max": length_max,
            "kept_min": kept_min,
            "since": since,
        }
        return self._run("flow_rings", parameters, choices)

    def topological_order(self, *, direction: Direction = "out", **choices: Unpack[Choices]) -> Any:
        """Every vertex after those that it depends on.

        Parameters
        ----------
        direction : {"out", "in"}
            "out" puts sources before targets; "in" targets before sources, as where an edge says "needs".
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and place (uint64)
            One row a vertex, in the order.

        Raises
        ------
        InvalidError
            If the edges form a cycle; the text names one.

        Examples
        --------
        >>> order = snapshot.topological_order(where_edges=[("since", "<", 1840)])
        >>> order["vertex"].to_pylist() == [ada, charles, mary]
        True
        """
        return self._run("topological_order", {"direction": direction}, choices)

    def cdlp(self, *, iterations: int = 10, **choices: Unpack[Choices]) -> Any:
        """Communities by label propagation, as Graphalytics defines it.

        Parameters
        ----------
        iterations : int
            Rounds; fewer only if one changes nothing.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and community (uint64)
            As of `wcc`.

        Examples
        --------
        >>> snapshot.cdlp().num_rows
        3
        """
        return self._run("cdlp", {"iterations": iterations}, choices)

    def louvain(
        self,
        *,
        resolution: float = 1.0,
        tolerance: float = 1e-7,
        weight: str | None = None,
        missing_weight: float | None = None,
        **choices: Unpack[Choices],
    ) -> Any:
        """Communities by modularity. The graph is read as undirected.

        Parameters
        ----------
        resolution : float
            Above 1 for more and smaller communities, below for fewer and larger ones.
        tolerance : float
            The last level is the first that raises modularity by no more than this.
        weight : str, optional
            The edge property that is the weight.
        missing_weight : float, optional
            That of edges without the property; without it such an edge is an error.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and community (uint64)
            As of `wcc`. The modularity is in the metadata.

        Examples
        --------
        >>> snapshot.louvain()["community"].to_pylist()
        [0, 0, 0]
        """
        parameters = {
            "resolution": resolution,
            "tolerance": tolerance,
            "weight": native_weight(weight, missing_weight),
        }
        return self._run("louvain", parameters, choices)

    def kcore(self, **choices: Unpack[Choices]) -> Any:
        """The innermost core that each vertex is in. The graph is read as undirected and simple.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and core (uint32)
            One row a vertex, in vertex order.

        Examples
        --------
        >>> snapshot.kcore()["core"].to_pylist()
        [2, 2, 2]
        """
        return self._run("kcore", {}, choices)

    def triangles(self, **choices: Unpack[Choices]) -> Any:
        """How many triangles each vertex is in. The graph is read as undirected and simple.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and triangles (uint64)
            One row a vertex, in vertex order. How many there are in all is in the metadata.

        Examples
        --------
        >>> found = snapshot.triangles()
        >>> found["triangles"].to_pylist(), found.schema.metadata[b"triangles"]
        ([1, 1, 1], b'1')
        """
        return self._run("triangles", {}, choices)

    def lcc(self, *, directed: bool = True, **choices: Unpack[Choices]) -> Any:
        """Local clustering coefficients: how well the neighbours of each vertex are connected.

        Parameters
        ----------
        directed : bool
            Whether an edge between neighbours counts in each direction, as in Graphalytics.
        **choices
            As all algorithms.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and coefficient (float64)
            One row a vertex, in vertex order.

        Examples
        --------
        >>> snapshot.lcc()["coefficient"].to_pylist()
        [0.5, 0.5, 0.5]
        """
        return self._run("lcc", {"directed": directed}, choices)
