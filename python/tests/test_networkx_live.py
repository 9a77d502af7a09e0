"""Graphs over a snapshot read like a copy of it, and NetworkX's functions say the same of both."""

from __future__ import annotations

import copy
import datetime
import decimal
import pickle
import random
import uuid
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest
from conftest import People

import evergraph as eg
import evergraph.nx as enx

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")

KINDS = [enx.Graph, enx.DiGraph, enx.MultiGraph, enx.MultiDiGraph]
PLAIN = {
    enx.Graph: nx.Graph,
    enx.DiGraph: nx.DiGraph,
    enx.MultiGraph: nx.MultiGraph,
    enx.MultiDiGraph: nx.MultiDiGraph,
}


def database(seed: int, *, parallel: bool = True, labels: int = 2) -> eg.Database:
    """Vertices of several labels with gaps in their numbers; edges of two types, parallel, both ways, loops."""
    drawn = random.Random(seed)
    db = eg.open()
    with db.begin() as tx:
        vertices = [
            tx.add_vertex(drawn.choice("AB"[:labels]), name=f"v{at}") for at in range(drawn.randrange(4, 30))
        ]
        seen: set[frozenset[int]] = set()
        for _ in range(drawn.randrange(2, 80)):
            source, target = drawn.choice(vertices), drawn.choice(vertices)
            if not parallel and (source == target or frozenset((source, target)) in seen):
                continue
            seen.add(frozenset((source, target)))
            weight = {"weight": drawn.randrange(1, 9)} if drawn.random() < 0.8 else {}
            tx.add_edge(source, drawn.choice(["KNOWS", "LIKES"]), target, **weight)
    with db.begin() as tx:
        for vertex in drawn.sample(vertices, 2):
            tx.delete_vertex(vertex)
    return db


def copied(kind: Any, snapshot: eg.Snapshot, **choices: Any) -> Any:
    """The graph as ``Snapshot.to_networkx`` copies it, merged by NetworkX itself where it must be."""
    types = choices.pop("types", ())
    whole = snapshot.to_networkx(*([types] if isinstance(types, str) else types), **choices)
    wanted = PLAIN[kind]()
    wanted.add_nodes_from(whole.nodes(data=True))
    wanted.add_edges_from(whole.edges(data=True))
    return wanted


CHOICES: list[dict[str, Any]] = [
    {},
    {"key": "name"},
    {"types": "KNOWS"},
    {"labels": "A"},
    {"labels": "B", "key": "name"},
]


@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_live_graph_reads_like_a_copy(seed: int, kind: Any, choices: dict[str, Any]) -> None:
    snapshot = database(seed).snapshot()
    wanted, graph = copied(kind, snapshot, **choices), kind(snapshot, **choices)
    assert nx.utils.graphs_equal(enx.to_networkx(graph), wanted)
    assert nx.utils.graphs_equal(graph.copy(), wanted)
    assert (len(graph), graph.order(), graph.size()) == (len(wanted), wanted.order(), wanted.size())
    assert list(graph) == list(wanted)
    assert dict(graph.degree()) == dict(wanted.degree())
    assert dict(graph.degree(weight="weight")) == dict(wanted.degree(weight="weight"))
    for node in wanted:
        assert node in graph
        assert graph.nodes[node] == wanted.nodes[node]
        # One by one, not as iterating reads them.
        assert {other: plain(graph[node][other]) for other in graph[node]} == plain(wanted[node])
        if wanted.is_directed():
            assert set(graph.predecessors(node)) == set(wanted.predecessors(node))
    for source in wanted:
        for target in wanted:
            assert graph.has_edge(source, target) == wanted.has_edge(source, target)
            assert graph.number_of_edges(source, target) == wanted.number_of_edges(source, target)
    some = list(wanted)[:5]
    assert nx.utils.graphs_equal(graph.subgraph(some).copy(), wanted.subgraph(some))
    if kind is enx.DiGraph:
        assert nx.utils.graphs_equal(graph.reverse(), wanted.reverse())
    for absent in ("nobody", -1, 10**12, 1.5, None, ("a", 1)):
        assert absent not in graph


