"""Processes that read a database of the mapped engine while another one writes it."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import people

import evergraph as eg

# Does what its lines say, and says when it is done: `add NAME ...` is one commit.
WRITER = """
import sys
import evergraph as eg

db = eg.open(sys.argv[1], engine="mapped")
print("open", flush=True)
for line in sys.stdin:
    command, *words = line.split()
    if command == "add":
        with db.begin() as tx:
            for name in words:
                tx.add_vertex("Person", name=name)
    elif command == "link":
        with db.begin() as tx:
            tx.add_edge(int(words[0]), words[1], int(words[2]))
    elif command == "load":
        db.add_vertices("Robot", {"number": range(int(words[0]))})
    elif command == "checkpoint":
        db.checkpoint()
    elif command == "close":
        break
    print("done", flush=True)
db.close()
print("closed", flush=True)
"""


class Writer:
    """A process that has a database open to write."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        assert self._said() == "open"

    def _said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, command: str) -> None:
        """Let it do something, and wait until it has."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        assert self._said() in ("done", "closed")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "live.eg"


@pytest.fixture
def start(path: Path) -> Iterator[Callable[[], Writer]]:
    """Give what starts a writer; it is killed with the test."""
    writers: list[Writer] = []

    def begin() -> Writer:
        writers.append(Writer(path))
        return writers[-1]

    yield begin
    for writer in writers:
        writer.kill()


def eventually(what: str, is_so: Callable[[], bool]) -> None:
    """Wait for a state of another process."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def names(graph: Any) -> list[str]:
    found: list[str] = graph.query("g.V().hasLabel('Person').values('name')").to_list()
    return sorted(found)


def test_each_commit_is_seen_once_it_has_returned_and_a_snapshot_stays(
    path: Path, start: Callable[[], Writer]
) -> None:
    writer = start()
    writer.tell("add Ada")
    with eg.open(path, read_only=True) as db:
        assert (db.engine, db.read_only, db.writer_process) == ("mapped", True, writer.process.pid)
        assert "read-only" in repr(db)
        before = db.snapshot()
        assert names(before) == ["Ada"]
        for number in range(100):
            writer.tell(f"add P{number} Q{number}")
            assert db.snapshot().labels() == {"Person": 3 + 2 * number}
        # A type and a label that were not there before.
        writer.tell("link 0 KNOWS 1")
        writer.tell("load 5000")
        now = db.snapshot()
        assert now.labels() == {"Person": 201, "Robot": 5000}
        assert now.neighbors([0], "KNOWS").num_rows == 1
        writer.tell("checkpoint")
        assert (names(before), before.labels()) == (["Ada"], {"Person": 1})
        assert db.stats()["vertices"] == {"Person": 201, "Robot": 5000}


def test_algorithms_tables_and_exports_answer_as_in_the_writer(path: Path, tmp_path: Path) -> None:
    with eg.open(path, engine="mapped") as db:
        people(db)
        wanted = [db.snapshot().pagerank(keys="name"), db.snapshot().vertices(), db.snapshot().edges()]
        indexes = [(index["name"], index["key"], index["entries"]) for index in db.indexes()]
        assert indexes
        db.export(tmp_path / "here.json")
    with eg.open(path, read_only=True) as db:
        now = db.snapshot()
        assert db.writer_process is None
        found = [now.pagerank(keys="name"), now.vertices(), now.edges()]
        assert [table.equals(other) for table, other in zip(found, wanted, strict=True)] == [True] * 3
        db.export(tmp_path / "there.json")
        assert now.find("Person", name="Mary") is not None
        assert [(index["name"], index["key"], index["entries"]) for index in db.indexes()] == indexes
    assert (tmp_path / "there.json").read_text() == (tmp_path / "here.json").read_text()


