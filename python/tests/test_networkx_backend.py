"""NetworkX's functions give the same on graphs that were converted as NetworkX itself gives."""

from __future__ import annotations

import importlib.metadata
import inspect
import itertools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import _evergraph_nx
import evergraph.nx as enx
from evergraph.nx.backend import backend, can_run
from evergraph.nx.dispatch import ALGORITHMS

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "networkx.md"


def random_graph(seed: int, kind: type, *, weights: str = "none", loops: bool = True) -> Any:
    """A graph with components, isolated nodes, loops, edges both ways, and nodes of several types."""
    drawn = random.Random(seed)
    count = drawn.randrange(2, 40)
    names: list[Any] = [f"n{at}" if drawn.random() < 0.5 else at * 7 for at in range(count)]
    drawn.shuffle(names)
    graph = kind()
    graph.add_nodes_from(names)
    for _ in range(drawn.randrange(0, 3 * count)):
        source, target = drawn.choice(names), drawn.choice(names)
        if not loops and source == target:
            continue
        if weights == "whole":
            graph.add_edge(source, target, weight=drawn.randrange(1, 9))
        elif weights == "some" and drawn.random() < 0.7:
            graph.add_edge(source, target, weight=drawn.random() + 0.1)
        else:
            graph.add_edge(source, target)
    return graph


def comparable(value: Any) -> Any:
    """Sets of sets, and numbers to twelve places."""
    if isinstance(value, Iterator) or inspect.isgenerator(value):
        return comparable(list(value))
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-9, abs=1e-12)
    if isinstance(value, dict):
        return {key: comparable(one) for key, one in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, set) for one in value):
        return sorted(map(sorted_by_text, value))
    if isinstance(value, (list, tuple)):
        return [comparable(one) for one in value]
    return value


def sorted_by_text(values: Any) -> list[str]:
    return sorted(map(repr, values))


def plain(value: Any) -> Any:
    """The same without tolerance, for the left side of a comparison."""
    if isinstance(value, Iterator) or inspect.isgenerator(value):
        return plain(list(value))
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, set) for one in value):
        return sorted(map(sorted_by_text, value))
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def outcome(call: Callable[[], Any], read: Callable[[Any], Any]) -> Any:
    try:
        return read(call())
    except nx.NetworkXException as error:
        return type(error)


def assert_same(function: Any, graph: Any, *args: Any, **kwargs: Any) -> None:
    """The backend must run it, and say what NetworkX says; a graph of its own stays as it is."""
    found = outcome(lambda: function(graph, *args, backend="evergraph", **kwargs), plain)
    wanted = outcome(lambda: function(graph, *args, backend="networkx", **kwargs), comparable)
    assert found == wanted, f"{function.__name__}{args}{kwargs} on {list(graph.edges(data=True))}"


