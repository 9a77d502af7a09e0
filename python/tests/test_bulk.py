"""Bulk: tables of every kind in, tables and arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import People

import evergraph as eg

ROWS = {"name": ["Rome", "Pisa", "Bari"], "people": [2_748_109, 89_000, None]}
TABLES: dict[str, Any] = {
    "columns": ROWS,
    "rows": [{"name": "Rome", "people": 2_748_109}, {"people": 89_000, "name": "Pisa"}, {"name": "Bari"}],
    "generator": ({"name": name, "people": people} for name, people in zip(*ROWS.values(), strict=True)),
    "arrow": pa.table(ROWS),
    "batch": pa.record_batch(ROWS),
    "chunks": pa.concat_tables([pa.table(ROWS).slice(0, 1), pa.table(ROWS).slice(1)]),
    "reader": pa.table(ROWS).to_reader(),
    "polars": pl.DataFrame(ROWS),
    "pandas": pd.DataFrame({"name": ROWS["name"], "people": pd.array(ROWS["people"], "Int64")}, index=[7, 8, 9]),
}


@pytest.mark.parametrize("kind", TABLES)
def test_vertices_come_from_whatever_people_keep_rows_in(kind: str) -> None:
    with eg.open() as db:
        cities = db.add_vertices("City", TABLES[kind], unique_key="name")
        assert cities.dtype == np.uint64
        snapshot = db.snapshot()
        found = snapshot.properties_of(cities)
        assert found.column_names == ["vertex", "label", "name", "people"]
        assert found.select(["name", "people"]).to_pydict() == ROWS
        assert snapshot.find("City", name="Pisa") == cities[1]


def test_rows_without_properties_are_vertices_too() -> None:
    db = eg.open()
    with db.begin() as tx:
        assert len(tx.add_vertices("Node", [{}] * 3)) == 3
        assert len(tx.add_vertices("Node", [{"name": "a"}, {}, {}])) == 3
    assert len(db.add_vertices("Node", [{}, {}])) == 2
    assert len(db.add_vertices("Node", [{}, {"name": "b"}, {}])) == 3
    with db.snapshot() as snapshot:
        assert snapshot.labels() == {"Node": 11}
        assert snapshot.vertices()["name"].to_pylist().count(None) == 9


def test_edges_come_from_arrays_of_numbers_and_from_keys(circle: People) -> None:
    db, ada, charles, mary = circle
    assert db.add_edges("LIKES", np.array([[ada, charles], [charles, mary]])) == 2
    named = np.array([(ada, 0.5), (mary, 1.5)], dtype=[("source", "u8"), ("weight", "f8")])
    structured = {"source": named["source"], "weight": named["weight"], "to": [mary, ada]}
    assert db.add_edges("TRUSTS", structured, target="to") == 2
    people = ("Person", "name")
    frame = pl.DataFrame({"who": ["Ada", "Mary"], "whom": ["Mary", "Charles"], "since": [1830, 1831]})
    assert db.add_edges("KNOWS", frame, source="who", target="whom", source_key=people, target_key=people) == 2
    snapshot = db.snapshot()
    assert snapshot.edge_types() == {"KNOWS": 5, "LIKES": 2, "TRUSTS": 2}
    assert snapshot.get(eg.EdgeId(mary, "TRUSTS", ada), "weight") == 1.5
    assert snapshot.get(eg.EdgeId(ada, "KNOWS", mary), "since") == 1830
    assert db.check()["findings"] == []


def test_edges_between_several_labels_are_told_apart(circle: People) -> None:
    cities = circle.db.add_vertices("City", ROWS, unique_key="name")
    rome, pisa, _ = cities.tolist()
    ends = [
        (circle.ada, rome),
        (rome, circle.mary),
        (rome, pisa),
        (circle.mary, circle.ada),
        (circle.charles, pisa),
    ]
    rows = [{"source": source, "target": target, "at": at} for at, (source, target) in enumerate(ends)]
    circle.db.add_edges("LINK", rows)
    found = circle.db.snapshot().edges("LINK").sort_by("at")
    assert list(zip(found["source"].to_pylist(), found["target"].to_pylist(), strict=True)) == ends
    assert circle.db.check()["findings"] == []


@pytest.mark.parametrize(
    ("kind", "rows", "says"),
    [
        (eg.NotFoundError, {"source": [0, 77], "target": [1, 1]}, "row 1: the source vertex 77"),
        (eg.NotFoundError, {"source": [0], "target": [2**40]}, f"row 0: no vertex has the number {2**40}"),
        (eg.NotFoundError, {"from": [0], "target": [1]}, 'no column is called "source"; there are from, target'),
        (eg.InvalidError, {"source": [0, None], "target": [1, 1]}, "row 1: no vertex"),
        (eg.InvalidError, {"source": [-1], "target": [1]}, "source"),
        (eg.InvalidError, {"source": ["Ada"], "target": ["Mary"]}, "expected vertex ids, found"),
        (
            eg.InvalidError,
            {"source": [0], "target": [1], "since": ["long ago"]},
            '"since": long expected, found string',
        ),
        (eg.InvalidError, [1, 2], "row 0: expected a mapping"),
    ],
)
def test_a_row_that_cannot_be_is_named_and_nothing_is_loaded(
    circle: People, kind: type[Exception], rows: Any, says: str
) -> None:
    with pytest.raises(kind, match=says):
        circle.db.add_edges("KNOWS", rows)
    assert circle.db.snapshot().edge_types() == {"KNOWS": 3}


def test_the_first_row_whose_end_is_not_there_is_named(circle: People) -> None:
    db, ada, _, mary = circle
    db.add_vertices("City", {"name": ["Rome"]})
    gone = db.add_vertices("City", {"name": ["Troy", "Tyre"]}).tolist()
    with db.begin() as tx:
        for city in gone:
            tx.delete_vertex(city)
    rows = [[ada, mary], [mary, gone[1]], [ada, gone[0]], [ada, 4_000_000_000]]
    for count, row, number in [(3, 1, gone[1]), (4, 1, gone[1])]:
        with pytest.raises(eg.NotFoundError, match=f"row {row}: the target vertex {number} isn't there"):
            db.add_edges("VISITED", np.array(rows[:count], dtype=np.int64))
    with pytest.raises(eg.NotFoundError, match="row 0: no vertex has the number 5000000000"):
        db.add_edges("VISITED", np.array([[5_000_000_000, ada]]))
    assert "VISITED" not in db.snapshot().edge_types()


def test_keys_that_nobody_has_are_named(circle: People) -> None:
    rows = {"source": ["Ada", "Nobody"], "target": ["Mary", "Mary"]}
    key = ("Person", "name")
    with pytest.raises(eg.NotFoundError, match="row 1: no Person has the name"):
        circle.db.add_edges("KNOWS", rows, source_key=key, target_key=key)


def test_a_unique_key_that_is_there_twice_is_refused(circle: People) -> None:
    with pytest.raises(eg.InvalidError, match="name"):
        circle.db.add_vertices("Person", {"name": ["Ada"]})
    with pytest.raises(eg.InvalidError, match="row 1 has no name"):
        circle.db.add_vertices("Person", {"name": ["Grace", None]}, unique_key="name")
    assert circle.db.snapshot().labels() == {"Person": 3}


def test_columns_take_the_type_of_their_property_where_nothing_is_lost(circle: People) -> None:
    db = circle.db
    with db.begin() as tx:
        tx.declare_property("City", "rank", "short")
        tx.declare_property("City", "size", "double")
    db.add_vertices("City", {"rank": np.array([1, 2]), "size": np.array([3, 4])})
    assert db.snapshot().schema("City") == {"rank": "short", "size": "double"}
    for column, values in {"rank": [100_000], "size": [2**60 + 1]}.items():
        with pytest.raises(eg.InvalidError, match=column):
            db.add_vertices("City", {column: values})


def test_a_table_is_seen_by_numpy_pandas_and_polars_without_a_copy(circle: People) -> None:
    table = circle.db.snapshot().edges("KNOWS")
    sources = table["source"].chunk(0).to_numpy(zero_copy_only=True)
    assert sources.tolist() == [circle.ada, circle.charles, circle.mary]
    assert pl.DataFrame(table)["since"].to_list() == [1833, 1827, 1840]
    assert table.to_pandas()["type"].tolist() == ["KNOWS"] * 3


def test_tables_outlive_their_snapshot_and_database() -> None:
    with eg.open() as db:
        db.add_vertices("City", ROWS)
        snapshot = db.snapshot()
        table, (offsets, neighbors) = snapshot.vertices(), snapshot.csr()
        snapshot.close()
    assert table["name"].to_pylist() == ROWS["name"]
    assert (offsets[-1], len(neighbors)) == (0, 0)


def test_csr_is_every_list_sorted_while_lists_change() -> None:
    random = np.random.default_rng(7)
    with eg.open() as db:
        count = 6000
        vertices = db.add_vertices("Node", {"at": np.arange(count)})
        ends = random.integers(0, count, size=(50_000, 2))
        db.add_edges("LINK", {"source": vertices[ends[:, 0]], "target": vertices[ends[:, 1]],
                              "weight": random.random(len(ends))})  # fmt: skip
        # What is fresh lies beside the bodies that the load made.
        with db.begin() as tx:
            for source, target in random.integers(0, count, size=(500, 2)).tolist():
                tx.add_edge(int(vertices[source]), "LINK", int(vertices[target]), weight=2.0)
            tx.delete_vertex(int(vertices[17]))
        snapshot = db.snapshot()
        edges = snapshot.edges("LINK")
        table = np.column_stack([edges["source"].to_numpy(), edges["target"].to_numpy()])
        for direction, (own, other) in {"out": (0, 1), "in": (1, 0)}.items():
            offsets, neighbors = snapshot.csr("LINK", direction=direction)  # type: ignore[arg-type]
            assert (offsets.dtype.name, neighbors.dtype.name) == ("int64", "uint32")
            assert offsets[-1] == len(neighbors) == len(table)
            rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            order = np.lexsort((table[:, other], table[:, own]))
            assert np.array_equal(rows, table[order, own])
            assert np.array_equal(neighbors, table[order, other])
        compact = snapshot.compact_csr("LINK", weight="weight")
        assert len(compact.vertices) == count - 1
        assert compact.weights is not None
        sums = np.bincount(compact.vertices[compact.neighbors].astype(np.int64), compact.weights, count)
        wanted = np.bincount(table[:, 1].astype(np.int64), edges["weight"].to_numpy(), count)
        assert np.allclose(sums, wanted)
        sources = np.repeat(compact.vertices, np.diff(compact.offsets))
        assert np.array_equal(sources, table[:, 0])
        assert snapshot.degrees(compact.vertices, direction="both").sum() == 2 * len(table)


@pytest.mark.parametrize("types", [["LINK"], ["LIKE"], ["LINK", "LIKE"]])
def test_csr_with_hubs_and_several_types_is_what_was_loaded(types: list[str]) -> None:
    random = np.random.default_rng(13)
    with eg.open() as db:
        vertices = db.add_vertices("Node", {"at": np.arange(9_000)})
        loaded = {name: random.integers(0, len(vertices), size=(60_000, 2)) for name in ("LINK", "LIKE")}
        # Hubs, first and in the midst of a group and of the next one; the lists of hubs lie apart.
        for hub, rows in {0: slice(0, 17_000), 77: slice(17_000, 35_000), 5_000: slice(35_000, 52_000)}.items():
            loaded["LINK"][rows, 0] = hub
        for name, ends in loaded.items():
            db.add_edges(name, vertices[ends])
        ends = vertices[np.concatenate([loaded[name] for name in types])]
        for direction, (own, other) in {"out": (0, 1), "in": (1, 0)}.items():
            offsets, neighbors = db.snapshot().csr(*types, direction=direction)  # type: ignore[arg-type]
            assert neighbors.flags.writeable
            order = np.lexsort((ends[:, other], ends[:, own]))
            assert np.array_equal(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), ends[order, own])
            assert np.array_equal(neighbors, ends[order, other])


def test_pieces_are_the_same_lists_without_a_copy_where_nothing_is_fresh() -> None:
    random = np.random.default_rng(11)
    with eg.open() as db:
        vertices = db.add_vertices("Node", {"at": np.arange(20_000)})
        ends = random.integers(0, len(vertices), size=(40_000, 2))
        # A hub: its list is a segment of its own.
        ends[:18_000, 0] = 5
        db.add_edges("LINK", vertices[ends])
        snapshot = db.snapshot()
        assert all(piece.shared for piece in snapshot.csr_pieces("LINK"))
        with db.begin() as tx:
            tx.add_edge(int(vertices[9]), "LINK", int(vertices[3]))
            tx.delete_edge(eg.EdgeId(int(vertices[5]), "LINK", int(snapshot.edges_of(int(vertices[5]))[0][1])))
        changed = db.snapshot()
        assert {piece.shared for piece in changed.csr_pieces("LINK")} == {True, False}
        for view in (snapshot, changed):
            offsets, neighbors = view.csr("LINK")
            pieces = view.csr_pieces("LINK")
            seen = 0
            for piece in pieces:
                assert not piece.neighbors.flags.writeable
                for row, vertex in enumerate(piece.vertices.tolist()):
                    own = piece.neighbors[piece.offsets[row] : piece.offsets[row + 1]]
                    assert np.array_equal(own, neighbors[offsets[vertex] : offsets[vertex + 1]])
                    seen += len(own)
            assert seen == len(neighbors)
        snapshot.close()
        changed.close()
        del snapshot, changed, view
    # The database is closed, and the arrays are still there.
    assert sum(int(piece.neighbors.sum()) for piece in pieces) == int(neighbors.sum())


def test_neighbors_of_many_come_with_their_edges(circle: People) -> None:
    table = circle.db.snapshot().neighbors([circle.mary, circle.ada], direction="both", properties=["since"])
    assert table["vertex"].to_pylist() == [circle.mary] * 2 + [circle.ada] * 2
    assert table["neighbor"].to_pylist() == [circle.ada, circle.charles, circle.charles, circle.mary]
    assert table["since"].to_pylist() == [1840, 1827, 1833, 1840]


def test_other_libraries_get_the_same_graph(circle: People) -> None:
    db, ada, charles, mary = circle
    db.add_vertices("City", ROWS)
    snapshot = db.snapshot()
    graph = snapshot.to_networkx(labels="Person", key="name")
    assert set(graph.edges(data="since")) == {
        ("Ada", "Charles", 1833),
        ("Charles", "Mary", 1827),
        ("Mary", "Ada", 1840),
    }
    assert snapshot.to_networkx().number_of_nodes() == 6
    with pytest.raises(eg.InvalidError, match="has no born"):
        snapshot.to_networkx(key="born")
    matrix, vertices = snapshot.to_scipy("KNOWS", weight="since")
    assert matrix.shape == (6, 6)
    rows = {int(vertex): row for row, vertex in enumerate(vertices)}
    assert matrix[rows[ada], rows[charles]] == 1833
    assert matrix.sum() == 1833 + 1827 + 1840
    copied = snapshot.to_igraph(labels="Person")
    assert (copied.vcount(), copied.ecount()) == (3, 3)
    assert copied.vs["name"] == ["Ada", "Charles", "Mary"]
    assert copied.get_edgelist() == [(0, 1), (1, 2), (2, 0)]
    assert rows[mary] == 2


def test_torch_geometric_gets_a_store_a_label_and_a_type(circle: People) -> None:
    pytest.importorskip("torch_geometric")
    data = circle.db.snapshot().to_torch_geometric(
        features={"Person": ["born"]}, edge_features={"KNOWS": ["since"]}
    )
    assert data["Person"].x.tolist() == [[1815.0], [1791.0], [1780.0]]
    assert data["Person", "KNOWS", "Person"].edge_index.tolist() == [[0, 1, 2], [1, 2, 0]]
