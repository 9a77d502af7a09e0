// Many rows in order, and large ones.
package main

import "strings"

func manyRows(c context) {
	clear(c)
	doubled := t__.Union(t__.Identity(), t__.Identity())
	no(<-c.g.Inject(0).Repeat(doubled).Times(9).Limit(500).AddV("point").Iterate())
	ids := all(c.g.V().Id())
	same(len(ids), 500)
	results := must(c.client.Submit("g.V(first).V().id()", map[string]any{"first": ids}))
	rows := 0
	for row := range results.Channel() {
		if row.GetInterface() != ids[rows%500] {
			panic(row)
		}
		rows++
	}
	no(results.GetError())
	same(rows, 250_000)
}

func twentyMegabytes(c context) {
	clear(c)
	text := strings.Repeat("x", 200_000)
	query := "g.inject(0).repeat(__.union(__.identity(), __.identity())).times(7).limit(100)" +
		".addV('document').property('text', x).iterate()"
	must(ask(c, query, map[string]any{"x": text}))
	found := all(c.g.V().HasLabel("document").Values("text"))
	for _, result := range must(ask(c, "g.V().values('text')")) {
		found = append(found, result.GetInterface())
	}
	same(len(found), 200)
	for _, one := range found {
		same(one, text)
	}
	clear(c)
}
