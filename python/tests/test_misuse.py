"""Misuse ends in an error that says what to do, never in a crash or a wait; and what long work does meanwhile."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import People, people

import evergraph as eg


@pytest.fixture(scope="module")
def large() -> Any:
    """Give a graph that exact betweenness needs minutes for."""
    with eg.open() as db:
        vertices = db.add_vertices("Node", {"at": np.arange(100_000)})
        ends = np.random.default_rng(1).integers(0, 100_000, size=(1_000_000, 2))
        db.add_edges("LINK", {"source": vertices[ends[:, 0]], "target": vertices[ends[:, 1]]})
        yield db


def test_a_closed_snapshot_says_so(circle: People) -> None:
    snapshot = circle.db.snapshot()
    table = snapshot.vertices()
    snapshot.close()
    snapshot.close()
    assert "closed" in repr(snapshot)
    uses: list[Any] = [snapshot.pagerank, snapshot.csr, snapshot.vertices, snapshot.labels, snapshot.to_networkx]
    uses += [lambda: snapshot.get(0, "name"), lambda: snapshot.timestamp]
    for use in uses:
        with pytest.raises(eg.SnapshotClosed):
            use()
    assert table.num_rows == 3


def test_a_snapshot_that_is_closed_while_it_is_read_is_read_to_the_end(large: eg.Database) -> None:
    snapshot = large.snapshot()
    began = threading.Event()
    scores: list[Any] = []

    def read() -> None:
        scores.append(snapshot.pagerank(iterations=200, progress=lambda *told: began.set()))

    reader = threading.Thread(target=read)
    reader.start()
    assert began.wait(20)
    snapshot.close()
    reader.join()
    assert scores[0].num_rows == 100_000


def test_a_closed_database_says_so_and_what_was_taken_from_it_lives_on(kept: People) -> None:
    path, snapshot, tx = kept.db.path, kept.db.snapshot(), kept.db.begin()
    kept.db.close()
    kept.db.close()
    with pytest.raises(eg.DatabaseClosed):
        kept.db.snapshot()
    tx.set(kept.ada, born=1)
    tx.commit()
    assert snapshot.get(kept.ada, "born") == 1815
    snapshot.close()
    assert path is not None
    with eg.open(path) as again:
        assert again.snapshot().get(kept.ada, "born") == 1


def test_a_path_that_is_open_gives_the_same_database(kept: People, tmp_path: Path) -> None:
    path = kept.db.path
    assert path is not None
    os.symlink(path, tmp_path / "link.eg")
    with eg.open(tmp_path / "link.eg") as other, other.begin() as tx:
        tx.set(kept.ada, born=2)
    assert kept.db.snapshot().get(kept.ada, "born") == 2
    with pytest.raises(eg.InvalidError, match="open in this process with durability sync"):
        eg.open(path, durability="none")
    with pytest.raises(eg.InvalidError, match="isolation"):
        eg.open(path, isolation="serializable")
    eg.open(path, durability="sync", isolation="snapshot").close()
    kept.db.close()
    gc.collect()
    with eg.open(path, durability="none") as changed:
        assert changed.durability == "none"
        assert changed.snapshot().get(kept.ada, "born") == 2


def test_many_threads_that_open_and_close_one_path_share_it(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for round_number in range(10):
                with eg.open(tmp_path / "shared.eg", durability="none") as db, db.begin() as tx:
                    tx.add_vertex("Step", by=number, at=round_number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with eg.open(tmp_path / "shared.eg") as db:
        assert db.snapshot().labels() == {"Step": 60}


def test_another_process_is_refused_by_name(kept: People) -> None:
    script = (
        f"import evergraph as eg\ntry:\n  eg.open({str(kept.db.path)!r})\nexcept eg.BusyError as e:\n  print(e)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert str(os.getpid()) in done.stdout


def in_a_fork(work: Any) -> str:
    """Give what `work` says in a child process that was forked."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def child() -> None:
        try:
            theirs.send(str(work()))
        except eg.EvergraphError as error:
            theirs.send(f"{type(error).__name__}: {error}")

    process = context.Process(target=child)
    process.start()
    said: str = ours.recv() if ours.poll(20) else "nothing"
    process.join(20)
    assert process.exitcode == 0
    return said


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_gets_an_error_from_what_its_parent_opened_and_may_open_its_own(kept: People) -> None:
    snapshot, tx = kept.db.snapshot(), kept.db.begin()
    for use in [
        kept.db.snapshot,
        snapshot.pagerank,
        lambda: tx.add_vertex("Person"),
        lambda: snapshot.get(0, "name"),
    ]:
        assert in_a_fork(use).startswith("ForkError: process")

    def own() -> float:
        with eg.open() as db:
            people(db)
            return float(db.snapshot().pagerank()["score"][0].as_py())

    # The pool of threads was used here before the fork.
    assert snapshot.pagerank().num_rows == 3
    assert in_a_fork(own).startswith("0.33")
    tx.rollback()


