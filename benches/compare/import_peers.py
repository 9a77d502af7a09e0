"""Imports beside DuckDB and Ladybug: the same files, load by load in turn.

What: an R-MAT graph of 2^20 vertices and 16 edges a vertex, exported by us as CSV with Neo4j's headers
(plain, gzip, zstd), Parquet and an edge list, then loaded into a new database by each, two threads each.
Ours is the whole process; theirs is from opening the database to having closed it, without the start of
Python (`duckdb_load.py`, `ladybug_load.py`). Peak memory is the process's, Python and library included.
Files are in the system's cache: a cold disk is slower for all.

What is built differs: Evergraph and Ladybug find the vertex of every id and keep the edges of both
directions sorted by vertex; DuckDB keeps a table of pairs as they come. So DuckDB's time is a floor of
what reading the files costs, not the price of a graph.

A second table shows ours of 20 edges a vertex within 2 GiB of address space, told to take 256 MiB for
rows and told nothing. Run both with `make compare`. It lies if other programs are busy, though less in ratios.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import duckdb
import ladybug

import results
from evergraph_program import Evergraph
from measured_child import run
from tables import machine, markdown, ratio, shown

HERE = Path(__file__).parent
#: What `evergraph export` is told, and what the two files are to the others.
FORMS = {
    "CSV": (["--format", "csv"], "csv", "Vertex.csv", "Vertex-EDGE-Vertex.csv"),
    "CSV, gzip": (["--format", "csv", "--pack", "gzip"], "csv", "Vertex.csv.gz", "Vertex-EDGE-Vertex.csv.gz"),
    "CSV, zstd": (["--format", "csv", "--pack", "zstd"], "csv", "Vertex.csv.zst", "Vertex-EDGE-Vertex.csv.zst"),
    "Parquet": (["--format", "parquet"], "parquet", "Vertex.parquet", "Vertex-EDGE-Vertex.parquet"),
    "edge list": (["--format", "edgelist"], "list", "vertices.v", "EDGE.e"),
}
LIMIT = 2 << 30


class Loads:
    """Files in each form, and what loads one into a new database."""

    def __init__(self, evergraph, folder, threads):
        self.evergraph, self.folder, self.threads = evergraph, folder, threads

    def make(self, scale, edge_factor, names):
        """Generates the graph and exports it; how many rows there are."""
        source = self.folder / "source.eg"
        said = self.evergraph.call("generate", "rmat", source, "--scale", scale, "--edge-factor", edge_factor)
        for name in names:
            self.evergraph.call("export", source, *FORMS[name][0], "--output", self.folder / name)
        self.rows, self.edges = said["vertices_count"] + said["edges_count"], said["edges_count"]
        shutil.rmtree(source)

    def files(self, name):
        """The files of vertices and edges."""
        return [self.folder / name / file for file in FORMS[name][2:]]

    def clean(self):
        """Removes the database that the last load made."""
        for made in self.folder.glob("loaded*"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()

    def ours(self, name, *options, limit=None):
        """One import of ours."""
        self.clean()
        command = [self.evergraph.program, "import", self.folder / "loaded.eg", *self.files(name),
                   "--threads", self.threads, "--json", "--no-config", *options]
        load = run(command, limit)
        if "error" in load:
            return load
        return {"seconds": load["spent"]["wall"], "spent": load["spent"], "peak": load["peak"],
                "edges": load["said"]["edges_count"]}

    def theirs(self, library, name):
        """One load of another's."""
        self.clean()
        command = [sys.executable, HERE / f"{library}_load.py", FORMS[name][1], *self.files(name),
                   self.folder / "loaded.db", self.threads]
        load = run(command)
        return load if "error" in load else load["said"] | {"peak": load["peak"], "spent": load["spent"]}

    def in_turn(self, name, rounds):
        """The loads of each, a list of one a round, or the first error of who can't."""
        loads = {"evergraph": [], "duckdb": [], "ladybug": []}
        for _ in range(rounds):
            for who, each in loads.items():
                if isinstance(each, list):
                    load = self.ours(name) if who == "evergraph" else self.theirs(who, name)
                    if "error" in load:
                        loads[who] = load["error"]
                    elif load["edges"] != self.edges:
                        loads[who] = f"{load['edges']:,} edges of {self.edges:,}"
                    else:
                        each.append(load)
        self.clean()
        return loads


def size(loads):
    """The median peak, in MiB."""
    return f"{statistics.median(load['peak'] for load in loads) / 2**20:,.0f}"


def seconds(loads):
    """The seconds of each load."""
    return [load["seconds"] for load in loads]


