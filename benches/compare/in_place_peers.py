"""Analysis in place beside analysis of a copy: export by us, load and run by networkit.

What: PageRank and weakly connected components of an R-MAT graph (`graphs.py`, `directed`), with one and two
threads. In place: freezing a snapshot and the kernel, as `evergraph run ... --json` says them. The copy:
`evergraph export` to CSV or Parquet, as it says itself; then a child reads the edges with pyarrow, builds
networkit's graph and runs its algorithm (`networkit_in_place.py`). Opening the database, Python's start and
the import of libraries are in none. Answers are compared each time.

Run it with `make compare`. It lies as `algorithms_peers.py` does; and files stay in the system's cache, so that
the copy is dearer where they don't fit. The harness in `benches/src` has the same beside scans of other engines.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import networkit
import numpy

import graphs
import measured_child
import results
from comparisons import COMPARISONS, difference
from evergraph_program import Evergraph
from tables import machine, markdown, milliseconds, ratio, shown

HERE = Path(__file__).parent
ALGORITHMS = ("pagerank", "wcc")
EDGES_FILE = {"csv": "Vertex-EDGE-Vertex.csv", "parquet": "Vertex-EDGE-Vertex.parquet"}
SECTION = "In place, or exported to a library"
NOTES = [
    "ours: freezing a snapshot and the kernel; theirs: our export, then pyarrow and networkit load and run",
    "starting processes, importing libraries and opening the database are in none; files are in the system's cache",
    "CPU / time: ours of the whole process, with opening; theirs of loading and running",
    "LiveGraph (2020), table 10: 266 ms in place beside 156 ms of Gemini after 1,520 ms of export and load",
]


class Ways:
    """One graph, and both ways from it to an answer."""

    def __init__(self, evergraph, folder, scale):
        self.evergraph, self.folder = evergraph, folder
        self.vertices = 2**scale
        self.ends = graphs.generated(evergraph, folder, scale)
        self.database = folder / "graph.eg"
        evergraph.call("import", self.database, graphs.written(folder, "graph", self.ends),
                       "--vertices", f"0..{self.vertices}")

    def in_place(self, comparison, threads):
        """Seconds until it can run and of the run, and what the process spent."""
        done = self.evergraph.run(self.database, comparison.arguments, threads)
        return {"prepare": done["seconds"]["freeze"], "run": done["seconds"]["kernel"], "spent": done["spent"]}

    def copied(self, comparison, form, threads):
        """Seconds of export, load and run, what the last two spent, and the answer."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            exported, answer = Path(folder, "export"), Path(folder, "answer.npy")
            export = self.evergraph.call("export", self.database, "--format", form, "--output", exported)["seconds"]
            done = measured_child.run([
                sys.executable, HERE / "networkit_in_place.py", form, exported / EDGES_FILE[form], self.vertices,
                comparison.name, threads, answer])
            if "error" in done:
                raise RuntimeError(f"networkit, {form}: {done['error']}")
            return done["said"] | {"export": export, "answer": numpy.load(answer)}

    def in_turn(self, comparison, form, threads, rounds):
        """Runs of both in turn, a list of one a round each; the script ends if an answer differs."""
        ours, theirs = [], []
        expected = self.evergraph.answer(self.database, comparison.arguments, self.vertices)["value"]
        for _ in range(rounds):
            ours.append(self.in_place(comparison, threads))
            theirs.append(self.copied(comparison, form, threads))
            same, note = difference(comparison, expected, theirs[-1].pop("answer"), self.ends)
            if not same:
                sys.exit(f"answers differ: {comparison.name} of networkit after {form}: {note}")
        return ours, theirs


def totals(ours, theirs):
    """Seconds from the store to the answer, of each run."""
    return ([each["prepare"] + each["run"] for each in ours],
            [each["export"] + each["load"] + each["run"] for each in theirs])


def entries(comparison, form, threads, ours, theirs):
    """What `results.json` gets: the whole way, what comes before the run, and the run."""
    name = f"in_place.{comparison.name}.{{}}.threads_{threads}.{form}"
    plural = "" if threads == 1 else "s"
    title = f"{comparison.name}, {threads} thread{plural}, by {form.upper() if form == 'csv' else 'Parquet'}: {{}}"
    split = {part: f"{statistics.median(each[part] for each in theirs):.3f} s" for part in ("export", "load")}
    spent = [[each["spent"] for each in runs] for runs in (ours, theirs)]
    prepared = ([each["prepare"] for each in ours], [each["export"] + each["load"] for each in theirs])
    run = ([each["run"] for each in ours], [each["run"] for each in theirs])
    parts = [("whole", "from the store to the answer", totals(ours, theirs)),
             ("prepare", "until it can run", prepared), ("run", "the run alone", run)]
    for part, what, (mine, other) in parts:
        yield results.entry(SECTION, name.format(part), title.format(what), mine, "networkit", other, split, spent)


def row(comparison, form, threads, ours, theirs):
    """One line of the table."""
    whole = totals(ours, theirs)
    parts = [milliseconds([each[part] for each in theirs]) for part in ("export", "load", "run")]
    return [comparison.name, str(threads), form, milliseconds(whole[0]), *parts, milliseconds(whole[1]),
            shown(ratio(*whole))]


def main():
    parser = argparse.ArgumentParser(description="Analysis in place beside export, load and run in networkit")
    parser.add_argument("program", type=Path, help="the built program evergraph")
    parser.add_argument("--scale", type=int, default=18, help="2^N vertices with 16 edges each [18]")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each [5]")
    parser.add_argument("--quick", action="store_true", help="scale 14, 3 rounds")
    parser.add_argument("--threads", default="1,2", help="numbers of threads [1,2]")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    scale, rounds = (14, 3) if chosen.quick else (chosen.scale, chosen.rounds)

    evergraph = Evergraph(chosen.program)
    rows, figures = [], []
    with tempfile.TemporaryDirectory(dir=chosen.program.parent) as folder:
        ways = Ways(evergraph, Path(folder), scale)
        print(f"{evergraph.version()}, networkit {networkit.__version__}\n{machine()}\n{ways.vertices:,} vertices, "
              f"{ways.ends.shape[1]:,} edges; median of {rounds} runs in turn, ms\n")
        for comparison in (each for each in COMPARISONS if each.name in ALGORITHMS):
            for form in EDGES_FILE:
                for threads in map(int, chosen.threads.split(",")):
                    both = ways.in_turn(comparison, form, threads, rounds)
                    rows.append(row(comparison, form, threads, *both))
                    figures += entries(comparison, form, threads, *both)
                    print(*rows[-1], sep="  ", file=sys.stderr)
    head = ["algorithm", "threads", "by", "in place", "export", "load", "run", "export, load, run", "ours / theirs"]
    print(markdown(head, rows))
    if chosen.results:
        results.add(chosen.results, SECTION, figures, NOTES)


if __name__ == "__main__":
    main()
