"""Inference by graph neural networks on a replica that follows PostgreSQL, beside the same on tensors made once.

What: seconds of inference by GCN, GraphSAGE and SGC of PyTorch Geometric, on the CPU, for every customer and item of a
shop, along who bought what in both directions. Each vertex has 16 numbers, each of them a column at the source.

    following   a new snapshot, its tensors, and inference on them, while rows change at the source
    static      inference on tensors that were made once, beside the same changes, which the replica follows
    quiet       as `following`, while nothing changes

A round has each of them in turn, for each rate and network. Half of the changes are numbers of vertices, half give an
edge another end, so that the graph keeps its size. pgbench writes them, a hundred transactions a second.

Answers are compared: those of the replica's tensors with those of tensors that are made of the source's rows by COPY,
before the changes and after them; and those of one snapshot with its own a moment later, when there are newer ones.
The script fails if any differ.

Source: GART (USENIX ATC 2023), section 6.1 and table 2. Differs: the static graph there is one of the engine's, from
which topology and properties are read as well (`quiet` is the like); source and analysis have a machine each.

Run it with `make bench-gnn`. It lies if other programs are busy: source, writer, replica and PyTorch share the machine.
Weights are random: networks that have learned take the same time.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy
import torch
from torch_geometric.nn import GCNConv, SAGEConv, SGConv

import evergraph as eg
import results
from tables import machine, markdown, milliseconds, ratio, shown

# The private PostgreSQL of the package's tests.
sys.path.append(str(Path(__file__).parents[2] / "python" / "tests"))
from postgres import PostgresServer, programs  # noqa: E402

SECTION = "Replica: graph neural networks"
DATABASE = "shop"
FEATURES = 16
HIDDEN = 64
CLASSES = 16
TRANSACTIONS_PER_SECOND = 100
#: The writer has been at work for so many seconds when the first run begins.
HEAD_START = 0.5
#: How far answers may be apart that sum the same numbers in another order, as a part of the largest.
TOLERANCE = 1e-4
SETTINGS = ("shared_buffers=256MB", "max_wal_size=8GB", "checkpoint_timeout=1h", "autovacuum=off")
COLUMNS = [f"f{number}" for number in range(FEATURES)]
MAPPING = """
[[table]]
table = "customer"
label = "Customer"

[[table]]
table = "item"
label = "Item"

