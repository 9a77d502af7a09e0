"""From Python, beside networkx, networkit, igraph and Ladybug: the same graphs and questions, run by run in turn.

What: seconds of a call from Python on an R-MAT graph, with one thread and with all; and seconds until a library has
the graph, from the same NumPy arrays. Ours is `Snapshot.pagerank()` and so on, with the table of answers, on a database
in memory (`evergraph_runs.py`); networkit's is its `run()` alone, without fetching the answer; igraph's and NetworkX's
are their calls, which give lists and dicts (`*_runs.py`). Each library is a process of its own that keeps its graph.
Answers are compared once (`comparisons.py`); the script fails if one differs that is defined to be the same.

NetworkX, which would take minutes, gets a smaller graph (`--networkx-scale`), and so does ours beside it.

Run it with `make bench-python`. It lies if other programs are busy, though less in ratios than in times; if the
graph fits the cache; and for searches from one source, of which another is another time.
"""

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy

import evergraph
import evergraph_runs
import graphs
import igraph_runs
import ladybug_runs
import networkit_runs
import networkx_runs
import results
from comparisons import COMPARISONS, difference
from evergraph_program import Evergraph
from peer import Peer
from steady import steady
from tables import machine, markdown, milliseconds, ratio, shown

ASKED = "pagerank,wcc,triangles,bfs,k-hop"
RUNS = {"networkit": networkit_runs.RUNS, "igraph": igraph_runs.RUNS, "ladybug": ladybug_runs.RUNS,
        "networkx": networkx_runs.RUNS}
#: Those that stand beside ours with several threads too: networkit and Ladybug, which have them, and NetworkX, which
#: hasn't, but whose users get all of ours.
BESIDE_SEVERAL = ("networkit", "ladybug", "networkx")
SECTION = "From Python, beside other libraries"
NOTES = [
    "ours is the call with its table of answers on a database in memory; networkit's is run() without its answer",
    "load: from NumPy arrays in memory until algorithms can run; networkit's graph is sorted and indexed",
    "NetworkX, igraph: one thread, whatever ours has",
]


class Contest:
    """One graph in two forms, and a child for each library."""

    def __init__(self, program, folder, scale, rounds, libraries, seconds_max):
        self.folder, self.rounds, self.libraries = folder, rounds, libraries
        ends = graphs.generated(program, folder, scale)
        made = {"directed": (2**scale, ends), "simple": graphs.simple(2**scale, ends)}
        self.vertices = {name: vertices for name, (vertices, _) in made.items()}
        self.ends = {name: columns for name, (_, columns) in made.items()}
        for name, columns in self.ends.items():
            numpy.save(folder / f"{name}.npy", numpy.ascontiguousarray(columns, dtype=numpy.int64))
        self.source = {name: int(numpy.bincount(columns[0]).argmax()) for name, columns in self.ends.items()}
        self.children = {library: Peer(library, folder, seconds_max) for library in libraries}

    def ours(self, threads):
        """A child of ours: the number of threads is one of a process."""
        return self.children.setdefault(
            f"evergraph {threads}", Peer("evergraph", self.folder, 600, {"RAYON_NUM_THREADS": str(threads)}))

    def end(self):
        for child in self.children.values():
            child.end()

    def ask(self, child, comparison, variant, threads, **more):
        """A child's reply to the request for one run."""
        return child.ask({
            "comparison": comparison.name, "variant": variant, "threads": threads, "graph": comparison.graph,
            "vertices": self.vertices[comparison.graph], "source": self.source[comparison.graph], "target": 0,
            "answer": None, **more})

    def variants(self, comparison):
        """What runs a comparison: (library, variant), ours not among them."""
        return [(library, variant) for library in self.libraries for variant in RUNS[library].get(comparison.name, {})]

    def our_variant(self, comparison):
        return next(iter(evergraph_runs.RUNS[comparison.name]))

    def agreements(self, comparison, threads):
        """Each library's answer beside ours: library, variant, whether they agree, a note."""
        file = self.folder / "answer.npy"
        reply = self.ask(self.ours(threads), comparison, self.our_variant(comparison), threads, answer=str(file))
        if "error" in reply:
            sys.exit(f"ours, {comparison.name}: {reply['error']}")
        ours = numpy.load(file)
        for library, variant in self.variants(comparison):
            reply = self.ask(self.children[library], comparison, variant, threads, answer=str(file))
            if "error" in reply:
                yield library, variant, True, reply["error"]
            else:
                yield library, variant, *difference(comparison, ours, numpy.load(file), self.ends[comparison.graph])

    def times(self, comparison, threads):
        """Runs in turn, ours and every variant's: lists of one reply a round, and errors as text."""
        runs_of, failed = {}, {}
        for _ in range(self.rounds):
            ours = partial(self.ask, self.ours(threads), comparison, self.our_variant(comparison), threads)
            who = [(("evergraph", ""), ours)]
            for library, variant in self.variants(comparison):
                if threads == 1 or library in BESIDE_SEVERAL:
                    run = partial(self.ask, self.children[library], comparison, variant, threads)
                    who.append(((library, variant), run))
            for key, run in who:
                if key in failed:
                    continue
                reply, repeats = steady(run) if threads == 1 else (run(), 0)
                if "error" in reply:
                    failed[key] = reply["error"]
                else:
                    runs_of.setdefault(key, []).append(reply | {"repeats": repeats})
        return {key: runs for key, runs in runs_of.items() if key not in failed}, failed

    def loads(self, threads):
        """Seconds until each has the directed graph: a list of one a round, made anew in turn."""
        comparison = next(each for each in COMPARISONS if each.name == "bfs")
        seconds = {}
        for _ in range(self.rounds):
            who = [("evergraph", self.ours(threads), self.our_variant(comparison))]
            who += [(library, self.children[library], next(iter(RUNS[library]["bfs"]))) for library in self.libraries]
            for library, child, variant in who:
                reply = self.ask(child, comparison, variant, threads, anew=True)
                if "error" not in reply:
                    seconds.setdefault(library, []).append(reply["build"])
        return seconds


