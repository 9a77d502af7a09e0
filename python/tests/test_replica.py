"""A replica follows a real PostgreSQL: waits, status, snapshots by number, refused writes, restarts."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from postgres import PostgresServer, postgres, shop

import evergraph as eg

__all__ = ["postgres", "shop"]


@pytest.fixture
def mapping(shop: tuple[PostgresServer, str], tmp_path: Path) -> Path:
    """Give a mapping file for the shop."""
    server, name = shop
    file = tmp_path / "shop.toml"
    file.write_text(eg.propose_mapping(server.url(name)))
    return file


def names(replica: eg.Replica) -> list[str]:
    return sorted(replica.query("g.V().hasLabel('Customer').values('name')").to_list())


def test_a_replica_follows_its_source_and_goes_on_where_it_was(
    shop: tuple[PostgresServer, str], mapping: Path, tmp_path: Path
) -> None:
    server, name = shop
    path = tmp_path / "shop.eg"
    with eg.replica(path, server.url(name), mapping) as replica:
        assert names(replica) == ["Ada", "Bob"]
        server.run(name, "INSERT INTO customer VALUES (3, 'Cem'); UPDATE customer SET name = 'Bo' WHERE id = 2")
        assert replica.wait(timeout=60)
        assert names(replica) == ["Ada", "Bo", "Cem"]
        status = replica.status()
        assert status["state"] == "following", status
        assert status["rows"] >= 2, status
        with pytest.raises(eg.InvalidError, match="follows"):
            replica.query("g.addV('Customer')").to_list()
        position = server.run(name, "SELECT pg_current_wal_lsn()").strip()
        assert replica.wait(position, timeout=60)
        assert not replica.wait("FFFFFFFF/FFFFFFFF", timeout=0.1)
        with pytest.raises(eg.InvalidError, match="16/B374D848"):
            replica.wait("soon")
    assert repr(replica) == "<evergraph.Replica, closed>"
    with pytest.raises(eg.DatabaseClosed):
        replica.status()
    server.run(name, "DELETE FROM customer WHERE id = 3")
    with eg.replica(path, server.url(name), mapping) as replica:
        assert replica.wait(timeout=60)
        assert names(replica) == ["Ada", "Bo"]


def test_nothing_is_reached_before_the_source_was_compared(
    shop: tuple[PostgresServer, str], mapping: Path, tmp_path: Path
) -> None:
    server, name = shop
    path = tmp_path / "shop.eg"
    with eg.replica(path, server.url(name), mapping) as replica:
        assert replica.wait(timeout=60)
        position = replica.status()["position"]
    # Nothing changed since, but nobody can tell from now on.
    slots = "SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots"
    assert server.run(name, f"{slots} WHERE database = current_database()").strip() == "1"
    with eg.replica(path, server.url(name), mapping) as replica:
        for awaited in (None, position, "0/1"):
            with pytest.raises(eg.InvalidError, match="is gone"):
                replica.wait(awaited, timeout=60)
        assert replica.status()["state"] == "paused"


def newest_customers(replica: eg.Replica) -> int | None:
    """Count the customers in the newest epoch, unless it is gone already."""
    snapshot = replica.open(replica.epochs()[-1].number)
    if snapshot is None:
        return None
    with snapshot:
        return snapshot.labels()["Customer"]


def test_snapshots_stay_open_by_number(shop: tuple[PostgresServer, str], mapping: Path, tmp_path: Path) -> None:
    server, name = shop
    with eg.replica(tmp_path / "shop.eg", server.url(name), mapping, epochs=4) as replica:
        for number in range(10, 16):
            server.run(name, f"INSERT INTO customer VALUES ({number}, 'c{number}')")
            assert replica.wait(timeout=60)
            time.sleep(0.01)
        # The newest one comes a moment after its commit.
        ends = time.monotonic() + 60
        while newest_customers(replica) != 2 + 6:
            assert time.monotonic() < ends
        epochs = replica.epochs()
        assert 1 <= len(epochs) <= 4
        assert [epoch.number for epoch in epochs] == sorted(epoch.number for epoch in epochs)
        snapshot = replica.open(epochs[-1].number)
        assert snapshot is not None
        assert snapshot.timestamp == epochs[-1].number
        before = snapshot.labels()["Customer"]
        server.run(name, "INSERT INTO customer VALUES (99, 'late')")
        assert replica.wait(timeout=60)
        assert snapshot.labels()["Customer"] == before
        assert replica.snapshot().labels()["Customer"] == before + 1
        snapshot.close()
        assert replica.open(1) is None


def test_closing_ends_who_waits(shop: tuple[PostgresServer, str], mapping: Path, tmp_path: Path) -> None:
    server, name = shop
    replica = eg.replica(tmp_path / "shop.eg", server.url(name), mapping)
    raised: list[BaseException] = []
    begins = threading.Event()

    def wait() -> None:
        begins.set()
        try:
            replica.wait("FFFFFFFF/FFFFFFFF")
        except eg.EvergraphError as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert begins.wait(60)
    time.sleep(0.3)
    replica.close()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert isinstance(raised[0], eg.CancelledError)


def test_what_the_check_finds_is_an_error_that_leaves_nothing_behind(
    shop: tuple[PostgresServer, str], mapping: Path, tmp_path: Path
) -> None:
    server, name = shop
    server.run(name, "ALTER TABLE product REPLICA IDENTITY NOTHING")
    with pytest.raises(eg.InvalidError, match="REPLICA IDENTITY"):
        eg.replica(tmp_path / "shop.eg", server.url(name), mapping)
    assert not (tmp_path / "shop.eg").exists()
    assert (
        server.run(name, "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()").strip()
        == "0"
    )
    assert server.run(name, "SELECT count(*) FROM pg_publication").strip() == "0"


def test_the_rules_of_the_paper_make_a_replica(shop: tuple[PostgresServer, str], tmp_path: Path) -> None:
    server, name = shop
    mapping = eg.RgMapping(server.url(name)).def_vertex("Person", "customer").add_vprop("Person", "called", "name")
    with eg.replica(tmp_path / "people.eg", server.url(name), mapping) as replica:
        assert sorted(replica.query("g.V().values('called')").to_list()) == ["Ada", "Bob"]


def test_a_resync_that_died_in_its_swap_is_finished(
    shop: tuple[PostgresServer, str], mapping: Path, tmp_path: Path
) -> None:
    server, name = shop
    path, copy, old = (tmp_path / f"shop.eg{suffix}" for suffix in ("", ".resync", ".resync-old"))
    eg.replica(path, server.url(name), mapping).close()
    server.run(name, "INSERT INTO customer VALUES (3, 'Cem')")
    eg.replica(copy, server.url(name), mapping).close()
    # As between its two renames.
    (path / "replaced-by-resync").touch()
    path.rename(old)
    with eg.replica(path, server.url(name), mapping) as replica:
        assert names(replica) == ["Ada", "Bob", "Cem"]
    assert not copy.exists()
    assert not old.exists()
    slots = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
    assert server.run(name, slots).strip() == "2", "nothing was copied once more"
