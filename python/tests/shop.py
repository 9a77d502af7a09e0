"""A graph of users and items with gaps in its numbers and parallel edges, and its content as plain lists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import evergraph as eg

COLOURS = 4


class Shop(NamedTuple):
    """A database of users and items, and its content as lists that no code of ours has seen.

    Attributes
    ----------
    users, items : dict of int to list of float
        By number of the vertex: age and score, or price and a code of `COLOURS` numbers.
    edges : dict of (str, str, str) to list of (int, int, int)
        By label, type, label: source, target and time.
    """

    db: eg.Database
    users: dict[int, list[float]]
    items: dict[int, list[float]]
    edges: dict[tuple[str, str, str], list[tuple[int, int, int]]]

    def reaching(self, kind: tuple[str, str, str], vertex: int) -> list[tuple[int, int]]:
        """Source and time of each edge of `kind` that reaches `vertex`."""
        return [(source, at) for source, target, at in self.edges[kind] if target == vertex]


def shop(seed: int = 7, users_count: int = 60, items_count: int = 25) -> Shop:
    """Make one."""
    random = np.random.default_rng(seed)
    db = eg.open()
    users: dict[int, list[float]] = {}
    items: dict[int, list[float]] = {}
    with db.begin() as tx:
        gone = []
        # Mixed, so that a label's numbers have gaps.
        for at in range(users_count + items_count):
            if at % 11 == 3:
                gone.append(tx.add_vertex("User", age=0, score=0.0, club=0))
            if at < users_count:
                age, score = int(random.integers(18, 80)), float(np.float32(random.random()))
                users[tx.add_vertex("User", age=age, score=score, club=at % 3)] = [age, score]
            if at < items_count:
                price, code = float(at), [float(number) for number in random.integers(0, 9, COLOURS)]
                items[tx.add_vertex("Item", price=price, code=code)] = [price, *code]
    with db.begin() as tx:
        for vertex in gone:
            tx.delete_vertex(vertex)
    edges: dict[tuple[str, str, str], list[tuple[int, int, int]]] = {}
    labels = {"User": list(users), "Item": list(items)}
    # LIKES joins two pairs of labels, and a few edges run parallel.
    for kind, count in {
        ("User", "BUYS", "Item"): 300,
        ("User", "LIKES", "Item"): 120,
        ("User", "LIKES", "User"): 250,
    }.items():
        listed = []
        for _ in range(count):
            source, target = random.choice(labels[kind[0]]), random.choice(labels[kind[2]])
            listed += [(int(source), int(target), int(random.integers(0, 1000)))] * (
                2 if random.random() < 0.1 else 1
            )
        edges[kind] = [(source, target, at + copy) for copy, (source, target, at) in enumerate(listed)]
    with db.begin() as tx:
        for kind, listed in edges.items():
            for source, target, at in listed:
                tx.add_edge(source, kind[1], target, at=at)
    return Shop(db, users, items, edges)
