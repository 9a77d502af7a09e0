"""Evergraph beside TinkerGraph and Neo4j, embedded: the same edges, loaded, read and computed on, in turn.

What: an R-MAT graph of `evergraph generate`, whose vertices are there before anything is timed, and

    load        the first million edges, 1,000 a transaction; some one a transaction; bytes an edge of the whole graph
    read        the neighbours of random vertices; the targets of all edges
    algorithms  PageRank (20 iterations), BFS, WCC: over the peer's API, and over a copy in arrays
    computer    PageRank by TinkerPop's own program

Runs in the last two are long, so that their graphs are smaller.

Each engine lives in a process that stays and gets requests in turn. Ours is the Python package in a Python program
(`evergraph_worker.py`), theirs are Java programs over their own Java API (`jvm/`). TinkerGraph is neither transactional
nor durable, so it stands beside our database in memory; Neo4j syncs every commit, so it stands beside our mode `sync`.
The first rounds are not counted: by then the JVM has compiled what is hot. Neither brings algorithms that run where
the data is, but for TinkerPop's GraphComputer: kernels are written once in plain Java (`Kernels.java`), of one thread,
as ours then is; the copy is what a library beside them would make. The script ends if an answer differs.

Run it with `make bench-jvm`. It lies if other programs are busy; if the graph fits the cache (`--quick`); for BFS, of
which another source is another time; and a little for short runs in a JVM, whose garbage another run collects.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy

import graphs
import results
from comparisons import COMPARISONS, ITERATIONS, difference
from evergraph_program import Evergraph
from peer import Child
from tables import machine, markdown, milliseconds, ratio, shown

HERE = Path(__file__).parent
BATCH = 1000
#: Untimed loads go in transactions of so many.
BULK = 100_000
#: Scores are the same sums here, so they may be closer than those of libraries that stop by themselves.
KERNELS = {each.name: replace(each, tolerance=1e-9) for each in COMPARISONS if each.name in ("pagerank", "bfs", "wcc")}
#: Neo4j's manual: the same initial and maximal heap; its neo4j.conf: this collector, pages touched at the start.
#: TinkerPop's documentation advises nothing: the same for it.
JAVA = ["-XX:+UseG1GC", "-XX:+AlwaysPreTouch"]
#: What they need to look into the JVM's own memory, as Neo4j's start script has it.
OPENED = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED",
          "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED"]
TITLES = {"tinkergraph": "TinkerGraph", "neo4j": "Neo4j", "janusgraph": "JanusGraph"}
ENGINES = {"tinkergraph": "TinkerGraphEngine", "neo4j": "Neo4jEngine", "janusgraph": "JanusGraphEngine"}
#: Which of our databases stands beside whom when it is written to, and how many edges go one a transaction.
#: JanusGraph is only asked, by `query_peers.py`.
OURS = {"tinkergraph": "memory", "neo4j": "sync"}
SINGLES = {"tinkergraph": 200_000, "neo4j": 5_000}
#: Edges that a timed load has at most: of the whole graph Neo4j's commits would take minutes.
LOADED_MAX = 1_000_000
#: How many powers of two the graph of a part is smaller: on the whole one a run over an API takes a minute,
#: one of the GraphComputer minutes.
SMALLER = {"algorithms": 3, "computer": 3}
NOTES = {
    "load": [
        "ours from Python, theirs from Java; vertices are there before; ends are looked up by number",
        "TinkerGraph has no transactions and no disk, ours beside it is in memory; Neo4j syncs each commit, ours does",
        "bytes an edge, of the whole graph: ours what the lists take, TinkerGraph's objects on the heap, Neo4j's store "
        "files without its logs and its heap",
    ],
    "read": [
        "one thread that asks; ours are Arrow tables and arrays in Python, of a database in memory; theirs visits",
    ],
    "algorithms": [
        "ours: a new snapshot, freeze, kernel, the answer in Python's hands; of one thread",
        "over its API: kernels in plain Java of one thread, by the store's own look-ups; copied and run: one pass over "
        "its edges into arrays, and the same kernels there",
    ],
    "computer": [
        "all threads, on a smaller graph; ours as in the part algorithms",
    ],
}


class Contest:
    """The graph, and everybody who works on it."""

    def __init__(self, chosen, peer, graph, folder, children):
        self.chosen, self.peer, self.folder, self.children = chosen, peer, folder, children
        self.vertices, self.ends = graph
        self.edges = self.ends.shape[1]
        self.ends.T.astype("<i4").tofile(folder / "edges.bin")
        asked = numpy.random.default_rng(1).integers(0, self.vertices, min(100_000, self.vertices))
        asked.astype("<i4").tofile(folder / "asked.bin")
        self.asked = asked.size
        self.asked_edges = int(numpy.bincount(self.ends[0], minlength=self.vertices)[asked].sum())
        self.asked_sum = int(numpy.bincount(self.ends[0], self.ends[1], self.vertices)[asked].sum())
        self.source = int(numpy.bincount(self.ends[0]).argmax())

    def ours(self, kind, threads=None):
        """Our package in a process, on a folder of its own; of so many threads, or one a processor."""
        folder = self.folder / f"ours_{kind}_{threads}"
        folder.mkdir()
        for name in ("edges.bin", "asked.bin"):
            (folder / name).symlink_to(self.folder / name)
        environment = [] if threads is None else [f"RAYON_NUM_THREADS={threads}"]
        return self.child(["env", *environment, sys.executable, HERE / "evergraph_worker.py", kind, folder])

    def theirs(self):
        """The peer in its JVM."""
        heap, built = self.chosen.heap, self.chosen.jvm / self.peer
        return self.child([
            "java", f"-Xms{heap}", f"-Xmx{heap}", *JAVA, *OPENED, "-cp", f"{built}/classes:{built}/lib/*",
            "evergraph.peers.Worker", ENGINES[self.peer], self.folder])

    def child(self, command):
        return self.children.enter_context(Child(command, self.chosen.seconds_max))

    def loaded(self, child):
        """The same child, with all edges."""
        asked(child, run="create", vertices=self.vertices)
        asked(child, **{"run": "insert", "from": 0, "to": self.edges, "batch": BULK})
        return child

    def in_turn(self, contestants, warmups=None):
        """Replies of every contestant, a list of one a round.

        Another begins in each round; those of the first rounds, `warmups`, are not kept.
        """
        warmups = self.chosen.warmups if warmups is None else warmups
        replies = {name: [] for name in contestants}
        names = list(contestants)
        for number in range(-warmups, self.chosen.rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                reply = contestants[name]()
                if number >= 0:
                    replies[name].append(reply)
        return replies

    def agree(self, kernel, ours, theirs, run):
        """Ends the script unless their run's answer is that of our kernel."""
        files = self.folder / "ours", self.folder / "theirs"
        asked(ours, run=kernel, source=self.source, answer=str(files[0]))
        asked(theirs, run=run, source=self.source, answer=str(files[1]))
        kind = "<f8" if kernel == "pagerank" else "<i4"
        same, note = difference(KERNELS[kernel], *(numpy.fromfile(file, dtype=kind) for file in files), self.ends)
        if not same:
            sys.exit(f"answers differ: {run} of {self.peer}: {note}")


