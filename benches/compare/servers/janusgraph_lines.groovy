// One graph on BerkeleyDB, with a schema that is made before, and an index on each key that queries look up. `mark` is a key that
// writes add.
def management = graph.openManagement()
schema.labels.each { management.makeVertexLabel(it).make() }
schema.types.each { management.makeEdgeLabel(it).make() }
(schema.keys + [mark: 'number']).each { key, type ->
    def several = type == 'texts' ? org.janusgraph.core.Cardinality.LIST : org.janusgraph.core.Cardinality.SINGLE
    management.makePropertyKey(key).dataType(type == 'number' ? Long.class : String.class).cardinality(several).make()
}
schema.indexedOfVertices.each {
    management.buildIndex('vertices_' + it, Vertex.class).addKey(management.getPropertyKey(it)).buildCompositeIndex()
}
schema.indexedOfEdges.each {
    management.buildIndex('edges_' + it, Edge.class).addKey(management.getPropertyKey(it)).buildCompositeIndex()
}
management.commit()
fillLines(graph)
[g: traversal().withEmbedded(graph)]
