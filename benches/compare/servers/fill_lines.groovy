// Loads a graph of lines of JSON into a graph of Gremlin Server; the harness puts a path in place of FOLDER. All numbers are
// longs, and a list is several values of a key.
def slurper = new groovy.json.JsonSlurper()
def schema = slurper.parseText(new File('FOLDER/schema.json').getText('UTF-8'))
def fillLines = { graph ->
    def ids = []
    def count = 0
    def commit = { if (graph.features().graph().supportsTransactions()) { graph.tx().commit() } }
    def whole = { it instanceof Number ? it.longValue() : it }
    def done = { if (++count % 20000 == 0) { commit() } }
    def each = { name, take ->
        new File('FOLDER', name).eachLine('UTF-8') { line -> take(slurper.parseText(line)) }
        commit()
    }
    each('vertices.jsonl') { row ->
        def vertex = graph.addVertex(T.label, row.label)
        row.values.each { key, value ->
            if (value instanceof List) {
                value.each { vertex.property(VertexProperty.Cardinality.list, key, it) }
            } else {
                vertex.property(key, whole(value))
            }
        }
        // Ids, since vertices of an ended transaction are not used again.
        ids << vertex.id()
        done()
    }
    each('edges.jsonl') { row ->
        def at = { graph.vertices(ids[it]).next() }
        def edge = at(row.from).addEdge(row.label, at(row.to))
        row.values.each { key, value -> edge.property(key, whole(value)) }
        done()
    }
}
