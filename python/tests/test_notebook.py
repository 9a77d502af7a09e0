"""Notebooks: what is shown of databases, snapshots and results, data frames, and pictures."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import People, need

import evergraph as eg

EVIL = "<script>alert('x')</script>"
NAMES = "g.V().order().by('name').values('name')"


def test_results_show_nothing_that_would_have_to_be_run(circle: People) -> None:
    calls: list[int] = []

    def count(graph: eg.GraphView, given: Any) -> list[int]:
        calls.append(1)
        return [given]

    rows = circle.db.query("g.inject(1, 2, 3).call('count')", services={"count": count})
    said = rows._repr_html_()
    assert "to_pandas()" in said
    assert calls == []
    assert next(rows) == 1
    # Some were fetched with it: these are shown, and still come.
    said = rows._repr_html_()
    assert "<td>2</td>" in said
    assert "<td>1</td>" not in said
    assert rows.to_list() == [2, 3]
    rows.close()
    assert "closed" in rows._repr_html_()


def test_results_that_were_made_are_shown_and_still_come(circle: People) -> None:
    with circle.db.begin() as tx:
        rows = tx.query("g.V().order().by('name').project('name', 'born').by('name').by('born')")
        said = rows._repr_html_()
        assert "<th>name</th><th>born</th>" in said
        assert "<td>Ada</td><td>1815</td>" in said
        assert said == rows._repr_html_()
        assert rows.to_pandas()["name"].tolist() == ["Ada", "Charles", "Mary"]
        many = tx.query("g.inject(xs).unfold()", xs=list(range(1000)))
        said = many._repr_html_()
        assert said.count("<tr>") == 21
        assert "and more" in said
        wide = tx.query("g.inject(1).constant(m)", m={f"k{at:03}": at for at in range(500)})
        assert wide._repr_html_().count("<td>") == 21
        long = tx.query("g.inject(x)", x=["y" * 10_000] * 1000)
        assert len(long._repr_html_()) < 1000


def test_what_is_shown_is_no_html_of_somebody_else() -> None:
    with eg.open() as db:
        with db.begin() as tx:
            tx.add_vertex(EVIL, **{EVIL: EVIL})
            one = tx.add_vertex(EVIL)
            tx.add_edge(one, EVIL, one)
            rows = [
                tx.query("g.V().values()"),
                tx.query("g.V().elementMap()"),
                tx.query("g.V().groupCount().by(T.label)"),
            ]
            shown = [result._repr_html_() for result in rows]
        shown += [db._repr_html_(), db.snapshot()._repr_html_()]
        for text in shown:
            assert "&lt;script&gt;" in text
            assert "<script" not in text


def test_databases_and_snapshots_show_what_there_is_of_what(circle: People, tmp_path: Path) -> None:
    circle.db.add_vertices("City", {"name": ["Rome"]})
    for said in (circle.db._repr_html_(), circle.db.snapshot()._repr_html_()):
        assert "<td>Person</td><td>3</td><td>name: string, born: long</td>" in said
        assert "<td>KNOWS</td><td>3</td><td>since: long</td>" in said
    assert "in memory" in circle.db._repr_html_()
    with eg.open(tmp_path / "shop.eg") as db:
        assert "shop.eg" in db._repr_html_()
        assert "empty" in db._repr_html_()
        with db.begin() as tx:
            for at in range(50):
                tx.add_vertex(f"Label{at:02}")
        said = db._repr_html_()
        assert said.count("<tr>") == 21
        assert "and 30 more" in said
    assert "closed" in db._repr_html_()
    snapshot = circle.db.snapshot()
    snapshot.close()
    assert snapshot._repr_html_() == "<p>&lt;evergraph.Snapshot, closed&gt;</p>"


def test_what_cannot_be_used_says_so_and_raises_nothing(circle: People) -> None:
    tx = circle.db.begin()
    assert repr(tx) == "<evergraph.Transaction>"
    waiting, go = threading.Event(), threading.Event()

    def slow(graph: eg.GraphView, given: Any) -> list[int]:
        waiting.set()
        go.wait(20)
        return [1]

    thread = threading.Thread(target=lambda: tx.query("g.call('slow')", services={"slow": slow}), daemon=True)
    thread.start()
    assert waiting.wait(20)
    assert repr(tx) == "<evergraph.Transaction, in use by another thread>"
    go.set()
    thread.join()
    tx.rollback()
    assert repr(tx) == "<evergraph.Transaction, closed>"


def test_results_become_data_frames_in_which_nothing_is_rounded(circle: People) -> None:
    pd = need("pandas")
    text = "g.inject(xs).unfold()"
    rows: list[dict[str, Any]] = [
        {"number": 2**63 - 1, "truth": True, "name": "a", "at": {"x": 1}},
        {"name": None, "at": {"x": 2}},
    ]
    rows[1].pop("name")
    frame = circle.db.query(text, xs=rows).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["number"].tolist()[0] == 2**63 - 1
    assert [str(kind) for kind in frame[["number", "truth"]].dtypes] == ["Int64", "boolean"]
    assert frame["at"].tolist() == [{"x": 1}, {"x": 2}]
    assert circle.db.query(NAMES).to_pandas()["result"].tolist() == ["Ada", "Charles", "Mary"]
    whole = circle.db.query("g.V().values('born')").to_pandas()
    assert str(whole["result"].dtype) == "int64"
    begun = circle.db.query(NAMES)
    next(begun)
    with pytest.raises(eg.InvalidError, match="fetched already"):
        begun.to_pandas()


def test_results_become_data_frames_of_polars(circle: People) -> None:
    pl = need("polars")
    frame = circle.db.query("g.V().order().by('name').project('n', 'v').by('name').by()").to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dict(as_series=False) == {"n": ["Ada", "Charles", "Mary"], "v": [0, 1, 2]}
    with pytest.raises(eg.InvalidError, match="column 'result': Polars has no durations with months or days"):
        circle.db.query("g.inject(x)", x=eg.Duration(months=1)).to_polars()


PNG = b"\x89PNG"


def needs_matplotlib() -> None:
    need("matplotlib")
    need("networkx")


def test_a_picture_shows_all_of_a_small_graph(circle: People, tmp_path: Path) -> None:
    needs_matplotlib()
    with circle.db.begin() as tx:
        tx.add_edge(circle.ada, "KNOWS", circle.charles, since=1834)
        tx.add_edge(circle.ada, "LIKES", circle.ada)
    snapshot = circle.db.snapshot()
    picture = snapshot.show()
    assert (picture.vertices, picture.edges) == (3, 4)
    assert picture.title == "3 vertices and 5 edges"
    assert picture._repr_png_().startswith(PNG)
    texts = {text.get_text() for text in picture.figure.axes[0].texts}
    assert {"Ada", "Charles", "Mary", "KNOWS", "2 KNOWS", "LIKES"} <= texts
    picture.save(tmp_path / "people.svg")
    assert "<svg" in (tmp_path / "people.svg").read_text()
    assert "1815" in {text.get_text() for text in snapshot.show(caption="born").figure.axes[0].texts}
    # The same picture each time.
    assert snapshot.show()._repr_png_() == picture._repr_png_()
    assert eg.open().snapshot().show().title == "0 vertices and 0 edges"


def test_a_picture_of_a_large_graph_is_of_a_part_and_says_so() -> None:
    needs_matplotlib()
    random = np.random.default_rng(5)
    with eg.open() as db:
        points = db.add_vertices("Point", {"at": np.arange(20_000)})
        db.add_edges("LINK", points[random.integers(0, len(points), size=(60_000, 2))])
        snapshot = db.snapshot()
        picture = snapshot.show(limit=30)
        assert picture.vertices == 30
        assert picture.title.startswith("30 of 20,000 vertices and ")
        assert picture.title.endswith(" between them")
        # In breadth from the first: what is drawn hangs together.
        assert picture.edges >= 29
        around = snapshot.show([int(points[77])], limit=5)
        assert (around.vertices, around.edges >= 4) == (5, True)
        given = snapshot.show(points[:10], limit=10)
        assert given.vertices == 10
        for limit in (0, 501):
            with pytest.raises(eg.InvalidError, match="from 1 to 500 vertices"):
                snapshot.show(limit=limit)


def test_a_picture_of_hubs_reads_no_long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_matplotlib()
    read: list[int] = []
    neighbors = eg.Snapshot.neighbors

    def counted(*arguments: Any, **options: Any) -> Any:
        table = neighbors(*arguments, **options)
        read.append(table.num_rows)
        return table

    monkeypatch.setattr(eg.Snapshot, "neighbors", counted)
    with eg.open() as db:
        points = db.add_vertices("Point", {"at": np.arange(30_000)})
        hub, other = int(points[0]), int(points[1])
        ends = [(hub, point) for point in points[2:].tolist()]
        db.add_edges(
            "LINK", np.array([*ends, *((target, other) for _, target in ends), (hub, other), (other, hub)])
        )
        snapshot = db.snapshot()
        picture = snapshot.show([hub], limit=12)
        chosen = {text.get_text() for text in picture.figure.axes[0].texts}
        assert str(hub) in chosen
        both = snapshot.show([hub, other], limit=2)
        assert (both.vertices, both.edges) == (2, 2)
        three = snapshot.show([hub, other, int(points[5])], limit=3)
        assert (three.vertices, three.edges) == (3, 4)
    assert sum(read) < 200


def test_a_picture_is_of_what_was_chosen(circle: People) -> None:
    needs_matplotlib()
    circle.db.add_vertices("City", {"name": ["Rome", "Pisa"]})
    with circle.db.begin() as tx:
        tx.add_edge(circle.ada, "LIKES", circle.mary)
    snapshot = circle.db.snapshot()
    assert snapshot.show(labels="City").title == "2 vertices and 0 edges"
    assert snapshot.show(types="LIKES", labels=["Person"]).edges == 1
    part = snapshot.query("g.V(v).outE('KNOWS').subgraph('s').cap('s')", v=circle.ada).one()
    assert snapshot.show(part).title == "2 vertices and 1 edge"
    with pytest.raises(eg.NotFoundError):
        snapshot.show(labels="Town")
    with pytest.raises(eg.NotFoundError):
        snapshot.show(types="HATES")
    with pytest.raises(eg.NotFoundError, match="vertex 77 isn't there"):
        snapshot.show([circle.ada, 77])
    snapshot.close()
    with pytest.raises(eg.SnapshotClosed):
        snapshot.show()


def test_captions_are_texts_and_no_formulas() -> None:
    needs_matplotlib()
    with eg.open() as db:
        with db.begin() as tx:
            for text in ("$\\frac{", "a $ b $ c", EVIL, "x" * 1000, "line\nbreak"):
                tx.add_vertex("$\\bad{", name=text)
            tx.add_edge(0, "$_$", 1)
        picture = db.snapshot().show(caption="name")
        assert picture._repr_png_().startswith(PNG)
        assert max(len(text.get_text()) for text in picture.figure.axes[0].texts) <= 30