def test_everything_that_writes_is_refused_by_name_and_at_once(
    path: Path, tmp_path: Path, start: Callable[[], Writer]
) -> None:
    writer = start()
    (tmp_path / "more.csv").write_text("id:ID,:LABEL\n1,Person\n")
    writes: list[Callable[[eg.Database], Any]] = [
        lambda db: db.begin().add_vertex("Person", name="Bob"),
        lambda db: db.transact(lambda tx: tx.add_vertex("Person", name="Bob")),
        lambda db: db.query("g.addV('Person')"),
        # Nothing would be changed.
        lambda db: db.query("g.V().hasLabel('Nobody').drop()"),
        lambda db: db.begin().query("g.V().hasLabel('Nobody').drop()"),
        lambda db: db.profile("g.addV('Person')"),
        lambda db: db.query(f"g.io('{tmp_path}/none.json').read()", files=True),
        lambda db: db.create_index("Person", "name"),
        lambda db: db.add_vertices("Person", {"name": ["Bob"]}),
        lambda db: db.add_vertices("Person", {"name": ["Bob"]}, unique_key="name"),
        lambda db: db.add_edges("KNOWS", {"source": [0], "target": [0]}),
        lambda db: db.import_files(tmp_path / "more.csv"),
        lambda db: db.delete_vertex_in_parts(0),
        lambda db: db.checkpoint(),
        lambda db: db.backup(tmp_path / "copy.eg"),
        lambda db: db.convert(tmp_path / "copy.eg", engine="disk"),
        lambda db: db.check(),
    ]
    writer.tell("add Ada")
    with eg.open(path, read_only=True) as db:
        for number, write in enumerate(writes):
            with pytest.raises(eg.InvalidError) as refused:
                write(db)
            assert str(writer.process.pid) in str(refused.value), (number, str(refused.value))
        assert names(db) == ["Ada"]
    assert not (tmp_path / "copy.eg").exists()


def test_a_reader_outlives_its_writer_and_goes_on_with_the_next_one(
    path: Path, start: Callable[[], Writer]
) -> None:
    first = start()
    first.tell("add Ada")
    db = eg.open(path, read_only=True)
    before = db.snapshot()
    first.tell("add Bob")
    first.kill()
    eventually("nobody writes", lambda: db.writer_process is None)
    assert (names(before), names(db)) == (["Ada"], ["Ada", "Bob"])
    with pytest.raises(eg.InvalidError, match="open to be read"):
        db.query("g.addV('Person')")

    second = start()
    second.tell("add Charles")
    assert names(db) == ["Ada", "Bob", "Charles"]
    assert db.writer_process == second.process.pid
    assert names(before) == ["Ada"]
    for number in range(2000):
        second.tell(f"add N{number}")
        if number % 500 == 0:
            second.tell("checkpoint")
    assert names(before) == ["Ada"]
    second.tell("close")
    second.process.wait()
    assert db.snapshot().labels() == {"Person": 2003}
    before.close()
    db.close()
    with eg.open(path) as whole:
        assert whole.check()["findings"] == []
        assert whole.snapshot().labels() == {"Person": 2003}


def test_a_reader_without_a_writer_joins_the_one_that_comes(path: Path, start: Callable[[], Writer]) -> None:
    with pytest.raises(eg.NotFoundError):
        eg.open(path, read_only=True)
    assert not path.exists()
    with eg.open(path, engine="mapped") as db:
        people(db)
    with eg.open(path, read_only=True) as db:
        before = db.snapshot()
        assert db.writer_process is None
        writer = start()
        writer.tell("add Grace")
        assert names(db) == ["Ada", "Charles", "Grace", "Mary"]
        assert db.writer_process == writer.process.pid
        assert names(before) == ["Ada", "Charles", "Mary"]


