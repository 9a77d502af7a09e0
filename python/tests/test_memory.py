"""Memory: what Python holds counts below the limit for as long as it lives, and what doesn't fit is refused."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import need

import evergraph as eg

LIMIT = 64 << 20
VERTICES = 1 << 17
EDGES = 4_000_000
"""16 MB of neighbours, 32 of weights, 150 of a table: so that one of them fits, and others don't."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a database whose lists fit below the limit, and whose table of edges doesn't."""
    path = tmp_path_factory.mktemp("memory") / "large.eg"
    random = np.random.default_rng(7)
    with eg.open(path, engine="disk", memory_limit=LIMIT) as db:
        db.add_vertices("Page", {"of": np.arange(VERTICES), "text": [f"page {at}" for at in range(VERTICES)]})
        ends = random.integers(0, VERTICES, (2, EDGES), dtype=np.uint64)
        db.add_edges("LINKS", {"source": ends[0], "target": ends[1], "weight": np.ones(EDGES, np.float32)})
    return path


@pytest.fixture
def db(path: Path) -> Iterator[eg.Database]:
    """Open it with a limit."""
    with eg.open(path, memory_limit=LIMIT) as opened:
        yield opened


def reserved(db: eg.Database, purpose: str) -> int:
    """The bytes that `purpose` has of the limit."""
    gc.collect()
    return int(db.stats()["reserved"].get(purpose, 0))


def test_arrays_count_for_as_long_as_one_looks_at_them(db: eg.Database) -> None:
    with db.snapshot() as now:
        offsets, neighbors = now.csr()
    assert (len(offsets), len(neighbors)) == (VERTICES + 1, EDGES)
    assert reserved(db, "a CSR copy") == offsets.nbytes + neighbors.nbytes
    row = neighbors[offsets[3] : offsets[4]]
    del offsets, neighbors
    assert reserved(db, "a CSR copy") == 4 * EDGES
    del row
    assert reserved(db, "a CSR copy") == 0


def test_arrays_that_do_not_fit_are_refused_by_amount_and_limit(db: eg.Database) -> None:
    with db.snapshot() as now:
        # 48 MB, beside what the engine itself needs.
        with pytest.raises(eg.LimitError, match=r"MiB for a CSR copy exceeds the memory budget of 64.0 MiB"):
            now.compact_csr(weight="weight")
        first = [now.csr()]
        with pytest.raises(eg.LimitError, match="CSR copy"):
            first.extend(now.csr() for _ in range(3))
        first.clear()
        assert len(now.csr(direction="in")[1]) == EDGES
    assert reserved(db, "a CSR copy") == 0


def test_a_table_counts_until_its_last_column_is_gone(db: eg.Database) -> None:
    with db.snapshot() as now:
        table = now.vertices("Page")
    assert reserved(db, "a table of vertices") >= table.nbytes
    numbers = table["vertex"].to_numpy()
    del table
    assert reserved(db, "a table of vertices") > 0
    assert int(numbers.sum()) == VERTICES * (VERTICES - 1) // 2
    del numbers
    assert reserved(db, "a table of vertices") == 0


def test_a_table_of_edges_that_does_not_fit_is_refused(db: eg.Database) -> None:
    with db.snapshot() as now:
        with pytest.raises(eg.LimitError, match=r"for a table of edges exceeds the memory budget of 64.0 MiB"):
            now.edges()
        everyone = np.arange(VERTICES, dtype=np.uint64)
        with pytest.raises(eg.LimitError, match="a table of neighbors"):
            now.neighbors(everyone)
        assert now.neighbors(everyone[:100]).num_rows > 0
        ranks = now.pagerank(iterations=2, keys="text")
        assert reserved(db, "an algorithm's table") > 12 * VERTICES
        assert ranks.num_rows == VERTICES
    del ranks
    assert db.stats()["reserved"].keys().isdisjoint({"a table of edges", "a table of neighbors"})
    assert reserved(db, "an algorithm's table") == 0


COPIES: dict[str, Callable[[eg.Snapshot], Any]] = {
    "networkx": lambda now: now.to_networkx(),
    "igraph": lambda now: now.to_igraph(),
    "scipy": lambda now: now.to_scipy(),
}


@pytest.mark.parametrize("library", COPIES)
def test_a_copy_for_another_library_that_does_not_fit_is_refused(db: eg.Database, library: str) -> None:
    need(library)
    with db.snapshot() as now, pytest.raises(eg.LimitError, match=r"exceeds the memory budget of 64.0 MiB"):
        COPIES[library](now)
    assert {purpose for purpose in db.stats()["reserved"] if re.match("an? ", purpose)} == set()


def small(db: eg.Database) -> eg.Snapshot:
    """Fill `db` with a circle of a thousand, without numbers 0 to 9."""
    count = 1_000
    vertices = db.add_vertices("Page", {"size": np.arange(count)})
    ends = {"source": vertices, "target": np.roll(vertices, 1), "weight": np.arange(count, dtype=np.float64)}
    db.add_edges("LINKS", ends)
    with db.begin() as tx:
        for vertex in vertices[:10]:
            tx.delete_vertex(int(vertex))
    return db.snapshot()


@pytest.mark.parametrize("library", COPIES)
def test_a_copy_for_another_library_counts_for_as_long_as_it_lives(tmp_path: Path, library: str) -> None:
    need(library)
    with eg.open(tmp_path / "small.eg", engine="disk", memory_limit=LIMIT) as db:
        copy = COPIES[library](small(db))
        kept = {"networkx": "a graph of NetworkX", "igraph": "a graph of igraph", "scipy": "a matrix for SciPy"}
        assert reserved(db, kept[library]) > 8_000
        del copy
        assert reserved(db, kept[library]) == 0


def test_rows_without_gaps_are_those_of_the_lists(tmp_path: Path) -> None:
    with eg.open(tmp_path / "small.eg", engine="disk", memory_limit=LIMIT) as db:
        now = small(db)
        compact = now.compact_csr(weight="weight")
        edges = now.edges()
        assert reserved(db, "a CSR copy") == compact.offsets.nbytes + 12 * len(compact.neighbors)
        sources = compact.vertices[np.repeat(np.arange(len(compact.vertices)), np.diff(compact.offsets))]
        assert sources.tolist() == edges["source"].to_pylist()
        assert compact.vertices[compact.neighbors].tolist() == edges["target"].to_pylist()


def test_views_for_networkx_are_within_the_limit(db: eg.Database, tmp_path: Path) -> None:
    networkx = need("networkx")
    enx = need("evergraph.nx")
    with db.snapshot() as now, pytest.raises(eg.LimitError, match="arrays for NetworkX"):
        networkx.pagerank(enx.DiGraph(now))
    with eg.open(tmp_path / "small.eg", engine="disk", memory_limit=LIMIT) as other:
        graph = enx.DiGraph(small(other))
        assert len(networkx.pagerank(graph)) == 990
        assert reserved(other, "arrays for NetworkX") > 0
        assert enx.to_networkx(graph).number_of_edges() == 989
        del graph
        assert reserved(other, "arrays for NetworkX") == 0


def test_arrays_for_pyg_are_within_the_limit(db: eg.Database, tmp_path: Path) -> None:
    from evergraph.pyg.graph import read_graph

    def read(now: eg.Snapshot) -> Any:
        features = {"Page": ["of"]} if now.labels()["Page"] == VERTICES else {"Page": ["size"]}
        return read_graph(now, (), None, features, {"LINKS": "weight"}, {"LINKS": "weight"}, False, True)

    with db.snapshot() as now, pytest.raises(eg.LimitError, match="arrays for PyG"):
        read(now)
    with eg.open(tmp_path / "small.eg", engine="disk", memory_limit=LIMIT) as other:
        graph = read(small(other))
        assert reserved(other, "arrays for PyG") > 12 * 989
        del graph
        assert reserved(other, "arrays for PyG") == 0


def test_what_a_caller_makes_may_be_reserved_too(tmp_path: Path) -> None:
    with eg.open(tmp_path / "small.eg", engine="disk", memory_limit=LIMIT) as db, db.snapshot() as now:
        with now.reserve("mine", 1_000):
            assert reserved(db, "mine") == 1_000
        assert reserved(db, "mine") == 0
        with pytest.raises(eg.LimitError, match="mine"):
            now.reserve("mine", LIMIT)


def test_the_memory_engine_counts_and_refuses_nothing_without_a_limit(tmp_path: Path) -> None:
    with eg.open() as db:
        now = small(db)
        offsets, neighbors = now.csr()
        assert db.stats()["memory_limit"] is None
        assert len(neighbors) == 989
        db.close()
        # Memory outlives the database.
        assert int(offsets[-1]) == 989