[[table]]
table = "line"
type = "BOUGHT"
start = { column = "customer", space = "Customer" }
end = { column = "item", space = "Item" }
properties = []
"""


class Sizes(NamedTuple):
    """Rows of the shop."""

    customers: int
    items: int
    lines: int


class Tensors(NamedTuple):
    """What inference needs, and the place of each row among customers by id, then items by id."""

    features: torch.Tensor
    edges: torch.Tensor
    place: torch.Tensor


class TwoLayers(torch.nn.Module):
    """A convolution, what is positive of it, another convolution."""

    def __init__(self, convolution):
        super().__init__()
        self.first, self.second = convolution(FEATURES, HIDDEN), convolution(HIDDEN, CLASSES)

    def forward(self, features, edges):
        return self.second(self.first(features, edges).relu(), edges)


def networks():
    """The three networks, each with the same random weights in every run."""
    torch.manual_seed(1)
    made = {"gcn": TwoLayers(GCNConv), "graphsage": TwoLayers(SAGEConv), "sgc": SGConv(FEATURES, CLASSES, K=2)}
    return {name: network.eval() for name, network in made.items()}


TITLES = {"gcn": "GCN", "graphsage": "GraphSAGE", "sgc": "SGC"}


def both_ways(edges):
    """Edges, and the same backwards."""
    return torch.cat([edges, edges.flip(0)], dim=1)


def tensors_of(snapshot):
    """The tensors of a snapshot, without places."""
    data = snapshot.to_torch_geometric(
        "BOUGHT", labels=["Customer", "Item"], features=COLUMNS, homogeneous=True)
    return data.x, both_ways(data.edge_index), data.vertex


def with_places(snapshot, sizes):
    """The tensors of a snapshot."""
    features, edges, vertices = tensors_of(snapshot)
    place = numpy.full(int(vertices.max()) + 1, -1)
    for label, first in (("Customer", 0), ("Item", sizes.customers)):
        table = snapshot.vertices(label, properties=("id",))
        place[table["vertex"].to_numpy()] = table["id"].to_numpy() + first
    return Tensors(features, edges, torch.from_numpy(place[vertices.numpy()]))


def inferred(network, features, edges):
    """The answer: a row a vertex, a column a class."""
    with torch.no_grad():
        return network(features, edges)


class Source:
    """The shop at its source."""

    def __init__(self, server, sizes):
        self.server, self.sizes = server, sizes
        server.run("postgres", f"CREATE DATABASE {DATABASE}")
        columns = ", ".join(f"{name} real NOT NULL" for name in COLUMNS)
        numbers = ", ".join(f"(hashint8extended(n, {at}) & 1023) / 1024.0" for at in range(FEATURES))
        for table, rows in (("customer", sizes.customers), ("item", sizes.items)):
            self.run(f"CREATE TABLE {table} (id int PRIMARY KEY, {columns})")
            self.run(f"INSERT INTO {table} SELECT n, {numbers} FROM generate_series(0, {rows} - 1) n")
        self.run("CREATE TABLE line (id int PRIMARY KEY, customer int NOT NULL REFERENCES customer, "
                 "item int NOT NULL REFERENCES item)")
        # A few items are bought most.
        self.run(f"INSERT INTO line SELECT n, (hashint8extended(n, 98) & 2147483647) % {sizes.customers}, "
                 f"floor({sizes.items} * power((hashint8extended(n, 99) & 2147483647) / 2147483648::float8, 2)) "
                 f"FROM generate_series(0, {sizes.lines} - 1) n")
        self.run("ANALYZE")

    def run(self, sql):
        return self.server.run(DATABASE, sql)

    def read(self, table, columns, kind):
        """A table by COPY, in the order of ids: shape (rows, columns)."""
        text = self.run(f"COPY (SELECT {', '.join(columns)} FROM {table} ORDER BY id) TO STDOUT")
        return numpy.array(text.split(), dtype=kind).reshape(-1, len(columns))

    def tensors(self):
        """The tensors of the source's rows."""
        features = numpy.concatenate([self.read(table, COLUMNS, numpy.float32) for table in ("customer", "item")])
        ends = self.read("line", ["customer", "item"], numpy.int64).T.copy()
        ends[1] += self.sizes.customers
        return Tensors(torch.from_numpy(features), both_ways(torch.from_numpy(ends)), torch.arange(len(features)))

    def script(self, rate):
        """A transaction of pgbench, for so many row changes a second."""
        rows = max(rate // TRANSACTIONS_PER_SECOND, 4)
        edges, numbers = rows // 2, rows - rows // 2
        customers, items, lines = self.sizes

        def some(of, count):
            # Different ones, far from each other: 7919 is a prime.
            return f"(SELECT ((:n + k * 7919::bigint) % {of})::int FROM generate_series(1, {count}) k)"

        return "\n".join([
            r"\set n random(0, 2000000000)",
            "BEGIN;",
            f"UPDATE customer SET f0 = 1 - f0 WHERE id IN {some(customers, numbers - numbers // 2)};",
            f"UPDATE item SET f1 = 1 - f1 WHERE id IN {some(items, numbers // 2)};",
            f"UPDATE line SET item = (item + 1 + :n % {items - 1}) % {items} WHERE id IN {some(lines, edges)};",
            "COMMIT;",
        ])

    @contextmanager
    def writer(self, folder, rate):
        """So many row changes a second meanwhile."""
        script = folder / f"changes_{rate}.sql"
        script.write_text(self.script(rate))
        command = [self.server.programs / "pgbench", "--no-vacuum", "--client=1", f"--rate={TRANSACTIONS_PER_SECOND}",
                   "--time=86400", f"--file={script}", "--host=127.0.0.1", f"--port={self.server.port}",
                   "--username=postgres", DATABASE]
        with (folder / "pgbench.log").open("w") as log, \
                subprocess.Popen(command, stdout=log, stderr=log) as process:
            time.sleep(HEAD_START)
            try:
                yield
                if process.poll() is not None:
                    sys.exit("pgbench ended: " + (folder / "pgbench.log").read_text())
            finally:
                process.terminate()
        # A transaction of its last moment may still be under way.
        while self.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'").strip() != "0":
            time.sleep(0.01)


class Contest:
    """A shop, its replica, and the networks."""

    def __init__(self, source, replica, folder, runs):
        self.source, self.replica, self.folder, self.runs = source, replica, folder, runs
        self.networks = networks()

    def rest(self):
        """Wait until the replica has what the source has."""
        if not self.replica.wait(timeout=120):
            sys.exit(f"the replica doesn't catch up: {self.replica.status()}")

    def agree(self):
        """End the script unless each network's answer is that by the source's rows. Nothing changes meanwhile."""
        self.rest()
        with self.replica.snapshot() as snapshot:
            ours = with_places(snapshot, self.source.sizes)
        theirs = self.source.tensors()
        if ours.edges.shape != theirs.edges.shape or ours.features.shape != theirs.features.shape:
            sys.exit(f"answers differ: {ours.edges.shape} edges and {ours.features.shape} features of the replica, "
                     f"{theirs.edges.shape} and {theirs.features.shape} of the source")
        for name, network in self.networks.items():
            expected = inferred(network, theirs.features, theirs.edges)
            found = torch.empty_like(expected)
            found[ours.place] = inferred(network, ours.features, ours.edges)
            apart = float((found - expected).abs().max() / expected.abs().max())
            print(f"{TITLES[name]}: within {apart:.0e} of the answer by the source's rows", file=sys.stderr)
            if not apart <= TOLERANCE:
                sys.exit(f"answers differ: {name} on the replica and on the source's rows by {apart:.0e}")

    def stay(self, rate):
        """End the script unless a snapshot keeps its answer while newer ones have others."""
        network = self.networks["gcn"]

        def answer(snapshot):
            return inferred(network, *tensors_of(snapshot)[:2])

        with self.source.writer(self.folder, rate), self.replica.snapshot() as snapshot:
            before = answer(snapshot)
            time.sleep(HEAD_START)
            with self.replica.snapshot() as newer:
                if torch.equal(answer(newer), before):
                    sys.exit("a snapshot that is newer by half a second has the same answer: nothing is followed")
            if not torch.equal(answer(snapshot), before):
                sys.exit("a snapshot has another answer than a moment ago")

    def whole(self, name):
        """Medians of some runs: seconds of snapshot, tensors and inference, and of the last alone."""
        both = []
        for _ in range(self.runs):
            began = time.perf_counter()
            with self.replica.snapshot() as snapshot:
                features, edges, _ = tensors_of(snapshot)
            made = time.perf_counter()
            inferred(self.networks[name], features, edges)
            ended = time.perf_counter()
            both.append((ended - began, ended - made))
        return tuple(statistics.median(times) for times in zip(*both, strict=True))

    def static(self, name, features, edges):
        """The median of some runs: seconds of inference on the same tensors."""
        times = []
        for _ in range(self.runs):
            began = time.perf_counter()
            inferred(self.networks[name], features, edges)
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    def round(self, number, name, rate):
        """Each in turn, once: seconds of all, and of inference alone; and rows a second that were followed."""
        self.rest()
        with self.replica.snapshot() as snapshot:
            features, edges, _ = tensors_of(snapshot)
        found = {}

        def following():
            with self.source.writer(self.folder, rate):
                before, began = self.replica.status()["rows"], time.perf_counter()
                found["following"], found["inference"] = self.whole(name)
                found["rows"] = (self.replica.status()["rows"] - before) / (time.perf_counter() - began)

        def static():
            with self.source.writer(self.folder, rate):
                found["static"] = self.static(name, features, edges)

        def quiet():
            self.rest()
            found["quiet"], _ = self.whole(name)

        turns = [following, static, quiet]
        for turn in turns[number % 3:] + turns[:number % 3]:
            turn()
        return found


def measured(contest, rates, rounds):
    """Rows of the table, and entries of `results.json`."""
    rows, figures = [], []
    for rate in rates:
        contest.stay(rate)
        for name in contest.networks:
            done = [contest.round(number, name, rate) for number in range(-1, rounds)][1:]
            of = {key: [each[key] for each in done] for key in done[0]}
            beside = {key: ratio(of[ours], of[theirs]) for key, ours, theirs in (
                ("static", "following", "static"), ("quiet", "following", "quiet"), ("inference", "inference", "static"))}
            rows.append([
                TITLES[name], f"{rate:,}", f"{statistics.median(of['rows']):,.0f}",
                *(milliseconds(of[key]) for key in ("following", "inference", "static", "quiet")),
                *(shown(each) for each in beside.values())])
            print("  ".join(rows[-1]), file=sys.stderr)
            title = f"{TITLES[name]} while {rate:,} rows change a second"
            settings = {"rows followed a second": f"{statistics.median(of['rows']):,.0f}"}
            for part, what, ours, peer in (
                    ("", ", snapshot and tensors included", "following", "static"),
                    ("", ", snapshot and tensors included", "following", "quiet"),
                    ("inference.", ", inference alone", "inference", "static")):
                figures.append(results.entry(
                    SECTION, f"replica.gnn.{part}{name}.rate_{rate}", title + what, of[ours],
                    {"quiet": "without"}.get(peer, peer), of[peer], settings))
    return rows, figures


def main():
    parser = argparse.ArgumentParser(description="Inference by graph neural networks on a replica that follows")
    parser.add_argument("--rates", default="1000,10000", help="row changes a second, commas between [1000,10000]")
    parser.add_argument("--customers", type=int, default=30_000, help="customers; 5 items to 3 of them, 10 lines to each [30000]")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count [5]")
    parser.add_argument("--runs", type=int, default=3, help="runs in turn of each, whose median counts [3]")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch [1]")
    parser.add_argument("--quick", action="store_true", help="a tenth of the shop, 2 rounds")
    parser.add_argument("--unsynced", action="store_true", help="PostgreSQL with fsync=off: on a slow or shared disk")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    found = programs()
    if found is None:
        print("   skipped: PostgreSQL's programs are not here (apt install postgresql-15)", file=sys.stderr)
        return
    customers, rounds = (chosen.customers // 10, 2) if chosen.quick else (chosen.customers, chosen.rounds)
    sizes = Sizes(customers, customers * 5 // 3, customers * 10)
    torch.set_num_threads(chosen.threads)
    settings = (f"fsync={'off' if chosen.unsynced else 'on'}", *SETTINGS)
    load = machine()["load"]
    versions = {name: version(name) for name in ("evergraph", "torch", "torch_geometric")}
    print(f"{versions}\n{machine()}\n{sizes}, {FEATURES} numbers each, {chosen.threads} thread of PyTorch; "
          f"medians of {rounds} rounds, ms\n")
    with tempfile.TemporaryDirectory(prefix="evergraph-gnn-") as text:
        folder = Path(text)
        (folder / "postgres").mkdir()
        # Its server runs as another user.
        folder.chmod(0o755)
        server = PostgresServer(folder / "postgres", found, *settings)
        try:
            source = Source(server, sizes)
            mapping = folder / "shop.toml"
            mapping.write_text(MAPPING)
            os.environ["PGPASSWORD"] = server.password
            with eg.replica(folder / "shop.eg", server.url(DATABASE), mapping) as replica:
                contest = Contest(source, replica, folder, chosen.runs)
                contest.agree()
                rows, figures = measured(contest, [int(rate) for rate in chosen.rates.split(",")], rounds)
                contest.agree()
        finally:
            server.stop()
    print(markdown(["network", "rows/s", "followed", "following", "of it inference", "static", "quiet",
                    "following / static", "following / quiet", "inference / static"], rows))
    if chosen.results:
        results.add(chosen.results, SECTION, figures, [
            f"PostgreSQL with {', '.join(settings)}; PyTorch on {chosen.threads} thread; {sizes}",
            "static: inference on tensors made once, beside the same writer; without: a new snapshot, its tensors and "
            "inference while nothing changes",
            "answers are compared with those of tensors made of the source's rows by COPY, before and after",
            f"load average before: {load}",
        ])


if __name__ == "__main__":
    main()