SIMPLE = [nx.Graph, nx.DiGraph]
ALL = [*SIMPLE, nx.MultiGraph, nx.MultiDiGraph]
SEEDS = range(12)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", SEEDS)
def test_centralities_are_those_of_networkx(seed: int, kind: type) -> None:
    for weights in ("none", "some", "whole"):
        graph = random_graph(seed, kind, weights=weights)
        assert_same(nx.pagerank, graph)
        assert_same(nx.pagerank, graph, weight=None, alpha=0.5, tol=1e-9)
        assert_same(nx.pagerank, graph, max_iter=1, tol=1e-12)
        some = {node: at + 1 for at, node in enumerate(list(graph)[: len(graph) // 2 + 1])}
        assert_same(nx.pagerank, graph, personalization=some, dangling=some)
        assert_same(nx.pagerank, graph, nstart=some)
        assert_same(nx.degree_centrality, graph)
    graph = random_graph(seed, kind)
    assert_same(nx.betweenness_centrality, graph)
    assert_same(nx.betweenness_centrality, graph, normalized=False)
    assert_same(nx.closeness_centrality, graph)
    first = next(iter(graph))
    assert_same(nx.closeness_centrality, graph, first)
    assert_same(nx.closeness_centrality, graph, first, wf_improved=False)
    if graph.is_directed():
        assert_same(nx.in_degree_centrality, graph)
        assert_same(nx.out_degree_centrality, graph)


@pytest.mark.parametrize("kind", SIMPLE)
@pytest.mark.parametrize("seed", SEEDS)
def test_eigenvectors_converge_as_networkx_does_or_say_so(seed: int, kind: type) -> None:
    graph = random_graph(seed, kind, weights="whole")
    for weight in (None, "weight"):
        assert_same(nx.eigenvector_centrality, graph, weight=weight)
        assert_same(nx.eigenvector_centrality, graph, weight=weight, max_iter=2)
        start = {node: at + 1.0 for at, node in enumerate(graph)}
        assert_same(nx.eigenvector_centrality, graph, weight=weight, nstart=start, max_iter=500)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", SEEDS)
def test_components_are_those_of_networkx(seed: int, kind: type) -> None:
    graph = random_graph(seed, kind)
    ways = ["strongly_", "weakly_"] if graph.is_directed() else [""]
    for way in ways:
        for name in (f"{way}connected_components", f"number_{way}connected_components", f"is_{way}connected"):
            assert_same(getattr(nx, name), graph)
    if not graph.is_directed():
        assert_same(nx.node_connected_component, graph, next(iter(graph)))
    for function in (nx.is_forest, nx.is_tree, nx.is_empty, nx.isolates, nx.number_of_isolates):
        assert_same(function, graph)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("seed", SEEDS)
def test_strong_components_come_in_the_order_of_networkx(seed: int, kind: type) -> None:
    """``condensation`` of NetworkX numbers its nodes so, and trees as text begin where it says."""
    graph = random_graph(seed, kind)
    assert list(nx.strongly_connected_components(graph, backend="evergraph")) == list(
        nx.strongly_connected_components(graph, backend="networkx")
    )
    # In a large graph each comes after those that it leads to, at least.
    graph = large_graph(seed, kind)
    place: dict[Any, int] = {}
    for at, part in enumerate(nx.strongly_connected_components(graph, backend="evergraph")):
        place.update(dict.fromkeys(part, at))
    assert all(place[target] <= place[source] for source, target in graph.edges())
    assert len(set(place.values())) > 10


@pytest.mark.parametrize("seed", SEEDS)
def test_triangles_and_cores_are_those_of_networkx(seed: int) -> None:
    graph = random_graph(seed, nx.Graph)
    some = list(graph)[:3]
    for function in (nx.triangles, nx.clustering):
        assert_same(function, graph)
        assert_same(function, graph, some)
        assert_same(function, graph, some[0])
    assert_same(nx.transitivity, graph)
    assert_same(nx.average_clustering, graph)
    assert_same(nx.number_of_selfloops, graph)
    assert_same(nx.core_number, graph)
    assert_same(nx.core_number, random_graph(seed, nx.Graph, loops=False))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", SEEDS)
def test_searches_go_in_networkx_order(seed: int, kind: type) -> None:
    graph = random_graph(seed, kind)
    for node in list(graph)[:3]:
        for limit in (None, 0, 1, 2):
            for function in (nx.bfs_edges, nx.bfs_successors, nx.bfs_predecessors):
                assert_same(function, graph, node, depth_limit=limit)
            assert list(nx.bfs_tree(graph, node, depth_limit=limit, backend="evergraph").edges) == list(
                nx.bfs_tree(graph, node, depth_limit=limit, backend="networkx").edges
            )
        assert list(nx.bfs_layers(graph, node, backend="evergraph")) == list(
            nx.bfs_layers(graph, node, backend="networkx")
        )
        for function in (nx.descendants, nx.ancestors):
            assert_same(function, graph, node)
        assert_same(nx.descendants_at_distance, graph, node, 2)
    assert_same(nx.bfs_edges, graph, "nobody")
    assert_same(nx.descendants, graph, "nobody")


def large_graph(seed: int, kind: type) -> Any:
    """Levels of over a hundred nodes, and over five thousand edges, where arrays take over from Python."""
    drawn = random.Random(seed)
    graph = kind()
    graph.add_nodes_from(f"n{at}" for at in range(900))
    names = list(graph)
    drawn.shuffle(names)
    for _ in range(5500):
        graph.add_edge(*drawn.sample(names[:850], 2), weight=drawn.randrange(4) + 1, length=drawn.random())
    if seed % 2:
        # Many nodes are reached from one, and many reach one.
        graph.add_edges_from((names[0], node, {"weight": 2}) for node in names[:400])
        graph.add_edges_from((node, names[1], {"weight": 2}) for node in names[300:500])
    return graph


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", range(2))
def test_large_graphs_are_answered_as_networkx_does(seed: int, kind: type) -> None:
    graph = large_graph(seed, kind)
    some, names = list(graph)[:2], list(graph)[::150]
    functions: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (nx.pagerank, (), {}),
        (nx.pagerank, (), {"weight": None}),
        (nx.degree_centrality, (), {}),
        (nx.isolates, (), {}),
        (nx.is_forest, (), {}),
    ]
    for node in some:
        functions += [(nx.bfs_edges, (node,), {}), (nx.bfs_successors, (node,), {"depth_limit": 2})]
        functions += [(nx.descendants, (node,), {}), (nx.ancestors, (node,), {})]
        functions += [(nx.single_source_shortest_path, (node,), {}), (nx.single_source_dijkstra, (node,), {})]
        functions += [(nx.dijkstra_path, (some[0], node), {}), (nx.closeness_centrality, (node,), {})]
        functions += [(nx.single_target_shortest_path_length, (node,), {})]
    if graph.is_directed():
        functions += [(nx.strongly_connected_components, (), {}), (nx.weakly_connected_components, (), {})]
        functions += [(nx.is_directed_acyclic_graph, (), {})]
    else:
        functions += [(nx.connected_components, (), {}), (nx.shortest_path, tuple(some), {})]
        for weight in ("weight", "length"):
            # Of the former several paths are shortest, of the latter one is.
            functions += [(nx.bidirectional_dijkstra, (source, names[-1]), {"weight": weight}) for source in names]
    if kind is nx.Graph:
        functions += [(nx.triangles, (), {}), (nx.clustering, (), {}), (nx.transitivity, (), {})]
    if kind in SIMPLE:
        functions += [(nx.eigenvector_centrality, (), {"weight": "weight"}), (nx.number_of_selfloops, (), {})]
    for function, args, kwargs in functions:
        assert_same(function, graph, *args, **kwargs)
    # Without loops, and without cycles.
    graph.remove_edges_from([edge for edge in graph.edges if edge[0] == edge[1]])
    if kind is nx.Graph:
        assert_same(nx.core_number, graph)
    if graph.is_directed():
        place = {node: at for at, node in enumerate(sorted(graph, key=lambda node: node[::-1]))}
        graph.remove_edges_from([edge for edge in graph.edges if place[edge[0]] >= place[edge[1]]])
        assert_same(nx.topological_generations, graph)
        assert_same(nx.is_directed_acyclic_graph, graph)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("seed", range(40))
def test_orders_and_cycles_are_those_of_networkx(seed: int, kind: type) -> None:
    graph = random_graph(seed, kind)
    if seed % 2:
        # Without cycles.
        place = {node: at for at, node in enumerate(graph)}
        graph.remove_edges_from([edge for edge in graph.edges if place[edge[0]] >= place[edge[1]]])
    for function in (nx.topological_generations, nx.topological_sort, nx.is_directed_acyclic_graph):
        assert_same(function, graph)
    if kind is nx.DiGraph:
        assert_same(nx.find_cycle, graph)
        for node in graph:
            assert_same(nx.find_cycle, graph, node)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", SEEDS)
def test_shortest_paths_by_edges_are_those_of_networkx(seed: int, kind: type) -> None:
    graph = random_graph(seed, kind)
    nodes = list(graph)[:4]
    for source in nodes:
        for cutoff in (None, 0, 1, 1.5, 2):
            for name in ("single_source_shortest_path_length", "single_target_shortest_path_length"):
                assert_same(getattr(nx, name), graph, source, cutoff)
            assert_same(nx.single_source_shortest_path, graph, source, cutoff)
        assert_same(nx.shortest_path_length, graph, target=source)
        for target in nodes:
            assert_same(nx.shortest_path_length, graph, source, target)
            assert_same(nx.has_path, graph, source, target)
            assert_is_path(graph, source, target, None)
    assert_same(nx.all_pairs_shortest_path_length, graph)
    assert_same(nx.all_pairs_shortest_path, graph)
    assert_same(nx.shortest_path_length, graph, "nobody", nodes[0])


def assert_is_path(graph: Any, source: Any, target: Any, weight: str | None) -> None:
    """A path that is as short as NetworkX's, if there is one: of several it may be another."""
    try:
        length = nx.shortest_path_length(graph, source, target, weight=weight, backend="networkx")
    except nx.NetworkXNoPath:
        with pytest.raises(nx.NetworkXNoPath):
            nx.shortest_path(graph, source, target, weight=weight, backend="evergraph")
        return
    path = nx.shortest_path(graph, source, target, weight=weight, backend="evergraph")
    assert (path[0], path[-1]) == (source, target)
    assert nx.is_path(graph, path)
    total = len(path) - 1 if weight is None else path_weight(graph, path, weight)
    assert total == pytest.approx(length)


def path_weight(graph: Any, path: list[Any], weight: str) -> float:
    total = 0.0
    for source, target in itertools.pairwise(path):
        edges = graph[source][target].values() if graph.is_multigraph() else [graph[source][target]]
        total += min(edge.get(weight, 1) for edge in edges)
    return total


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", SEEDS)
def test_shortest_paths_by_weight_are_those_of_networkx(seed: int, kind: type) -> None:
    for weights in ("none", "some", "whole"):
        graph = random_graph(seed, kind, weights=weights)
        nodes = list(graph)[:3]
        for source in nodes:
            assert_same(nx.single_source_dijkstra_path_length, graph, source)
            assert_same(nx.single_source_dijkstra_path_length, graph, source, cutoff=4)
            lengths = nx.single_source_dijkstra_path_length(graph, source, backend="networkx")
            paths = nx.single_source_dijkstra_path(graph, source, backend="evergraph")
            assert paths.keys() == lengths.keys()
            for target, path in paths.items():
                assert path_weight(graph, path, "weight") == pytest.approx(lengths[target])
            for target in nodes:
                assert_same(nx.dijkstra_path_length, graph, source, target)
                assert_same(nx.shortest_path_length, graph, source, target, weight="weight")
                assert_is_path(graph, source, target, "weight")


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", SEEDS)
def test_of_several_shortest_paths_it_is_the_one_of_networkx(seed: int, kind: type) -> None:
    """``minimum_cycle_basis`` of NetworkX, for one, gave other cycles when it was given other paths."""
    for weights in ("none", "some", "whole"):
        graph = random_graph(seed, kind, weights=weights)
        for edge in list(graph.edges(data=True))[::5]:
            # Paths of one length, and edges that cost nothing.
            edge[2]["weight"] = 0
        nodes = list(graph)[:4]
        for source in nodes:
            for function in (nx.single_source_dijkstra, nx.single_source_dijkstra_path):
                assert_same(function, graph, source)
                assert_same(function, graph, source, cutoff=3)
            found, wanted = (
                list(nx.single_source_dijkstra(graph, source, backend=name)[0])
                for name in ("evergraph", "networkx")
            )
            assert found == wanted
            for target in nodes:
                assert_same(nx.single_source_dijkstra, graph, source, target)
                assert_same(nx.dijkstra_path, graph, source, target)
                if not graph.is_directed():
                    # Predecessors have an order of their own, which a conversion doesn't keep.
                    assert_same(nx.shortest_path, graph, source, target)
                    assert_same(nx.shortest_path, graph, source, target, weight="weight")
                    assert_same(nx.bidirectional_dijkstra, graph, source, target)


def test_sums_of_whole_weights_are_whole() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=2)
    graph.add_edge("b", "c", weight=3)
    length = nx.dijkstra_path_length(graph, "a", "c", backend="evergraph")
    assert (length, type(length)) == (5, int)
    graph.add_edge("c", "d", weight=0.5)
    assert type(nx.dijkstra_path_length(graph, "a", "d", backend="evergraph")) is float


@pytest.mark.parametrize("weight", [-1, float("inf"), 2**60, "heavy", None])
def test_weights_that_a_kernel_would_add_up_otherwise_are_left_to_networkx(weight: Any) -> None:
    graph = nx.DiGraph()
    graph.add_edge(0, 1, weight=weight)
    graph.add_edge(1, 2, weight=1 if weight is None else weight)
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(graph, 0, backend="evergraph")


def test_communities_are_a_partition_as_good_as_networkx_finds() -> None:
    graph = nx.planted_partition_graph(6, 30, 0.5, 0.01, seed=4)
    found = nx.community.louvain_communities(graph, backend="evergraph")
    assert sorted(node for part in found for node in part) == sorted(graph)
    wanted = nx.community.louvain_communities(graph, seed=1, backend="networkx")
    quality = nx.community.modularity(graph, found)
    assert quality >= nx.community.modularity(graph, wanted) - 0.02


@pytest.mark.parametrize("kind", ALL)
def test_a_graph_without_nodes_is_answered(kind: type) -> None:
    for function in (nx.pagerank, nx.closeness_centrality, nx.betweenness_centrality, nx.is_empty, nx.is_tree):
        assert_same(function, kind())
    assert_same(nx.topological_sort if kind().is_directed() else nx.connected_components, kind())


def test_what_arguments_ask_for_and_is_not_there_is_refused_with_a_reason() -> None:
    graph = nx.path_graph(3)
    refused: list[tuple[str, dict[str, Any]]] = [
        ("betweenness_centrality", {"k": 2}),
        ("betweenness_centrality", {"weight": "weight"}),
        ("closeness_centrality", {"distance": "weight"}),
        ("clustering", {"weight": "weight"}),
        ("bfs_edges", {"source": 0, "sort_neighbors": sorted}),
        ("shortest_path", {"weight": lambda u, v, edge: 1}),
        ("shortest_path", {"source": 0, "method": "bellman-ford"}),
        ("louvain_communities", {"seed": 7}),
    ]
    for name, kwargs in refused:
        reason = can_run(name, (graph,), kwargs)
        assert isinstance(reason, str), name
        function = getattr(nx.community, name, None) or getattr(nx, name)
        with pytest.raises(NotImplementedError):
            function(graph, backend="evergraph", **kwargs)
    assert can_run("pagerank", (graph,), {"weight": None}) is True


def test_a_conversion_is_made_once_and_again_after_a_change() -> None:
    graph = nx.path_graph(5)
    nx.pagerank(graph, backend="evergraph")
    cached = graph.__networkx_cache__["backends"]["evergraph"]
    [first] = cached.values()
    nx.pagerank(graph, backend="evergraph")
    assert list(cached.values()) == [first]
    graph.add_edge(4, 5)
    assert len(nx.pagerank(graph, backend="evergraph")) == 6


def test_a_priority_sends_large_graphs_here_and_leaves_small_ones() -> None:
    small, large = nx.path_graph(10), nx.path_graph(2000)
    with nx.config(backend_priority=["evergraph"]):
        nx.number_connected_components(small)
        nx.number_connected_components(large)
    assert "backends" not in small.__networkx_cache__
    assert "evergraph" in large.__networkx_cache__["backends"]


@pytest.mark.parametrize("kind", ALL)
def test_a_converted_graph_comes_back_as_it_was(kind: type) -> None:
    graph = random_graph(3, kind, weights="whole")
    graph.graph["name"] = "a graph"
    # Called as columns of tables are.
    for name in ("label", "vertex", "row"):
        nx.set_node_attributes(graph, {node: repr(node) for node in graph}, name)
    for name in ("source", "type", "discriminator"):
        nx.set_edge_attributes(graph, {edge: repr(edge) for edge in graph.edges}, name)
    back = enx.to_networkx(enx.from_networkx(graph))
    assert type(back) is kind
    assert nx.utils.graphs_equal(back, graph)
    assert nx.utils.graphs_equal(enx.from_networkx(graph).copy(), graph)
    assert nx.utils.graphs_equal(enx.to_networkx(enx.from_networkx(kind())), kind())


def test_attributes_that_would_come_back_changed_are_refused() -> None:
    graph = nx.path_graph(3)
    graph.nodes[0]["style"], graph.nodes[2]["style"] = {"color": "red"}, {"color": "blue"}
    assert enx.to_networkx(enx.from_networkx(graph)).nodes[2]["style"] == {"color": "blue"}
    for other in ({"width": 2}, None, "red"):
        graph.nodes[1]["style"] = other
        with pytest.raises(NotImplementedError, match="style"):
            enx.from_networkx(graph)


def test_a_class_that_shows_other_edges_than_it_keeps_is_left_to_networkx() -> None:
    """``k_components`` of NetworkX's approximations took the complement of a graph for the graph."""
    graph = nx.cycle_graph(7)
    assert nx.core_number(complement(graph), backend="networkx") == dict.fromkeys(graph, 4)
    with pytest.raises(NotImplementedError, match="_AntiGraph"):
        enx.from_networkx(complement(graph))
    with nx.config(fallback_to_nx=True, backend_priority=["evergraph"]):
        assert nx.core_number(complement(graph)) == dict.fromkeys(graph, 4)

    named = type("Named", (nx.Graph,), {"called": "a class that changes nothing about edges"})
    assert nx.core_number(named(graph), backend="evergraph") == dict.fromkeys(graph, 2)
    # Of a class of directed graphs, but not directed.
    embedding = nx.check_planarity(graph)[1]
    assert list(nx.connected_components(embedding, backend="evergraph")) == [set(graph)]


def complement(graph: Any) -> Any:
    return nx.algorithms.approximation.kcomponents._AntiGraph(graph)


def test_networkx_finds_the_backend_by_the_entry_points_of_the_package() -> None:
    points = {point.group: point.value for point in importlib.metadata.entry_points(name="evergraph")}
    assert points["networkx.backends"] == "evergraph.nx.backend:backend"
    assert points["networkx.backend_info"] == "_evergraph_nx:get_info"


def test_what_is_said_about_functions_is_what_there_is() -> None:
    info = _evergraph_nx.get_info()
    assert info["functions"].keys() == ALGORITHMS.keys()
    assert all(hasattr(backend, name) for name in ALGORITHMS)
    table = GUIDE.read_text().split("## What runs here", 1)[1].split("\n## ", 1)[0]
    cells = [row.split("|")[2] for row in table.splitlines() if row.startswith("|")]
    assert set(re.findall(r"`(\w+)`", "".join(cells))) == ALGORITHMS.keys()


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_parameters_are_those_of_networkx(name: str) -> None:
    theirs = inspect.signature(nx.utils.backends._registered_algorithms[name].orig_func).parameters.values()
    ours = inspect.signature(ALGORITHMS[name].function).parameters.values()
    assert [(one.name, one.default) for one in ours] == [(one.name, one.default) for one in theirs]


def test_a_view_of_some_edges_is_converted_as_it_shows_itself() -> None:
    graph = nx.MultiGraph()
    graph.add_edges_from([(0, 1), (0, 1), (0, 2), (1, 2), (2, 3), (2, 3)])
    for some in itertools.combinations(graph.edges, 3):
        shown = graph.edge_subgraph(some)
        assert nx.is_tree(shown, backend="evergraph") == nx.is_tree(shown, backend="networkx"), some