def built(chosen):
    """Those of the chosen peers that are there; of others it says that they are skipped."""
    for peer in chosen.peers.split(","):
        if peer not in ENGINES or (chosen.jvm / peer / "lib").exists():
            yield peer
        else:
            print(f"\n{TITLES[peer]} is skipped: Maven built nothing of it in {chosen.jvm / peer}", flush=True)


def asked(child, **request):
    """The reply to one request; the script ends with what went wrong."""
    reply = child.ask(request)
    if "error" in reply:
        sys.exit(f"{' '.join(child.command[-3:])}: {request}: {reply['error']}")
    return reply


def settings_of(pair):
    """What each of them says of its version, and of what was set."""
    return {name: json.dumps(asked(child, run="settings")["settings"]) for name, child in pair.items()}


class Figures:
    """What is shown and kept of one part: a row of the table and an entry for each figure."""

    def __init__(self, part, peer, title):
        self.section, self.peer = f"Beside {title}, embedded: {part}", peer
        self.rows, self.entries = [], []

    def add(self, name, title, ours, theirs, count=None, settings=None):
        """Seconds of both, of replies of the same rounds; `count` edges are done in them."""
        mine, other = ([reply["seconds"] for reply in replies] for replies in (ours, theirs))
        spent = [[reply["spent"] for reply in replies] for replies in (ours, theirs)]
        self.entries.append(results.entry(
            self.section, f"jvm.{name}", title, mine, self.peer, other, settings or {}, spent))
        rates = ["", ""] if count is None else [f"{count / statistics.median(each):,.0f}" for each in (mine, other)]
        self.show(title, milliseconds(mine), milliseconds(other), ratio(mine, other), rates)

    def add_bytes(self, name, title, ours, theirs):
        """Bytes an edge of both."""
        self.entries.append(results.entry(
            self.section, f"jvm.{name}", title, ours, self.peer, theirs, {}, unit="B/edge"))
        mine, other = (f"{statistics.median(each):.1f} B" for each in (ours, theirs))
        self.show(title, mine, other, ratio(ours, theirs), ["", ""])

    def show(self, title, mine, other, divided, rates):
        self.rows.append([title, mine, other, shown(divided), *rates])
        print(*self.rows[-1], sep="  ", file=sys.stderr)