def plain(mapping: Any) -> Any:
    return {key: plain(value) for key, value in mapping.items()} if hasattr(mapping, "items") else mapping


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-9, abs=1e-12)
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_functions_say_of_a_live_graph_what_they_say_of_a_copy(
    seed: int, parallel: bool, kind: Any, choices: dict[str, Any]
) -> None:
    snapshot = database(seed, parallel=parallel).snapshot()
    wanted, graph = copied(kind, snapshot, **choices), kind(snapshot, **choices)
    functions: list[tuple[str, dict[str, Any]]] = [
        ("pagerank", {}),
        ("pagerank", {"weight": None}),
        ("betweenness_centrality", {}),
        ("closeness_centrality", {}),
        ("degree_centrality", {}),
        ("is_empty", {}),
        ("number_of_isolates", {}),
    ]
    if kind in (enx.Graph, enx.DiGraph):
        functions += [("number_of_selfloops", {})]
    if kind is enx.Graph:
        functions += [(name, {}) for name in ("triangles", "clustering", "transitivity")]
        functions += [("core_number", {})] if not parallel else []
    if wanted.is_directed():
        functions += [("is_directed_acyclic_graph", {}), ("number_strongly_connected_components", {})]
        functions += [("number_weakly_connected_components", {})]
    else:
        functions += [("number_connected_components", {})]
    for node in list(wanted)[:3]:
        functions += [("single_source_shortest_path_length", {"source": node})]
        functions += [("single_source_shortest_path_length", {"source": node, "cutoff": 2})]
        functions += [("single_target_shortest_path_length", {"target": node})]
        functions += [("single_source_dijkstra_path_length", {"source": node})]
        functions += [("descendants", {"source": node}), ("ancestors", {"source": node})]
        for target in list(wanted)[:4]:
            functions += [("has_path", {"source": node, "target": target})]
            if nx.has_path(wanted, node, target):
                functions += [("shortest_path_length", {"source": node, "target": target})]
                functions += [("dijkstra_path_length", {"source": node, "target": target})]
    for name, arguments in functions:
        found = getattr(nx, name)(graph, **arguments)
        assert found == rounded(getattr(nx, name)(wanted, **arguments)), (name, arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_a_live_graph_is_frozen(circle: People, kind: Any) -> None:
    graph = kind(circle.db.snapshot(), key="name")
    assert nx.is_frozen(graph)
    changes: list[Callable[[], Any]] = [
        lambda: graph.add_node("Grace"),
        lambda: graph.add_edge("Ada", "Mary"),
        lambda: graph.add_edges_from([("Ada", "Mary")]),
        lambda: graph.remove_node("Ada"),
        lambda: graph.remove_edge("Ada", "Charles"),
        lambda: graph.clear(),
        lambda: graph.update(edges=[("Ada", "Mary")]),
        lambda: graph.nodes["Ada"].update(born=0),
    ]
    for change in changes:
        with pytest.raises(nx.NetworkXError, match="Frozen"):
            change()
    with pytest.raises(TypeError, match="copy"):
        pickle.dumps(graph)
    thawed = copy.deepcopy(graph)
    thawed.add_edge("Ada", "Grace")
    assert type(thawed) is PLAIN[kind]


def test_a_live_graph_sees_its_snapshot_and_no_later_commit(circle: People) -> None:
    graph = enx.Graph(circle.db.snapshot(), key="name")
    with circle.db.begin() as tx:
        grace = tx.add_vertex("Person", name="Grace")
        tx.add_edge(grace, "KNOWS", circle.ada)
        tx.set(circle.ada, born=1)
    assert "Grace" not in graph
    assert (len(graph), graph.nodes["Ada"]["born"], set(graph["Ada"])) == (3, 1815, {"Charles", "Mary"})
    assert nx.triangles(graph) == {"Ada": 1, "Charles": 1, "Mary": 1}
    later = enx.Graph(circle.db.snapshot(), key="name")
    assert nx.shortest_path(later, "Grace", "Mary") == ["Grace", "Ada", "Mary"]


def every_value() -> dict[str, Any]:
    """A property of each type, and some that are called as columns of tables."""
    return {
        "name": "Ada",
        "truth": True,
        "long": 7,
        "double": 0.5,
        "bigint": 2**70,
        "decimal": decimal.Decimal("1.50"),
        "bytes": b"\0x",
        "date": datetime.date(1815, 12, 10),
        "datetime": datetime.datetime(1815, 12, 10, 1, 2, 3, 4, tzinfo=datetime.timezone.utc),
        "duration": datetime.timedelta(days=1, seconds=5),
        "uuid": uuid.UUID(int=5),
        "numbers": [1, 2],
        "words": ["a", "b"],
        "mixed": [1, "a"],
        "set": {1, 2},
        "map": {"a": 1},
        "vertex": "v",
        "label": "l",
        "source": 3,
        "target": "t",
        "type": "u",
        "discriminator": 4,
        "neighbor": False,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_are_the_values_of_properties_however_they_are_read(kind: Any) -> None:
    """Tables have a map as text, say, and columns of their own, and iterating read both as attributes."""
    with eg.open() as db:
        values = every_value()
        with db.begin() as tx:
            first, second = tx.add_vertex("A", **values), tx.add_vertex("B", long="seven")
            edge = tx.add_edge(first, "KNOWS", second, **values)
            tx.add_edge(second, "LIKES", second, long="seven")
        snapshot = db.snapshot()
        assert snapshot.properties(first) == snapshot.properties(edge) == values
        graph = kind(snapshot)
        other = {"label": "B", "long": "seven"}
        for shown in (graph, graph.copy(), enx.to_networkx(graph), snapshot.to_networkx()):
            assert dict(shown.nodes(data=True)) == {first: values, second: other}
            assert [shown.nodes[first], shown.nodes[second]] == [values, other]
            edges = {(source, target): plain(row) for source, target, row in shown.edges(data=True)}
            assert edges == {(first, second): values, (second, second): {"type": "LIKES", "long": "seven"}}
            row = shown[first][second]
            assert plain(row[0] if shown.is_multigraph() else row) == values
        assert type(dict(graph.nodes(data=True))[first]["datetime"]) is datetime.datetime
        igraph = snapshot.to_igraph()
        assert (igraph.vs[0]["map"], igraph.es[0]["bigint"]) == ({"a": 1}, 2**70)
        assert igraph.es["target"] == ["t", None]
        assert nx.dijkstra_path_length(kind(snapshot, types="KNOWS"), first, second, weight="source") == 3


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("bigint", 2**71),
        ("vertex", "w"),
        ("label", "m"),
        ("date", datetime.date(1780, 12, 26)),
        ("datetime", datetime.datetime(1780, 12, 26, tzinfo=datetime.timezone.utc)),
    ],
)
def test_nodes_are_called_by_the_values_of_any_property(key: str, other: Any) -> None:
    with eg.open() as db:
        with db.begin() as tx:
            first = tx.add_vertex("A", **every_value())
            second = tx.add_vertex("A", **{key: other}, name="Mary")
            tx.add_edge(first, "KNOWS", second)
        snapshot = db.snapshot()
        graph = enx.DiGraph(snapshot, key=key)
        names = [snapshot.get(first, key), snapshot.get(second, key)]
        assert list(graph) == list(snapshot.to_networkx(key=key)) == names
        assert nx.shortest_path(graph, *names) == names
        assert graph.nodes[names[1]]["name"] == "Mary"


