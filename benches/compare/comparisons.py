"""What is compared: each algorithm, its graph, our arguments, and how answers are held side by side.

The scripts that run it (`algorithms_peers.py` for us, `networkit_runs.py` and `igraph_runs.py` for the
others) share these names and parameters, so that they cannot drift apart.
"""

from dataclasses import dataclass

import numpy

DAMPING = 0.85
ITERATIONS = 20
LABEL_ROUNDS = 10
SAMPLE = 16
DEPTH = 2
CYCLE_LENGTH_MAX = 3
#: networkit's says something else, but the same number leaves about the same error: 5e-7 of the largest
#: score at scale 18. igraph goes on until it is exact.
EIGENVECTOR_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Comparison:
    """One algorithm beside others'.

    `graph` is one of those that `graphs.py` makes, `arguments` follow `evergraph run DATABASE`, with
    {source} and {target} for vertices of that graph. `answer` says how the answers are compared:

    equal       one number a vertex, the same; minus one where there is none
    close       one number a vertex, the same within `tolerance` of the largest, both scaled to sum 1
    partition   the same vertices together
    modularity  partitions that may differ: the modularity of each
    order       every edge of the graph leads forwards
    set         the same vertices
    count       one number, the same
    none        estimates from sources that each draws for itself: `small` has the exact answers
    """

    name: str
    graph: str
    arguments: tuple = ()
    answer: str = "equal"
    tolerance: float = 0.0
    #: What of our report is the one number of `count`.
    counted: str = ""


COMPARISONS = (
    Comparison("pagerank", "directed", ("pagerank", "--iterations", str(ITERATIONS)), "close", 1e-3),
    Comparison("personalized-pagerank", "simple",
               ("personalized-pagerank", "--direction", "both", "--source", "{source}", "--tolerance", "1e-9"),
               "close", 1e-6),
    Comparison("eigenvector", "simple",
               ("eigenvector", "--direction", "both", "--tolerance", str(EIGENVECTOR_TOLERANCE)),
               "close", 1e-5),
    Comparison("bfs", "directed", ("bfs", "--source", "{source}")),
    Comparison("sssp", "weighted", ("sssp", "--source", "{source}"), "equal"),
    Comparison("shortest-path", "simple",
               ("shortest-path", "--source", "{source}", "--target", "{target}", "--direction", "both"),
               "count", counted="edges"),
    Comparison("k-hop", "directed", ("k-hop", "--source", "{source}", "--depth", str(DEPTH)), "set"),
    Comparison("wcc", "directed", ("wcc",), "partition"),
    Comparison("scc", "directed", ("scc",), "partition"),
    Comparison("topological-order", "acyclic", ("topological-order",), "order"),
    Comparison("kcore", "simple", ("kcore",)),
    Comparison("triangles", "simple", ("triangles",)),
    Comparison("lcc", "simple", ("lcc", "--undirected"), "close", 1e-9),
    Comparison("cdlp", "simple", ("cdlp", "--iterations", str(LABEL_ROUNDS)), "modularity"),
    Comparison("louvain", "simple", ("louvain",), "modularity"),
    Comparison("leiden", "simple", ("leiden",), "modularity"),
    Comparison("betweenness", "simple",
               ("betweenness", "--direction", "both", "--sample", str(SAMPLE)), "none"),
    Comparison("closeness", "simple",
               ("closeness", "--direction", "both", "--sample", str(SAMPLE)), "none"),
    Comparison("betweenness, exact", "small", ("betweenness", "--direction", "both"), "close", 1e-9),
    Comparison("closeness, exact", "small", ("closeness", "--direction", "both"), "close", 1e-9),
    Comparison("cycles", "few", ("cycles", "--length-max", str(CYCLE_LENGTH_MAX)), "count", counted="cycles"),
)


def modularity(partition, ends):
    """Newman's modularity of a partition of a simple undirected graph.

    Parameters
    ----------
    partition : numpy.ndarray, shape (n,), any integers
    ends : numpy.ndarray, shape (2, m)
        Each edge once.

    Returns
    -------
    float
    """
    communities = numpy.unique(partition, return_inverse=True)[1]
    inside = numpy.count_nonzero(communities[ends[0]] == communities[ends[1]])
    degrees = numpy.bincount(communities[ends].ravel())
    edges = ends.shape[1]
    return inside / edges - float(((degrees / (2 * edges)) ** 2).sum())


def difference(comparison, ours, theirs, ends):
    """What stands between two answers, in words; nothing is said of answers that are the same.

    Parameters
    ----------
    ours, theirs : numpy.ndarray
        Shaped as `comparison.answer` says.
    ends : numpy.ndarray, shape (2, m)
        The edges of the comparison's graph.

    Returns
    -------
    tuple of (bool, str)
        Whether they agree as far as they are defined to, and the note for the table.
    """
    match comparison.answer:
        case "equal":
            unlike = numpy.count_nonzero(ours != theirs)
            return unlike == 0, "" if unlike == 0 else f"{unlike:,} vertices differ"
        case "close":
            scaled = ours / ours.sum(), theirs / theirs.sum()
            apart = float(abs(scaled[0] - scaled[1]).max() / scaled[0].max())
            return apart <= comparison.tolerance, f"within {apart:.0e}"
        case "partition":
            pairs = numpy.unique(numpy.stack((ours, theirs)), axis=1).shape[1]
            same = pairs == numpy.unique(ours).size == numpy.unique(theirs).size
            return same, "" if same else "other components"
        case "modularity":
            mine, other = modularity(ours, ends), modularity(theirs, ends)
            return True, f"modularity {mine:.3f}, theirs {other:.3f}"
        case "order":
            forwards = all((order[ends[0]] < order[ends[1]]).all() for order in (ours, theirs))
            return forwards, "" if forwards else "an edge leads backwards"
        case "set":
            unlike = numpy.setxor1d(ours, theirs).size
            return unlike == 0, "" if unlike == 0 else f"{unlike:,} vertices differ"
        case "count":
            same = int(ours[0]) == int(theirs[0])
            return same, "" if same else f"{int(ours[0]):,}, theirs {int(theirs[0]):,}"
        case _:
            return True, "own samples"
