"""Algorithms of servers: the same tables as in this process, names in errors, and what stops them."""

from __future__ import annotations

import datetime
import json
import signal
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from served import Served, program, serve

import evergraph as eg
from evergraph import _native

# What algorithms are asked beside what they have by default.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "bfs": {"source": 3, "direction": "both"},
    "sssp": {"source": 3, "weight": "weight", "missing_weight": 0.1, "direction": "both"},
    "shortest_path": {"source": 3, "target": 9, "direction": "both", "weight": "weight"},
    "k_hop": {"sources": [3, 5], "depth": 3},
    "personalized_pagerank": {"sources": [3, 5]},
    "betweenness": {"sample": 20, "seed": 5},
    "cycles": {"length_max": 4, "limit": 50},
    "flow_rings": {"amount": "weight", "time": "at", "pause_max": 1500.0, "kept_min": 0.01, "length_min": 2},
    "louvain": {"weight": "weight"},
    "topological_order": {"where_edges": [("order", "=", True)]},
}


def many(db: eg.Database) -> None:
    """Add 300 vertices with values of all types, and edges between them."""
    random = np.random.default_rng(11)
    days = [datetime.date(1800, 1, 1) + datetime.timedelta(days=at) for at in range(300)]
    moments = [
        datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=at)
        for at in range(300)
    ]
    ends = random.integers(0, 300, size=(1500, 2))
    with db.begin() as tx:
        ids = [
            tx.add_vertex(
                "Node" if at % 3 else "Other",
                name=f"n{at}",
                day=days[at],
                moment=moments[at],
                big=10**30 + at,
                share=Decimal(at) / 8,
                real=at / 7,
                token=uuid.UUID(int=at),
                flag=at % 2 == 0,
            )
            for at in range(300)
        ]
        for at, (source, target) in enumerate(ends):
            weight = float(random.random())
            tx.add_edge(
                ids[source],
                "LINK" if at % 4 else "KNOWS",
                ids[target],
                weight=weight,
                at=at,
                order=bool(source < target),
            )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[eg.Snapshot, eg.RemoteDatabase]]:
    """Give the same graph in this process and on a server."""
    program()
    folder = tmp_path_factory.mktemp("both")
    with eg.open(folder / "people.eg") as db:
        many(db)
    server = serve(folder)
    with eg.open() as own, eg.connect(f"{server.url}/people") as remote:
        many(own)
        with own.snapshot() as snapshot:
            yield snapshot, remote
    server.process.kill()
    server.process.wait()


def figures(table: Any) -> dict[bytes, Any]:
    """Give the figures of an answer, but for times."""
    found: dict[bytes, Any] = {}
    for name, value in table.schema.metadata.items():
        if not name.endswith(b"_seconds"):
            found[name] = value if value in (b"true", b"false") else float(value)
    return found


@pytest.mark.parametrize("name", [entry["name"] for entry in _native.algorithms()])
def test_algorithms_answer_as_in_this_process(both: tuple[eg.Snapshot, eg.RemoteDatabase], name: str) -> None:
    snapshot, remote = both
    arguments = ARGUMENTS.get(name, {})
    scopes: list[dict[str, Any]] = [
        {},
        {"labels": "Node", "types": ["LINK", "KNOWS"]},
        {"keys": ["name", "day", "share", "token"]},
    ]
    for choices in scopes:
        if "labels" in choices and name in {"bfs", "sssp", "shortest_path", "k_hop", "personalized_pagerank"}:
            choices = {"types": "LINK", "keys": "moment"}
        here = getattr(snapshot, name)(**arguments, **choices)
        there = getattr(remote, name)(**arguments, **choices)
        assert there.schema.equals(here.schema), (name, choices)
        assert there.num_rows > 0 or choices
        # Sums of floats depend on how threads share the work.
        assert figures(there) == pytest.approx(figures(here))
        assert {b"freeze_seconds", b"kernel_seconds"} <= there.schema.metadata.keys()
        for column in here.column_names:
            if here.schema.field(column).type == pa.float64():
                assert np.allclose(here[column].to_numpy(), there[column].to_numpy(), equal_nan=True), column
            else:
                assert here[column].equals(there[column]), column
        together = getattr(remote, name)(**arguments, **choices, numpy=True)
        assert isinstance(together, tuple)
        assert len(together) == there.num_columns


@pytest.mark.parametrize(
    "condition",
    [
        "name",
        ("day", "<", datetime.date(1800, 3, 1)),
        ("moment", ">=", datetime.datetime(2000, 1, 5, tzinfo=datetime.timezone.utc)),
        ("big", ">", 10**30 + 100),
        ("share", "<=", Decimal("12.125")),
        ("real", "=", 100 / 7),
        ("token", "in", [uuid.UUID(int=7), uuid.UUID(int=8)]),
        ("flag", "!=", False),
        ("name", "in", ["n7", 'n"\\', "Größe"]),
    ],
)
def test_conditions_on_values_of_any_type(both: tuple[eg.Snapshot, eg.RemoteDatabase], condition: Any) -> None:
    snapshot, remote = both
    here, there = (of.wcc(where=[condition], keys="name") for of in (snapshot, remote))
    assert 0 < there.num_rows <= 300
    assert there.equals(here)


