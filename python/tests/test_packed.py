"""Packed graphs: raw edges in memory and in files, their views, and algorithms on them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import evergraph as eg


def skewed(vertices: int, edges: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    sources = (vertices * random.random(edges) ** 3).astype(np.uint32)
    return sources, random.integers(0, vertices, edges)


def test_edges_are_inserted_deleted_and_seen_by_views_of_their_moment() -> None:
    graph = eg.PackedGraph(vertices=10)
    assert (graph.found, graph.is_open) == ("created", True)
    graph.insert_edge(6, 1)
    view = graph.consistent_view()
    graph.insert_edge(6, 4)
    graph.insert_edge(6, 1)
    assert graph.delete_edge(6, 1) is True
    assert graph.delete_edge(6, 7) is False
    graph.insert_vertex(12)
    now = graph.consistent_view()
    assert view.neighbors(6).tolist() == [1]
    assert now.neighbors(6).tolist() == [4, 1]
    assert now.neighbors(1, "in").tolist() == [6]
    assert (view.vertices, view.edges, now.vertices, now.edges) == (10, 1, 13, 2)
    assert now.degrees().tolist() == [0] * 6 + [2] + [0] * 6
    assert now.degrees("both").sum() == 4
    assert repr(now) == "<PackedView: 13 vertices, 2 edges>"
    assert repr(graph) == "<PackedGraph: 13 vertices, 2 edges>"


@pytest.mark.parametrize("make", [np.asarray, pa.array, list, lambda ids: pa.chunked_array([ids[:5], ids[5:]])])
def test_edges_come_in_any_arrays(make: object) -> None:
    sources, targets = skewed(50, 400)
    graph = eg.PackedGraph(vertices=50)
    graph.insert_edges(make(sources), make(targets))  # type: ignore[operator]
    with graph.consistent_view() as view:
        for vertex in range(50):
            assert view.neighbors(vertex).tolist() == targets[sources == vertex].tolist()
            assert view.neighbors(vertex, "in").tolist() == sources[targets == vertex].tolist()


def test_algorithms_answer_as_on_a_database() -> None:
    sources, targets = skewed(200, 3_000)
    pairs = np.unique(np.stack([sources, targets], axis=1), axis=0)
    graph = eg.PackedGraph(vertices=200)
    graph.insert_edges(pairs[:, 0], pairs[:, 1])
    db = eg.open()
    ids = db.add_vertices("V", {"number": np.arange(200)})
    assert ids.tolist() == list(range(200))
    db.add_edges("E", {"source": pairs[:, 0], "target": pairs[:, 1]})
    with db.snapshot() as snapshot, graph.consistent_view() as view:
        for name in ["bfs", "wcc", "scc", "triangles", "kcore", "pagerank", "betweenness", "closeness"]:
            arguments = (0,) if name == "bfs" else ()
            expected, found = (getattr(lists, name)(*arguments, numpy=True) for lists in (snapshot, view))
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=name)


def test_what_a_packed_graph_has_not_is_refused_by_name() -> None:
    graph = eg.PackedGraph(vertices=5)
    graph.insert_edge(0, 1)
    view = graph.consistent_view()
    with pytest.raises(eg.InvalidError, match="no labels, types or properties"):
        view.pagerank(labels="Person")
    with pytest.raises(eg.InvalidError, match="no labels, types or properties"):
        view.pagerank(keys="name")
    with pytest.raises(eg.InvalidError, match="looks edges up one by one"):
        view.shortest_path(0, 1)
    with pytest.raises(eg.InvalidError, match="looks edges up one by one"):
        view.k_hop(0)
    with pytest.raises(eg.NotFoundError, match="no properties"):
        view.sssp(0, weight="length")
    with pytest.raises(eg.NotFoundError, match="vertex 5 is not in the view, which has 5"):
        view.neighbors(5)
    with pytest.raises(
        eg.InvalidError, match=r"vertex 7 does not exist: there are 5; add it by `insert_vertex\(7\)`"
    ):
        graph.insert_edge(0, 7)
    with pytest.raises(eg.InvalidError, match="source is -1"):
        graph.insert_edge(-1, 0)
    with pytest.raises(eg.InvalidError, match="vertices is 1073741824"):
        eg.PackedGraph(vertices=1 << 30)
    with pytest.raises(eg.InvalidError, match="option `log_records` is 1; it may be 2 to 1365"):
        eg.PackedGraph(log_records=1)


def test_a_bulk_insertion_with_a_mistake_inserts_nothing() -> None:
    graph = eg.PackedGraph(vertices=5)
    for sources, targets, says in [
        ([0, 1], [1], "2 sources and 1 targets"),
        ([0, 1], [1, 5], "vertex 5 does not exist"),
        ([0, -1], [1, 2], "sources is -1"),
        ([0, 1 << 40], [1, 2], "sources is 1099511627776"),
        ([0.5], [1], "whole numbers without nulls, not float64"),
        (pa.array([0, None]), [1, 2], "without nulls"),
        ([[0, 1]], [[1, 2]], r"an array of shape \(1, 2\)"),
    ]:
        with pytest.raises(eg.InvalidError, match=says):
            graph.insert_edges(sources, targets)
    assert graph.statistics()["edges"] == 0
    graph.insert_edges([], [])


def test_a_stopped_insertion_says_how_many_edges_are_there() -> None:
    graph = eg.PackedGraph(vertices=100)
    sources = np.tile(np.arange(100, dtype=np.uint32), 100_000)
    with pytest.raises(eg.CancelledError, match="cancelled"):
        graph.insert_edges(sources, sources, progress=lambda *_: False)
    edges = graph.statistics()["edges"]
    assert 0 < edges < len(sources)
    with graph.consistent_view() as view:
        assert view.degrees().sum() == view.degrees("in").sum() == edges


def test_a_graph_in_a_folder_is_there_after_a_shutdown_and_after_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "edges"
    with eg.PackedGraph(folder, vertices=100, emulate_dax=True) as graph:
        graph.insert_edges(*skewed(100, 1_000))
    with pytest.raises(eg.DatabaseClosed):
        graph.insert_edge(0, 1)
    assert "closed" in repr(graph)
    graph = eg.PackedGraph(folder, emulate_dax=True)
    assert (graph.found, graph.statistics()["edges"]) == ("shut down", 1_000)
    with pytest.raises(eg.BusyError, match=f"process {os.getpid()}"):
        eg.PackedGraph(folder, emulate_dax=True)
    view = graph.consistent_view()
    with pytest.raises(eg.BusyError, match="1 views of the packed graph are open"):
        graph.shutdown()
    view.close()
    graph.shutdown()
    code = f"""
