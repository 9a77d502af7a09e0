"""Algorithms beside networkit and igraph: the same graphs and parameters, run by run in turn.

What: seconds of each algorithm on R-MAT graphs (`graphs.py`), with one thread and with two. Ours is the
time that `evergraph run ... --json` reports for its kernel on a snapshot of a database with nothing fresh
in it, in a new process each time; theirs is the time of the call in a process that keeps the graph
(`networkit_runs.py`, `igraph_runs.py`). Building, loading and freezing are in none. A library that
crashes or takes too long ends its own child, and the table says so. Answers are compared once
(`comparisons.py`); the script fails if one differs that is defined to be the same.

Run it with `make compare`. It lies if other programs are busy, though less in ratios than in times; if
the graph fits the cache (`--quick`); and for searches from one source, of which another is another time.
"""

import argparse
import json
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

import igraph
import networkit
import numpy

import graphs
import igraph_runs
import networkit_runs
import results
from comparisons import COMPARISONS, difference
from evergraph_program import Evergraph
from peer import Peer
from steady import steady
from tables import machine, markdown, milliseconds, ratio, shown

LIBRARIES = {"networkit": networkit_runs.RUNS, "igraph": igraph_runs.RUNS}


class Race:
    """All graphs, the program and the children: what each comparison needs."""

    def __init__(self, evergraph, folder, scale, rounds, peers):
        self.evergraph, self.folder, self.rounds, self.peers = evergraph, folder, rounds, peers
        self.vertices = graphs.make(evergraph, folder, scale)
        self.ends = {name: numpy.load(folder / f"{name}.npy") for name in graphs.NAMES}
        # Where searches begin and end: the most out-edges, and the vertex in the middle of the list.
        self.source = {name: int(numpy.bincount(ends[0]).argmax()) for name, ends in self.ends.items()}
        self.target = {name: int(ends[1, ends.shape[1] // 2]) for name, ends in self.ends.items()}

    def arguments(self, comparison):
        """What follows `evergraph run DATABASE`."""
        ends = {"source": self.source[comparison.graph], "target": self.target[comparison.graph]}
        return [argument.format(**ends) for argument in comparison.arguments]

    def ours(self, comparison, threads):
        """One run of ours: seconds of the kernel, on a snapshot that is frozen, and what the process spent."""
        database = self.folder / f"{comparison.graph}.eg"
        done = self.evergraph.run(database, self.arguments(comparison), threads)
        return {"seconds": done["seconds"]["kernel"], "spent": done["spent"]}

    def theirs(self, library, comparison, variant, threads, answer=None):
        """The reply of a library to the request for one run."""
        return self.peers[library].ask({
            "comparison": comparison.name, "variant": variant, "threads": threads,
            "graph": comparison.graph, "vertices": self.vertices[comparison.graph],
            "source": self.source[comparison.graph], "target": self.target[comparison.graph],
            "answer": answer and str(answer),
        })

    def our_answer(self, comparison):
        """Our answer, shaped as `comparison.answer` says."""
        database, arguments = self.folder / f"{comparison.graph}.eg", self.arguments(comparison)
        if comparison.answer == "count":
            report = self.evergraph.call("run", database, *arguments)
            return numpy.array([report["outcome"][comparison.counted]])
        columns = self.evergraph.answer(database, arguments, self.vertices[comparison.graph])
        return numpy.sort(columns["key"]) if comparison.answer == "set" else columns["value"]

    def agreements(self, comparison):
        """Each variant's answer beside ours: library, variant, whether they agree, a note."""
        ours = None if comparison.answer == "none" else self.our_answer(comparison)
        for library, runs in LIBRARIES.items():
            for variant in runs.get(comparison.name, {}):
                file = self.folder / "answer.npy"
                reply = self.theirs(library, comparison, variant, 1, file)
                if "error" in reply:
                    yield library, variant, True, reply["error"]
                elif not reply["answered"]:
                    yield library, variant, True, "not compared"
                else:
                    compared = difference(comparison, ours, numpy.load(file), self.ends[comparison.graph])
                    yield library, variant, *compared

    def times(self, comparison, threads):
        """Runs in turn: ours and every variant's, in lists of one reply a round; errors as text.

        A library's run of one thread that was disturbed is repeated. Ours isn't: its CPU time is of the whole
        process, whose opening waits for files.
        """
        runs_of = {("evergraph", ""): []}
        failed = {}
        for _ in range(self.rounds):
            runs_of["evergraph", ""].append(self.ours(comparison, threads) | {"repeats": 0})
            for library, runs in LIBRARIES.items():
                for variant in runs.get(comparison.name, {}):
                    if (library, variant) in failed:
                        continue
                    run = partial(self.theirs, library, comparison, variant, threads)
                    reply, repeats = steady(run) if threads == 1 else (run(), 0)
                    if "error" in reply:
                        failed[library, variant] = reply["error"]
                    else:
                        runs_of.setdefault((library, variant), []).append(reply | {"repeats": repeats})
        return {key: each for key, each in runs_of.items() if key not in failed}, failed


def seconds_of(runs_of):
    """The seconds of each list of runs."""
    return {key: [run["seconds"] for run in runs] for key, runs in runs_of.items()}


def fastest(seconds, library):
    """The variant of a library with the least median, or None."""
    variants = [key for key in seconds if key[0] == library]
    return min(variants, key=lambda key: statistics.median(seconds[key]), default=None)


def row(comparison, threads, seconds, failed):
    """One line of the table."""
    ours = seconds["evergraph", ""]
    cells = [comparison.name, str(threads), milliseconds(ours)]
    for library in LIBRARIES:
        best = fastest(seconds, library)
        if best is None:
            errors = [error for (who, _), error in failed.items() if who == library]
            cells += [errors[0] if errors else "", ""]
        else:
            cells += [f"{milliseconds(seconds[best])} {best[1]}", shown(ratio(ours, seconds[best]))]
    return cells


SECTION = "Algorithms beside other libraries"
NOTES = [
    "ours is the kernel on a snapshot of a database in a new process, theirs the call on a graph that is built",
    "where a library has several ways, the fastest counts",
    "CPU / time: ours of the whole process, with opening and freezing; theirs of the call",
]


def entries(comparison, threads, runs_of):
    """What `results.json` gets of one algorithm: an entry a library, of its fastest variant."""
    seconds = seconds_of(runs_of)
    for library in LIBRARIES:
        best = fastest(seconds, library)
        if best is not None:
            plural = "" if threads == 1 else "s"
            both = runs_of["evergraph", ""], runs_of[best]
            spent = [[run["spent"] for run in runs] for runs in both]
            repeated = sum(run["repeats"] for runs in both for run in runs)
            yield results.entry(
                SECTION, f"library.{comparison.name}.threads_{threads}",
                f"{comparison.name}, {threads} thread{plural}", seconds["evergraph", ""], library, seconds[best],
                {"graph": comparison.graph, "variant": best[1]}, spent, repeated)


def main():
    parser = argparse.ArgumentParser(description="Algorithms beside networkit and igraph")
    parser.add_argument("program", type=Path, help="the built program evergraph")
    parser.add_argument("--scale", type=int, default=18, help="2^N vertices with 16 edges each [18]")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each [5]")
    parser.add_argument("--quick", action="store_true", help="scale 14, 3 rounds")
    parser.add_argument("--only", help="these algorithms, with commas between")
    parser.add_argument("--threads", default="1,2", help="numbers of threads [1,2]")
    parser.add_argument("--seconds-max", type=int, default=120, help="the longest that a run may take [120]")
    parser.add_argument("--json", type=Path, help="write every time and answer to this file too")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    scale, rounds = (14, 3) if chosen.quick else (chosen.scale, chosen.rounds)
    names = chosen.only.split(",") if chosen.only else [each.name for each in COMPARISONS]

    evergraph = Evergraph(chosen.program)
    versions = {"evergraph": evergraph.version(), "networkit": networkit.__version__, "igraph": igraph.__version__}
    report = {"machine": machine(), "versions": versions, "scale": scale, "rounds": rounds, "runs": [], "answers": []}
    unlike = []
    with tempfile.TemporaryDirectory() as folder, \
            Peer("networkit", folder, chosen.seconds_max) as first, \
            Peer("igraph", folder, chosen.seconds_max) as second:
        race = Race(evergraph, Path(folder), scale, rounds, {"networkit": first, "igraph": second})
        sizes = ", ".join(f"{name} {race.vertices[name]:,} vertices and {race.ends[name].shape[1]:,} edges"
                          for name in graphs.NAMES)
        print(f"{versions}\n{report['machine']}\nGraphs: {sizes}. Median of {rounds} runs in turn, ms.\n")
        rows, notes, figures = [], [], []
        for comparison in (each for each in COMPARISONS if each.name in names):
            print(comparison.name, file=sys.stderr)
            for library, variant, same, note in race.agreements(comparison):
                if note or not same:
                    notes.append([comparison.name, f"{library} {variant}", note])
                if not same:
                    unlike.append(f"{comparison.name}, {library} {variant}: {note}")
                report["answers"].append([comparison.name, library, variant, bool(same), note])
            for threads in map(int, chosen.threads.split(",")):
                runs_of, failed = race.times(comparison, threads)
                seconds = seconds_of(runs_of)
                rows.append(row(comparison, threads, seconds, failed))
                figures += entries(comparison, threads, runs_of)
                print(*rows[-1], sep="  ", file=sys.stderr)
                report["runs"].append({
                    "algorithm": comparison.name, "graph": comparison.graph, "threads": threads,
                    "seconds": {" ".join(key).strip(): each for key, each in seconds.items()},
                    "failed": {" ".join(key): error for key, error in failed.items()},
                })
    head = ["algorithm", "threads", "evergraph", "networkit", "ours / theirs", "igraph", "ours / theirs"]
    print(markdown(head, rows))
    print("\nAnswers are the same but for:\n")
    print(markdown(["algorithm", "beside", "note"], notes))
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")
    if chosen.results:
        results.add(chosen.results, SECTION, figures, NOTES)
    if unlike:
        sys.exit("answers differ:\n" + "\n".join(unlike))


if __name__ == "__main__":
    main()
