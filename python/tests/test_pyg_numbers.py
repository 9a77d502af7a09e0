"""What the stores for PyG are made of below PyTorch: counts, features, and samples beside the neighbours known."""

from __future__ import annotations

import datetime
import importlib.util
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from shop import Shop, shop

import evergraph as eg
import evergraph.pyg
from evergraph.pyg.graph import Graph, read_graph
from evergraph.pyg.sampling import Sample, Seeds, sample
from evergraph.pyg.topology import EdgeType, NodeType, ends

BUYS, LIKES_ITEM, LIKES_USER = ("User", "BUYS", "Item"), ("User", "LIKES", "Item"), ("User", "LIKES", "User")


@pytest.fixture(scope="module")
def full() -> Iterator[Shop]:
    """Give a shop that no test changes."""
    made = shop()
    with made.db:
        yield made


def read(db: eg.Database, **given: Any) -> Graph:
    settings = {"labels": None, "features": None, "edge_features": None, "edge_times": None, "homogeneous": False}
    with db.snapshot() as snapshot:
        return read_graph(snapshot, **{"types": (), "preload": True, **settings, **given})


def around(graph: Graph, vertices: dict[NodeType, list[int]], hops: list[int], **given: Any) -> Sample:
    seeds = {kind: Seeds(graph.topology.rows(kind, of)) for kind, of in vertices.items()}
    fanouts: dict[EdgeType, list[int]] = dict.fromkeys(graph.topology.incoming, hops)
    return sample(graph.topology, seeds, fanouts, np.random.default_rng(3), **given)


def drawn(graph: Graph, found: Sample, edge_type: EdgeType) -> list[tuple[int, int]]:
    """Source and target of each edge that was drawn, by their numbers in the database."""
    source, target = ends(edge_type)
    sources = graph.topology.vertices[source][found.rows[source][found.sources[edge_type]]]
    targets = graph.topology.vertices[target][found.rows[target][found.targets[edge_type]]]
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


def test_each_label_is_counted_from_0_and_back(full: Shop) -> None:
    topology = read(full.db).topology
    assert topology.vertices["User"].tolist() == sorted(full.users)
    assert topology.vertices["Item"].tolist() == sorted(full.items)
    some = list(full.items)[3:9]
    assert topology.vertices["Item"][topology.rows("Item", some)].tolist() == some


def test_a_vertex_of_another_label_has_no_row(full: Shop) -> None:
    topology = read(full.db).topology
    user = next(iter(full.users))
    with pytest.raises(eg.NotFoundError, match=f"vertex {user} is not of label Item"):
        topology.rows("Item", [user])
    with pytest.raises(eg.NotFoundError, match="no node type 'Shop'"):
        topology.rows("Shop", [user])


def test_edges_are_split_by_the_labels_that_they_join(full: Shop) -> None:
    graph = read(full.db, edge_features={"LIKES": {"at": "at"}, "BUYS": {"at": "at"}})
    assert set(graph.topology.incoming) == set(full.edges)
    for kind, listed in full.edges.items():
        incoming = graph.topology.incoming[kind]
        sources = graph.topology.vertices[kind[0]][incoming.sources]
        targets = graph.topology.vertices[kind[2]][incoming.targets()]
        columns = (sources.tolist(), targets.tolist(), graph.edge_values[kind]["at"].tolist())
        assert sorted(zip(*columns, strict=True)) == sorted(listed)


def test_labels_choose_the_edges_between_them(full: Shop) -> None:
    graph = read(full.db, labels="User", edge_features={"LIKES": {"at": "at"}})
    assert list(graph.topology.incoming) == [LIKES_USER]
    assert sorted(graph.edge_values[LIKES_USER]["at"].tolist()) == sorted(at for *_, at in full.edges[LIKES_USER])


def test_a_homogeneous_graph_has_one_type_of_each(full: Shop) -> None:
    graph = read(full.db, homogeneous=True, edge_features={"at": "at"})
    numbers, incoming = graph.topology.vertices[None], graph.topology.incoming[None]
    assert numbers.tolist() == sorted([*full.users, *full.items])
    columns = (numbers[incoming.sources], numbers[incoming.targets()], graph.edge_values[None]["at"])
    found = sorted(zip(*(column.tolist() for column in columns), strict=True))
    assert found == sorted(edge for listed in full.edges.values() for edge in listed)


