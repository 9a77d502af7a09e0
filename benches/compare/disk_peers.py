"""The disk engine beside DuckDB and Ladybug: a graph of several times the memory, imported and analysed.

What: an R-MAT graph with a weight an edge, as CSV, into a new database by each; then BFS, SSSP, components and PageRank
(20 rounds). Every import and every run is a process of its own, two threads each, and they take turns. Ours is
`evergraph import --engine disk` and `evergraph run`, within `--memory-limit`; DuckDB has the same as its `memory_limit`
(`duckdb_disk.py`: loops of joins), Ladybug as its buffer pool (`ladybug_disk.py`: Cypher). Who says that this memory is
too little gets four times as much, up to 64 times, and the table says what it got. Who takes too long is named so.

Times: imports are whole ours, and theirs from opening the database to having closed it; runs are freezing and kernel
ours, and their queries, opening in none. Peak memory is the process's, Python and library included. Answers are held
side by side: how many vertices are reached and the sum of distances, components, the largest score and the sum of squares.

Run it with `make bench-disk-peers`. It lies if other programs are busy; if the graph fits the memory (it says how many
times the limit our files are); and in favour of the others, whose files the system's cache may hold whole, as they read
through it, where ours are read past it. This process imports no library: a child's peak, as the system tells it, is at
least what its parent had.
"""

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

import results
from measured_child import run
from tables import machine, markdown, ratio, shown

HERE = Path(__file__).parent
MIB = 1 << 20
PAGERANK = {"damping": 0.85, "iterations": 20}
#: What follows `evergraph run DATABASE`, and what both sides must agree in.
ALGORITHMS = {
    "bfs": ("BFS", ["bfs", "--source", "{source}"]),
    "sssp": ("SSSP", ["sssp", "--source", "{source}"]),
    "wcc": ("components", ["wcc"]),
    "pagerank": (f"PageRank, {PAGERANK['iterations']} rounds",
                 ["pagerank", "--iterations", PAGERANK["iterations"], "--damping", PAGERANK["damping"]]),
}
#: How much of the limit a peer gets until it has enough.
FACTORS = (1, 4, 16, 64)
#: What errors say of memory, in any case of letters.
TOO_LITTLE = ("out of memory", "buffer manager", "buffer pool", "bad_alloc", "failed to allocate", "unable to allocate")
#: Scores are compared so closely; all else is exact.
TOLERANCE = 1e-6
#: Bytes of disk an edge at most: its line of CSV, what imports sort, three databases and copies of one.
DISK_BYTES = 120
#: How values of each unit are shown.
SHOWN = {"s": "{:,.2f} s".format, "1/s": lambda value: f"{value / 1e6:.2f} M/s",
         "B": lambda value: f"{value / MIB:,.0f} MiB", "B/edge": "{:.1f} B".format}
SECTION = "Disk engine beside DuckDB and Ladybug"
NOTES = [
    "imports: ours the whole process, theirs from opening the database to having closed it; a process each, two threads",
    "runs: ours freezing and kernel, theirs the queries; DuckDB's are loops of joins, Ladybug's are SHORTEST, WSHORTEST and "
    "rounds of Cypher that set properties, as its extension algo is a download from its makers' server, not in its package",
    "the others read through the system's cache, which may hold their files whole; ours reads past it",
    "peak memory is of whole processes, Python and library included",
]


@dataclass
class Graph:
    """The files, and what is known of them."""

    folder: Path
    vertices: int
    edges: int
    source: int

    def files(self):
        """The files of vertices and edges."""
        return [self.folder / "Vertex.csv", self.folder / "EDGE.csv"]


@dataclass
class Done:
    """What a run took: seconds, of the whole process, the most memory, the answer, and the memory that it was given."""

    seconds: float
    spent: dict
    peak: int
    answer: dict
    factor: int = 1


