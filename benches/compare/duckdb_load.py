"""A child that loads one form of the graph into a new DuckDB database file, and prints the seconds.

    python duckdb_load.py FORM VERTICES EDGES DATABASE THREADS

A graph is a table of vertices and a table of pairs, with no key declared: DuckDB then looks up no ends,
and it never builds lists of neighbours. Of the edges' columns it keeps both ends. Until the database is
closed counts; importing the library doesn't.
"""

import json
import sys
import time

import duckdb

# With the names that the files' headers hide, and the one type that all of them have.
PAIRS = "columns = {'source': 'BIGINT', 'type': 'VARCHAR', 'target': 'BIGINT'}"
LOADS = {
    "csv": ("read_csv('{vertices}', header = true)", "read_csv('{edges}', header = true, " + PAIRS + ")"),
    "parquet": ("read_parquet('{vertices}')", "read_parquet('{edges}')"),
    "list": ("read_csv('{vertices}', header = false)",
             "read_csv('{edges}', header = false, delim = ' ', columns = {'source': 'BIGINT', 'target': 'BIGINT'})"),
}


def main(form, vertices, edges, database, threads):
    began = time.perf_counter()
    connection = duckdb.connect(database, config={"threads": int(threads)})
    from_vertices, from_edges = (text.replace("{vertices}", vertices).replace("{edges}", edges)
                                 for text in LOADS[form])
    connection.execute(f"CREATE TABLE vertices AS SELECT * FROM {from_vertices}")
    connection.execute(f"CREATE TABLE edges AS SELECT {columns(form)} FROM {from_edges}")
    edges_count = connection.execute("SELECT count(*) FROM edges").fetchone()[0]
    connection.close()
    print(json.dumps({"seconds": time.perf_counter() - began, "edges": edges_count}))


def columns(form):
    """Both ends, and not the type that says the same in every row of CSV and Parquet."""
    return "#1, #3" if form == "parquet" else "source, target"


if __name__ == "__main__":
    main(*sys.argv[1:])
