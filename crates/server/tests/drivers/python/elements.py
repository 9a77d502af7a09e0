"""Vertices, edges, their properties, paths, trees, maps of them, and bulk."""

from gremlin_python.process.graph_traversal import __
from gremlin_python.process.traversal import Cardinality, Direction, Order, P, T
from gremlin_python.structure.graph import Edge, Path, Property, Vertex, VertexProperty
from support import clear


def people(g):
    """Ann, Bob, and that Ann knows Bob, of a graph that has nothing else."""
    clear(g)
    ann = g.add_v("person").property("name", "ann").property("age", 41).next()
    bob = g.add_v("person").property("name", "bob").next()
    return ann, bob, g.V(ann.id).add_e("knows").to(bob).property("since", 1833).next()


def check_vertices_and_edges(context):
    g = context.g
    ann, bob, edge = people(g)
    for vertex, label in [(ann, "person"), (g.V(bob).next(), "person"), (edge.inV, "person")]:
        assert isinstance(vertex, Vertex) and vertex.label == label, vertex
    assert isinstance(edge, Edge) and (edge.outV.id, edge.label, edge.inV.id) == (ann.id, "knows", bob.id), edge
    assert g.E(edge).next() == g.E(edge.id).next() == edge == g.V(ann).out_e().next()
    assert [(property.key, property.value) for property in g.E(edge).next().properties] == [("since", 1833)]
    found = g.V(ann).next().properties
    assert all(isinstance(property, VertexProperty) for property in found), found
    assert {property.key: property.value for property in found} == {"name": "ann", "age": 41}
    assert len({property.id for property in found}) == 2
    assert g.with_("materializeProperties", "tokens").V(ann).next().properties == []
    if context.is_binary:
        assert context.ask("g.V(x).values('name')", x=ann) == ["ann"]
    assert context.ask("g.V(x).values('name')", x=ann.id) == ["ann"]


def check_properties(context):
    g = context.g
    ann, _, edge = people(g)
    for nick in ["x", "y"]:
        g.V(ann).property(Cardinality.list_, "nick", nick).iterate()
    found = g.V(ann).properties("nick").to_list()
    assert [(type(one), one.key, one.value) for one in found] == [(VertexProperty, "nick", nick) for nick in "xy"]
    assert found[0].id != found[1].id
    found = g.E(edge).properties().next()
    assert (type(found), found.key, found.value) == (Property, "since", 1833), found


def check_paths_and_trees(context):
    g = context.g
    ann, bob, edge = people(g)
    path = g.V(ann).as_("a").out_e("knows").as_("b", "c").in_v().values("name").path().next()
    assert isinstance(path, Path) and path.objects == [ann, edge, bob, "bob"], path
    assert path.labels == [{"a"}, {"b", "c"}, set(), set()], path.labels
    assert g.V(ann).out().path().by("name").by(T.label).next().objects == ["ann", "person"]
    # The driver knows neither trees nor graphs.
    for what in [g.V(ann).out().tree().by("name"), g.E().subgraph("s").cap("s")]:
        try:
            found = what.next()
        except (ValueError, AttributeError) as error:
            assert context.is_binary and ("DataType" in str(error) or "not currently supported" in str(error)), error
        else:
            assert not context.is_binary and found["@type"] in ("g:Tree", "tinker:graph"), found
    assert g.inject(7).to_list() == [7]


def check_maps_and_predicates(context):
    g = context.g
    ann, bob, edge = people(g)
    assert g.V(ann).value_map().next() == {"name": ["ann"], "age": [41]}
    assert g.V(ann).element_map().next() == {T.id: ann.id, T.label: "person", "name": "ann", "age": 41}
    ends = {Direction.OUT: {T.id: ann.id, T.label: "person"}, Direction.IN: {T.id: bob.id, T.label: "person"}}
    assert g.E(edge).element_map().next() == {T.id: edge.id, T.label: "knows", "since": 1833, **ends}
    assert g.V().group_count().next() == {ann: 1, bob: 1}
    assert g.V().group_count().by(T.label).next() == {"person": 2}
    assert g.inject({"a": 1}).unfold().next() == {"a": 1}
    assert g.V().values("name").order().by(Order.desc).to_list() == ["bob", "ann"]
    assert g.V().has("age", P.gt(40).and_(P.lt(50))).count().next() == 1
    assert g.V().has(T.id, P.within(ann.id, 99)).values("name").to_list() == ["ann"]
    assert g.V().has("name", "nobody").to_list() == []
    # As an argument, an element stands for its id.
    assert g.inject(ann, edge).to_list() == [ann.id, edge.id]


def check_bulk(context):
    g = context.g
    assert g.inject(*[1] * 1000).barrier().to_list() == [1] * 1000
    assert g.inject(1, 1, 2).aggregate("x").cap("x").to_list() == [[1, 1, 2]]
    assert context.ask("g.inject(1, 1, 2).barrier()") == [1, 1, 2]