def row(name, loads, rows):
    """One line of the table of forms."""
    ours = loads["evergraph"]
    if isinstance(ours, str):
        return [name, ours, *[""] * 7]
    median = statistics.median(seconds(ours))
    cells = [name, f"{median:.2f}", f"{rows / median / 1e6:.1f}", size(ours)]
    for who in ("duckdb", "ladybug"):
        theirs = loads[who]
        if isinstance(theirs, str):
            cells += ["can't", "", ""]
        else:
            cells += [f"{statistics.median(seconds(theirs)):.2f}", size(theirs),
                      shown(ratio(seconds(ours), seconds(theirs)))]
    return cells


SECTION = "Imports beside other databases"
NOTES = [
    "the same files into a new database, two threads each, until it is closed; files are in the system's cache",
    "ours and Ladybug's look up both ends of every edge and keep sorted lists of both directions; DuckDB keeps pairs",
    "CPU / time is of whole processes, the start of Python included",
]


def entries(name, loads):
    """What `results.json` gets of one form of files: an entry for each database that can load it."""
    ours = loads["evergraph"]
    for who in ("duckdb", "ladybug"):
        if not isinstance(ours, str) and not isinstance(loads[who], str):
            figure = "import." + name.lower().replace(", ", "_").replace(" ", "_")
            spent = [[load["spent"] for load in each] for each in (ours, loads[who])]
            yield results.entry(
                SECTION, figure, f"import of {name}", seconds(ours), who, seconds(loads[who]), {}, spent)


def within_limit(loads, rounds):
    """Lines of the table of loads within `LIMIT`."""
    for name in ("CSV", "Parquet", "edge list"):
        for options in ([], ["--memory", "256M"]):
            each = [loads.ours(name, *options, limit=LIMIT) for _ in range(rounds)]
            failed = [load["error"] for load in each if "error" in load]
            if failed:
                yield [name, " ".join(options), failed[0], "", ""]
            else:
                median = statistics.median(seconds(each))
                yield [name, " ".join(options), f"{median:.2f}", f"{loads.rows / median / 1e6:.1f}", size(each)]
    loads.clean()


def main():
    parser = argparse.ArgumentParser(description="Imports beside DuckDB and Ladybug")
    parser.add_argument("program", type=Path, help="the built program evergraph")
    parser.add_argument("--scale", type=int, default=20, help="2^N vertices with 16 edges each [20]")
    parser.add_argument("--rounds", type=int, default=5, help="loads of each [5]")
    parser.add_argument("--threads", type=int, default=2, help="threads of each [2]")
    parser.add_argument("--only", help="these forms, with semicolons between")
    parser.add_argument("--quick", action="store_true", help="scale 16, 3 rounds")
    parser.add_argument("--json", type=Path, help="write every load to this file too")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    scale, rounds = (16, 3) if chosen.quick else (chosen.scale, chosen.rounds)
    names = chosen.only.split(";") if chosen.only else list(FORMS)

    evergraph = Evergraph(chosen.program)
    report = {
        "machine": machine(), "scale": scale, "rounds": rounds, "threads": chosen.threads, "loads": {},
        "versions": {"evergraph": evergraph.version(), "duckdb": duckdb.__version__, "ladybug": ladybug.__version__},
    }
    rows, figures = [], []
    with tempfile.TemporaryDirectory(dir=chosen.program.parent) as folder:
        loads = Loads(evergraph, Path(folder), chosen.threads)
        loads.make(scale, 16, names)
        print(f"{report['versions']}\n{report['machine']}\n{loads.rows:,} rows, {loads.edges:,} of them edges; "
              f"{chosen.threads} threads; median of {rounds} loads in turn\n")
        for name in names:
            each = loads.in_turn(name, rounds)
            report["loads"][name] = each
            rows.append(row(name, each, loads.rows))
            figures += entries(name, each)
            print(*rows[-1], sep="  ", file=sys.stderr)
            for who in ("duckdb", "ladybug"):
                if isinstance(each[who], str):
                    print(f"{who} can't: {each[who]}", file=sys.stderr)
    theirs = ["peak, MiB", "ours / theirs"]
    head = ["files", "evergraph, s", "M rows/s", "peak, MiB", "DuckDB, s", *theirs, "Ladybug, s", *theirs]
    print(markdown(head, rows))
    with tempfile.TemporaryDirectory(dir=chosen.program.parent) as folder:
        loads = Loads(evergraph, Path(folder), chosen.threads)
        loads.make(scale, 20, ["CSV", "Parquet", "edge list"])
        print(f"\n{loads.edges:,} edges within {LIMIT >> 30} GiB of address space:\n")
        limited = list(within_limit(loads, rounds))
        report["within_limit"] = limited
        print(markdown(["files", "options", "seconds", "M rows/s", "peak, MiB"], limited))
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")
    if chosen.results:
        results.add(chosen.results, SECTION, figures, NOTES)


if __name__ == "__main__":
    main()
