"""Evergraph's Python package in a child that works on request, as `jvm/` does for engines of the JVM.

    python evergraph_worker.py KIND FOLDER

KIND is `memory` for a database in memory alone, or `sync` for one on disk whose commits are durable. A request is a
line of JSON on standard input: run, and what it needs (vertices; from, to, batch; source; a file for the answer). The
reply is a line too: seconds, what the whole process spent in them, and `said`, a number by which answers are compared;
or what went wrong. FOLDER/edges.bin has the edges, FOLDER/asked.bin the vertices whose neighbours are asked for.

Times are those of a Python program: calls, tables and arrays are in them.
"""

import json
import shutil
import sys
import time
from pathlib import Path

import evergraph
import numpy

from comparisons import ITERATIONS

EDGE = "EDGE"


class Worker:
    """One database, and what is asked of it."""

    def __init__(self, kind, folder):
        self.path = None if kind == "memory" else folder / "evergraph.eg"
        # As the package takes them, so that no round pays for another width.
        ends = numpy.fromfile(folder / "edges.bin", dtype="<i4").reshape(-1, 2)
        self.edges = ends.astype(numpy.uint64)
        self.asked = numpy.fromfile(folder / "asked.bin", dtype="<i4").astype(numpy.uint64)
        self.database = None

    def settings(self):
        """Its version, and what was set."""
        version = f"{evergraph.__version__}, Python {sys.version.split()[0]}"
        return {"version": version, "durability": self.database.durability if self.path else "none: in memory",
                "bytes": "topology_bytes of Database.stats"}

    def create(self, request):
        """A new database of so many vertices and no edge, in place of the last one."""
        if self.database is not None:
            self.database.close()
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        self.database = evergraph.open(self.path, durability=self.path and "sync")
        with self.database.begin() as transaction:
            for _ in range(request["vertices"]):
                transaction.add_vertex("Vertex")
        return 0

    def insert(self, request):
        """Adds some edges of the list, so many a transaction."""
        first, last, batch = request["from"], request["to"], request["batch"]
        if batch == 1:
            for source, target in self.edges[first:last].tolist():
                with self.database.begin() as transaction:
                    transaction.add_edge(source, EDGE, target)
        else:
            for at in range(first, last, batch):
                with self.database.begin() as transaction:
                    transaction.add_edges(EDGE, self.edges[at:min(at + batch, last)])
        return last - first

    def bytes(self, _):
        """What the lists take."""
        return self.database.stats()["topology_bytes"]

    def neighbors(self, _):
        """The sum of all neighbours of the vertices asked for."""
        with self.database.snapshot() as snapshot:
            return int(snapshot.neighbors(self.asked, EDGE)["neighbor"].to_numpy().sum())

    def query(self, request):
        """The sum of what a query gives that begins at these vertices, one after the other."""
        return sum(int(self.database.query(request["text"], start=start).one()) for start in request["starts"])

    def scan(self, _):
        """The sum of the targets of all edges, read where they lie."""
        with self.database.snapshot() as snapshot:
            return sum(int(piece.neighbors.sum(dtype=numpy.uint64)) for piece in snapshot.csr_pieces(EDGE))

    def pagerank(self, _):
        """A score for each vertex."""
        with self.database.snapshot() as snapshot:
            return snapshot.pagerank(iterations=ITERATIONS, numpy=True)[1]

    def bfs(self, request):
        """How far each vertex is away from the source; null where no path leads."""
        with self.database.snapshot() as snapshot:
            return snapshot.bfs(request["source"])["level"]

    def wcc(self, _):
        """The component of each vertex."""
        with self.database.snapshot() as snapshot:
            return snapshot.wcc(numpy=True)[1]

    RUNS = {"create": create, "insert": insert, "bytes": bytes, "neighbors": neighbors, "scan": scan, "query": query,
            "pagerank": pagerank, "bfs": bfs, "wcc": wcc}

    def reply(self, request):
        """Carries out a request; what fails is said, and the next one is welcome."""
        try:
            if request["run"] == "settings":
                return {"settings": self.settings()}
            run = self.RUNS[request["run"]]
            began, worked = time.perf_counter(), time.process_time()
            said = run(self, request)
            spent = {"wall": time.perf_counter() - began, "cpu": time.process_time() - worked}
            if request.get("answer"):
                save(request["answer"], said)
            return {"seconds": spent["wall"], "spent": spent, "said": said if isinstance(said, int) else 0}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}


def save(path, said):
    """Writes one number a vertex: eight-byte floats, or four-byte whole numbers with -1 where there is none."""
    if not isinstance(said, numpy.ndarray):
        said = said.cast("int32").fill_null(-1).to_numpy()
    said.astype("<f8" if said.dtype.kind == "f" else "<i4").tofile(path)


if __name__ == "__main__":
    worker = Worker(sys.argv[1], Path(sys.argv[2]))
    for line in sys.stdin:
        print(json.dumps(worker.reply(json.loads(line))), flush=True)
