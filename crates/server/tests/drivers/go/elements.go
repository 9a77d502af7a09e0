// Vertices, edges, their properties, paths, maps of them, and bulk.
package main

import (
	"fmt"

	gremlingo "github.com/apache/tinkerpop/gremlin-go/v3/driver"
)

type people struct {
	ann, bob *gremlingo.Vertex
	edge     *gremlingo.Edge
}

// A graph that has nothing but Ann, Bob, and that Ann knows Bob.
func somePeople(c context) people {
	clear(c)
	ann := one(c.g.AddV("person").Property("name", "ann").Property("age", 41)).(*gremlingo.Vertex)
	bob := one(c.g.AddV("person").Property("name", "bob")).(*gremlingo.Vertex)
	edge := one(c.g.V(ann.Id).AddE("knows").To(t__.V(bob.Id)).Property("since", 1833)).(*gremlingo.Edge)
	return people{ann, bob, edge}
}

func verticesAndEdges(c context) {
	g, p := c.g, somePeople(c)
	for _, vertex := range []*gremlingo.Vertex{p.ann, one(g.V(p.bob)).(*gremlingo.Vertex), &p.edge.InV} {
		same(vertex.Label, "person")
	}
	same([]any{p.edge.OutV.Id, p.edge.Label, p.edge.InV.Id}, []any{p.ann.Id, "knows", p.bob.Id})
	same(one(g.E(p.edge)).(*gremlingo.Edge).Id, p.edge.Id)
	same(one(g.E(p.edge.Id)).(*gremlingo.Edge).Id, p.edge.Id)
	since := one(g.E(p.edge)).(*gremlingo.Edge).Properties.([]any)[0].(*gremlingo.Property)
	same([]any{since.Key, since.Value}, []any{"since", int64(1833)})
	values, ids := map[string]any{}, map[any]bool{}
	for _, property := range one(g.V(p.ann)).(*gremlingo.Vertex).Properties.([]any) {
		property := property.(*gremlingo.VertexProperty)
		// `Key` is empty.
		same(property.Key, "")
		values[property.Label] = property.Value
		ids[property.Id] = true
	}
	// The driver writes an `int` as a long.
	same(values, map[string]any{"name": "ann", "age": int64(41)})
	same(len(ids), 2)
	bare := one(g.With("materializeProperties", "tokens").V(p.ann)).(*gremlingo.Vertex)
	same(fmt.Sprint(bare.Properties), "[]")
	for _, x := range []any{p.ann, p.ann.Id} {
		results := must(ask(c, "g.V(x).values('name')", map[string]any{"x": x}))
		same([]any{len(results), results[0].GetInterface()}, []any{1, "ann"})
	}
}

func properties(c context) {
	g, p := c.g, somePeople(c)
	for _, nick := range []string{"x", "y"} {
		no(<-g.V(p.ann).Property(gremlingo.Cardinality.List, "nick", nick).Iterate())
	}
	found := all(g.V(p.ann).Properties("nick"))
	same(len(found), 2)
	first, second := found[0].(*gremlingo.VertexProperty), found[1].(*gremlingo.VertexProperty)
	same([]any{first.Label, first.Value, second.Value, first.Id == second.Id}, []any{"nick", "x", "y", false})
	since := one(g.E(p.edge).Properties()).(*gremlingo.Property)
	same([]any{since.Key, since.Value}, []any{"since", int64(1833)})
}

func paths(c context) {
	g, p := c.g, somePeople(c)
	path := one(g.V(p.ann).As("a").OutE("knows").As("b", "c").InV().Values("name").Path()).(*gremlingo.Path)
	same([]any{path.Objects[0].(*gremlingo.Vertex).Id, path.Objects[1].(*gremlingo.Edge).Id}, []any{p.ann.Id, p.edge.Id})
	same([]any{path.Objects[2].(*gremlingo.Vertex).Id, path.Objects[3], len(path.Objects)}, []any{p.bob.Id, "bob", 4})
	for at, labels := range []string{"[a]", "[b c]", "[]", "[]"} {
		same(fmt.Sprint(path.Labels[at].ToSlice()), labels)
	}
	names := one(g.V(p.ann).Out().Path().By("name").By(gremlingo.T.Label)).(*gremlingo.Path)
	same(names.Objects, []any{"ann", "person"})
}

func mapsAndPredicates(c context) {
	g, p := c.g, somePeople(c)
	same(one(g.V(p.ann).ValueMap()), map[any]any{"name": []any{"ann"}, "age": []any{int64(41)}})
	// As keys of a map, the driver reads T.label as the text "label", and directions as texts.
	end := func(vertex *gremlingo.Vertex) any { return map[any]any{"id": vertex.Id, "label": "person"} }
	same(one(g.E(p.edge).ElementMap()), map[any]any{"id": p.edge.Id, "label": "knows", "since": int64(1833),
		"OUT": end(p.ann), "IN": end(p.bob)})
	same(one(g.V().GroupCount().By(gremlingo.T.Label)), map[any]any{"person": int64(2)})
	same(one(g.Inject(map[any]any{"a": int32(1)}).Unfold()), map[any]any{"a": int32(1)})
	same(all(g.V().Values("name").Order().By(gremlingo.Order.Desc)), []any{"bob", "ann"})
	same(one(g.V().Has("age", gremlingo.P.Gt(40).And(gremlingo.P.Lt(50))).Count()), int64(1))
	same(all(g.V().Has(gremlingo.T.Id, gremlingo.P.Within(p.ann.Id, 99)).Values("name")), []any{"ann"})
	same(all(g.V().Has("name", "nobody")), []any(nil))
	// As an argument, an element stands for its id.
	same(all(g.Inject(p.ann, p.edge)), []any{p.ann.Id, p.edge.Id})
}

func bulk(c context) {
	ones := make([]any, 1000)
	for at := range ones {
		ones[at] = int32(1)
	}
	same(all(c.g.Inject(ones...).Barrier()), ones)
	same(one(c.g.Inject(1, 1, 2).Aggregate("x").Cap("x")), []any{int32(1), int32(1), int32(2)})
	same(len(must(ask(c, "g.inject(1, 1, 2).barrier()"))), 3)
}