@dataclass
class Ours:
    """The program evergraph."""

    chosen: argparse.Namespace
    folder: Path
    name: str = "evergraph"
    title: str = "Evergraph"

    def database(self):
        """Where it is."""
        return self.folder / "graph.eg"

    def command(self, *words):
        """A command within the limit."""
        options = ["--memory-limit", f"{self.chosen.limit}MiB", "--threads", self.chosen.threads, "--json", "--no-config"]
        return run([self.chosen.program, *words, *options], seconds_max=self.chosen.seconds_max)

    def load(self, graph):
        """An import into a new database."""
        removed(self.database())
        done = self.command("import", self.database(), *graph.files(), "--engine", "disk")
        if "error" in done:
            return done["error"]
        return Done(done["spent"]["wall"], done["spent"], done["peak"], {"edges": done["said"]["edges_count"]})

    def run(self, algorithm, graph):
        """A run; its answer goes through a file, whose writing isn't timed."""
        file = self.folder / "answer.parquet"
        words = [str(word).format(source=graph.source) for word in ALGORITHMS[algorithm][1]]
        done = self.command("run", self.database(), *words, "--output", file, "--overwrite")
        if "error" in done:
            return done["error"]
        seconds = done["said"]["seconds"]
        answer = json.loads(subprocess.run(
            [sys.executable, HERE / "answer_sums.py", algorithm, file], check=True, capture_output=True, text=True).stdout)
        return Done(seconds["freeze"] + seconds["kernel"], done["spent"], done["peak"], answer)


@dataclass
class Peer:
    """Another database, in a child a run."""

    chosen: argparse.Namespace
    folder: Path
    name: str
    title: str
    #: Runs that change the database.
    changing: tuple = ()
    #: What it could not do, with how much memory.
    refusals: list = field(default_factory=list)

    def database(self):
        """Where it is."""
        return self.folder / f"graph.{self.name}"

    def ask(self, what, request, prepare):
        """The reply to a request, with as much memory as it takes."""
        for factor in FACTORS:
            prepare()
            # Beside a database that may be read only.
            with tempfile.TemporaryDirectory(dir=self.folder) as temporary:
                asked = request | {"run": what, "threads": self.chosen.threads, "temporary": temporary,
                                   "memory_bytes": factor * self.chosen.limit * MIB}
                done = run([sys.executable, HERE / f"{self.name}_disk.py", json.dumps(asked)],
                           seconds_max=self.chosen.seconds_max)
            if done.get("late"):
                return done["error"]
            error = done.get("error") or done["said"].get("error")
            if error is None:
                return Done(done["said"]["seconds"], done["spent"], done["peak"], done["said"]["answer"], factor)
            # The first line says what; others may give advice.
            error = "cannot: " + " ".join(error.partition("\n")[0].split())
            self.refusals.append(f"{self.title}, {what}, {factor * self.chosen.limit} MiB: {error}")
            if not any(words in error.lower() for words in TOO_LITTLE):
                return error
        return error

    def load(self, graph):
        """An import into a new database."""
        vertices, edges = map(str, graph.files())
        request = {"database": str(self.database()), "vertices_csv": vertices, "edges_csv": edges}
        return self.ask("import", request, lambda: removed(self.database()))

    def run(self, algorithm, graph):
        """A run of an algorithm."""
        if not self.database().exists():
            return "no database"
        database, copy = self.database(), self.folder / f"copy.{self.name}"

        def copied():
            removed(copy)
            for part in parts(database):
                to = self.folder / part.name.replace(database.name, copy.name, 1)
                shutil.copytree(part, to) if part.is_dir() else shutil.copy(part, to)

        changes = algorithm in self.changing
        request = {"database": str(copy if changes else database), "source": graph.source, "vertices": graph.vertices}
        done = self.ask(algorithm, request | PAGERANK, copied if changes else lambda: None)
        removed(copy)
        return done


def parts(database):
    """The files or folders of a database: itself, and what has the same name and another ending behind."""
    name = database.name
    return [each for each in database.parent.iterdir() if each.name == name or each.name.startswith(name + ".")]


def removed(database):
    """Removes a database, if it is there."""
    for part in parts(database):
        shutil.rmtree(part) if part.is_dir() else part.unlink()


def size(database):
    """Bytes of its files."""
    return sum(file.stat().st_size for part in parts(database)
               for file in (part.rglob("*") if part.is_dir() else [part]) if file.is_file())