def test_who_reads_is_listed_with_its_snapshots(path: Path, start: Callable[[], Writer]) -> None:
    writer = start()
    writer.tell("add Ada")
    assert eg.processes(path) == {"writer": writer.process.pid, "newest_commit": 1, "readers": []}
    with eg.open(path, read_only=True) as db:
        snapshots = [db.snapshot(), db.snapshot()]
        writer.tell("add Bob")
        found = eg.processes(path)
        [reader] = found["readers"]
        assert (found["writer"], found["newest_commit"]) == (writer.process.pid, snapshots[0].timestamp + 1)
        assert (reader["process"], reader["joined"], reader["snapshots"]) == (os.getpid(), True, 2)
        assert reader["oldest_snapshot"] == snapshots[0].timestamp
        assert reader["oldest_snapshot_seconds"] >= 0

        def are_retained() -> bool:
            # More than fits into the tail that the snapshots read. After commits the writer frees what it can.
            writer.tell("add " + " ".join(f"N{number}" for number in range(100)))
            [reader] = eg.processes(path)["readers"]
            return bool(reader["retained_bytes"] > 0)

        eventually("the writer keeps what the snapshots need", are_retained)
        for snapshot in snapshots:
            snapshot.close()
        [reader] = eg.processes(path)["readers"]
        assert (reader["snapshots"], reader["retained_bytes"]) == (0, 0)
    eventually("it has gone", lambda: eg.processes(path)["readers"] == [])


def test_only_the_mapped_engine_is_read_beside_its_writer(tmp_path: Path, path: Path) -> None:
    for engine in ("memory", "disk"):
        other = tmp_path / f"{engine}.eg"
        with eg.open(other, engine=engine):
            assert eg.processes(other) == {"writer": os.getpid(), "newest_commit": None, "readers": []}
        with pytest.raises(eg.InvalidError, match="convert"):
            eg.open(other, read_only=True)
    with pytest.raises(eg.NotFoundError):
        eg.processes(path)
    with pytest.raises(eg.InvalidError, match="give a path"):
        eg.open(read_only=True)


def test_one_process_opens_a_path_to_write_or_to_read(path: Path, start: Callable[[], Writer]) -> None:
    with eg.open(path, engine="mapped") as db:
        people(db)
        assert db.writer_process == os.getpid()
        with pytest.raises(eg.InvalidError, match="read_only"):
            eg.open(path, read_only=True)
    with eg.open(path, read_only=True) as db, eg.open(path, read_only=True) as again:
        assert names(again) == names(db)
        with pytest.raises(eg.InvalidError, match="read_only"):
            eg.open(path)
    writer = start()
    with pytest.raises(eg.BusyError, match="read_only=True") as busy:
        eg.open(path)
    assert str(writer.process.pid) in str(busy.value)


def count_there(path: str, answers: Any) -> None:
    """Read in a process of its own."""
    with eg.open(path, read_only=True) as db:
        answers.put(db.snapshot().labels())


def test_a_fork_is_refused_and_a_new_process_reads(path: Path, start: Callable[[], Writer]) -> None:
    writer = start()
    writer.tell("add Ada")
    db = eg.open(path, read_only=True)
    snapshot = db.snapshot()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for use in (db.snapshot, snapshot.labels, db.stats):
            try:
                use()
                said.append("worked")
            except eg.ForkError:
                said.append("refused")
        os.write(writing, " ".join(said).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 100) == b"refused refused refused"
    # The child's end took nothing from its parent.
    writer.tell("add Bob")
    assert (snapshot.labels(), db.snapshot().labels()) == ({"Person": 1}, {"Person": 2})

    spawn = multiprocessing.get_context("spawn")
    answers: Any = spawn.Queue()
    process = spawn.Process(target=count_there, args=(str(path), answers))
    process.start()
    assert answers.get(timeout=60) == {"Person": 2}
    process.join()


def test_threads_share_what_one_process_reads(path: Path, start: Callable[[], Writer]) -> None:
    writer = start()
    writer.tell("add Ada")
    with eg.open(path, read_only=True) as db:
        # More than there are slots.
        held = []
        for number in range(40):
            held.append((db.snapshot(), number + 1))
            writer.tell(f"add P{number}")
        assert [snapshot.labels()["Person"] for snapshot, _ in held] == [wanted for _, wanted in held]
        writer.tell("checkpoint")
        for snapshot, wanted in held:
            assert snapshot.labels() == {"Person": wanted}
            snapshot.close()
