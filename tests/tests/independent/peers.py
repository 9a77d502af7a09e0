"""Peers of Gnutella, judged by igraph and networkit: communities by modularity, ranks by walks from some peers.

usage: peers.py FILE.v.gz FILE.e.gz LABELS SOURCE...

The file LABELS has a number for each vertex, in the order of their ids: the communities that are judged.
"""

import random
import sys

import igraph
import networkit
import numpy

from canonical import answer

DAMPING = 0.85

ids = numpy.loadtxt(sys.argv[1], dtype=numpy.int64, usecols=0)
ends = numpy.searchsorted(ids, numpy.loadtxt(sys.argv[2], dtype=numpy.int64, usecols=(0, 1)))
labels = numpy.unique(numpy.loadtxt(sys.argv[3], dtype=numpy.int64), return_inverse=True)[1]
sources = [int(numpy.searchsorted(ids, int(source))) for source in sys.argv[4:]]
directed = igraph.Graph(ids.size, ends, directed=True)
undirected = igraph.Graph(ids.size, ends, directed=False)

# igraph draws by Python's numbers, and what it finds depends on them.
random.seed(1)
found = undirected.community_leiden(objective_function="modularity")
inside = undirected.copy()
inside.delete_edges(numpy.flatnonzero(labels[ends[:, 0]] != labels[ends[:, 1]]).tolist())

# networkit's walk stays where it is in half of its steps; with this chance of a restart it is the same walk.
lazy_restart = (1 - DAMPING) / (1 + DAMPING)
columns = tuple(numpy.ascontiguousarray(column, dtype=numpy.uint64) for column in ends.T)
graph = networkit.GraphFromCoo(columns, n=ids.size, directed=False)
pushed = numpy.zeros(ids.size)
for vertex, score in networkit.scd.ApproximatePageRank(graph, lazy_restart, 1e-7).run(sources[0]):
    pushed[vertex] = score

answer(
    {
        # Of the communities that are judged.
        "modularity": undirected.modularity(labels.tolist()),
        "communities": int(labels.max()) + 1,
        "parts": len(inside.connected_components()),
        # Of igraph's own.
        "best": found.modularity,
        # By walks along the edges from all sources; and in both directions from the first.
        "ranks": directed.personalized_pagerank(damping=DAMPING, reset_vertices=sources),
        "undirected_ranks": undirected.personalized_pagerank(damping=DAMPING, reset_vertices=sources[:1]),
        # The same as the last, by networkit; less by at most 1e-7 for each edge of a vertex.
        "pushed_ranks": pushed.tolist(),
    }
)