def differences(ours, theirs):
    """What of two answers differs, as text."""
    def same(mine, other):
        return math.isclose(mine, other, rel_tol=TOLERANCE) if isinstance(mine, float) else mine == other

    return [f"{key} {ours[key]}, not {theirs[key]}" for key in ours if not same(ours[key], theirs[key])]


class Table:
    """Figures of ours and of the others, with those that have none."""

    def __init__(self, contenders):
        self.contenders, self.rows, self.entries, self.notes = contenders, [], [], []

    def add(self, name, title, unit, rounds, value):
        """One figure: `rounds` has what each did, by its name; or, as text, why it didn't."""
        show = SHOWN[unit]
        ours, *others = self.contenders
        mine = rounds[ours.name]
        known = not isinstance(mine, str)
        values = [value(done) for done in mine] if known else []
        cells = [title, show(statistics.median(values)) if known else mine]
        for peer in others:
            theirs = rounds[peer.name]
            if isinstance(theirs, str):
                cells += [theirs, self.bound(values, theirs) if unit == "s" else ""]
                if unit == "s":
                    self.notes.append(f"{title}: {peer.title}: {theirs}")
                continue
            factors = sorted({done.factor for done in theirs})
            more = "".join(f", with {factor} times the limit" for factor in factors if factor > 1)
            other = [value(done) for done in theirs]
            cells += [show(statistics.median(other)) + more, shown(ratio(values, other)) if known else ""]
            if known:
                settings = {"memory limit": f"{ours.chosen.limit} MiB",
                            "of the peer": f"{factors[-1] * ours.chosen.limit} MiB"}
                spent = [[done.spent for done in each] for each in (mine, theirs)]
                self.entries.append(results.entry(
                    SECTION, f"disk.peers.{name}", title, values, peer.name, other, settings,
                    spent if unit == "s" else ((), ()), unit=unit))
        self.rows.append(cells)
        print(*cells, sep="  ", file=sys.stderr, flush=True)

    @staticmethod
    def bound(values, text):
        """What a ratio is at most, beside one that took longer than it may."""
        if values and text.startswith("longer than"):
            return f"less than {statistics.median(values) / float(text.split()[2]):.2g}"
        return ""

    def head(self):
        """Its head."""
        return ["", self.contenders[0].title, *(cell for peer in self.contenders[1:]
                                                for cell in (peer.title, "ours / theirs"))]


def in_turn(contenders, rounds, what):
    """What each did in each round, by its name; or, as text, why it didn't, after which it takes no more part."""
    done = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        for turn in range(len(contenders)):
            contender = contenders[(number + turn) % len(contenders)]
            if not isinstance(done[contender.name], str):
                outcome = what(contender)
                if isinstance(outcome, str):
                    done[contender.name] = outcome
                else:
                    done[contender.name].append(outcome)
    return done


def agree(title, done):
    """Ends the script if answers differ."""
    ours, *others = [(name, each[-1].answer) for name, each in done.items() if not isinstance(each, str)] or [("", {})]
    for name, theirs in others:
        different = differences(ours[1], theirs)
        if different:
            sys.exit(f"answers differ: {title}: {ours[0]} has {', '.join(different)}, which is {name}'s")


def measure(contenders, graph, chosen):
    """All of it: the table."""
    table = Table(contenders)
    print(f"{graph.edges:,} edges in {sum(file.stat().st_size for file in graph.files()):,} bytes of CSV",
          file=sys.stderr, flush=True)
    loads = in_turn(contenders, chosen.rounds, lambda contender: contender.load(graph))
    agree("edges", loads | {"the files": [Done(0, {}, 0, {"edges": graph.edges})]})
    table.add("import", "import of CSV", "s", loads, attrgetter("seconds"))
    table.add("import.rate", "edges imported a second", "1/s", loads, lambda done: graph.edges / done.seconds)
    table.add("import.memory", "peak memory of it", "B", loads, attrgetter("peak"))
    sizes = {each.name: loads[each.name] if isinstance(loads[each.name], str) else
             [Done(0, {}, 0, {"bytes": size(each.database())}, loads[each.name][-1].factor)] for each in contenders}
    table.add("bytes", "bytes of files an edge", "B/edge", sizes, lambda done: done.answer["bytes"] / graph.edges)
    if not isinstance(sizes[contenders[0].name], str):
        times = sizes[contenders[0].name][0].answer["bytes"] / (chosen.limit * MIB)
        table.notes.append(f"our files are {times:.1f} times the limit"
                           + ("" if times >= 4 else ": less than the four that figures beyond memory need"))
    here = [each for each in contenders if not isinstance(loads[each.name], str)]
    for algorithm in chosen.only.split(",") if chosen.only else ALGORITHMS:
        title = ALGORITHMS[algorithm][0]
        done = {each.name: "no database" for each in contenders if each not in here}
        done |= in_turn(here, chosen.rounds, lambda contender, what=algorithm: contender.run(what, graph))
        agree(title, done)
        table.add(algorithm, title, "s", done, attrgetter("seconds"))
        table.add(f"{algorithm}.memory", f"peak memory of {title}", "B", done, attrgetter("peak"))
    return table