import evergraph as eg
graph = eg.PackedGraph({str(folder)!r}, emulate_dax=True)
while True:
    graph.insert_edges([1] * 100, range(100))
    print(graph.statistics()["edges"], flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    told = [int(child.stdout.readline()) for _ in range(5)][-1]
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().split()
    child.wait()
    told = int(rest[-1]) if rest else told
    graph = eg.PackedGraph(folder, emulate_dax=True, create=False)
    assert graph.found == "scanned"
    with graph.consistent_view() as view:
        assert told <= view.edges <= told + 100
        assert view.degrees("in").sum() == view.edges


def test_memory_that_is_not_persistent_is_used_only_if_that_is_said(tmp_path: Path) -> None:
    try:
        eg.PackedGraph(tmp_path / "edges").shutdown()
    except eg.IoError as refusal:
        assert "MAP_SYNC" in str(refusal)  # noqa: PT017 - a machine with persistent memory accepts it
    with pytest.raises(eg.NotFoundError):
        eg.PackedGraph(tmp_path / "none", create=False, emulate_dax=True)


def test_damage_is_named_with_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "edges"
    with eg.PackedGraph(folder, vertices=100, emulate_dax=True) as graph:
        graph.insert_edges(*skewed(100, 1_000))
    file = max((folder / "out").glob("packed-0*"), key=lambda file: file.stat().st_size)
    os.truncate(file, 4_096)
    with pytest.raises(eg.CorruptionError, match=f"{file} ends at byte 4096"):
        eg.PackedGraph(folder, emulate_dax=True)
