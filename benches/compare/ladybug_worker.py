"""Ladybug in a child that works on request, as `evergraph_worker.py` does for us.

    python ladybug_worker.py FOLDER

Its database is in memory; FOLDER/edges.bin has the edges. Requests and replies are those of `evergraph_worker.py`: the
runs here are settings, create, insert and query.
"""

import json
import sys
import time
from pathlib import Path

import ladybug
import numpy
import pyarrow

THREADS = 1


class Worker:
    """One database, and what is asked of it."""

    def __init__(self, folder):
        self.edges = numpy.fromfile(folder / "edges.bin", dtype="<i4").reshape(-1, 2)
        self.connection = None

    def create(self, request):
        """A new database of so many vertices and no edge, in place of the last one."""
        self.connection = ladybug.Connection(ladybug.Database(":memory:"))
        self.connection.set_max_threads_for_exec(THREADS)
        self.connection.execute("CREATE NODE TABLE Vertex(id INT64 PRIMARY KEY, degree INT64)")
        self.connection.execute("CREATE REL TABLE EDGE(FROM Vertex TO Vertex)")
        number = numpy.arange(request["vertices"])
        rows = pyarrow.table({"id": number, "degree": numpy.zeros_like(number)})
        self.connection.execute("COPY Vertex FROM $rows", {"rows": rows})
        return 0

    def insert(self, request):
        """Adds some edges of the list, all at once."""
        ends = self.edges[request["from"]:request["to"]].astype("<i8")
        rows = pyarrow.table({"source": ends[:, 0], "target": ends[:, 1]})
        self.connection.execute("COPY EDGE FROM $rows", {"rows": rows})
        return len(ends)

    def query(self, request):
        """The sum of what a query gives that begins at these vertices, one after the other."""
        prepared = self.connection.prepare(request["text"])
        begins = "$start" in request["text"]
        answers = (self.connection.execute(prepared, {"start": start} if begins else {}).get_next()[0]
                   for start in request["starts"])
        return sum(int(answer) for answer in answers)

    RUNS = {"create": create, "insert": insert, "query": query}

    def reply(self, request):
        """Carries out a request; what fails is said, and the next one is welcome."""
        try:
            if request["run"] == "settings":
                return {"settings": {"version": ladybug.__version__, "threads": f"{THREADS}", "database": ":memory:"}}
            run = self.RUNS[request["run"]]
            began, worked = time.perf_counter(), time.process_time()
            said = run(self, request)
            spent = {"wall": time.perf_counter() - began, "cpu": time.process_time() - worked}
            return {"seconds": spent["wall"], "spent": spent, "said": said}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    worker = Worker(Path(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(worker.reply(json.loads(line))), flush=True)
