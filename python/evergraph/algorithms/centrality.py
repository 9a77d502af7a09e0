"""Centrality: how important each vertex is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from evergraph._tables import ids_of
from evergraph.algorithms.runner import Runner
from evergraph.algorithms.scope import Choices
from evergraph.values import Direction

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Centrality"]


class Centrality(Runner):
    """How important each vertex is."""

    __slots__ = ()

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
            See `Algorithms`.

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

    def personalized_pagerank(
        self,
        sources: int | Iterable[int],
        *,
        damping: float = 0.85,
        iterations: int = 100,
        tolerance: float = 1e-6,
        direction: Direction = "out",
        **choices: Unpack[Choices],
    ) -> Any:
        """PageRank with restarts: how near each vertex is to some sources.

        It is high where many short paths lead from the sources. If all vertices are sources, it is `pagerank`.

        Parameters
        ----------
        sources : int or iterable of int
            The vertices where it begins, with equal chances.
        damping : float
            The probability of following an edge rather than beginning again: from 0 to 1.
        iterations : int
            Rounds at most.
        tolerance : float
            Stop after a round in which scores changed by less than this, all together; 0 for all rounds.
        direction : {"out", "in", "both"}
            Along which edges the walk goes.
        **choices
            See `Algorithms`.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and score (float64)
            One row a vertex, in vertex order; the scores sum to 1. A vertex that no walk reaches has score 0.

        Examples
        --------
        >>> near = snapshot.personalized_pagerank(ada, keys="name")
        >>> near.sort_by([("score", "descending")])["name"].to_pylist()
        ['Ada', 'Charles', 'Mary']
        """
        parameters = {
            "sources": ids_of(sources).tolist(),
            "damping": damping,
            "iterations": iterations,
            "tolerance": tolerance,
            "direction": direction,
        }
        return self._run("personalized_pagerank", parameters, choices)

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
            See `Algorithms`.

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
            "in" measures paths from the others to the vertex, "out" from it to the others.
        sample : int, optional
            Estimate from so many others, drawn at random by `seed`.
        **choices
            See `Algorithms`.

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
        """Eigenvector centrality: importance from the importance of in-neighbours.

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
            The weight of edges without the property; by default such an edge is an error.
        **choices
            See `Algorithms`.

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
            "weight": weight,
            "missing_weight": missing_weight,
        }
        return self._run("eigenvector", parameters, choices)
