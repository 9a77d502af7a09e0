"""gremlinpython's traversals on an embedded database: what they mean, what they give, and transactions."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pytest
from conftest import People
from gremlin_python import statics
from gremlin_python.process.anonymous_traversal import traversal as anonymous
from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.strategies import PartitionStrategy, ReadOnlyStrategy, SeedStrategy, SubgraphStrategy
from gremlin_python.process.traversal import (
    Barrier,
    Bindings,
    Cardinality,
    CardinalityValue,
    Column,
    Direction,
    GType,
    Merge,
    Operator,
    Order,
    P,
    Pick,
    Pop,
    Scope,
    T,
    TextP,
    WithOptions,
)
from gremlin_python.structure.graph import Edge, Path, Property, Vertex, VertexProperty

import evergraph as eg
from evergraph.gremlin import Connection, traversal


@pytest.fixture
def g(circle: People) -> GraphTraversalSource:
    return traversal(circle.db)


def test_values_are_what_a_server_would_send(circle: People, g: GraphTraversalSource) -> None:
    assert g.V().has("Person", "born", P.lt(1800)).order().by("born").values("name").to_list() == [
        "Mary",
        "Charles",
    ]
    assert g.V().count().next() == 3
    assert g.V().has_label("Person").values("born").sum_().next() == 1815 + 1791 + 1780
    assert g.V().values("name").to_set() == {"Ada", "Charles", "Mary"}
    assert g.V().order().by("born", Order.desc).values("name").next(2) == ["Ada", "Charles"]
    assert g.V().has("name", "Nobody").has_next() is False
    assert g.V().group_count().by("born").next() == {1815: 1, 1791: 1, 1780: 1}
    assert g.V().values("name").fold().next().__class__ is list
    assert anonymous().with_(Connection(circle.db)).E().count().next() == 3


def test_elements_are_gremlinpython_s_and_may_be_given_back(circle: People, g: GraphTraversalSource) -> None:
    ada = g.V().has("name", "Ada").next()
    assert type(ada) is Vertex
    assert (ada.id, ada.label) == (circle.ada, "Person")
    assert {each.key: each.value for each in ada.properties} == {"name": "Ada", "born": 1815}
    assert all(type(each) is VertexProperty and each.vertex is ada for each in ada.properties)
    edge = g.V(ada).out_e("KNOWS").next()
    assert type(edge) is Edge
    assert (edge.label, edge.outV, edge.inV.id) == ("KNOWS", ada, circle.charles)
    assert edge.inV.label == "Person"
    assert [(each.key, each.value) for each in edge.properties] == [("since", 1833)]
    assert g.E(edge).in_v().next() == g.E(edge.id).in_v().next() == g.V(circle.charles).next()
    assert g.V(ada.id, edge.inV).count().next() == 2
    assert g.V().has_id(P.within([ada.id])).next() == ada
    for predicate in [P.eq(ada), P.without([edge])]:
        with pytest.raises(eg.InvalidError, match="compare their ids"):
            g.V().where(__.is_(predicate)).to_list()
    born = g.V(ada).properties("born").next()
    assert (born.key, born.value, born.vertex) == ("born", 1815, ada)
    since = g.E(edge).properties().next()
    assert since == Property("since", 1833, edge)


def test_paths_maps_and_collections_hold_elements(circle: People, g: GraphTraversalSource) -> None:
    ada = g.V(circle.ada).next()
    path = g.V(circle.ada).as_("a").out_e().as_("e", "f").in_v().path().next()
    assert type(path) is Path
    assert path["a"] == ada
    assert type(path["e"]) is Edge
    assert path["e"] == path["f"] == path[1]
    assert path.labels == [{"a"}, {"e", "f"}, set()]
    both = g.V(circle.ada).project("who", "knows").by().by(__.out().fold()).next()
    assert both == {"who": ada, "knows": [g.V(circle.charles).next()]}
    assert g.V().group().by("name").by(__.count()).next() == {"Ada": 1, "Charles": 1, "Mary": 1}
    assert g.V(circle.ada).value_map("name").with_(WithOptions.tokens).next() == {
        "id": circle.ada,
        "label": "Person",
        "name": ["Ada"],
    }
    indexed = g.V().order().by("born").values("name").fold().index().with_(WithOptions.indexer, WithOptions.map)
    assert indexed.next() == {0: "Mary", 1: "Charles", 2: "Ada"}
    labels = g.V(circle.ada).value_map("name").with_(WithOptions.tokens, WithOptions.labels).next()
    assert labels == {"label": "Person", "name": ["Ada"]}
    with pytest.raises(eg.InvalidError, match="no such option"):
        g.V().value_map().with_(WithOptions.tokens, 3).to_list()
    keyed = g.V().group_count().by(__.identity()).next()
    assert keyed[ada] == 1


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (lambda g: g.V().has("born", P.between(1785, 1800)), ["Charles"]),
        (lambda g: g.V().has("born", P.lt(1785).or_(P.gt(1800))), ["Ada", "Mary"]),
        (lambda g: g.V().has("born", P.not_(P.within([1815, 1780]))), ["Charles"]),
        (lambda g: g.V().has("name", TextP.starting_with("A").or_(TextP.ending_with("y"))), ["Ada", "Mary"]),
        (lambda g: g.V().has("name", TextP.regex("^C.*s$")), ["Charles"]),
        (lambda g: g.V().has("name", P.within("Ada", "Mary")), ["Ada", "Mary"]),
        (lambda g: g.V().has("name", P.within([])), []),
        (lambda g: g.V().has("name", P.without({"Ada", "Mary"})), ["Charles"]),
        (lambda g: g.V().has(T.label, "Person").has("name", "Ada"), ["Ada"]),
        (lambda g: g.V().where(__.out("KNOWS").has("name", "Ada")), ["Mary"]),
        (lambda g: g.V().not_(__.has("born", P.gt(1785))), ["Mary"]),
        (lambda g: g.V().has("name", Bindings.of("n", "Ada")), ["Ada"]),
        (lambda g: g.V().has("name", "Ada").repeat(__.out()).times(2), ["Mary"]),
        (lambda g: g.V().has("name", "Ada").repeat(__.out()).until(__.has("name", "Mary")), ["Mary"]),
        (lambda g: g.V().as_("a").out().as_("b").select(Pop.last, "b").dedup(), ["Ada", "Charles", "Mary"]),
        (
            lambda g: (
                g.V().choose(__.values("born")).option(1815, __.identity()).option(Pick.none, __.out()).dedup()
            ),
            ["Ada", "Mary"],
        ),
        (lambda g: g.V().has("born", P.type_of(GType.INT).or_(P.type_of(GType.LONG))), ["Ada", "Charles", "Mary"]),
        (
            lambda g: g.with_strategies(SubgraphStrategy(vertices=__.has("born", P.gt(1785)))).V(),
            ["Ada", "Charles"],
        ),
        (lambda g: g.with_strategies(ReadOnlyStrategy(), SeedStrategy(7)).V().has("name", "Ada"), ["Ada"]),
        (lambda g: g.V().local(__.both_e().to_v(Direction.IN)).dedup(), ["Ada", "Charles", "Mary"]),
    ],
)
def test_what_a_traversal_means(g: GraphTraversalSource, given: Any, names: list[str]) -> None:
    assert sorted(given(g).values("name").to_list()) == names


def test_modulators_scopes_and_sacks(g: GraphTraversalSource) -> None:
    ordered = g.V().group_count().by("name").order(Scope.local).by(Column.keys, Order.desc).next()
    assert list(ordered) == ["Mary", "Charles", "Ada"]
    sums = g.with_sack(1).V().sack(Operator.sum_).by("born").barrier(Barrier.norm_sack).count().next()
    assert sums == 3
    assert g.with_side_effect("x", ["a"]).V().values("name").aggregate("x").cap("x").unfold().count().next() == 4
    assert g.V().values("born").fold(0, Operator.sum_).next() == 1815 + 1791 + 1780


def test_writes_are_committed_traversal_by_traversal(circle: People, g: GraphTraversalSource) -> None:
    grace = g.add_v("Person").property("name", "Grace").property("born", statics.long(1906)).next()
    assert {each.key: each.value for each in grace.properties} == {"name": "Grace", "born": 1906}
    edge = g.V(grace).add_e("KNOWS").to(__.V(circle.ada)).property("since", 1940).next()
    assert edge.inV.id == circle.ada
    g.add_e("KNOWS").from_(edge.inV).to(grace).iterate()
    assert circle.db.snapshot().get(grace.id, "name") == "Grace"
    assert g.V(grace).both("KNOWS").dedup().count().next() == 1
    g.V(grace).properties("born").drop().iterate()
    assert g.V(grace).has("born").has_next() is False
    made = g.merge_v({T.label: "Person", "name": "Alan"}).option(Merge.on_create, {"born": 1912}).next()
    again = g.merge_v({T.label: "Person", "name": "Alan"}).option(Merge.on_match, {"seen": True}).next()
    assert made == again
    assert g.V(made).value_map().next() == {"name": ["Alan"], "born": [1912], "seen": [True]}
    ends = {Direction.OUT: made, Direction.IN: grace, T.label: "KNOWS"}
    assert g.merge_e(ends).next() == g.merge_e(ends).next()
    g.V(made, grace).drop().iterate()
    assert g.V().count().next() == 3


def test_cardinalities_are_said_as_elsewhere(circle: People, g: GraphTraversalSource) -> None:
    with circle.db.begin() as tx:
        tx.declare_property("Person", "names", "list")
    v = (
        g.add_v("Person")
        .property(Cardinality.list_, "names", "a")
        .property(Cardinality.list_, "names", "b")
        .next()
    )
    assert [each.value for each in v.properties] == ["a", "b"]
    g.V(v).property("names", CardinalityValue.list_("c")).iterate()
    assert g.V(v).values("names").to_list() == ["a", "b", "c"]


def test_a_transaction_is_committed_or_rolled_back_as_a_whole(circle: People, g: GraphTraversalSource) -> None:
    tx = g.tx()
    gtx = tx.begin()
    made = gtx.add_v("Person").property("name", "Grace").next()
    gtx.add_e("KNOWS").from_(made).to(__.V(circle.ada)).iterate()
    assert gtx.V().count().next() == 4
    assert g.V().count().next() == 3
    tx.commit()
    assert not tx.is_open()
    assert g.V(made).out("KNOWS").values("name").to_list() == ["Ada"]
    tx = g.tx()
    tx.begin().V().drop().iterate()
    tx.rollback()
    assert g.V().count().next() == 4
    tx = g.tx()
    gtx = tx.begin()
    gtx.V().drop().iterate()
    tx.close()
    with pytest.raises(eg.ClosedError):
        gtx.V().count().next()
    assert g.V().count().next() == 4


def test_a_snapshot_and_a_transaction_of_ours_are_graphs_too(circle: People) -> None:
    with circle.db.snapshot() as moment, circle.db.begin() as tx:
        inside = traversal(tx)
        inside.add_v("Person").iterate()
        assert inside.V().count().next() == 4
        assert traversal(moment).V().count().next() == 3
        with pytest.raises(eg.InvalidError, match="writes"):
            traversal(moment).add_v("Person").iterate()
        with pytest.raises(eg.InvalidError, match="on a database"):
            traversal(moment).tx().begin()
    assert traversal(circle.db).V().count().next() == 4


def test_results_stream_and_closed_connections_say_so(circle: People) -> None:
    connection = Connection(circle.db)
    source = anonymous().with_(connection)
    others = circle.db.stats()["open_snapshots"]
    numbers = source.inject(*range(200))
    assert numbers.next() == 0
    assert circle.db.stats()["open_snapshots"] == others + 1
    assert numbers.to_list() == list(range(1, 200))
    assert circle.db.stats()["open_snapshots"] == others
    connection.close()
    assert connection.is_closed()
    with pytest.raises(eg.ClosedError, match="this connection was closed"):
        source.V().to_list()
    assert circle.db.query("g.V().count()").one() == 3


def test_a_promise_is_kept_at_once(g: GraphTraversalSource) -> None:
    assert g.V().count().promise(lambda found: found.next()).result() == 3
    with pytest.raises(eg.InvalidError):
        g.V().math("no formula here (").promise().result()


def test_options_of_a_source_are_heard(circle: People, g: GraphTraversalSource) -> None:
    endless = __.identity()
    with pytest.raises(eg.LimitError, match=r"timeout of 0\.2 s"):
        g.with_("evaluationTimeout", 200).V().repeat(endless).until(__.has("nothing")).iterate()
    assert g.with_("materializeProperties", "tokens").V(circle.ada).next().properties == []
    assert traversal(circle.db, properties=False).V(circle.ada).next().properties == []
    assert len(g.with_("speed", 3).V().to_list()) == 3
    with pytest.raises(eg.InvalidError, match="no label is called `Persn`"):
        g.with_("strict").V().has_label("Persn").to_list()
    with pytest.warns(eg.UnknownNameWarning, match=r"step 2 \(`hasLabel`\), argument 1: .*did you mean `Person`"):
        assert g.V().has_label("Persn").to_list() == []
    with pytest.raises(eg.LimitError, match="memory"):
        traversal(circle.db, memory_limit=10_000).V().repeat(__.both()).times(12).path().fold().next()


def test_values_keep_their_types(g: GraphTraversalSource) -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    given = [True, 7, 2**70, 1.5, "text", moment, decimal.Decimal("1.10"), None, ["a", ["b"]], {"k": [1]}]
    assert g.inject(*given).to_list() == given
    assert g.inject(statics.bigdecimal("2.50")).next() == decimal.Decimal("2.50")
    assert g.inject(statics.timestamp(moment.timestamp())).next() == moment
    assert g.inject({"a", "b"}).next() == {"a", "b"}


def test_values_that_gremlinpython_has_no_form_for_are_written_too(
    circle: People, g: GraphTraversalSource
) -> None:
    year, span = eg.Duration(months=12), datetime.timedelta(days=3, seconds=5, microseconds=7)
    given = [datetime.date(2024, 2, 29), span, year, b"\x00\xff", -(2**63), 2**63, frozenset({1}), (1, (2,))]
    assert g.inject(*given).to_list() == [*given[:-2], {1}, [1, [2]]]
    naive = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
    assert g.inject(naive).next() == naive.replace(tzinfo=datetime.timezone.utc)
    narrow = [
        np.int8(-1),
        np.int16(2),
        np.int32(3),
        np.uint64(4),
        np.float32(0.5),
        np.float64(0.1),
        np.bool_(True),
    ]
    assert g.inject(*narrow).to_list() == [-1, 2, 3, 4, 0.5, 0.1, True]
    for number, of in [
        (np.int8(1), GType.BYTE),
        (np.int16(1), GType.SHORT),
        (np.int32(1), GType.INT),
        (1, GType.LONG),
    ]:
        assert g.inject(number).is_(P.type_of(of)).has_next(), of
    for equal in [[], ["Ada"], ["Ada", "Mary"]]:
        assert g.inject(equal).is_(P.eq(equal)).next() == equal
    text = "x" * (2 << 20)
    g.V(circle.ada).property("note", text).iterate()
    assert g.V().has("note", text).count().next() == 1


def test_what_no_query_can_say_is_refused(g: GraphTraversalSource) -> None:
    with pytest.raises(eg.InvalidError, match="lambda"):
        g.V().map(lambda: ("it.get()", "gremlin-groovy")).to_list()
    with pytest.raises(eg.InvalidError, match="can't be an argument"):
        g.V().where(__.is_(P.eq(VertexProperty(1, "a", 2, None)))).to_list()
    with pytest.raises(eg.InvalidError, match="can't be an argument: no value is of <class 'object'>"):
        g.inject([{"a": object()}]).to_list()
    with pytest.raises(eg.InvalidError, match="a path can't be an argument"):
        g.inject(g.V().path().next()).to_list()
    with pytest.raises(eg.InvalidError, match="NaN"):
        g.inject(decimal.Decimal("NaN")).to_list()
    with pytest.raises(eg.InvalidError, match="days or months and seconds"):
        g.inject(eg.Duration(days=1, seconds=1)).to_list()


def test_an_error_names_the_step(g: GraphTraversalSource) -> None:
    with pytest.raises(
        eg.InvalidError, match=r"^step 2 \(`where`\), argument 1, step 1 \(`limit`\), argument 1: `limit`"
    ):
        g.V().where(__.limit("a")).to_list()
    with pytest.raises(
        eg.InvalidError, match=r"^source instruction 1 \(`withStrategies`\), argument 1: .*partitionKey"
    ):
        g.with_strategies(PartitionStrategy()).V().to_list()


def test_hostile_values_stay_values(circle: People, g: GraphTraversalSource) -> None:
    text = "'); g.V().drop(); //"
    g.V(circle.ada).property("note", text).iterate()
    assert g.V().has("note", text).count().next() == 1
    assert g.V().count().next() == 3
    partition = PartitionStrategy(partition_key="part", write_partition="a", read_partitions=["a"])
    g.with_strategies(partition).add_v("Person").property("name", text).iterate()
    assert g.with_strategies(partition).V().values("name").to_list() == [text]
