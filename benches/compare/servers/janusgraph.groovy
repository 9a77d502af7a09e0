// One graph on BerkeleyDB, with an index on numbers and a schema that is made before.
def management = graph.openManagement()
management.makeVertexLabel('Person').make()
management.makeEdgeLabel('KNOWS').make()
management.makeEdgeLabel('PAID').make()
def number = management.makePropertyKey('number').dataType(Long.class).make()
management.makePropertyKey('name').dataType(String.class).make()
management.buildIndex('byNumber', Vertex.class).addKey(number).buildCompositeIndex()
management.commit()
fill(graph, true)
[g: traversal().withEmbedded(graph)]
