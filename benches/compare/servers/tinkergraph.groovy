// Two graphs of the same people: `g` has an index on their numbers, `plain` has none.
graph.createIndex('number', Vertex.class)
fill(graph, false)
fill(plain, false)
[g: traversal().withEmbedded(graph), plain: traversal().withEmbedded(plain)]
