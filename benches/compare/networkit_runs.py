"""networkit's algorithms, one function each: seconds of the algorithm alone, and its answer.

Building the graph is not in the seconds. Where networkit has several ways, each is a variant, and the
table names the fastest. Answers are shaped as `comparisons.py` says; they are made outside the seconds.
"""

import time

import networkit as nk
import numpy

from comparisons import DAMPING, EIGENVECTOR_TOLERANCE, ITERATIONS, LABEL_ROUNDS, SAMPLE


def threads(count):
    """Sets how many threads the algorithms take."""
    nk.setNumberOfThreads(count)


def graph(name, vertices, columns):
    """networkit's graph of the edges in `columns`: shape (2, m), or (3, m) with weights.

    Neighbours are sorted, which is what its algorithms read fastest.
    """
    ends = tuple(numpy.ascontiguousarray(column, dtype=numpy.uint64) for column in columns[:2])
    weighted = columns.shape[0] == 3
    made = nk.GraphFromCoo(
        (columns[2].astype(numpy.float64), ends) if weighted else ends,
        n=vertices, weighted=weighted, directed=name not in ("simple", "small"),
    )
    made.sortEdges()
    made.indexEdges()
    return made


def timed(algorithm):
    """Seconds of one run."""
    began = time.perf_counter()
    algorithm.run()
    return time.perf_counter() - began


def scores(algorithm):
    return timed(algorithm), lambda: numpy.array(algorithm.scores())


def communities(algorithm):
    return timed(algorithm), lambda: numpy.array(algorithm.getPartition().getVector())


def distances(algorithm):
    """Distances as whole numbers, minus one where there is none: networkit says the largest double."""
    def answer():
        found = numpy.array(algorithm.getDistances())
        return numpy.where(found > 1e300, -1, found).astype(numpy.int64)
    return timed(algorithm), answer


def pagerank(graph, **_):
    """With what reaches sinks given back to all, as we do: by default it is lost."""
    to_all = nk.centrality.SinkHandling.DistributeSinks
    ranks = nk.centrality.PageRank(graph, DAMPING, 0.0, distributeSinks=to_all)
    ranks.maxIterations = ITERATIONS
    return scores(ranks)


def shortest_path(graph, source, target):
    search = nk.distance.BidirectionalBFS(graph, source, target, True)
    return timed(search), lambda: numpy.array([int(search.getDistance())])


def topological_order(graph, **_):
    began = time.perf_counter()
    order = nk.graphtools.topologicalSort(graph)
    seconds = time.perf_counter() - began
    return seconds, lambda: numpy.argsort(numpy.array(order))


def triangles_by_clustering(graph, **_):
    """Triangles of each vertex, out of its clustering coefficient."""
    clustering = nk.centrality.LocalClusteringCoefficient(graph, True)
    def answer():
        degrees = numpy.array([graph.degree(vertex) for vertex in range(graph.numberOfNodes())])
        return numpy.rint(numpy.array(clustering.scores()) * degrees * (degrees - 1) / 2).astype(numpy.int64)
    return timed(clustering), answer


def triangles_by_edge(graph, **_):
    """Triangles of each vertex: half of what its edges are in."""
    counted = nk.sparsification.TriangleEdgeScore(graph)
    def answer():
        each = numpy.array(counted.scores(), dtype=numpy.int64)
        ends = numpy.empty((2, each.size), dtype=numpy.int64)
        def place(source, target, _weight, edge):
            ends[:, edge] = source, target
        graph.forEdges(place)
        sums = sum(numpy.bincount(side, each, graph.numberOfNodes()) for side in ends)
        return numpy.rint(sums / 2).astype(numpy.int64)
    return timed(counted), answer


#: Comparison: variant: what runs it.
RUNS = {
    "pagerank": {"PageRank": pagerank},
    "eigenvector": {"EigenvectorCentrality": lambda graph, **_: scores(
        nk.centrality.EigenvectorCentrality(graph, EIGENVECTOR_TOLERANCE))},
    "bfs": {"BFS": lambda graph, source, **_: distances(nk.distance.BFS(graph, source, False))},
    "sssp": {"Dijkstra": lambda graph, source, **_: distances(nk.distance.Dijkstra(graph, source, False))},
    "shortest-path": {"BidirectionalBFS": shortest_path},
    "wcc": {"WeaklyConnectedComponents": lambda graph, **_: communities(
        nk.components.WeaklyConnectedComponents(graph))},
    "scc": {"StronglyConnectedComponents": lambda graph, **_: communities(
        nk.components.StronglyConnectedComponents(graph))},
    "topological-order": {"topologicalSort": topological_order},
    "kcore": {
        "CoreDecomposition": lambda graph, **_: scores(nk.centrality.CoreDecomposition(graph)),
        "CoreDecomposition, buckets": lambda graph, **_: scores(
            nk.centrality.CoreDecomposition(graph, enforceBucketQueueAlgorithm=True)),
    },
    "triangles": {"LocalClusteringCoefficient": triangles_by_clustering, "TriangleEdgeScore": triangles_by_edge},
    "lcc": {"LocalClusteringCoefficient": lambda graph, **_: scores(
        nk.centrality.LocalClusteringCoefficient(graph, True))},
    "cdlp": {"PLP": lambda graph, **_: communities(nk.community.PLP(graph, 0, LABEL_ROUNDS))},
    "louvain": {"PLM": lambda graph, **_: communities(nk.community.PLM(graph, False))},
    "leiden": {"ParallelLeiden": lambda graph, **_: communities(nk.community.ParallelLeiden(graph))},
    "betweenness": {"EstimateBetweenness": lambda graph, **_: (timed(
        nk.centrality.EstimateBetweenness(graph, SAMPLE, False, True)), None)},
    "closeness": {"ApproxCloseness": lambda graph, **_: (timed(
        nk.centrality.ApproxCloseness(graph, SAMPLE)), None)},
    "betweenness, exact": {"Betweenness": lambda graph, **_: scores(nk.centrality.Betweenness(graph))},
    "closeness, exact": {"Closeness": lambda graph, **_: scores(
        nk.centrality.Closeness(graph, False, nk.centrality.ClosenessVariant.Standard))},
}
