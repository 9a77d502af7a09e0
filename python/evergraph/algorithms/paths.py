"""Paths: distances between vertices, and shortest paths."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from evergraph._tables import ids_of
from evergraph.algorithms.runner import Runner
from evergraph.algorithms.scope import Choices
from evergraph.values import Direction

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Paths"]


class Paths(Runner):
    """Distances between vertices, and shortest paths."""

    __slots__ = ()

    def bfs(self, source: int, *, direction: Direction = "out", **choices: Unpack[Choices]) -> Any:
        """How many edges each vertex is away from a source.

        Parameters
        ----------
        source : int
            The vertex where it begins.
        direction : {"out", "in", "both"}
            Along which edges it goes.
        **choices
            See `Algorithms`.

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
            The weight of edges without the property; by default such an edge is an error.
        direction : {"out", "in", "both"}
            Along which edges paths go.
        delta : float, optional
            The width of a bin; the answer doesn't depend on it.
        **choices
            See `Algorithms`.

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
            "weight": weight,
            "missing_weight": missing_weight,
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
        """One shortest path between two vertices, searched from both ends. Reads only the part around them.

        Parameters
        ----------
        source, target : int
            The vertices where it begins and ends.
        weight : str, optional
            The edge property whose sum is the length; without it edges are counted.
        missing_weight : float, optional
            The weight of edges without the property; by default such an edge is an error.
        direction : {"out", "in", "both"}
            Along which edges it goes.
        length_max : float
            Longer paths are not looked for.
        **choices
            See `Algorithms`.

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
            "weight": weight,
            "missing_weight": missing_weight,
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
        """The vertices within a few edges of some. Reads only the part around them.

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
            See `Algorithms`.

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
