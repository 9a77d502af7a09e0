"""Our algorithms from Python, one function each: seconds of the call, its table of answers included.

The graph is loaded from Arrow into a database in memory, and a snapshot of it is kept: what somebody has who comes
with arrays. From a database that is there, nothing has to be loaded.
"""

import os
import time

import numpy
import pyarrow

import evergraph
from comparisons import DAMPING, DEPTH, ITERATIONS


def threads(count):
    """Sets how many threads the algorithms take: once, before the first call of a process."""
    given = os.environ.setdefault("RAYON_NUM_THREADS", str(count))
    if given != str(count):
        raise RuntimeError(f"this process runs with {given} threads: {count} need another one")


def graph(name, vertices, columns):
    """A snapshot of the edges in `columns`: shape (2, m); those of `simple` are stored once."""
    database = evergraph.open()
    database.add_vertices("Vertex", pyarrow.table({"number": numpy.arange(vertices)}))
    database.add_edges("EDGE", pyarrow.table({"source": columns[0], "target": columns[1]}))
    return database.snapshot()


def column(call, name):
    """A run whose answer is a column without nulls."""
    began = time.perf_counter()
    table = call()
    return time.perf_counter() - began, lambda: table[name].to_numpy()


def levels(call):
    """A run whose answer is a level for each vertex; -1 where the search didn't arrive."""
    began = time.perf_counter()
    table = call()
    return time.perf_counter() - began, lambda: table["level"].cast("int64").fill_null(-1).to_numpy()


#: Comparison: variant: what runs it.
RUNS = {
    "pagerank": {"pagerank": lambda graph, **_: column(
        lambda: graph.pagerank(damping=DAMPING, iterations=ITERATIONS), "score")},
    "bfs": {"bfs": lambda graph, source, **_: levels(lambda: graph.bfs(source))},
    "k-hop": {"k_hop": lambda graph, source, **_: column(lambda: graph.k_hop(source, depth=DEPTH), "vertex")},
    "wcc": {"wcc": lambda graph, **_: column(graph.wcc, "component")},
    "triangles": {"triangles": lambda graph, **_: column(graph.triangles, "triangles")},
}
