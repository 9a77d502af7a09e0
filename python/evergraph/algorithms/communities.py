"""Communities: groups of densely connected vertices, and how dense they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evergraph.algorithms.runner import Runner
from evergraph.algorithms.scope import Choices

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Communities"]


class Communities(Runner):
    """Communities, cores, triangles and clustering."""

    __slots__ = ()

    def cdlp(self, *, iterations: int = 10, **choices: Unpack[Choices]) -> Any:
        """Communities by label propagation, as Graphalytics defines it.

        Parameters
        ----------
        iterations : int
            Rounds; fewer only if one changes nothing.
        **choices
            See `Algorithms`.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and community (uint64)
            See `wcc`.

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
            The weight of edges without the property; by default such an edge is an error.
        **choices
            See `Algorithms`.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and community (uint64)
            See `wcc`. The modularity is in the metadata.

        Examples
        --------
        >>> snapshot.louvain()["community"].to_pylist()
        [0, 0, 0]
        """
        parameters = {
            "resolution": resolution,
            "tolerance": tolerance,
            "weight": weight,
            "missing_weight": missing_weight,
        }
        return self._run("louvain", parameters, choices)

    def leiden(
        self,
        *,
        resolution: float = 1.0,
        iterations: int = 3,
        tolerance: float = 1e-7,
        weight: str | None = None,
        missing_weight: float | None = None,
        **choices: Unpack[Choices],
    ) -> Any:
        """Connected communities by modularity. The graph is read as undirected.

        They are better than those of `louvain`, in about twice the time.

        Parameters
        ----------
        resolution : float
            Above 1 for more and smaller communities, below for fewer and larger ones.
        iterations : int
            Iterations at most; each begins with the communities of the one before.
        tolerance : float
            Stop after an iteration that raises modularity by no more than this.
        weight : str, optional
            The edge property that is the weight.
        missing_weight : float, optional
            The weight of edges without the property; by default such an edge is an error.
        **choices
            See `Algorithms`.

        Returns
        -------
        pyarrow.Table with columns vertex (uint64) and community (uint64)
            See `wcc`. The modularity is in the metadata.

        Examples
        --------
        >>> snapshot.leiden()["community"].to_pylist()
        [0, 0, 0]
        """
        parameters = {
            "resolution": resolution,
            "iterations": iterations,
            "tolerance": tolerance,
            "weight": weight,
            "missing_weight": missing_weight,
        }
        return self._run("leiden", parameters, choices)

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
            One row a vertex, in vertex order. Their total is in the metadata.

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
            See `Algorithms`.

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