def test_a_graph_without_edges_has_its_vertices() -> None:
    with eg.open() as db:
        with db.begin() as tx:
            only = tx.add_vertex("User", age=30)
        assert read(db).topology.incoming == {}
        graph = read(db, homogeneous=True)
        assert graph.topology.incoming[None].offsets.tolist() == [0, 0]
        assert graph.topology.vertices[None].tolist() == [only]
        found = around(graph, {None: [only]}, [2, 2])
        assert (found.rows[None].tolist(), len(found.sources[None])) == ([0], 0)


def test_properties_may_be_called_as_columns_of_tables() -> None:
    with eg.open() as db:
        with db.begin() as tx:
            first, second = (tx.add_vertex("User", vertex=at + 0.5, label=at) for at in (1, 2))
            tx.add_edge(second, "KNOWS", first, source=7, target=8, discriminator=9)
        graph = read(
            db, features={"User": ["label", "vertex"]}, edge_features={"KNOWS": {"s": "source", "t": "target"}}
        )
        assert graph.vertex_values("User", "x").tolist() == [[1, 1.5], [2, 2.5]]
        [values] = graph.edge_values.values()
        assert (values["s"].tolist(), values["t"].tolist()) == ([7], [8])
        assert read(db, labels="User", edge_times={"KNOWS": "source"}).topology.incoming.popitem()[1].times == [7]


def test_a_feature_that_another_would_be_given_for_is_refused(full: Shop) -> None:
    """PyG has one group for vertices and edges of a homogeneous graph, and every vertex its number."""
    refused: list[dict[str, Any]] = [
        {"features": {"User": {"vertex": "age"}}},
        {"homogeneous": True, "features": {"vertex": "age"}},
        {"homogeneous": True, "labels": "User", "features": {"w": "age"}, "edge_features": {"w": "at"}},
        {"homogeneous": True, "labels": "User", "features": {"time": "age"}, "edge_times": "at"},
    ]
    for given in refused:
        with pytest.raises(eg.InvalidError, match="choose another name"):
            read(full.db, **given)


@pytest.mark.parametrize("preload", [True, False])
def test_features_are_the_properties_of_their_rows(full: Shop, preload: bool) -> None:
    features = {"User": ["age", "score"], "Item": {"code": "code", "all": ["price", "code"], "price": "price"}}
    with full.db.snapshot() as snapshot:
        graph = read_graph(snapshot, (), None, features, None, None, False, preload)
        rows = np.array([5, 2, 2, 0])
        found = graph.vertex_values("User", "x", rows)
        numbers = graph.topology.vertices["User"][rows].tolist()
        assert found.tolist() == np.array([full.users[vertex] for vertex in numbers], dtype=np.float32).tolist()
        assert found.dtype == np.float32
        items = [full.items[vertex] for vertex in graph.topology.vertices["Item"].tolist()]
        assert graph.vertex_values("Item", "all").tolist() == items
        assert graph.vertex_values("Item", "code").tolist() == [row[1:] for row in items]
        assert graph.vertex_values("Item", "price").tolist() == [row[0] for row in items]


def test_a_property_alone_keeps_its_kind() -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    with eg.open() as db:
        with db.begin() as tx:
            tx.add_vertex("A", whole=2**40, truth=True, real=0.5, day=datetime.date(1970, 1, 9), moment=moment)
        names = ["whole", "truth", "real", "day", "moment"]
        graph = read(db, features={"A": {name: name for name in names}})
        found = {name: graph.vertex_values("A", name) for name in names}
        assert [(of.dtype.name, of.tolist()) for of in found.values()] == [
            ("int64", [2**40]),
            ("bool", [True]),
            ("float32", [0.5]),
            ("int64", [8]),
            ("int64", [int(moment.timestamp()) * 10**9]),
        ]


