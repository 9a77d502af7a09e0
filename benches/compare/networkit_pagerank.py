"""PageRank beside networkit: the same edges, the same iterations, run by run in turn.

What: 20 iterations of PageRank on an R-MAT graph of 2^17 vertices and 16 edges a vertex, with one
thread and with two. Ours is the time that `evergraph run DB pagerank --json` reports for its kernel, on
a snapshot of a database (nothing fresh in it); networkit's is the time of its `PageRank.run` with 20
iterations and no early end. Building, loading and freezing are in neither.

Run it with `make compare`, which puts networkit into a virtual environment of its own. It lies if other
programs are busy; the ratio of the medians says more than any one time.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import networkit as nk
import numpy

ROUNDS = 7
ITERATIONS = 20


def evergraph(program, *arguments):
    """What a command of the program prints, as JSON."""
    done = subprocess.run([program, *arguments, "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def theirs(graph, threads):
    """Seconds of one run of networkit's PageRank."""
    nk.setNumberOfThreads(threads)
    ranks = nk.centrality.PageRank(graph, 0.85, 0.0)
    ranks.maxIterations = ITERATIONS
    began = time.perf_counter()
    ranks.run()
    return time.perf_counter() - began


def ours(program, database, threads):
    """Seconds that one run of our PageRank reports."""
    report = evergraph(
        program, "run", database, "pagerank", "--iterations", str(ITERATIONS), "--threads", str(threads)
    )
    return report["seconds"]["kernel"]


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        evergraph(program, "generate", "rmat", "--scale", "17", "--out", folder)
        database = str(Path(folder, "rmat.eg"))
        evergraph(program, "import", database, str(Path(folder, "rmat.v")), str(Path(folder, "rmat.e")))
        ends = numpy.loadtxt(Path(folder, "rmat.e"), dtype=numpy.uint64).T.copy()
        # Not by its reader of edge lists, which drops parallel edges.
        graph = nk.GraphFromCoo((ends[0], ends[1]), n=2**17, directed=True)
        print(f"R-MAT, {graph.numberOfNodes():,} vertices, {graph.numberOfEdges():,} edges, "
              f"{ITERATIONS} iterations, median of {ROUNDS} runs in turn\n")
        print("| threads | evergraph, ms | networkit, ms | ours / theirs |\n|---|---|---|---|")
        for threads in (1, 2):
            pairs = [(ours(program, database, threads), theirs(graph, threads)) for _ in range(ROUNDS)]
            mine, other = (statistics.median(side) * 1000 for side in zip(*pairs))
            print(f"| {threads} | {mine:.1f} | {other:.1f} | {mine / other:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1])
