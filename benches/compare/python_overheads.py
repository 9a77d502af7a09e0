"""What calling from Python costs: beside the same call in Rust, beside NumPy's copy, and a load from Arrow.

What, on an R-MAT graph that is loaded from Arrow into a database in memory, with all threads:
- an algorithm's call from Python, with its table, beside what Rust measures within the same call: freezing the
  snapshot and the kernel (`freeze_seconds` and `kernel_seconds` in the table's metadata);
- `Snapshot.csr` beside `numpy.copy` of the two arrays that it gives;
- `Database.add_edges` of all edges, without properties and with one, into a database with the vertices;
- a transaction that adds one edge, in a database on disk with durability "none", beside `evergraph bench`, which
  does so from Rust, on a graph of as many vertices.

Run it with `make bench-python`. It lies if other programs are busy, as Python's thread and ours then wait at other
times; and if the graph fits the cache, which makes copies cheap.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy
import pyarrow

import evergraph
import graphs
import results
from comparisons import DEPTH, ITERATIONS
from evergraph_program import Evergraph
from tables import machine, markdown, milliseconds, ratio, shown

SECTION = "From Python: what the calls cost"
NOTES = [
    "Rust: freezing the snapshot and the kernel, measured within the same call; Python: all of it, with the table",
    "csr: theirs is numpy.copy of the arrays that it gives, once they are there",
    "one-edge transactions: 20,000 a value from Python; `evergraph bench`'s rate from Rust",
]
#: Transactions that a value is of.
TRANSACTIONS = 20_000
#: What `evergraph bench` calls the figure that is the same from Rust.
RUST_RATE = "commits.none.clients_1.edges_1"


def loaded(ends, vertices, weights=None):
    """A database in memory with the edges, and the seconds that `add_edges` took."""
    columns = {"source": pyarrow.array(ends[0]), "target": pyarrow.array(ends[1])}
    if weights is not None:
        columns["weight"] = pyarrow.array(weights)
    table = pyarrow.table(columns)
    database = evergraph.open()
    database.add_vertices("Vertex", {"number": numpy.arange(vertices)})
    began = time.perf_counter()
    database.add_edges("EDGE", table)
    return database, time.perf_counter() - began


def called(call):
    """Seconds of a call from Python, and those that Rust measured within it."""
    began = time.perf_counter()
    table = call()
    python = time.perf_counter() - began
    return python, sum(float(table.schema.metadata[part]) for part in (b"freeze_seconds", b"kernel_seconds"))


def algorithms(snapshot, source, rounds):
    """Each algorithm by name, with lists of seconds: from Python, and in Rust."""
    calls = {
        "pagerank": lambda: snapshot.pagerank(iterations=ITERATIONS),
        "wcc": snapshot.wcc,
        "triangles": snapshot.triangles,
        "bfs": lambda: snapshot.bfs(source),
        "k-hop": lambda: snapshot.k_hop(source, depth=DEPTH),
        "louvain": snapshot.louvain,
        "kcore": snapshot.kcore,
    }
    for name, call in calls.items():
        call()
        yield name, *zip(*(called(call) for _ in range(rounds)), strict=True)


def copies(snapshot, rounds):
    """Seconds of `csr` and of copies of what it gives, in turn."""
    kept = snapshot.csr("EDGE")
    ours, theirs = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        arrays = snapshot.csr("EDGE")
        ours.append(time.perf_counter() - began)
        same = all(numpy.array_equal(one, other) for one, other in zip(arrays, kept, strict=True))
        if not same:
            sys.exit("csr gave other arrays the second time")
        del arrays
        began = time.perf_counter()
        copy = [numpy.copy(array) for array in kept]
        theirs.append(time.perf_counter() - began)
        del copy
    return ours, theirs


def transactions(folder, vertices, rounds):
    """Seconds of a transaction that adds one edge, one value a round."""
    random = numpy.random.default_rng(1)
    with evergraph.open(folder / "one.eg", durability="none") as database:
        database.add_vertices("Vertex", {"number": numpy.arange(vertices)})
        for _ in range(rounds):
            ends = random.integers(0, vertices, (TRANSACTIONS, 2)).tolist()
            began = time.perf_counter()
            for source, target in ends:
                with database.begin() as tx:
                    tx.add_edge(source, "EDGE", target)
            yield (time.perf_counter() - began) / TRANSACTIONS


def of_rust(program, scale):
    """Seconds of such a transaction from Rust, as `evergraph bench` says."""
    report = program.call("bench", "--quick", "--scale", scale)
    figures = (figure for section in report["sections"] for figure in section["figures"])
    return 1 / next(figure["value"] for figure in figures if figure["name"] == RUST_RATE)


def main():
    parser = argparse.ArgumentParser(description="What calling from Python costs")
    parser.add_argument("program", type=Path, help="the built program evergraph")
    parser.add_argument("--scale", type=int, default=18, help="2^N vertices with 16 edges each [18]")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each [7]")
    parser.add_argument("--quick", action="store_true", help="scale 14, 3 rounds")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    scale, rounds = (14, 3) if chosen.quick else (chosen.scale, chosen.rounds)
    program = Evergraph(chosen.program)
    rows, figures = [], []

    def beside(name, title, ours, peer, theirs):
        rows.append([title, milliseconds(ours), peer, milliseconds(theirs), shown(ratio(ours, theirs))])
        figures.append(results.entry(SECTION, f"python.{name}.scale_{scale}", title, ours, peer, theirs, {}))

    print(f"evergraph {evergraph.__version__}\n{machine()}\n2^{scale} vertices, 16 edges each; median of {rounds}, ms\n")
    with tempfile.TemporaryDirectory(dir=chosen.program.parent) as folder:
        ends = graphs.generated(program, Path(folder), scale)
        weights = numpy.random.default_rng(1).random(ends.shape[1])
        for name, of_edges in (("", None), (", one property", weights)):
            seconds = [loaded(ends, 2**scale, of_edges)[1] for _ in range(rounds)]
            rates = [ends.shape[1] / each for each in seconds]
            title = f"add_edges from Arrow{name}"
            rows.append([title, milliseconds(seconds), "", "", f"{statistics.median(rates) / 1e6:.1f} M edges/s"])
            figures.append(results.entry(
                SECTION, f"python.add_edges{name.replace(', ', '.').replace(' ', '_')}.scale_{scale}", title, rates,
                None, None, {}, unit="1/s"))
        database, _ = loaded(ends, 2**scale)
        with database.snapshot() as snapshot:
            source = int(numpy.bincount(ends[0]).argmax())
            for name, python, rust in algorithms(snapshot, source, rounds):
                beside(f"call.{name}", name, python, "rust", rust)
            ours, theirs = copies(snapshot, rounds)
            beside("csr", "csr", ours, "numpy.copy", theirs)
        ours = list(transactions(Path(folder), 2**scale, rounds))
        beside("transaction", "one-edge transaction", ours, "rust", [of_rust(program, scale)] * rounds)
    print(markdown(["what", "Python", "beside", "theirs", "ours / theirs"], rows))
    if chosen.results:
        results.add(chosen.results, SECTION, figures, NOTES)


if __name__ == "__main__":
    main()
