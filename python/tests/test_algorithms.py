"""Algorithms: NetworkX and igraph give the same answers on the same graph."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from conftest import People

import evergraph as eg
from evergraph import _native
from evergraph.algorithms import Algorithms


class Random(NamedTuple):
    """A random graph, here and in NetworkX."""

    snapshot: eg.Snapshot
    graph: Any
    weighted: Any


@pytest.fixture(scope="module")
def random() -> Iterator[Random]:
    """Give 200 vertices with gaps in their numbers, in parts that don't hang together."""
    generator = np.random.default_rng(3)
    with eg.open() as db:
        db.add_vertices("Gap", {"at": [0]})
        vertices = db.add_vertices("Node", {"at": np.arange(200)}, unique_key="at")
        pairs = sorted({(int(a), int(b)) for a, b in generator.integers(0, 180, size=(520, 2)) if a != b})
        weights = generator.integers(1, 20, size=len(pairs))
        ends = vertices[np.array(pairs)]
        db.add_edges("LINK", {"source": ends[:, 0], "target": ends[:, 1], "weight": weights.astype(float)})
        with db.snapshot() as snapshot:
            yield Random(
                snapshot,
                snapshot.to_networkx(labels="Node", multigraph=False, properties=False),
                snapshot.to_networkx(labels="Node", multigraph=False),
            )


def as_dict(table: Any, name: str) -> dict[int, Any]:
    return dict(zip(table["vertex"].to_pylist(), table[name].to_pylist(), strict=True))


def groups(table: Any, name: str) -> set[frozenset[int]]:
    gathered: dict[int, set[int]] = {}
    for vertex, group in as_dict(table, name).items():
        gathered.setdefault(group, set()).add(vertex)
    return {frozenset(group) for group in gathered.values()}


def close(found: dict[int, Any], wanted: dict[int, Any], tolerance: float = 1e-9) -> bool:
    return found.keys() == wanted.keys() and all(abs(found[v] - wanted[v]) < tolerance for v in wanted)


def undirected_multigraph(graph: Any) -> Any:
    """Keep an edge and its opposite as two."""
    both = nx.MultiGraph()
    both.add_nodes_from(graph)
    both.add_edges_from(graph.edges())
    return both


NODES: dict[str, Any] = {"labels": "Node"}


def test_centralities_are_those_of_networkx(random: Random) -> None:
    snapshot, graph, _ = random
    ranks = as_dict(snapshot.pagerank(iterations=200, tolerance=1e-12, **NODES), "score")
    assert close(ranks, nx.pagerank(graph, tol=1e-12, max_iter=300))
    found = as_dict(snapshot.betweenness(**NODES), "score")
    assert close(found, nx.betweenness_centrality(graph))
    assert close(as_dict(snapshot.closeness(**NODES), "score"), nx.closeness_centrality(graph))


def test_pagerank_takes_twenty_rounds_unless_told_otherwise(random: Random) -> None:
    table = random.snapshot.pagerank(**NODES)
    assert table.schema.metadata[b"iterations"] == b"20"
    assert [str(field.type) for field in table.schema] == ["uint64", "double"]
    assert random.snapshot.pagerank(iterations=10, **NODES).schema.metadata[b"iterations"] == b"10"


def test_eigenvector_is_that_of_networkx_where_it_converges(random: Random) -> None:
    snapshot, graph, _ = random
    found = as_dict(snapshot.eigenvector(direction="both", iterations=2000, tolerance=1e-13, **NODES), "score")
    # Both directions count an edge and its opposite as two.
    both = undirected_multigraph(graph)
    matrix = nx.to_numpy_array(both, nodelist=sorted(both))
    values, vectors = np.linalg.eigh(matrix)
    wanted = np.abs(vectors[:, np.argmax(values)])
    assert np.allclose([found[v] for v in sorted(both)], wanted, atol=1e-5)