def test_what_is_no_feature_says_why() -> None:
    with eg.open() as db:
        with db.begin() as tx:
            one = tx.add_vertex("A", name="Ada", age=1, code=[1.0, 2.0], words=["x"])
            two = tx.add_vertex("A", name="Bob", code=[1.0], words=["x"])
            tx.add_edge(one, "E", two)
        for features, said in [
            (["age"], "1 of A have no age"),
            (["name"], "name of A isn't a number but"),
            ("code", "code of A has lists of 1 to 2 values"),
            ("words", "words of A has lists of something else"),
            ([], "made of no property"),
        ]:
            with pytest.raises(eg.InvalidError, match=said):
                read(db, features={"A": features})
        with db.begin() as tx:
            tx.add_edge(two, "E", one, at=1)
        with pytest.raises(eg.InvalidError, match="1 of E have no at"):
            read(db, edge_times={"E": "at"})
        unknown: list[tuple[dict[str, Any], str]] = [
            ({"features": {"B": ["age"]}}, "features: no label 'B'"),
            ({"edge_features": {"F": ["age"]}}, "edge_features: no edge type 'F'"),
            ({"edge_times": {"F": "at"}}, "edge_times: no edge type 'F'"),
            ({"features": {"A": ["agee"]}}, "agee"),
        ]
        for given, said in unknown:
            with pytest.raises(eg.NotFoundError, match=said):
                read(db, **given)


def test_all_neighbours_of_all_hops_are_drawn(full: Shop) -> None:
    graph = read(full.db)
    seeds = list(full.items)[:3]
    found = around(graph, {"Item": seeds}, [-1, -1, -1])
    # The same by hand, from the lists.
    levels: list[set[int]] = [set(seeds)]
    wanted: dict[tuple[str, str, str], Counter[tuple[int, int]]] = {kind: Counter() for kind in full.edges}
    for _ in range(3):
        fresh: set[int] = set()
        for kind in full.edges:
            for target in levels[-1]:
                for source, _at in full.reaching(kind, target):
                    wanted[kind][source, target] += 1
                    fresh.add(source)
        levels.append(fresh - set().union(*levels))
    for kind in full.edges:
        assert Counter(drawn(graph, found, kind)) == wanted[kind]
    assert graph.topology.vertices["Item"][found.rows["Item"]].tolist() == seeds
    per_hop = [len(level & set(full.users)) for level in levels]
    assert found.rows_per_hop["User"] == per_hop
    assert found.rows_per_hop["Item"] == [3, 0, 0, 0]
    first = per_hop[1]
    assert set(graph.topology.vertices["User"][found.rows["User"][:first]].tolist()) == levels[1] & set(full.users)


def test_a_fanout_bounds_what_is_drawn_and_draws_no_edge_twice(full: Shop) -> None:
    graph = read(full.db)
    seeds = list(full.items)
    found = around(graph, {"Item": seeds}, [3, 2])
    for kind in full.edges:
        edges = found.edges[kind]
        assert len(set(edges.tolist())) == len(edges)
        assert np.all(np.diff(found.targets[kind]) >= 0), "PyG wants them by target"
        known = Counter((source, target) for source, target, _ in full.edges[kind])
        assert not Counter(drawn(graph, found, kind)) - known
    for kind in (BUYS, LIKES_ITEM):
        per_seed = Counter(found.targets[kind].tolist())
        assert [per_seed[at] for at in range(len(seeds))] == [
            min(3, len(full.reaching(kind, item))) for item in seeds
        ]


def test_with_replacement_each_vertex_that_has_edges_gives_as_many_as_asked_for(full: Shop) -> None:
    graph = read(full.db)
    found = around(graph, {"User": list(full.users)}, [40], replace=True)
    per_seed = Counter(found.targets[LIKES_USER].tolist())
    wanted = [40 if full.reaching(LIKES_USER, user) else 0 for user in full.users]
    assert [per_seed[at] for at in range(len(full.users))] == wanted
    assert not Counter(set(drawn(graph, found, LIKES_USER))) - Counter(
        {(a, b) for a, b, _ in full.edges[LIKES_USER]}
    )