def main():
    parser = argparse.ArgumentParser(description="The disk engine beside DuckDB and Ladybug, each with little memory")
    parser.add_argument("program", type=Path, help="the built program evergraph")
    parser.add_argument("--scale", type=int, default=20, help="2^N vertices [20]")
    parser.add_argument("--edge-factor", type=int, default=32, help="edges a vertex [32]")
    parser.add_argument("--limit", type=int, default=64, help="MiB of memory that each has, 64 or more [64]")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each [1]")
    parser.add_argument("--threads", type=int, default=2, help="threads of each [2]")
    parser.add_argument("--seconds-max", type=float, default=900, help="the longest that an import or a run may take [900]")
    parser.add_argument("--peers", default="duckdb,ladybug", help="beside these, commas between [%(default)s]")
    parser.add_argument("--only", help=f"these algorithms, commas between: {','.join(ALGORITHMS)}")
    parser.add_argument("--folder", type=Path, help="where files go, on the disk that is measured [beside the program]")
    parser.add_argument("--quick", action="store_true", help="scale 12, to see whether it works")
    parser.add_argument("--json", type=Path, help="write the table and all notes to this file too")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    scale = 12 if chosen.quick else chosen.scale
    parent = (chosen.folder or chosen.program.parent).resolve()
    chosen.program = chosen.program.resolve()

    bytes_wanted = DISK_BYTES * (chosen.edge_factor << scale)
    if shutil.disk_usage(parent).free < bytes_wanted:
        sys.exit(f"{parent} has less than the {bytes_wanted / 1e9:.1f} GB that this may take: choose --folder or --scale")
    versions = {"evergraph": said(chosen.program, "--version")}
    versions |= {name: said(sys.executable, "-c", f"import {name}; print({name}.__version__)")
                 for name in chosen.peers.split(",")}
    print(f"{versions}\n{machine()}\n2^{scale} vertices, {chosen.edge_factor} edges each; limit {chosen.limit} MiB; "
          f"{chosen.threads} threads; median of {chosen.rounds} runs in turn\n", flush=True)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        folder = Path(folder)
        made = json.loads(said(sys.executable, HERE / "weighted_csv.py", chosen.program, folder, scale, chosen.edge_factor))
        graph = Graph(folder, made["vertices"], made["edges"], made["source"])
        peers = {"duckdb": Peer(chosen, folder, "duckdb", "DuckDB"),
                 "ladybug": Peer(chosen, folder, "ladybug", "Ladybug", ("wcc", "pagerank"))}
        contenders = [Ours(chosen, folder), *(peers[name] for name in chosen.peers.split(","))]
        table = measure(contenders, graph, chosen)
    print(markdown(table.head(), table.rows))
    notes = [*NOTES, *table.notes, *(refusal for peer in contenders[1:] for refusal in peer.refusals)]
    print("\n" + "\n".join(f"- {note}" for note in notes))
    if chosen.json:
        report = {"machine": machine(), "versions": versions, "scale": scale, "edges": graph.edges, "limit": chosen.limit,
                  "rounds": chosen.rounds, "entries": table.entries, "notes": notes}
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")
    if chosen.results:
        results.add(chosen.results, SECTION, table.entries, notes)


def said(*command):
    """What a command prints."""
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


if __name__ == "__main__":
    main()