def test_a_closed_snapshot_is_said_even_after_answers_were_kept(circle: People) -> None:
    snapshot = circle.db.snapshot()
    graph = enx.DiGraph(snapshot, key="name")
    nx.pagerank(graph)
    list(graph)
    snapshot.close()
    for use in (
        lambda: nx.pagerank(graph),
        lambda: nx.degree_centrality(graph),
        lambda: graph["Ada"],
        lambda: list(graph),
        lambda: len(graph),
        lambda: graph.size(),
        lambda: list(graph.edges),
    ):
        with pytest.raises(eg.SnapshotClosed):
            use()


def test_what_is_not_native_falls_back_by_networkx_rules(circle: People) -> None:
    graph = enx.DiGraph(circle.db.snapshot(), key="name")
    with pytest.raises(NotImplementedError, match="evergraph"):
        nx.katz_centrality_numpy(graph)
    wanted = nx.katz_centrality_numpy(enx.to_networkx(graph))
    assert nx.katz_centrality_numpy(graph, backend="networkx") == wanted
    with nx.config(fallback_to_nx=True):
        assert nx.katz_centrality_numpy(graph) == wanted
        assert nx.betweenness_centrality(graph, weight="since")["Ada"] == 0.5


def test_names_that_there_are_not_are_said_at_once(circle: People) -> None:
    snapshot = circle.db.snapshot()
    for choices in ({"types": "HATES"}, {"labels": "Robot"}):
        with pytest.raises(eg.NotFoundError):
            enx.Graph(snapshot, **choices)
    with pytest.raises(eg.InvalidError, match="snapshot"):
        enx.Graph(circle.db)  # type: ignore[arg-type]


def test_a_key_that_cannot_name_nodes_is_said(circle: People) -> None:
    with circle.db.begin() as tx:
        tx.add_vertex("Person", name="Grace")
        tx.add_vertex("Person", name="Alan", born=1815)
    with pytest.raises(eg.InvalidError, match="no born"):
        list(enx.Graph(circle.db.snapshot(), key="born"))
    with circle.db.begin() as tx:
        tx.set(tx.find("Person", name="Grace") or 0, born=1906)
    with pytest.raises(eg.InvalidError, match="two vertices"):
        list(enx.Graph(circle.db.snapshot(), key="born"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_database_is_an_empty_graph(kind: Any) -> None:
    graph = kind(eg.open().snapshot())
    assert (len(graph), graph.size(), list(graph.edges)) == (0, 0, [])
    assert nx.pagerank(graph) == {}
    assert nx.is_empty(graph)
    assert nx.utils.graphs_equal(enx.to_networkx(graph), PLAIN[kind]())
