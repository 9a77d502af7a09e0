"""igraph's algorithms, one function each: seconds, and the answer.

igraph's own times include handing the answer to Python, from which its interface gives no way out: a
list of numbers, some 10 ms for 2^18 vertices. It runs on one thread.
"""

import time

import igraph
import numpy

from comparisons import CYCLE_LENGTH_MAX, DAMPING, DEPTH, SAMPLE


def threads(_count):
    """igraph's algorithms of this list take one thread, whatever is allowed."""


def graph(name, vertices, columns):
    """igraph's graph of the edges in `columns`: shape (2, m), or (3, m) with weights."""
    made = igraph.Graph(vertices, columns[:2].T, directed=name not in ("simple", "small"))
    if columns.shape[0] == 3:
        made.es["weight"] = columns[2].astype(float).tolist()
    return made


def timed(call):
    """Seconds of one call, and what it returned."""
    began = time.perf_counter()
    found = call()
    return time.perf_counter() - began, found


def numbers(call):
    seconds, found = timed(call)
    return seconds, lambda: numpy.array(found)


def partition(call):
    seconds, found = timed(call)
    return seconds, lambda: numpy.array(found.membership)


def distances(call):
    """Distances as whole numbers, minus one where there is none."""
    seconds, found = timed(call)
    def answer():
        each = numpy.array(found[0], dtype=float)
        return numpy.where(numpy.isinf(each), -1, each).astype(numpy.int64)
    return seconds, answer


def sample(graph):
    """Vertices drawn at random, the same each time."""
    return numpy.random.default_rng(1).choice(graph.vcount(), SAMPLE, replace=False).tolist()


def topological_order(graph, **_):
    seconds, order = timed(graph.topological_sorting)
    return seconds, lambda: numpy.argsort(numpy.array(order))


def triangles(graph, **_):
    """Triangles of each vertex, out of its clustering coefficient: igraph for Python counts no others."""
    seconds, found = timed(lambda: graph.transitivity_local_undirected(mode="zero"))
    def answer():
        degrees = numpy.array(graph.degree())
        return numpy.rint(numpy.array(found) * degrees * (degrees - 1) / 2).astype(numpy.int64)
    return seconds, answer


def shortest_path(graph, source, target):
    seconds, path = timed(lambda: graph.get_shortest_path(source, target))
    return seconds, lambda: numpy.array([len(path) - 1])


def cycles(graph, **_):
    seconds, found = timed(lambda: graph.simple_cycles(min=2, max=CYCLE_LENGTH_MAX))
    return seconds, lambda: numpy.array([len(found)])


#: Comparison: variant: what runs it.
RUNS = {
    "pagerank": {"pagerank, until it converges": lambda graph, **_: numbers(
        lambda: graph.pagerank(damping=DAMPING))},
    "personalized-pagerank": {"personalized_pagerank": lambda graph, source, **_: numbers(
        lambda: graph.personalized_pagerank(damping=DAMPING, reset_vertices=[source]))},
    "eigenvector": {"eigenvector_centrality": lambda graph, **_: numbers(graph.eigenvector_centrality)},
    "bfs": {"distances": lambda graph, source, **_: distances(lambda: graph.distances(source=[source]))},
    "sssp": {"distances": lambda graph, source, **_: distances(
        lambda: graph.distances(source=[source], weights="weight"))},
    "shortest-path": {"get_shortest_path": shortest_path},
    "k-hop": {"neighborhood": lambda graph, source, **_: numbers(
        lambda: graph.neighborhood(source, order=DEPTH, mode="out"))},
    "wcc": {"connected_components": lambda graph, **_: partition(lambda: graph.connected_components("weak"))},
    "scc": {"connected_components": lambda graph, **_: partition(lambda: graph.connected_components("strong"))},
    "topological-order": {"topological_sorting": topological_order},
    "kcore": {"coreness": lambda graph, **_: numbers(graph.coreness)},
    "triangles": {"transitivity_local_undirected": triangles},
    "lcc": {"transitivity_local_undirected": lambda graph, **_: numbers(
        lambda: graph.transitivity_local_undirected(mode="zero"))},
    "cdlp": {"community_label_propagation, to its end": lambda graph, **_: partition(
        graph.community_label_propagation)},
    "louvain": {"community_multilevel": lambda graph, **_: partition(graph.community_multilevel)},
    "leiden": {"community_leiden": lambda graph, **_: partition(
        lambda: graph.community_leiden(objective_function="modularity"))},
    "betweenness": {"betweenness": lambda graph, **_: (
        timed(lambda: graph.betweenness(sources=sample(graph), directed=False))[0], None)},
    "closeness": {"closeness": lambda graph, **_: (
        timed(lambda: graph.closeness(sample(graph)))[0], None)},
    "betweenness, exact": {"betweenness": lambda graph, **_: numbers(lambda: graph.betweenness(directed=False))},
    "closeness, exact": {"closeness": lambda graph, **_: numbers(graph.closeness)},
    "cycles": {"simple_cycles": cycles},
}
