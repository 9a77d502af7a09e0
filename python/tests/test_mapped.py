"""The mapped engine: chosen at creation, opened again, converted from and to the other engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import People, people
from test_disk import LIMIT, graph

import evergraph as eg


def test_a_new_database_gets_the_engine_and_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "mapped.eg"
    with eg.open(path, engine="mapped") as db:
        made = people(db)
        assert db.create_index("Person", "name", ordered=True)
        assert db.engine == "mapped"
        wanted = graph(db)
        with pytest.raises(eg.InvalidError, match="convert"):
            eg.open(path, engine="memory")
    with eg.open(path) as db:
        assert db.engine == "mapped"
        assert graph(db) == wanted
        assert db.snapshot().find("Person", name="Ada") == made.ada
        assert db.check()["findings"] == []
        # Closing wrote all, since an index had been filled that no checkpoint named.
        assert db.checkpoint() == 0
        assert db.stats()["mapped"]["index_bytes"] == sum(index["file_bytes"] for index in db.indexes()) > 0
        added = db.transact(lambda tx: tx.add_vertex("Person", name="Bea"))
        assert added not in {made.ada, made.charles, made.mary}
        assert db.checkpoint() > 0
    assert eg.check_files(path)["findings"] == []
    for other in ("memory", "disk"):
        with pytest.raises(eg.InvalidError, match="evergraph convert"):
            eg.open(path, engine=other)


def test_a_database_without_a_path_has_no_files_to_map(tmp_path: Path) -> None:
    with pytest.raises(eg.InvalidError, match='engine="mapped": a database in files needs a path'):
        eg.open(engine="mapped")
    with pytest.raises(eg.InvalidError, match='expected "memory", "disk" or "mapped"'):
        eg.open(tmp_path / "new.eg", engine="maped")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_statistics_say_what_lies_in_files_and_what_waits(tmp_path: Path, circle: People) -> None:
    with eg.open(tmp_path / "mapped.eg", engine="mapped") as db:
        people(db)
        live = tmp_path / "mapped.eg" / "live"
        # It may grow in the background at any moment, and counts when it has grown.
        before = 0
        while (size := live.stat().st_size) != before:
            before, waiting = size, db.stats()["mapped"]
        assert 0 < waiting["live_bytes"] < waiting["live_limit_bytes"]
        assert waiting["live_file_bytes"] <= size
        assert db.checkpoint() > 0
        stats = db.stats()
        mapped = stats["mapped"]
        assert (stats["engine"], stats["tree"], stats["topology_bytes"]) == ("mapped", None, 0)
        assert mapped["files"] >= 1
        assert 0 < mapped["free_bytes"] < mapped["file_bytes"]
    assert circle.db.stats()["mapped"] is None


def test_it_converts_to_and_from_each_engine(tmp_path: Path, circle: People) -> None:
    wanted = graph(circle.db)
    ranks = circle.db.snapshot().pagerank(keys="name")
    circle.db.convert(tmp_path / "mapped.eg", engine="mapped")
    with eg.open(tmp_path / "mapped.eg") as mapped:
        assert (mapped.engine, graph(mapped)) == ("mapped", wanted)
        assert mapped.snapshot().pagerank(keys="name").equals(ranks)
        mapped.convert(tmp_path / "disk.eg", engine="disk")
        mapped.convert(tmp_path / "memory.eg", engine="memory")
        mapped.backup(tmp_path / "copy.eg")
    with eg.open(tmp_path / "disk.eg", memory_limit=LIMIT) as disk:
        assert graph(disk) == wanted
        disk.convert(tmp_path / "again.eg", engine="mapped")
    for name, engine in (("memory.eg", "memory"), ("again.eg", "mapped"), ("copy.eg", "mapped")):
        with eg.open(tmp_path / name) as db:
            assert (db.engine, graph(db)) == (engine, wanted)


def test_it_has_no_arrays_to_share_and_sorts_the_newest(tmp_path: Path) -> None:
    with eg.open(tmp_path / "mapped.eg", engine="mapped") as db:
        made = people(db)
        wanted = db.snapshot().newest_edges(made.ada, "KNOWS", "since", limit=1)
        assert db.create_index("KNOWS", "since", newest_first=True, of="edges")
        assert db.snapshot().newest_edges(made.ada, "KNOWS", "since", limit=1) == wanted
        with db.snapshot() as now:
            with pytest.raises(eg.InvalidError, match="csr"):
                now.csr_pieces("KNOWS")
            offsets, neighbors = now.csr("KNOWS")[:2]
            assert offsets[-1] == len(neighbors)


def test_it_can_lie_in_persistent_memory_or_an_emulation_of_it(tmp_path: Path) -> None:
    path = tmp_path / "fast.eg"
    with eg.open(path, engine="mapped", persistent_memory="emulated") as db:
        people(db)
        assert db.checkpoint() > 0
        wanted = graph(db)
        with pytest.raises(eg.InvalidError, match="persistent_memory"):
            eg.open(path, persistent_memory="required")
    with eg.open(path, read_only=True, persistent_memory="emulated") as db:
        assert graph(db) == wanted
    with eg.open(path, persistent_memory="emulated") as db:
        assert graph(db) == wanted
    with pytest.raises(eg.IoError, match=r"MAP_SYNC.*emulated"):
        eg.open(path)


def test_persistent_memory_is_refused_where_it_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(eg.InvalidError, match="goes with the engine `mapped` only"):
        eg.open(tmp_path / "new.eg", persistent_memory="required")
    with pytest.raises(eg.InvalidError, match='persistent_memory="emulated": a database in files needs a path'):
        eg.open(persistent_memory="emulated")
    with pytest.raises(eg.InvalidError, match='expected "as-created", "required" or "emulated"'):
        eg.open(tmp_path / "new.eg", engine="mapped", persistent_memory="yes")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
