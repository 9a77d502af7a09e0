// Loads the people of `make bench-server` into a graph of Gremlin Server; the harness puts paths in place of FOLDER.
def fill = { graph, commit ->
    def people = [:]
    def count = 0
    def done = { if (commit && ++count % 20000 == 0) { graph.tx().commit() } }
    new File('FOLDER/people.csv').eachLine { line ->
        def (number, name) = line.split(',')
        people[number] = graph.addVertex(T.label, 'Person', 'number', number as long, 'name', name)
        // Ids, since vertices of an ended transaction are not used again.
        if (commit) { people[number] = people[number].id() }
        done()
    }
    new File('FOLDER/knows.csv').eachLine { line ->
        def (source, target) = line.split(',')
        def at = { commit ? graph.vertices(people[it]).next() : people[it] }
        at(source).addEdge('KNOWS', at(target))
        done()
    }
    if (commit) { graph.tx().commit() }
}