def test_paths_and_neighbourhoods_are_those_of_networkx(random: Random) -> None:
    snapshot, graph, weighted = random
    source = next(node for node in graph if graph.out_degree(node) > 2)
    levels = as_dict(snapshot.bfs(source, **NODES), "level")
    wanted = nx.single_source_shortest_path_length(graph, source)
    assert {vertex: level for vertex, level in levels.items() if level is not None} == dict(wanted)
    assert levels.keys() == set(graph)
    distances = as_dict(snapshot.sssp(source, **NODES), "distance")
    lengths = nx.single_source_dijkstra_path_length(weighted, source)
    assert close({v: d for v, d in distances.items() if d is not None}, lengths)
    far = max(lengths, key=lengths.__getitem__)
    path = snapshot.shortest_path(source, far, weight="weight", **NODES)
    assert path["length"][-1].as_py() == lengths[far]
    assert nx.path_weight(weighted, path["vertex"].to_pylist(), "weight") == lengths[far]
    near = as_dict(snapshot.k_hop(source, depth=2, **NODES), "distance")
    assert near == {vertex: level for vertex, level in wanted.items() if level <= 2}
    alone = next(node for node in graph if graph.degree(node) == 0)
    assert snapshot.shortest_path(source, alone, **NODES).num_rows == 0
    _, level = snapshot.bfs(source, numpy=True, **NODES)
    assert np.isnan(level).sum() == len(graph) - len(wanted)


def test_components_are_those_of_networkx_and_the_largest_is_0(random: Random) -> None:
    snapshot, graph, _ = random
    weak, strong = snapshot.wcc(**NODES), snapshot.scc(**NODES)
    assert groups(weak, "component") == {frozenset(part) for part in nx.weakly_connected_components(graph)}
    assert groups(strong, "component") == {frozenset(part) for part in nx.strongly_connected_components(graph)}
    sizes = np.bincount(weak["component"].to_numpy())
    assert (np.diff(sizes) <= 0).all()


def test_density_is_that_of_networkx(random: Random) -> None:
    snapshot, graph, _ = random
    undirected = graph.to_undirected()
    assert as_dict(snapshot.triangles(**NODES), "triangles") == nx.triangles(undirected)
    assert as_dict(snapshot.kcore(**NODES), "core") == nx.core_number(undirected)
    assert close(as_dict(snapshot.lcc(directed=False, **NODES), "coefficient"), nx.clustering(undirected))


def test_communities_cover_every_vertex_and_louvain_is_as_good_as_networkx(random: Random) -> None:
    snapshot, graph, _ = random
    found = snapshot.louvain(**NODES)
    modularity = float(found.schema.metadata[b"modularity"])
    undirected = undirected_multigraph(graph)
    assert modularity == pytest.approx(nx.community.modularity(undirected, groups(found, "community")), abs=1e-9)
    best = nx.community.louvain_communities(undirected, seed=1)
    assert modularity > nx.community.modularity(undirected, best) - 0.03
    assert len(as_dict(snapshot.cdlp(**NODES), "community")) == 200


def test_cycles_and_orders_are_those_of_networkx(random: Random) -> None:
    snapshot, graph, _ = random
    table = snapshot.cycles(length_max=4, **NODES)
    found: dict[int, list[int]] = {}
    for row in table.to_pylist():
        found.setdefault(row["cycle"], []).append(row["vertex"])
    assert sorted(found.values()) == sorted(
        cycle[cycle.index(min(cycle)) :] + cycle[: cycle.index(min(cycle))]
        for cycle in nx.simple_cycles(graph, length_bound=4)
    )
    with pytest.raises(eg.InvalidError, match="cycle"):
        snapshot.topological_order(**NODES)


def test_conditions_choose_vertices_and_edges(circle: People) -> None:
    snapshot = circle.db.snapshot()
    late = snapshot.wcc(where_edges=[("since", ">", 1835)])
    assert groups(late, "component") == {frozenset({circle.ada, circle.mary}), frozenset({circle.charles})}
    few = snapshot.pagerank(where=[("born", "in", [1815, 1780]), "name"])
    assert few["vertex"].to_pylist() == [circle.ada, circle.mary]
    wrong: list[Any] = [[("born", "~", 1)], [("born", ">")], [5]]
    for bad in wrong:
        with pytest.raises(eg.InvalidError):
            snapshot.pagerank(where=bad)
    with pytest.raises(eg.NotFoundError, match=r'"Persn" isn.t in the graph: there are Person'):
        snapshot.pagerank(labels="Persn")
    with pytest.raises(TypeError, match="lables"):
        snapshot.pagerank(lables="Person")  # type: ignore[call-arg]


