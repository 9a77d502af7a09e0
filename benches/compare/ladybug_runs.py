"""Ladybug's searches, one function each: seconds of the query, its answer as an Arrow table included.

What Cypher itself can say. PageRank and components are in Ladybug's extension `algo`, which `INSTALL` downloads from
its makers' server and no package has: they are not measured.
"""

import time

import ladybug
import numpy
import pyarrow

from comparisons import DEPTH

#: Hops that no shortest path of the graphs here has: an R-MAT graph is a few wide.
FAR = 30
ROWS_AT_ONCE = 1 << 20
THREADS = 1


def threads(count):
    """Sets how many threads the queries take."""
    global THREADS
    THREADS = count


def graph(name, vertices, columns):
    """A database in memory with the edges in `columns`: shape (2, m)."""
    database = ladybug.Database(":memory:")
    connection = ladybug.Connection(database)
    rows = {"Vertex": pyarrow.table({"id": numpy.arange(vertices)}),
            "EDGE": pyarrow.table({"source": columns[0], "target": columns[1]})}
    connection.execute("CREATE NODE TABLE Vertex(id INT64 PRIMARY KEY)")
    connection.execute("CREATE REL TABLE EDGE(FROM Vertex TO Vertex)")
    for table, source in rows.items():
        connection.execute(f"COPY {table} FROM $rows", {"rows": source})
    return database, connection, vertices


def asked(graph, query, source):
    """Seconds of a query about a source, and its table."""
    _, connection, _ = graph
    connection.set_max_threads_for_exec(THREADS)
    began = time.perf_counter()
    table = connection.execute(query, {"source": source}).get_as_arrow(ROWS_AT_ONCE)
    return time.perf_counter() - began, table


def bfs(graph, source, **_):
    seconds, table = asked(graph, f"MATCH (a:Vertex)-[e:EDGE* SHORTEST 1..{FAR}]->(b:Vertex) WHERE a.id = $source "
                                  "RETURN b.id, length(e)", source)
    def answer():
        levels = numpy.full(graph[2], -1, dtype=numpy.int64)
        levels[table.column(0).to_numpy()] = table.column(1).to_numpy()
        # A way back to it is a path to Ladybug.
        levels[source] = 0
        return levels
    return seconds, answer


def k_hop(graph, source, **_):
    seconds, table = asked(graph, f"MATCH (a:Vertex)-[e:EDGE* SHORTEST 1..{DEPTH}]->(b:Vertex) WHERE a.id = $source "
                                  "RETURN b.id", source)
    return seconds, lambda: numpy.union1d(table.column(0).to_numpy(), [source])


#: Comparison: variant: what runs it.
RUNS = {"bfs": {"MATCH SHORTEST": bfs}, "k-hop": {"MATCH SHORTEST": k_hop}}
