"""A child that imports a graph into Ladybug, or runs an algorithm there, within a buffer pool.

    python ladybug_disk.py REQUEST

It prints the seconds and the answer, or the error. REQUEST is that of `duckdb_disk.py`; `memory_bytes` is the buffer
pool. BFS and SSSP are Cypher's own, `SHORTEST` and `WSHORTEST`. Components and PageRank are in Ladybug's extension `algo`,
which `INSTALL` downloads from its makers' server and its package hasn't; here they are rounds of Cypher that set
properties of vertices, in a database that this may change. Until the answer is summed counts; opening doesn't, but for
imports.
"""

import json
import sys
import time

import ladybug


def one(connection, query, **parameters):
    """The first row of a query."""
    return connection.execute(query, parameters).get_next()


def load(connection, request):
    """Both tables, the edges stored both ways."""
    connection.execute("CREATE NODE TABLE Vertex(id INT64 PRIMARY KEY)")
    connection.execute("CREATE REL TABLE EDGE(FROM Vertex TO Vertex, weight DOUBLE)")
    connection.execute(f"COPY Vertex FROM '{request['vertices_csv']}' (HEADER = true)")
    connection.execute(f"COPY EDGE FROM '{request['edges_csv']}' (HEADER = true)")
    return {"edges": one(connection, "MATCH ()-[e:EDGE]->() RETURN count(*)")[0]}


def searched(connection, request, path, length):
    """How many vertices a path leads to, the source included, and the sum of lengths."""
    # A way back to the source is a path, too.
    reached, total = one(
        connection, f"MATCH (a:Vertex)-[e:EDGE* {path}]->(b:Vertex) WHERE a.id = $source AND b.id <> $source "
                    f"RETURN count(*), sum({length})", source=request["source"])
    return {"reached": reached + 1, "sum": float(total or 0)}


def bfs(connection, request):
    """The paths of least edges, at most as long as Ladybug allows by itself."""
    return searched(connection, request, "SHORTEST", "length(e)")


def sssp(connection, request):
    """The paths of least weight, likewise."""
    return searched(connection, request, "WSHORTEST(weight)", "cost(e)")


def wcc(connection, _):
    """The least label of all neighbours, until no label changes."""
    connection.execute("ALTER TABLE Vertex ADD label INT64")
    connection.execute("MATCH (v:Vertex) SET v.label = v.id")
    while one(connection, "MATCH (a:Vertex)-[:EDGE]-(b:Vertex) WITH b, min(a.label) AS least WHERE least < b.label "
                          "SET b.label = least RETURN count(*)")[0]:
        pass
    return {"components": one(connection, "MATCH (v:Vertex) RETURN count(DISTINCT v.label)")[0]}


def pagerank(connection, request):
    """So many rounds; the scores of vertices without edges go to all, as ours do."""
    vertices, damping = request["vertices"], request["damping"]
    for name in ("rank", "given"):
        connection.execute(f"ALTER TABLE Vertex ADD {name} DOUBLE DEFAULT 0.0")
    connection.execute("ALTER TABLE Vertex ADD degree INT64 DEFAULT 0")
    connection.execute("MATCH (v:Vertex)-[e:EDGE]->() WITH v, count(e) AS degree SET v.degree = degree")
    connection.execute("MATCH (v:Vertex) SET v.rank = $rank", {"rank": 1 / vertices})
    for _ in range(request["iterations"]):
        lost = one(connection, "MATCH (v:Vertex) WHERE v.degree = 0 RETURN sum(v.rank)")[0] or 0.0
        connection.execute("MATCH (a:Vertex)-[:EDGE]->(b:Vertex) WITH b, sum(a.rank / a.degree) AS given "
                           "SET b.given = given")
        connection.execute("MATCH (v:Vertex) SET v.rank = $base + $damping * v.given",
                           {"base": (1 - damping) / vertices + damping * lost / vertices, "damping": damping})
    largest, squares = one(connection, "MATCH (v:Vertex) RETURN max(v.rank), sum(v.rank * v.rank)")
    return {"largest": largest, "squares": squares}


RUNS = {"import": load, "bfs": bfs, "sssp": sssp, "wcc": wcc, "pagerank": pagerank}


def main(request):
    """Carries out a request: the seconds, and the answer."""
    is_import = request["run"] == "import"
    began = time.perf_counter()
    database = ladybug.Database(
        request["database"], buffer_pool_size=request["memory_bytes"], max_num_threads=request["threads"])
    connection = ladybug.Connection(database, num_threads=request["threads"])
    if not is_import:
        began = time.perf_counter()
    answer = RUNS[request["run"]](connection, request)
    if is_import:
        connection.close()
        database.close()
    return {"seconds": time.perf_counter() - began, "answer": answer}


if __name__ == "__main__":
    try:
        print(json.dumps(main(json.loads(sys.argv[1]))))
    except Exception as error:
        # Whoever asked decides: too little memory is an answer, too.
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