@pytest.mark.parametrize("replace", [False, True])
def test_each_edge_is_drawn_as_often_as_another(replace: bool) -> None:
    degree, fanout, rounds = 10, 3, 20_000
    with eg.open() as db:
        hub, *spokes = db.add_vertices("V", {"at": list(range(degree + 1))}).tolist()
        db.add_edges("E", np.array([[spoke, hub] for spoke in spokes]))
        graph = read(db)
        seeds: dict[NodeType, Seeds] = {"V": Seeds(np.zeros(rounds, dtype=np.int64))}
        fanouts: dict[EdgeType, list[int]] = {("V", "E", "V"): [fanout]}
        found = sample(graph.topology, seeds, fanouts, np.random.default_rng(1), replace=replace, disjoint=True)
    counts = np.bincount(found.edges["V", "E", "V"], minlength=degree)
    expected = rounds * fanout / degree
    # Six standard deviations of a binomial.
    assert np.abs(counts - expected).max() < 6 * np.sqrt(expected)
    if not replace:
        # Pairs too, which a biased choice of sets would show.
        sets = found.edges["V", "E", "V"].reshape(rounds, fanout)
        sets = np.sort(sets, axis=1)
        triples = Counter(map(tuple, sets.tolist()))
        assert len(triples) == 120
        assert max(abs(count - rounds / 120) for count in triples.values()) < 6 * np.sqrt(rounds / 120)


def test_disjoint_trees_share_nothing(full: Shop) -> None:
    graph = read(full.db)
    seeds = list(full.items)[:5]
    found = around(graph, {"Item": [*seeds, seeds[0]]}, [-1, 2], disjoint=True)
    assert found.trees is not None
    assert found.trees["Item"].tolist() == [0, 1, 2, 3, 4, 5]
    for kind in full.edges:
        source, target = kind[0], kind[2]
        of_source = found.trees[source][found.sources[kind]]
        assert np.array_equal(of_source, found.trees[target][found.targets[kind]])
    pairs = list(zip(found.trees["User"].tolist(), found.rows["User"].tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    # The first seed was given twice: two trees, whose first hops are the same.
    first, again = (
        {row for row, tree in zip(found.rows["User"], found.trees["User"], strict=True) if tree == of}
        for of in (0, 5)
    )
    near = {source for kind in (BUYS, LIKES_ITEM) for source, _ in full.reaching(kind, seeds[0])}
    for tree in (first, again):
        assert near <= set(graph.topology.vertices["User"][sorted(tree)].tolist())


@pytest.mark.parametrize("newest", [False, True])
def test_no_edge_later_than_its_seed_is_drawn(full: Shop, newest: bool) -> None:
    graph = read(full.db, edge_times={"BUYS": "at", "LIKES": "at"})
    items = sorted(full.items)
    limits = np.linspace(0, 1200, len(items)).astype(np.int64)
    seeds: dict[NodeType, Seeds] = {"Item": Seeds(graph.topology.rows("Item", items), limits)}
    fanouts: dict[EdgeType, list[int]] = {edge_type: [4, 2] for edge_type in graph.topology.incoming}
    found = sample(graph.topology, seeds, fanouts, np.random.default_rng(5), disjoint=True, newest=newest)
    assert found.trees is not None
    for kind in full.edges:
        at = graph.edge_values[kind]["time"][found.edges[kind]]
        tree = found.trees[kind[2]][found.targets[kind]]
        assert np.all(at <= limits[tree])
        assert len(at) > 0
    at, seed = graph.edge_values[BUYS]["time"][found.edges[BUYS]], found.targets[BUYS]
    for place, item in enumerate(items):
        early = sorted(time for _, time in full.reaching(BUYS, item) if time <= limits[place])
        times = sorted(at[seed == place].tolist())
        assert len(times) == min(4, len(early))
        if newest:
            assert times == early[-4:]


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is here: nothing is missing")
def test_without_pytorch_it_is_said_what_to_install() -> None:
    with eg.open() as db, db.snapshot() as snapshot, pytest.raises(ImportError, match=r"evergraph\[torch\]"):
        snapshot.torch_geometric_stores()
    with pytest.raises(ImportError, match=r"evergraph\[torch\]"):
        _ = evergraph.pyg.NeighborSampler
