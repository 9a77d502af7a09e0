"""Structure: components, cycles, and topological orders."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evergraph.algorithms.runner import Runner
from evergraph.algorithms.scope import Choices
from evergraph.values import Direction

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Structure"]


class Structure(Runner):
    """Components, cycles, and topological orders."""

    __slots__ = ()

    def wcc(self, **choices: Unpack[Choices]) -> Any:
        """Weakly connected components: the direction of edges is ignored.

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
            See `wcc`.

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
            Only cycles through this vertex; then only the part around it is read.
        length_min, length_max : int
            The fewest and the most edges; 1 is a loop.
        limit : int
            Maximum number of cycles; the metadata says whether there are more.
        **choices
            See `Algorithms`.

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
            See `Algorithms`.

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
            "out" puts sources before targets; "in" puts targets before sources, for edges that mean "needs".
        **choices
            See `Algorithms`.

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