def fastest(runs_of, library):
    """The variant of a library with the least median, or None."""
    median = lambda key: statistics.median(run["seconds"] for run in runs_of[key])
    return min((key for key in runs_of if key[0] == library), key=median, default=None)


def contested(contest, asked, threads_counts, scale, tell):
    """All figures of one graph: rows of two tables, entries of `results.json`, and what answers differ in."""
    rows, loads, figures, unlike = [], [], [], []
    most = max(threads_counts)
    seconds = contest.loads(most)
    for library in contest.libraries:
        if library in seconds:
            loads.append([f"2^{scale}", library, milliseconds(seconds["evergraph"]), milliseconds(seconds[library]),
                          shown(ratio(seconds["evergraph"], seconds[library]))])
            figures.append(results.entry(
                SECTION, f"python.load.{library}.scale_{scale}", f"load from arrays, 2^{scale} vertices",
                seconds["evergraph"], library, seconds[library], {"graph": "directed"}))
    for comparison in (each for each in COMPARISONS if each.name in asked):
        for library, variant, same, note in contest.agreements(comparison, most):
            if not same:
                unlike.append(f"{comparison.name}, {library} {variant}: {note}")
            elif note:
                tell(f"{comparison.name}, {library} {variant}: {note}")
        for threads in threads_counts:
            runs_of, failed = contest.times(comparison, threads)
            runs = runs_of["evergraph", ""]
            ours = [run["seconds"] for run in runs]
            for library in contest.libraries:
                best = fastest(runs_of, library)
                errors = [error for (who, _), error in failed.items() if who == library]
                if best is None:
                    if errors:
                        rows.append([f"2^{scale}", comparison.name, str(threads), library, milliseconds(ours), errors[0],
                                     "", ""])
                    continue
                theirs = [run["seconds"] for run in runs_of[best]]
                loaded = [[each + run for each, run in zip(load, times, strict=False)]
                          for load, times in ((seconds["evergraph"], ours), (seconds[library], theirs))]
                rows.append([f"2^{scale}", comparison.name, str(threads), f"{library} {best[1]}", milliseconds(ours),
                             milliseconds(theirs), shown(ratio(ours, theirs)), shown(ratio(*loaded))])
                tell("  ".join(rows[-1]))
                spent = [[run["spent"] for run in each] for each in (runs, runs_of[best])]
                repeated = sum(run["repeats"] for each in (runs, runs_of[best]) for run in each)
                plural = "" if threads == 1 else "s"
                figures.append(results.entry(
                    SECTION, f"python.library.{comparison.name}.scale_{scale}.threads_{threads}",
                    f"{comparison.name}, 2^{scale} vertices, {threads} thread{plural}", ours, library, theirs,
                    {"graph": comparison.graph, "variant": best[1]}, spent, repeated))
    return rows, loads, figures, unlike


def main():
    parser = argparse.ArgumentParser(description="From Python, beside networkx, networkit, igraph and Ladybug")
    parser.add_argument("program", type=Path, help="the built program evergraph, which generates graphs")
    parser.add_argument("--scales", default="18,20", help="2^N vertices with 16 edges each [18,20]")
    parser.add_argument("--networkx-scale", type=int, default=16, help="the graph beside NetworkX; 0 for none [16]")
    parser.add_argument("--libraries", default="networkit,igraph,ladybug", help="beside which, but NetworkX")
    parser.add_argument("--only", default=ASKED, help=f"these algorithms [{ASKED}]")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each [5]")
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}", help="numbers of threads [1 and all]")
    parser.add_argument("--quick", action="store_true", help="scale 14, beside NetworkX 10, 3 rounds")
    parser.add_argument("--seconds-max", type=int, default=120, help="the longest that a run may take [120]")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    scales = [14] if chosen.quick else [int(scale) for scale in chosen.scales.split(",") if scale]
    networkx_scale = min(10, chosen.networkx_scale) if chosen.quick else chosen.networkx_scale
    rounds = 3 if chosen.quick else chosen.rounds
    threads = sorted({int(count) for count in chosen.threads.split(",")})
    contests = [(scale, chosen.libraries.split(",")) for scale in scales]
    contests += [(networkx_scale, ["networkx"])] if networkx_scale else []

    program = Evergraph(chosen.program)
    versions = {"evergraph": evergraph.__version__} | {library: version(library) for library in RUNS}
    print(f"{versions}\n{machine()}\nMedian of {rounds} runs in turn, ms.\n")
    rows, loads, figures, unlike = [], [], [], []
    for scale, libraries in contests:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            contest = Contest(program, Path(folder), scale, rounds, libraries, chosen.seconds_max)
            stack.callback(contest.end)
            done = contested(contest, chosen.only.split(","), threads, scale, lambda line: print(line, file=sys.stderr))
            for all_of_it, of_scale in zip((rows, loads, figures, unlike), done, strict=True):
                all_of_it += of_scale
    print(markdown(["vertices", "beside", "load, ours", "theirs", "ours / theirs"], loads))
    print()
    print(markdown(["vertices", "algorithm", "threads", "beside", "ours", "theirs", "ours / theirs", "with the load"], rows))
    if chosen.results:
        results.add(chosen.results, SECTION, figures, NOTES)
    if unlike:
        sys.exit("answers differ:\n" + "\n".join(unlike))


if __name__ == "__main__":
    main()