def test_ctrl_c_stops_long_work(large: eg.Database) -> None:
    snapshot = large.snapshot()
    # In the background of a shell it would be ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    began = time.monotonic()

    def ask() -> None:
        # Not before, or it might come while nobody expects it yet.
        timer.start()
        snapshot.betweenness()

    try:
        with pytest.raises(KeyboardInterrupt):
            ask()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 60
    assert snapshot.wcc().num_rows == 100_000


def test_other_threads_run_while_an_algorithm_does(large: eg.Database) -> None:
    def ticks_beside(iterations: int) -> int:
        done = threading.Event()

        def rank() -> None:
            large.snapshot().pagerank(iterations=iterations)
            done.set()

        thread = threading.Thread(target=rank)
        thread.start()
        ticks = 0
        while not done.wait(0.001):
            ticks += 1
        thread.join()
        return ticks

    # On a fast machine, or one that is busy, the work has to be longer.
    assert any(ticks_beside(iterations) > 5 for iterations in (100, 400, 1600, 6400))


def test_progress_is_told_and_may_stop_the_work(large: eg.Database) -> None:
    told: list[tuple[str, float | None, str]] = []

    def watch(phase: str, fraction: float | None, text: str) -> bool:
        told.append((phase, fraction, text))
        return len(told) < 3

    with pytest.raises(eg.CancelledError):
        large.snapshot().betweenness(progress=watch)
    assert len(told) == 3
    assert told[-1][0] == "betweenness"

    def fail(phase: str, fraction: float | None, text: str) -> None:
        raise RuntimeError(phase)

    with pytest.raises(RuntimeError, match=r"betweenness|freeze"):
        large.snapshot().betweenness(progress=fail)


def test_who_stops_a_load_too_late_is_told_that_it_is_in() -> None:
    def fail(phase: str, fraction: float | None, text: str) -> None:
        raise RuntimeError(phase)

    with eg.open() as db:
        # So few rows are in before anybody is told.
        with pytest.raises(RuntimeError) as failed:
            db.add_vertices("V", {"at": [1, 2]}, progress=fail)
        assert any("what it wrote is there" in note for note in failed.value.__notes__)
        assert len(db.add_vertices("V", {"at": [3]}, progress=lambda *_: False)) == 1
        assert db.stats()["vertices"] == {"V": 3}


def test_a_database_in_memory_has_limits_and_an_isolation_too() -> None:
    with eg.open(memory_limit=1000, isolation="serializable") as db:
        assert db.durability == "none"
        made = people(db)
        with pytest.raises(eg.LimitError), db.snapshot() as snapshot:
            snapshot.pagerank()
        # Write skew: a snapshot would let both commit.
        first, second = db.begin(), db.begin()
        first.set(made.ada, born=first.get(made.charles, "born"))
        second.set(made.charles, born=second.get(made.ada, "born"))
        first.commit()
        with pytest.raises(eg.ConflictError):
            second.commit()
    with eg.open(transaction_timeout=2.0) as db:
        made = people(db)
        slow = db.begin()
        time.sleep(2.1)
        with pytest.raises(eg.LimitError, match="time"):
            slow.get(made.ada, "born")


