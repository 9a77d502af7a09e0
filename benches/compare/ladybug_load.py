"""A child that loads one form of the graph into a new Ladybug database, and prints the seconds.

    python ladybug_load.py FORM VERTICES EDGES DATABASE THREADS

A graph is a node table with a primary key, which Ladybug demands, and a table of relationships between
its rows, stored both ways. Of the edges' columns it keeps both ends. Until the database is closed
counts; importing the library doesn't.
"""

import json
import sys
import time

import ladybug

TYPED = "WITH HEADERS (source INT64, kind STRING, target INT64)"
LOADS = {
    "csv": ("'{vertices}' (HEADER = true)",
            f"(LOAD {TYPED} FROM '{{edges}}' (HEADER = true) RETURN source, target)"),
    "parquet": ("'{vertices}'",
                "(LOAD FROM '{edges}' RETURN `:START_ID(Vertex){id-type:long}`, `:END_ID(Vertex){id-type:long}`)"),
    "list": ("'{vertices}' (HEADER = false, FILE_FORMAT = 'csv')",
             "'{edges}' (HEADER = false, DELIM = ' ', FILE_FORMAT = 'csv')"),
}


def main(form, vertices, edges, database, threads):
    began = time.perf_counter()
    opened = ladybug.Database(database, max_num_threads=int(threads))
    connection = ladybug.Connection(opened, num_threads=int(threads))
    from_vertices, from_edges = (text.replace("{vertices}", vertices).replace("{edges}", edges)
                                 for text in LOADS[form])
    connection.execute("CREATE NODE TABLE Vertex(id INT64 PRIMARY KEY)")
    connection.execute("CREATE REL TABLE EDGE(FROM Vertex TO Vertex)")
    connection.execute(f"COPY Vertex FROM {from_vertices}")
    connection.execute(f"COPY EDGE FROM {from_edges}")
    edges_count = connection.execute("MATCH ()-[e:EDGE]->() RETURN count(*)").get_next()[0]
    connection.close()
    opened.close()
    print(json.dumps({"seconds": time.perf_counter() - began, "edges": edges_count}))


if __name__ == "__main__":
    main(*sys.argv[1:])