def test_a_parameter_that_cannot_be_meant_is_named(both: tuple[eg.Snapshot, eg.RemoteDatabase]) -> None:
    _, remote = both
    calls: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (eg.InvalidError, "damping", lambda: remote.pagerank(damping=2.0)),
        (eg.InvalidError, "damping", lambda: remote.pagerank(damping="much")),  # type: ignore[arg-type]
        (eg.InvalidError, "iterations", lambda: remote.pagerank(iterations=-1)),
        (eg.InvalidError, "missing_weight", lambda: remote.louvain(missing_weight=1.0)),
        (eg.InvalidError, "sources", lambda: remote.k_hop([])),
        (eg.NotFoundError, "nothing", lambda: remote.sssp(0, weight="nothing")),
        (eg.NotFoundError, "Nde", lambda: remote.wcc(labels="Nde")),
        (eg.NotFoundError, "LNK", lambda: remote.wcc(types="LNK")),
        (eg.NotFoundError, "nme", lambda: remote.wcc(keys="nme")),
        (eg.NotFoundError, "nme", lambda: remote.wcc(where=["nme"])),
        (eg.InvalidError, "~", lambda: remote.wcc(where=[("name", "~", 1)])),
        (eg.InvalidError, "cycle", lambda: remote.topological_order()),
        (TypeError, "lables", lambda: remote.wcc(lables="Node")),  # type: ignore[call-arg]
    ]
    for kind, named, call in calls:
        with pytest.raises(kind, match=named):
            call()


def test_a_table_has_at_most_the_bytes_that_were_chosen(both: tuple[eg.Snapshot, eg.RemoteDatabase]) -> None:
    _, remote = both
    with eg.connect(remote.url, table_bytes_max=3000) as small:
        with pytest.raises(eg.LimitError, match="3000 bytes"):
            small.wcc()
        assert small.wcc(where=[("name", "=", "n7")]).num_rows == 1
    with eg.connect(remote.url, table_bytes_max=2**40) as large:
        assert large.wcc().num_rows == 300


ENDLESS_CYCLES: dict[str, Any] = {"length_min": 12, "length_max": 12, "limit": 2**32 - 1}


@pytest.fixture
def complete(tmp_path: Path) -> Iterator[Served]:
    """Serve a complete graph: nobody has time for all of its cycles."""
    program()
    with eg.open(tmp_path / "people.eg") as db, db.begin() as tx:
        ids = [tx.add_vertex("Node") for _ in range(40)]
        for source in ids:
            for target in ids:
                if source != target:
                    tx.add_edge(source, "LINK", target)
    server = serve(tmp_path, "--timeout", "600s")
    yield server
    server.process.kill()
    server.process.wait()


def running(server: Served) -> int:
    """Count the requests that run on a server."""
    url = server.url.replace("ws://", "http://")
    with urllib.request.urlopen(f"{url}/queries") as answer:
        return len(json.load(answer)["queries"])


def until(server: Served, count: int) -> None:
    """Wait until so many requests run."""
    ends = time.monotonic() + 60
    while running(server) != count:
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_ctrl_c_stops_an_algorithm_on_the_server(complete: Served) -> None:
    with eg.connect(complete.url) as remote:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)

        def interrupt() -> None:
            until(complete, 1)
            signal.raise_signal(signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                remote.cycles(**ENDLESS_CYCLES)
        finally:
            thread.join()
            signal.signal(signal.SIGINT, before)
        until(complete, 0)
        assert remote.wcc().num_rows == 40


def test_progress_is_told_while_the_server_works_and_stops_it(complete: Served) -> None:
    told: list[tuple[str, float | None, str]] = []

    def progress(phase: str, fraction: float | None, text: str) -> bool:
        told.append((phase, fraction, text))
        return len(told) < 3

    with eg.connect(complete.url) as remote:
        with pytest.raises(eg.CancelledError, match="callback"):
            remote.cycles(**ENDLESS_CYCLES, progress=progress)
        assert told == [("server", None, "")] * 3
        until(complete, 0)

        def raising(phase: str, fraction: float | None, text: str) -> bool:
            raise KeyError(phase)

        with pytest.raises(KeyError, match="server"):
            remote.cycles(**ENDLESS_CYCLES, progress=raising)
        until(complete, 0)


def test_a_server_that_is_killed_while_it_computes_is_an_error(complete: Served) -> None:
    with eg.connect(complete.url) as remote:

        def kill() -> None:
            until(complete, 1)
            complete.process.kill()
            # Until it has ended its port still takes connections, and breaks them off.
            complete.process.wait()

        thread = threading.Thread(target=kill)
        thread.start()
        with pytest.raises(eg.IoError):
            remote.cycles(**ENDLESS_CYCLES)
        thread.join()
        with pytest.raises(eg.IoError, match="evergraph serve"):
            remote.wcc()