def test_a_bar_is_shown_when_asked_for(large: eg.Database, capsys: pytest.CaptureFixture[str]) -> None:
    large.snapshot().pagerank(iterations=100, progress=True)
    assert "%" in capsys.readouterr().err
    large.snapshot().pagerank(progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"engine": "tape"}, "tape"),
        ({"read_only": True, "durability": "sync"}, "durability is about writing"),
        ({"read_only": True, "engine": "disk"}, "mapped engine"),
        ({"durability": "sometimes"}, "sometimes"),
        ({"durability": "sync", "sync_interval": 1.0}, "sync_interval"),
        ({"isolation": "none"}, "serializable"),
        ({"transaction_timeout": -1.0}, "transaction_timeout"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(tmp_path: Path, settings: Any, says: str) -> None:
    with pytest.raises(eg.InvalidError, match=says):
        eg.open(tmp_path / "new.eg", **settings)
    assert list(tmp_path.iterdir()) == []


def test_what_isnt_there_and_what_is_something_else_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(eg.NotFoundError, match="no database"):
        eg.open(tmp_path / "none.eg", create=False)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear reader")
    with pytest.raises(eg.InvalidError):
        eg.open(tmp_path / "other")
    with pytest.raises(eg.InvalidError, match="durability"):
        eg.open(durability="sync")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people.eg"
    with eg.open(path) as db:
        people(db)
        assert db.checkpoint() > 0
    gc.collect()
    assert eg.check_files(path)["findings"] == []
    bodies = max(path.iterdir(), key=lambda file: file.stat().st_size if "bod" in file.name else -1)
    text = bytearray(bodies.read_bytes())
    text[len(text) // 2] ^= 0xFF
    bodies.write_bytes(text)
    with pytest.raises(eg.CorruptionError, match=bodies.name):
        eg.open(path)
    assert bodies.name in eg.check_files(path)["findings"][0]


def test_a_backup_is_a_database(kept: People, tmp_path: Path) -> None:
    assert kept.db.backup(tmp_path / "copy.eg")["vertices"] == 3
    with pytest.raises(eg.InvalidError):
        kept.db.backup(tmp_path / "copy.eg")
    with eg.open(tmp_path / "copy.eg") as copy:
        assert copy.snapshot().edge_types() == {"KNOWS": 3}
        assert copy.check()["findings"] == []


def test_errors_are_what_python_expects_them_to_be(circle: People) -> None:
    snapshot = circle.db.snapshot()
    with pytest.raises(ValueError, match="index"):
        snapshot.find("Person", title="Countess") or snapshot.find("Person", born=1815)
    with pytest.raises(LookupError):
        snapshot.edges("LOVES")
    with circle.db.begin() as tx, pytest.raises(eg.NotFoundError, match="v77"):
        tx.add_edge(circle.ada, "KNOWS", 77)
    for item in ["Ada", None, (1, 2), -1.5]:
        with pytest.raises(eg.InvalidError, match="neither a vertex"):
            snapshot.get(item, "name")  # type: ignore[arg-type]


def test_indexes_come_and_go(circle: People) -> None:
    db = circle.db
    assert not db.create_index("Person", "name", unique=True)
    db.drop_index("Person", "born")
    with pytest.raises(eg.NotFoundError):
        db.drop_index("Person", "born")
    with db.begin() as tx:
        tx.set(circle.charles, born=1815)
    with pytest.raises(eg.InvalidError, match="1815"):
        db.create_index("Person", "born", unique=True)
    with pytest.raises(eg.InvalidError, match="vertices"):
        db.create_index("Person", "born", of="people")  # type: ignore[arg-type]