def load(contest, figures):
    """Every round: a new store, edges in batches, then some alone. What an edge takes is asked before."""
    kind, edges = OURS[contest.peer], min(LOADED_MAX, contest.edges)
    singles = min(SINGLES[contest.peer], edges)
    pair = {"ours": contest.ours(kind), "theirs": contest.theirs()}

    def insert(child, last, batch):
        return asked(child, **{"run": "insert", "from": 0, "to": last, "batch": batch})

    def bytes_an_edge(child):
        asked(child, run="create", vertices=contest.vertices)
        before = asked(child, run="bytes")["said"]
        insert(child, contest.edges, BULK)
        return (asked(child, run="bytes")["said"] - before) / contest.edges

    def whole(child):
        asked(child, run="create", vertices=contest.vertices)
        return {"batches": insert(child, edges, BATCH), "single": insert(child, singles, 1)}

    each_takes = [[bytes_an_edge(child)] for child in pair.values()]
    done = contest.in_turn({name: partial(whole, child) for name, child in pair.items()})
    settings = settings_of(pair)
    ours, theirs = ({key: [each[key] for each in replies] for key in replies[0]} for replies in done.values())
    commits = "synced" if kind == "sync" else "in memory"
    for key, batch, count in (("batches", f"{BATCH:,} a transaction", edges), ("single", "one a transaction", singles)):
        figures.add(f"load.{key}", f"{count:,} edges, {batch}, {commits}", ours[key], theirs[key], count, settings)
    figures.add_bytes("load.bytes", "bytes an edge", *each_takes)


def read(contest, figures):
    """Neighbours of random vertices, and all edges; sums tell whether all saw the same."""
    pair = {"ours": contest.loaded(contest.ours("memory", 1)), "theirs": contest.loaded(contest.theirs())}
    for run, title, count, expected in (
        ("neighbors", f"neighbours of {contest.asked:,} random vertices", contest.asked_edges, contest.asked_sum),
        ("scan", "all edges", contest.edges, int(contest.ends[1].sum())),
    ):
        done = contest.in_turn({name: partial(asked, child, run=run) for name, child in pair.items()})
        for name, replies in done.items():
            if {reply["said"] for reply in replies} != {expected}:
                sys.exit(f"answers differ: {title}: {name} are {replies[-1]['said']}, not {expected}")
        figures.add(f"read.{run}", title, *done.values(), count)


