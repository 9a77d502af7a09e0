"""A child that imports a graph into DuckDB, or runs an algorithm there, within a memory limit.

    python duckdb_disk.py REQUEST

It prints the seconds and the answer, or the error. REQUEST is JSON: `run` (import, bfs, sssp, wcc, pagerank), `database`,
`temporary` (a folder), `memory_bytes`, `threads`; of an import `vertices_csv` and `edges_csv`, of others `source`,
`vertices`, `damping` and `iterations`. An algorithm is a loop of joins, where it can with those vertices alone that
changed in the round before; all its state is in temporary tables, which DuckDB moves to its folder. Until the answer is
summed counts; opening doesn't, but for imports.
"""

import json
import sys
import time

import duckdb

# With the names that the files' headers hide.
COLUMNS = "columns = {'source': 'INTEGER', 'target': 'INTEGER', 'weight': 'DOUBLE'}"


def one(connection, query):
    """The only row of a query."""
    return connection.execute(query).fetchone()


def load(connection, request):
    """Both tables; no key is declared, so that no ends are looked up."""
    connection.execute("CREATE TABLE vertices AS SELECT * FROM "
                       f"read_csv('{request['vertices_csv']}', header = true, columns = {{'id': 'INTEGER'}})")
    connection.execute(f"CREATE TABLE edges AS SELECT * FROM read_csv('{request['edges_csv']}', header = true, {COLUMNS})")
    return {"edges": one(connection, "SELECT count(*) FROM edges")[0]}


def bfs(connection, request):
    """Level by level."""
    connection.execute(f"CREATE TEMP TABLE reached AS SELECT {request['source']}::INTEGER AS id, 0 AS level")
    level, found = 0, 1
    while found:
        level += 1
        found, = one(connection, f"""
            INSERT INTO reached SELECT DISTINCT target, {level} FROM edges
            SEMI JOIN (SELECT id FROM reached WHERE level = {level - 1}) AS frontier ON source = frontier.id
            ANTI JOIN reached AS known ON target = known.id""")
    reached, total = one(connection, "SELECT count(*), sum(level) FROM reached")
    return {"reached": reached, "sum": float(total)}


def sssp(connection, request):
    """Bellman and Ford's rounds, from those vertices alone that came nearer."""
    connection.execute(f"CREATE TEMP TABLE distances AS SELECT {request['source']}::INTEGER AS id, 0.0::DOUBLE AS distance")
    connection.execute("CREATE TEMP TABLE nearer AS SELECT * FROM distances")
    while one(connection, "SELECT count(*) FROM nearer")[0]:
        connection.execute("""
            CREATE OR REPLACE TEMP TABLE nearer AS SELECT found.id, found.distance FROM (
                SELECT target AS id, min(nearer.distance + weight) AS distance
                FROM edges JOIN nearer ON source = nearer.id GROUP BY target) AS found
            LEFT JOIN distances ON found.id = distances.id
            WHERE distances.distance IS NULL OR found.distance < distances.distance""")
        connection.execute("""
            CREATE OR REPLACE TEMP TABLE distances AS SELECT id, min(distance) AS distance
            FROM (SELECT * FROM distances UNION ALL SELECT * FROM nearer) GROUP BY id""")
    reached, total = one(connection, "SELECT count(*), sum(distance) FROM distances")
    return {"reached": reached, "sum": float(total)}


def wcc(connection, _):
    """The least label of all neighbours, from those vertices alone whose label has changed."""
    connection.execute("CREATE TEMP TABLE labels AS SELECT id, id AS label FROM vertices")
    connection.execute("CREATE TEMP TABLE changed AS SELECT * FROM labels")
    while one(connection, "SELECT count(*) FROM changed")[0]:
        connection.execute("""
            CREATE OR REPLACE TEMP TABLE changed AS SELECT found.id, found.label FROM (
                SELECT id, min(label) AS label FROM (
                    SELECT target AS id, label FROM edges JOIN changed ON source = changed.id
                    UNION ALL SELECT source AS id, label FROM edges JOIN changed ON target = changed.id) GROUP BY id
                ) AS found JOIN labels ON found.id = labels.id WHERE found.label < labels.label""")
        connection.execute("""
            CREATE OR REPLACE TEMP TABLE labels AS SELECT id, min(label) AS label
            FROM (SELECT * FROM labels UNION ALL SELECT * FROM changed) GROUP BY id""")
    return {"components": one(connection, "SELECT count(DISTINCT label) FROM labels")[0]}


def pagerank(connection, request):
    """So many rounds; the scores of vertices without edges go to all, as ours do."""
    vertices, damping = request["vertices"], request["damping"]
    connection.execute(f"""
        CREATE TEMP TABLE ranks AS SELECT id, degree, 1.0::DOUBLE / {vertices} AS rank FROM vertices
        LEFT JOIN (SELECT source, count(*) AS degree FROM edges GROUP BY source) AS degrees ON id = source""")
    for _ in range(request["iterations"]):
        lost, = one(connection, "SELECT coalesce(sum(rank), 0) FROM ranks WHERE degree IS NULL")
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE ranks AS
            SELECT id, degree, {(1 - damping) / vertices!r}::DOUBLE
                + {damping}::DOUBLE * ({lost / vertices!r}::DOUBLE + coalesce(given, 0)) AS rank
            FROM ranks LEFT JOIN (
                SELECT target, sum(rank / degree) AS given FROM edges JOIN ranks ON source = ranks.id GROUP BY target
                ) AS gifts ON id = target""")
    largest, squares = one(connection, "SELECT max(rank), sum(rank * rank) FROM ranks")
    return {"largest": largest, "squares": squares}


RUNS = {"import": load, "bfs": bfs, "sssp": sssp, "wcc": wcc, "pagerank": pagerank}


def main(request):
    """Carries out a request: the seconds, and the answer."""
    is_import = request["run"] == "import"
    settings = {"threads": request["threads"], "memory_limit": f"{request['memory_bytes']}B",
                "temp_directory": request["temporary"],
                # What DuckDB's guide advises for data larger than memory ("Tuning workloads").
                "preserve_insertion_order": False}
    began = time.perf_counter()
    connection = duckdb.connect(request["database"], read_only=not is_import, config=settings)
    if not is_import:
        began = time.perf_counter()
    answer = RUNS[request["run"]](connection, request)
    if is_import:
        connection.close()
    return {"seconds": time.perf_counter() - began, "answer": answer}


if __name__ == "__main__":
    try:
        print(json.dumps(main(json.loads(sys.argv[1]))))
    except Exception as error:
        # Whoever asked decides: too little memory is an answer, too.
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
