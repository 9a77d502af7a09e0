// One transactional graph, with an index on each key that queries look up.
schema.indexedOfVertices.each { graph.createIndex(it, Vertex.class) }
schema.indexedOfEdges.each { graph.createIndex(it, Edge.class) }
fillLines(graph)
[g: traversal().withEmbedded(graph)]
