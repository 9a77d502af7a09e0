"""The disk engine: chosen at creation, limited in memory; a database of one engine becomes one of the other."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import People, people

import evergraph as eg

LIMIT = 64 << 20


def graph(db: eg.Database) -> tuple[Any, ...]:
    """Everything that tells two databases apart: ids, values, edges, indexes."""
    with db.snapshot() as now:
        vertices: pa.Table = now.vertices("Person")
        edges: pa.Table = now.edges("KNOWS")
        indexes = sorted((index["name"], index["key"], index["unique"]) for index in db.indexes())
        return vertices.to_pydict(), edges.to_pydict(), now.labels(), now.edge_types(), indexes


def test_a_new_database_gets_the_engine_and_an_old_one_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "disk.eg"
    with eg.open(path, engine="disk", memory_limit=LIMIT) as db:
        made = people(db)
        assert db.engine == "disk"
        wanted = graph(db)
        with pytest.raises(eg.InvalidError, match="convert"):
            eg.open(path, engine="memory")
    with eg.open(path) as db:
        assert db.engine == "disk"
        assert graph(db) == wanted
        assert db.snapshot().find("Person", name="Ada") == made.ada
        assert db.check()["findings"] == []
    with pytest.raises(eg.InvalidError, match="evergraph convert"):
        eg.open(path, engine="memory")
    with eg.open(tmp_path / "memory.eg") as db:
        assert db.engine == "memory"
    with pytest.raises(eg.InvalidError, match="evergraph convert"):
        eg.open(tmp_path / "memory.eg", engine="disk")


def test_what_no_engine_can_be_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(eg.InvalidError, match="64 MiB"):
        eg.open(tmp_path / "new.eg", engine="disk", memory_limit=1 << 20)
    with pytest.raises(eg.InvalidError, match="tape"):
        eg.open(tmp_path / "new.eg", engine="tape")  # type: ignore[arg-type]
    with pytest.raises(eg.InvalidError, match="io_threads"):
        eg.open(tmp_path / "new.eg", engine="disk", io_threads=0)
    for threads in (0, 17):
        with pytest.raises(eg.InvalidError, match=r"compaction_threads .* 1 to 16"):
            eg.open(tmp_path / "new.eg", engine="disk", compaction_threads=threads)
    with pytest.raises(eg.InvalidError, match="path"):
        eg.open(engine="disk")
    assert list(tmp_path.iterdir()) == []


def test_statistics_come_level_by_level(tmp_path: Path, circle: People) -> None:
    with eg.open(tmp_path / "disk.eg", engine="disk", memory_limit=LIMIT) as db:
        people(db)
        assert db.checkpoint() > 0
        stats = db.stats()
        assert (stats["engine"], stats["memory_limit"]) == ("disk", LIMIT)
        levels = stats["tree"]["levels"]
        assert levels[0]["level"] == 0
        assert sum(level["files"] for level in levels) == 1
        assert sum(level["topology_bytes"] for level in levels) > 0
        assert 0 < sum(stats["reserved"].values()) <= LIMIT
        assert stats["tree"]["flushes"]["files"] == 1
        with db.snapshot() as now:
            assert now.degree(0) > 0
            assert db.stats()["oldest_snapshot"] == now.timestamp
    stats = circle.db.stats()
    assert (stats["engine"], stats["tree"], stats["memory_limit"]) == ("memory", None, None)


def test_statistics_say_what_was_read_and_what_keeps_memory(tmp_path: Path) -> None:
    with eg.open(tmp_path / "disk.eg", engine="disk", memory_limit=LIMIT) as db:
        made = people(db)
        assert db.stats()["oldest_snapshot_seconds"] is db.stats()["oldest_transaction"] is None
        # A transaction that may conflict with what is flushed while it is open.
        with db.begin() as late:
            begun = db.stats()["newest_commit"]
            late.add_vertex("Person", name="Grace")
            with db.begin() as tx:
                tx.add_edge(made.ada, "KNOWS", made.mary)
            assert db.checkpoint() > 0
            stats = db.stats()
            assert (stats["oldest_transaction"], stats["open_transactions"]) == (begun, 1)
            kept, opened = stats["tree"]["memory_graphs"]["graphs"]
            assert (kept["kept_for"], kept["transaction"]) == ("transaction", begun)
            assert kept["last_commit"] == stats["newest_commit"]
            assert kept["bytes"] == stats["tree"]["memory_graphs"]["retained_bytes"]
            assert (opened["kept_for"], opened["last_commit"]) == ("commits", None)
            assert stats["tree"]["write_amplification"] == 1
        [graph] = db.stats()["tree"]["memory_graphs"]["graphs"]
        assert graph["kept_for"] == "commits"
        with db.snapshot() as now:
            before = db.stats()["tree"]
            assert now.degree(made.ada, "KNOWS") == 2
            assert len(now.edges_of(made.mary, "KNOWS")) == 1
            stats = db.stats()
            assert 0 <= stats["oldest_snapshot_seconds"] < 60
            time.sleep(0.02)
            assert db.stats()["oldest_snapshot_seconds"] >= stats["oldest_snapshot_seconds"] + 0.02
            assert stats["tree"]["lists"]["count"] == before["lists"]["count"] + 2
            assert 0 < stats["tree"]["lists"]["pages_a_list"] <= 3
            assert sum(level["pages_read"] for level in stats["tree"]["levels"]) > 0
        assert db.stats()["oldest_snapshot_seconds"] is None


def test_a_database_in_memory_becomes_one_on_disk_and_back(tmp_path: Path, circle: People) -> None:
    told: list[tuple[str, float | None, str]] = []
    with circle.db.begin() as tx:
        tx.delete_vertex(tx.add_vertex("Person", name="Nobody"))
        robot = tx.add_vertex("Robot", name="R1")
        tx.add_edge(robot, "KNOWS", circle.ada)
        tx.add_edge(robot, "KNOWS", circle.ada, since=2000)
    wanted = graph(circle.db)
    made = circle.db.convert(tmp_path / "disk.eg", engine="disk", progress=lambda *now: told.append(now))
    assert (made["vertices"], made["edges"]) == (4, 5)
    assert made["bytes_written"] > 0
    assert told
    with eg.open(tmp_path / "disk.eg", memory_limit=LIMIT) as disk:
        assert disk.engine == "disk"
        assert graph(disk) == wanted
        ranks = disk.snapshot().pagerank(keys="name")
        assert ranks.equals(circle.db.snapshot().pagerank(keys="name"))
        disk.convert(tmp_path / "memory.eg", engine="memory")
        with pytest.raises(eg.InvalidError, match="already"):
            disk.convert(tmp_path / "memory.eg", engine="memory")
        with eg.open(tmp_path / "memory.eg") as memory:
            assert (memory.engine, graph(memory)) == ("memory", wanted)
            # No new vertex gets an id that is taken.
            for db in (circle.db, disk, memory):
                added = db.transact(lambda tx: tx.add_vertex("Person", name="Bea"))
                assert added not in {circle.ada, circle.charles, circle.mary, robot}


def test_a_conversion_that_is_stopped_leaves_nothing(tmp_path: Path, circle: People) -> None:
    # So many that progress is told before the end.
    circle.db.add_vertices("Number", {"of": list(range(500_000))})
    with pytest.raises(eg.CancelledError):
        circle.db.convert(tmp_path / "disk.eg", engine="disk", progress=lambda *_: False)
    with pytest.raises(eg.InvalidError, match="tape"):
        circle.db.convert(tmp_path / "disk.eg", engine="tape")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_the_disk_engine_has_no_arrays_to_share(tmp_path: Path) -> None:
    with eg.open(tmp_path / "disk.eg", engine="disk", memory_limit=LIMIT) as db:
        people(db)
        with db.snapshot() as now:
            with pytest.raises(eg.InvalidError, match="csr"):
                now.csr_pieces("KNOWS")
            assert now.csr("KNOWS") is not None


def test_the_newest_edges_have_an_index(tmp_path: Path) -> None:
    with eg.open(tmp_path / "disk.eg", engine="disk", memory_limit=LIMIT) as db, eg.open() as in_memory:
        for one, kinds in ((db, ["newest"]), (in_memory, [])):
            made = people(one)
            wanted = one.snapshot().newest_edges(made.ada, "KNOWS", "since", limit=1)
            assert one.create_index("KNOWS", "since", newest_first=True, of="edges")
            assert not one.create_index("KNOWS", "since", newest_first=True, of="edges")
            assert [index["kind"] for index in one.indexes() if index["of"] == "edges"] == kinds
            assert one.snapshot().newest_edges(made.ada, "KNOWS", "since", limit=1) == wanted
            with pytest.raises(eg.InvalidError, match="on edges, and never unique"):
                one.create_index("KNOWS", "since", newest_first=True, unique=True, of="edges")
            with pytest.raises(eg.InvalidError, match="not both"):
                one.create_index("KNOWS", "since", newest_first=True, ordered=True, of="edges")
        db.drop_index("KNOWS", "since", newest_first=True, of="edges")
        assert [index["kind"] for index in db.indexes() if index["of"] == "edges"] == []
