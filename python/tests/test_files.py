"""Files: imports by methods named for what they read, and exports that they read back."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import People

import evergraph as eg


def test_files_are_imported_with_progress(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id:ID,name:string,:LABEL\n1,Ada,Person\n2,Charles,Person\n")
    (tmp_path / "knows.csv").write_text(":START_ID,:END_ID,:TYPE,since:int\n1,2,KNOWS,1833\n1,9,KNOWS,1\n")
    told: list[tuple[str, float | None, str]] = []
    with eg.open() as db:
        files = [tmp_path / "people.csv", tmp_path / "knows.csv"]
        with pytest.raises(eg.InvalidError, match=r"knows.csv:3"):
            db.import_csv(*files)
        assert db.snapshot().labels() == {}
        report = db.import_csv(*files, on_bad_row="skip", progress=lambda *now: told.append(now))
        assert (report["vertices"], report["edges"], report["bad_rows"]) == (2, 1, 1)
        assert "knows.csv:3" in report["bad_rows_first"][0]
        assert told
        with pytest.raises(eg.InvalidError, match="on_unknown"):
            db.import_csv(*files, on_unknown="perhaps")  # type: ignore[arg-type]
        with pytest.raises(eg.NotFoundError):
            db.import_csv(tmp_path / "nothing.csv")


def test_parquet_is_imported_by_label_and_type(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2], "name": ["Ada", "Charles"]}), tmp_path / "p.parquet")
    pq.write_table(pa.table({"source": [1], "target": [2], "since": [1833]}), tmp_path / "k.parquet")
    with eg.open() as db:
        report = db.import_parquet(
            vertices={"Person": tmp_path / "p.parquet"}, edges={"KNOWS": [tmp_path / "k.parquet"]}
        )
        assert (report["vertices"], report["edges"]) == (2, 1)
        assert db.snapshot().edges()["since"].to_pylist() == [1833]


def written(circle: People, folder: Path) -> dict[str, Path]:
    """Write the three people in every format; a path for each."""
    paths = {
        "csv": folder / "csv",
        "parquet": folder / "tables",
        "graphson": folder / "people.json",
        "graphml": folder / "people.graphml",
        "edgelist": folder / "people.e",
    }
    for kind, path in paths.items():
        options: dict[str, Any] = {"edge_columns": "since"} if kind == "edgelist" else {}
        done = circle.db.export(path, format=kind, **options)  # type: ignore[arg-type]
        assert (done["vertices"], done["edges"]) == (3, 3)
        assert sum(file["rows"] for file in done["files"]) >= 3
        assert all(file["bytes"] > 0 for file in done["files"])
        assert done["losses"]
    return paths


def contents(db: eg.Database, *properties: str) -> list[tuple[Any, ...]]:
    """Who knows whom since when."""
    snapshot = db.snapshot()
    edges = snapshot.edges().to_pylist()
    named = [(snapshot.get(edge["source"], "name"), snapshot.get(edge["target"], "name")) for edge in edges]
    return sorted((*ends, edge["since"]) for ends, edge in zip(named, edges, strict=True))


@pytest.mark.parametrize("kind", ["csv", "parquet", "graphson", "graphml", "edgelist"])
def test_what_is_exported_is_imported_by_the_method_of_its_name_and_no_other(
    circle: People, tmp_path: Path, kind: str
) -> None:
    paths = written(circle, tmp_path)
    methods: dict[str, str] = {
        "csv": "import_csv",
        "parquet": "import_parquet",
        "graphson": "import_graphson",
        "graphml": "import_graphml",
        "edgelist": "import_edge_lists",
    }
    options: dict[str, Any] = {}
    if kind == "edgelist":
        options = {"edge_columns": "since:long", "edge_type": "KNOWS", "vertex_label": "Person"}
    for name in ("import_files", methods[kind]):
        with eg.open() as db:
            done = getattr(db, name)(paths[kind], **options)
            assert (done["vertices"], done["edges"]) == (3, 3)
            if kind == "edgelist":
                assert sorted(db.snapshot().edges("KNOWS")["since"].to_pylist()) == [1827, 1833, 1840]
            else:
                assert contents(db) == contents(circle.db)
    readable = {"csv": {"import_csv"}, "edgelist": {"import_edge_lists", "import_csv"}}.get(kind, {methods[kind]})
    for name in set(methods.values()) - readable:
        with eg.open() as db:
            with pytest.raises(eg.InvalidError):
                getattr(db, name)(paths[kind])
            assert db.snapshot().labels() == {}


def test_ids_of_elements_are_kept_where_they_are_asked_for(circle: People, tmp_path: Path) -> None:
    path = written(circle, tmp_path)["graphson"]
    with eg.open() as db:
        db.import_graphson(path, vertex_id="number", edge_id="was")
        snapshot = db.snapshot()
        assert snapshot.schema("Person")["number"] == "long"
        assert snapshot.find("Person", number=circle.ada) is not None
        assert "was" in snapshot.schema("KNOWS", of="edges")
    with eg.open() as db:
        db.import_files(path, vertex_id="number")
        assert "number" in db.snapshot().schema("Person")


def test_formats_are_chosen_by_name(circle: People, tmp_path: Path) -> None:
    paths = written(circle, tmp_path)
    with eg.open() as db:
        with pytest.raises(eg.InvalidError, match="its format is graphml, and what is read here is gexf, gml"):
            db.import_files(paths["graphml"], formats=["gexf", "gml"])
        with pytest.raises(eg.InvalidError, match='there is no format "xls"'):
            db.import_files(paths["graphml"], formats="xls")
        assert db.import_files(paths["graphml"], formats="graphml")["edges"] == 3


def test_the_first_line_is_what_it_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("Adam,Waterloo\nEve,Paris\n")
    for first_line, count in [("header", 1), ("data", 2)]:
        with eg.open() as db:
            files = {"Place": tmp_path / "places.csv"}
            done = db.import_csv(vertices=files, first_line=first_line)  # type: ignore[arg-type]
            assert done["vertices"] == count
    with eg.open() as db, pytest.raises(eg.InvalidError, match="first_line: expected one of header, data"):
        db.import_csv(tmp_path, first_line="title")  # type: ignore[arg-type]


def test_what_opening_found_is_told(tmp_path: Path) -> None:
    with eg.open(tmp_path / "some.eg") as db:
        assert db.stats()["recovery"]["created"]
        with db.begin() as tx:
            tx.add_vertex("Person")
    with eg.open(tmp_path / "some.eg") as db:
        assert not db.stats()["recovery"]["created"]
        assert not db.stats()["recovery"]["torn_end"]


def test_a_file_is_read_by_its_method_whatever_it_is_called(circle: People, tmp_path: Path) -> None:
    paths = written(circle, tmp_path)
    for kind, name in [
        ("graphson", "import_graphson"),
        ("graphml", "import_graphml"),
        ("edgelist", "import_edge_lists"),
    ]:
        odd = tmp_path / f"{kind}.dump"
        odd.write_bytes(gzip.compress(paths[kind].read_bytes()))
        with eg.open() as db:
            assert getattr(db, name)(odd)["edges"] == 3


def test_lists_take_names_ids_and_columns(tmp_path: Path) -> None:
    (tmp_path / "links.txt").write_text("1 2 0.5 100\n2 3 1.5 200\n")
    with eg.open() as db:
        done = db.import_edge_lists(
            tmp_path / "links.txt",
            vertex_label="Page",
            edge_type="LINK",
            vertex_ids=range(0, 10),
            edge_columns="weight:double,at:datetime{epoch:seconds}",
        )
        assert (done["vertices"], done["edges"]) == (10, 2)
        assert db.snapshot().schema("LINK", of="edges") == {"weight": "double", "at": "datetime"}
        with pytest.raises(eg.InvalidError, match="expected a range without steps"):
            db.import_edge_lists(tmp_path / "links.txt", vertex_ids=range(0, 10, 2))
    (tmp_path / "few.lst").write_text("1\n2\n3\n4\n")
    with eg.open() as db:
        done = db.import_edge_lists(tmp_path / "links.txt", vertex_lists=tmp_path / "few.lst")
        assert done["vertices"] == 4


def test_an_import_takes_only_the_options_of_its_format(tmp_path: Path) -> None:
    with eg.open() as db:
        with pytest.raises(TypeError, match="unexpected keyword argument 'delimiter'"):
            db.import_parquet(tmp_path, delimiter=",")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'vertex_id'"):
            db.import_csv(tmp_path, vertex_id="id")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'delimeter'"):
            db.import_files(tmp_path, delimeter=",")  # type: ignore[call-arg]


def test_a_proposed_mapping_is_what_an_import_follows(circle: People, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "people.csv").write_text("id,name\n1,Ada\n2,Mary\n")
    (folder / "knows.csv").write_text("from,to,since\n1,2,1833\n")
    with eg.open() as db:
        mapping = db.propose_mapping(folder)
        assert 'path = "people.csv"' in mapping
        assert db.snapshot().labels() == {}
        (tmp_path / "mapping.toml").write_text(mapping.replace('"people"', '"Person"'))
        done = db.import_files(folder, mapping=tmp_path / "mapping.toml")
        assert (done["vertices"], done["edges"]) == (2, 1)
        assert db.snapshot().labels() == {"Person": 2}


def test_an_export_writes_a_part_packs_it_and_replaces_only_what_it_may(circle: People, tmp_path: Path) -> None:
    circle.db.add_vertices("City", {"name": ["Rome"]})
    told: list[tuple[str, float | None, str]] = []
    done = circle.db.export(
        tmp_path / "out", labels="Person", types=["KNOWS"], packing="gzip", progress=lambda *now: told.append(now)
    )
    assert (done["vertices"], done["edges"]) == (3, 3)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "Person-KNOWS-Person.csv.gz",
        "Person.csv.gz",
    ]
    assert {phase for phase, _, _ in told} <= {"look", "write"}
    with pytest.raises(eg.InvalidError):
        circle.db.export(tmp_path / "out")
    circle.db.export(tmp_path / "out", labels="City", overwrite=True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["City.csv"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda db, path: db.export(path / "people.csv"), "the name doesn't tell the format; give it as format="),
        (lambda db, path: db.export(path / "x", format="xls"), 'format "xls": expected one of csv, parquet'),
        (lambda db, path: db.export(path / "x", packing="rar"), 'packing "rar"'),
        (lambda db, path: db.export("-", format="graphson"), "expected a path"),
        (lambda db, path: db.export(path / "x", edge_columns="since"), "columns are chosen for edge lists"),
    ],
)
def test_an_export_that_cannot_be_meant_is_refused(
    circle: People, tmp_path: Path, call: Callable[[eg.Database, Path], Any], says: str
) -> None:
    with pytest.raises(eg.InvalidError, match=says):
        call(circle.db, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_export_stops_when_it_is_told_and_leaves_nothing(circle: People, tmp_path: Path) -> None:
    circle.db.add_vertices("Point", {"at": list(range(400_000))})
    with pytest.raises(eg.CancelledError):
        circle.db.export(tmp_path / "out", progress=lambda *now: False)
    assert list(tmp_path.iterdir()) == []


def test_what_verifies_of_a_damaged_database_is_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "damaged.eg"
    with eg.open(path) as db:
        db.add_vertices("Person", {"name": ["Ada", "Mary"]}, unique_key="name")
    body = max(path.glob("bodies-*"), key=lambda file: file.stat().st_size)
    content = bytearray(body.read_bytes())
    content[len(content) // 2] ^= 0xFF
    body.write_bytes(content)
    report = eg.salvage(path, tmp_path / "saved.eg")
    assert report["losses"]
    assert (report["edges"], report["through"], report["commits_left"]) == (0, 1, 0)
    with eg.open(tmp_path / "saved.eg", create=False) as saved:
        assert saved.check()["findings"] == []
    with pytest.raises(eg.InvalidError):
        eg.salvage(path, tmp_path / "saved.eg")


def add_notes(db: eg.Database, *, count: int, size: int) -> None:
    """In one transaction."""
    with db.begin() as tx:
        for _ in range(count):
            tx.add_vertex("Note", text="x" * size)


def test_a_database_opens_with_limits_of_its_own(tmp_path: Path) -> None:
    limits: dict[str, Any] = {
        "transaction_bytes_max": 4096,
        "stall_max": 5.0,
        "checkpoint_after_bytes": 1 << 20,
        "log_file_bytes": 1 << 20,
    }
    with eg.open(tmp_path / "small.eg", **limits) as db:
        with pytest.raises(eg.LimitError), db.begin() as tx:
            tx.add_vertex("Note", text="x" * 8192)
        assert eg.open(tmp_path / "small.eg", **limits).snapshot().labels() == {}
        with pytest.raises(eg.InvalidError, match="transaction_bytes_max"):
            eg.open(tmp_path / "small.eg", transaction_bytes_max=8192)
    with eg.open(tmp_path / "usual.eg"):
        # What is said is what it was anyway.
        usual: dict[str, Any] = {"stall_max": 10.0, "log_file_bytes": 1 << 26, "live_bytes_max": 4 << 30}
        eg.open(tmp_path / "usual.eg", transaction_bytes_max=1 << 30, **usual)
    with eg.open(tmp_path / "mapped.eg", engine="mapped", live_bytes_max=16 << 20) as db:
        assert db.stats()["mapped"]["live_limit_bytes"] == 16 << 20
        with pytest.raises(eg.LimitError, match="the limit is live_bytes_max"):
            add_notes(db, count=20, size=1 << 20)
    for bytes_max, bound in ((1, "at least 16 MiB"), ((256 << 30) + 1, "at most 256 GiB")):
        with pytest.raises(eg.InvalidError, match=f"live_bytes_max is {bytes_max} bytes, but must be {bound}"):
            eg.open(tmp_path / "none.eg", engine="mapped", live_bytes_max=bytes_max)
