"""Pairs: a shortest path between two rows, searched from both ends in the order that NetworkX searches.

Functions of NetworkX rely on which of several shortest paths they are given, and such a search reads a small part
of a graph, so plain Python is quick enough. Where a graph is directed, rows of `Csr.reversed` ascend, while
NetworkX has predecessors in the order that they were added: there a path may be another one.

Source: ``_bidirectional_pred_succ`` and ``bidirectional_dijkstra`` of NetworkX 3.6.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from evergraph.nx.csr import Csr

__all__ = ["path_by_edges", "path_by_weight"]

Parents = dict[int, int]
"""The row that each was found from; -1 for where a search began."""


def _joined(meeting: int, from_start: Parents, from_goal: Parents) -> list[int]:
    """The path that leads from the start over a row that both searches found to the goal."""
    path = [meeting]
    while from_start[path[-1]] >= 0:
        path.append(from_start[path[-1]])
    path.reverse()
    while from_goal[path[-1]] >= 0:
        path.append(from_goal[path[-1]])
    return path


def path_by_edges(forward: Csr, backward: Csr, start: int, goal: int) -> list[int] | None:
    """Find a path of the fewest edges; ``None`` if there is none.

    The search goes on at the end whose level is smaller.

    Parameters
    ----------
    forward, backward : Csr
        The edges as they lead, and the other way; both are one if edges have no direction.
    start, goal : int
        Rows.
    """
    if start == goal:
        return [start]
    sides = ((forward, {start: -1}), (backward, {goal: -1}))
    levels = [[start], [goal]]
    while levels[0] and levels[1]:
        side = 0 if len(levels[0]) <= len(levels[1]) else 1
        (csr, found), (_, others) = sides[side], sides[1 - side]
        level, levels[side] = levels[side], []
        for row in level:
            for neighbor in csr.row(row):
                if neighbor not in found:
                    found[neighbor] = row
                    levels[side].append(neighbor)
                if neighbor in others:
                    return _joined(neighbor, sides[0][1], sides[1][1])
    return None


def path_by_weight(forward: Csr, backward: Csr, start: int, goal: int) -> tuple[float, list[int]] | None:
    """Find a path of the least sum of weights, and that sum; ``None`` if there is none.

    Dijkstra's algorithm takes turns at both ends.

    Parameters
    ----------
    forward, backward : Csr
        As of `path_by_edges`. Weights are finite and not negative; without any each is 1.
    start, goal : int
        Rows.
    """
    if start == goal:
        return 0.0, [start]
    sides = (forward, backward)
    parents: tuple[Parents, Parents] = ({start: -1}, {goal: -1})
    seen: tuple[dict[int, float], dict[int, float]] = ({start: 0.0}, {goal: 0.0})
    done: tuple[set[int], set[int]] = (set(), set())
    turn = count()
    fringes = ([(0.0, next(turn), start)], [(0.0, next(turn), goal)])
    best, meeting, side = float("inf"), -1, 1
    while fringes[0] and fringes[1]:
        side = 1 - side
        distance, _, row = heappop(fringes[side])
        if row in done[side]:
            continue
        done[side].add(row)
        if row in done[1 - side]:
            return best, _joined(meeting, *parents)
        for neighbor, weight in sides[side].weighted_row(row):
            reach = distance + weight
            if neighbor in done[side] or reach >= seen[side].get(neighbor, float("inf")):
                continue
            seen[side][neighbor] = reach
            heappush(fringes[side], (reach, next(turn), neighbor))
            parents[side][neighbor] = row
            whole = reach + seen[1 - side].get(neighbor, float("inf"))
            if whole < best:
                best, meeting = whole, neighbor
    return None