def test_groups_are_numbered_by_size_and_then_by_their_lowest_vertex() -> None:
    with eg.open() as db:
        vertices = db.add_vertices("Node", {"at": np.arange(12)})
        db.add_edges("LINK", vertices[np.array([[1, 11], [3, 5], [5, 9], [10, 4]])])
        components = db.snapshot().wcc()["component"].to_pylist()
        # 3, 5 and 9; then 1 and 11, 4 and 10; then those that are alone.
        assert components == [3, 1, 4, 0, 2, 0, 5, 6, 7, 0, 2, 1]


def test_a_table_says_how_long_the_kernel_took_within_the_call(random: Random) -> None:
    began = time.perf_counter()
    metadata = random.snapshot.triangles().schema.metadata
    spent = time.perf_counter() - began
    inside = [float(metadata[part]) for part in (b"freeze_seconds", b"kernel_seconds")]
    assert min(inside) > 0
    assert sum(inside) < spent


def test_keys_stand_beside_vertices_and_numpy_gives_arrays(circle: People) -> None:
    snapshot = circle.db.snapshot()
    table = snapshot.bfs(circle.ada, keys=["name", "born"])
    assert table.to_pylist()[1] == {"vertex": circle.charles, "level": 1, "name": "Charles", "born": 1791}
    vertex, score = snapshot.pagerank(numpy=True)
    assert (vertex.dtype, score.dtype) == (np.uint64, np.float64)
    assert np.allclose(score, 1 / 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.pagerank(damping=2.0),
        lambda s: s.pagerank(damping="much"),
        lambda s: s.pagerank(iterations=-1),
        lambda s: s.pagerank(direction="up"),
        lambda s: s.betweenness(sample=0),
        lambda s: s.cycles(length_max=1000),
        lambda s: s.sssp(0, weight="nothing"),
        lambda s: s.louvain(missing_weight=1.0),
    ],
)
def test_a_parameter_that_cannot_be_meant_is_refused(circle: People, call: Any) -> None:
    with pytest.raises((eg.InvalidError, eg.NotFoundError)):
        call(circle.db.snapshot())


@pytest.mark.parametrize("entry", _native.algorithms(), ids=lambda entry: entry["name"])
def test_a_method_is_what_the_table_of_algorithms_says(entry: dict[str, Any]) -> None:
    method = getattr(eg.Snapshot, entry["name"])
    signature = inspect.signature(method).parameters
    given = {name: one for name, one in signature.items() if name not in ("self", "choices")}
    wanted = {one["name"]: one for one in entry["parameters"]}
    assert given.keys() == wanted.keys()
    for name, parameter in given.items():
        required = parameter.default is inspect.Parameter.empty
        assert required == wanted[name]["required"], name
        assert required or parameter.default == wanted[name]["default"], name
    text = " ".join(inspect.getdoc(method).split())  # type: ignore[union-attr]
    assert all(re.search(rf"\b{name}\b", text) for name in wanted)
    # Columns of one type may share it.
    assert all(re.search(rf"\b{name}\b[^.]* \({kind}\)", text) for name, kind in entry["columns"])


def test_every_algorithm_of_the_package_is_in_the_table() -> None:
    methods = {name for name in vars(Algorithms) if not name.startswith("_")}
    for kind in Algorithms.__mro__:
        if kind.__module__.startswith("evergraph.algorithms."):
            methods |= {name for name in vars(kind) if not name.startswith("_")}
    assert methods == {entry["name"] for entry in _native.algorithms()}


def test_personal_ranks_are_those_of_networkx(random: Random) -> None:
    snapshot, graph, _ = random
    sources = sorted(graph)[3:6]
    found = as_dict(snapshot.personalized_pagerank(sources, tolerance=1e-12, iterations=1000, **NODES), "score")
    personal = dict.fromkeys(sources, 1.0)
    wanted = nx.pagerank(graph, personalization=personal, dangling=personal, tol=1e-14, max_iter=1000)
    assert close(found, wanted)


def test_leiden_finds_connected_communities_that_are_no_worse_than_louvains(random: Random) -> None:
    snapshot, graph, _ = random
    found = snapshot.leiden(**NODES)
    undirected = undirected_multigraph(graph)
    modularity = float(found.schema.metadata[b"modularity"])
    communities = groups(found, "community")
    assert modularity == pytest.approx(nx.community.modularity(undirected, communities), abs=1e-9)
    assert modularity >= float(snapshot.louvain(**NODES).schema.metadata[b"modularity"]) - 1e-3
    assert all(nx.is_connected(undirected.subgraph(community)) for community in communities)
