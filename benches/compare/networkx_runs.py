"""NetworkX's algorithms, one function each: seconds, and the answer.

Its graphs are dicts of Python objects, its algorithms Python; PageRank is SciPy's, and its seconds include making
the matrix, as each call does. One thread.
"""

import time

import networkx
import numpy

from comparisons import DAMPING, DEPTH

#: As exact as 20 rounds of ours.
TOLERANCE = 1e-10


def threads(_count):
    """NetworkX takes one thread, whatever is allowed."""


def graph(name, vertices, columns):
    """NetworkX's graph of the edges in `columns`: shape (2, m). Parallel edges are kept."""
    made = networkx.Graph() if name == "simple" else networkx.MultiDiGraph()
    made.add_nodes_from(range(vertices))
    made.add_edges_from(zip(columns[0].tolist(), columns[1].tolist(), strict=True))
    return made


def timed(call):
    """Seconds of one call, and what it returned."""
    began = time.perf_counter()
    found = call()
    return time.perf_counter() - began, found


def by_vertex(graph, call):
    """A run that gives a dict by vertex; -1 where there is none."""
    seconds, found = timed(call)
    return seconds, lambda: numpy.array([found.get(vertex, -1) for vertex in range(len(graph))])


def reached(call):
    seconds, found = timed(call)
    return seconds, lambda: numpy.array(list(found))


def components(graph, **_):
    seconds, found = timed(lambda: list(networkx.weakly_connected_components(graph)))
    def answer():
        labels = numpy.empty(len(graph), dtype=numpy.int64)
        for number, members in enumerate(found):
            labels[list(members)] = number
        return labels
    return seconds, answer


#: Comparison: variant: what runs it.
RUNS = {
    "pagerank": {"pagerank, until it converges": lambda graph, **_: by_vertex(
        graph, lambda: networkx.pagerank(graph, alpha=DAMPING, tol=TOLERANCE))},
    "bfs": {"single_source_shortest_path_length": lambda graph, source, **_: by_vertex(
        graph, lambda: dict(networkx.single_source_shortest_path_length(graph, source)))},
    "k-hop": {"single_source_shortest_path_length, cutoff": lambda graph, source, **_: reached(
        lambda: dict(networkx.single_source_shortest_path_length(graph, source, cutoff=DEPTH)))},
    "wcc": {"weakly_connected_components": components},
    "triangles": {"triangles": lambda graph, **_: by_vertex(graph, lambda: networkx.triangles(graph))},
}