def algorithms(contest, figures):
    """Every kernel over the peer's API, and over a copy in arrays together with making it."""
    ours, theirs = contest.loaded(contest.ours("memory", 1)), contest.loaded(contest.theirs())

    def run(child, what):
        return asked(child, run=what, source=contest.source)

    def copied(kernel):
        return both(run(theirs, "copy"), run(theirs, f"{kernel} of the copy"))

    run(theirs, "copy")
    for kernel in KERNELS:
        title = f"{kernel}, {ITERATIONS} iterations" if kernel == "pagerank" else kernel
        # One round more before those that count.
        contest.agree(kernel, ours, theirs, kernel)
        contest.agree(kernel, ours, theirs, f"{kernel} of the copy")
        done = contest.in_turn({"ours": partial(run, ours, kernel), "api": partial(run, theirs, kernel),
                                "copy": partial(copied, kernel)}, contest.chosen.warmups - 1)
        figures.add(f"run.{kernel}.api", f"{title}, over its API", done["ours"], done["api"])
        figures.add(f"run.{kernel}.copy", f"{title}, copied and run", done["ours"], done["copy"])


def computer(contest, figures):
    """PageRank by TinkerPop's own program for it."""
    if contest.peer != "tinkergraph":
        return
    ours, theirs = contest.loaded(contest.ours("memory")), contest.loaded(contest.theirs())
    contest.agree("pagerank", ours, theirs, "own pagerank")
    both_ways = {"ours": partial(asked, ours, run="pagerank"), "theirs": partial(asked, theirs, run="own pagerank")}
    done = contest.in_turn(both_ways, contest.chosen.warmups - 1)
    figures.add("run.pagerank.computer", f"pagerank, {ITERATIONS} iterations, GraphComputer", *done.values())


def both(first, then):
    """Two replies as one."""
    spent = {key: first["spent"][key] + then["spent"][key] for key in ("wall", "cpu")}
    return {"seconds": first["seconds"] + then["seconds"], "spent": spent}


PARTS = {"load": load, "read": read, "algorithms": algorithms, "computer": computer}


def main():
    parser = argparse.ArgumentParser(description="Evergraph beside TinkerGraph and Neo4j embedded")
    parser.add_argument("program", type=Path, help="the built program evergraph, which makes the graph")
    parser.add_argument("jvm", type=Path, help="where Maven built jvm/: a folder a peer")
    parser.add_argument("--scale", type=int, default=18, help="2^N vertices with 16 edges each [18]")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count [5]")
    parser.add_argument("--warmups", type=int, default=2, help="rounds before, which don't [2]")
    parser.add_argument("--quick", action="store_true", help="scale 14, to see whether it works")
    parser.add_argument("--only", default=",".join(PARTS), help="these parts, with commas between")
    parser.add_argument("--peers", default=",".join(OURS), help="beside these, commas between [%(default)s]")
    parser.add_argument("--heap", default="4g", help="of each JVM [4g]")
    parser.add_argument("--seconds-max", type=int, default=300, help="the longest that a request may take [300]")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    chosen.jvm = chosen.jvm.resolve()

    java = subprocess.run(["java", "-version"], check=True, capture_output=True, text=True).stderr.splitlines()[0]
    print(f"{Evergraph(chosen.program).version()}, {java}, heap {chosen.heap}, {' '.join(JAVA)}\n{machine()}")
    for peer in built(chosen):
        for part in chosen.only.split(","):
            scale = (14 if chosen.quick else chosen.scale) - SMALLER.get(part, 0)
            figures = Figures(part, peer, TITLES[peer])
            with ExitStack() as children:
                folder = Path(children.enter_context(tempfile.TemporaryDirectory(dir=chosen.jvm)))
                graph = 2**scale, graphs.generated(Evergraph(chosen.program), folder, scale)
                contest = Contest(chosen, peer, graph, folder, children)
                PARTS[part](contest, figures)
            if not figures.rows:
                continue
            print(f"\n{figures.section}. {contest.vertices:,} vertices, {contest.edges:,} edges; medians of "
                  f"{chosen.rounds} rounds after {chosen.warmups}, ms\n")
            head = ["", "ours", f"{TITLES[peer]}'s", "ours / theirs", "ours, edges/s", "theirs"]
            print(markdown(head, figures.rows), flush=True)
            for whose, said in figures.entries[0]["settings"].items():
                print(f"{whose}: {said}")
            if chosen.results:
                results.add(chosen.results, figures.section, figures.entries, NOTES[part])


if __name__ == "__main__":
    main()
