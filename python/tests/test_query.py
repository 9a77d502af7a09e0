"""Gremlin from Python: results, variables, errors, and how long results live."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import gc
import math
import os
import signal
import threading
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import People, people

import evergraph as eg

NAMES = "g.V().order().by('name').values('name')"


def test_a_database_a_transaction_and_a_snapshot_answer_alike(circle: People) -> None:
    text = "g.V().has('Person', 'born', gt(year)).order().by('born').values('name')"
    with circle.db.begin() as tx:
        inside = tx.query(text, year=1785).to_list()
    assert circle.db.query(text, year=1785).to_list() == ["Charles", "Ada"]
    assert circle.db.snapshot().query(text, year=1785).to_list() == inside == ["Charles", "Ada"]


@pytest.mark.parametrize(
    "value",
    [
        True,
        7,
        -(2**40),
        2**70,
        1.5,
        math.inf,
        "text",
        b"bytes",
        decimal.Decimal("1.10"),
        datetime.date(1815, 12, 10),
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
        datetime.timedelta(days=2, seconds=3, microseconds=4),
        eg.Duration(months=1),
        uuid.UUID(int=5),
        None,
    ],
)
def test_a_value_comes_back_as_it_was_given(circle: People, value: Any) -> None:
    [found] = circle.db.query("g.inject(x)", x=value).to_list()
    assert type(found) is type(value)
    assert found == value


def test_collections_come_back_with_nulls_and_elements_in_them(circle: People) -> None:
    given = {"a": [1, None, (2, 3)], "b": {"x", "y"}, "c": {"d": []}}
    back = circle.db.query("g.inject(1).constant(x)", x=given).one()
    assert back == {"a": [1, None, [2, 3]], "b": {"x", "y"}, "c": {"d": []}}
    assert type(back["b"]) is set


def test_vertices_edges_and_properties_are_what_other_methods_take_and_give(circle: People) -> None:
    snapshot = circle.db.snapshot()
    [edge] = snapshot.query("g.V(v).outE('KNOWS')", v=circle.ada).to_list()
    assert edge == eg.EdgeId(circle.ada, "KNOWS", circle.charles)
    assert type(edge) is eg.EdgeId
    assert snapshot.get(edge, "since") == 1833
    assert snapshot.query("g.E(e).inV()", e=edge).to_list() == [circle.charles]
    born = snapshot.query("g.V(v).properties('born')", v=circle.ada).one()
    assert born == eg.Property(circle.ada, "born", 1815)
    since = snapshot.query("g.E(e).properties('since')", e=edge).one()
    assert since == eg.Property(edge, "since", 1833)
    both = snapshot.query("g.V(vs).order().by('born').values('name')", vs=[circle.ada, circle.mary]).to_list()
    assert both == ["Mary", "Ada"]


def test_maps_paths_trees_and_subgraphs(circle: People) -> None:
    snapshot = circle.db.snapshot()
    path = "g.V(v).outE('KNOWS').inV().path()"
    edge = eg.EdgeId(circle.ada, "KNOWS", circle.charles)
    assert snapshot.query(path, v=circle.ada).one() == [circle.ada, edge, circle.charles]
    tree = snapshot.query("g.V(v).out().out().tree()", v=circle.ada).one()
    assert tree == {circle.ada: {circle.charles: {circle.mary: {}}}}
    part = snapshot.query("g.V(v).outE().subgraph('s').cap('s')", v=circle.ada).one()
    assert part == eg.Subgraph([circle.ada, circle.charles], [edge])
    counts = snapshot.query("g.V().groupCount().by('born')").one()
    assert counts == {1815: 1, 1791: 1, 1780: 1}
    one = snapshot.query("g.V(v).elementMap('name')", v=circle.ada).one()
    assert one == {"id": circle.ada, "label": "Person", "name": "Ada"}
    entries = snapshot.query("g.V(v).valueMap('name').unfold()", v=circle.ada).to_list()
    assert entries == [("name", ["Ada"])]


def test_a_property_called_id_is_not_lost_beside_the_id() -> None:
    db = eg.open()
    with db.begin() as tx:
        vertex = tx.add_vertex("Thing", id="t1")
    found = db.query("g.V().elementMap()").one()
    assert found == {"T.id": vertex, "label": "Thing", "id": "t1"}
    assert db.query("g.V().elementMap()").to_arrow().to_pylist() == [found]


def test_what_is_in_a_set_or_a_key_is_hashable(circle: People) -> None:
    found = circle.db.query("g.inject(x).groupCount()", x=[1, [2], {3}, {"k": [4]}]).one()
    assert found == {(1, (2,), frozenset({3}), (("k", (4,)),)): 1}
    assert circle.db.query("g.inject(1).constant(x)", x=frozenset({(1, 2)})).one() == {(1, 2)}


def test_keys_that_are_one_to_python_are_an_error_and_no_loss(circle: People) -> None:
    text = "g.inject(1, true, 2).groupCount()"
    with pytest.raises(eg.InvalidError, match="keys that are equal in Python"):
        circle.db.query(text).one()
    assert circle.db.query(text + ".unfold()").to_list() == [(1, 1), (True, 1), (2, 1)]


def test_numbers_of_equal_value_are_one_whatever_their_widths() -> None:
    assert eg.open().query("g.inject(1, 1L, 1.0d, 2).groupCount()").one() == {1: 3, 2: 1}
    for value_type in ("int32", "int64"):
        with eg.open() as db:
            db.add_vertices("Person", pa.table({"age": pa.array([27, 29, 32, 27], value_type)}))
            ages = "g.V().values('age').fold()"
            assert db.query(f"{ages}.intersect(x)", x=[27, 99]).one() == {27}
            assert db.query(f"{ages}.difference(x)", x=[27, 99]).one() == {29, 32}
            assert db.query(f"{ages}.disjunct(x)", x=[27, 99]).one() == {29, 32, 99}
            assert db.query(f"{ages}.merge(x)", x=[27, 99]).one() == {27, 29, 32, 99}
            assert db.query("g.inject(x).union(identity(), V().values('age')).dedup().count()", x=27).one() == 3


def test_a_variable_is_stored_in_the_width_of_its_property() -> None:
    with eg.open() as db:
        db.add_vertices("Person", pa.table({"born": pa.array([1815], "int32")}))
        db.query("g.addV('Person').property('born', year)", year=1780).to_list()
        db.query("g.V().has('Person', 'born', 1815).property('born', year)", year=1816).to_list()
        found = db.query("g.V().values('born').order()")
        assert found.to_list() == [1780, 1816]
        assert db.query("g.V().values('born').is(typeOf(GType.INT)).count()").one() == 2
        with pytest.raises(eg.InvalidError, match=r'property Person\.born takes int, found the long "5000000000"'):
            db.query("g.addV('Person').property('born', year)", year=5_000_000_000).to_list()


def test_a_text_that_writes_is_committed_once_and_gives_its_results(circle: People) -> None:
    made = circle.db.query("g.addV('Person').property('name', n)", n="Grace").one()
    assert circle.db.snapshot().properties(made) == {"name": "Grace"}
    # Nobody looks at these results.
    circle.db.query("g.V(v).property('born', y)", v=made, y=1906)
    assert circle.db.snapshot().get(made, "born") == 1906
    edges = circle.db.query("g.V(v).addE('KNOWS').to(__.V(w))", v=made, w=circle.ada).to_list()
    assert edges == [eg.EdgeId(made, "KNOWS", circle.ada)]
    assert circle.db.snapshot().has(edges[0])


def test_writes_that_conflict_are_run_again(circle: People) -> None:
    # A sum is a double: the property must be one from the start.
    circle.db.query("g.V(v).property('n', 0.0d)", v=circle.ada)
    errors: list[BaseException] = []

    def count() -> None:
        try:
            for _ in range(25):
                circle.db.query("g.V(v).property('n', __.values('n').math('_ + 1'))", v=circle.ada)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert circle.db.snapshot().get(circle.ada, "n") == 100


def test_a_transaction_sees_its_own_writes_and_a_loop_over_results_may_write(circle: People) -> None:
    tx = circle.db.begin()
    # A new edge type, whose name only this transaction knows.
    [edge] = tx.query("g.V(v).addE('ADMIRES').to(__.V(w))", v=circle.ada, w=circle.mary).to_list()
    assert edge == eg.EdgeId(circle.ada, "ADMIRES", circle.mary)
    for person in tx.query("g.V()"):
        tx.set(person, seen=True)
    assert tx.query("g.V().has('seen', true).count()").one() == 3
    assert circle.db.query("g.E().hasLabel('ADMIRES').count()").one() == 0
    rows = tx.query(NAMES)
    tx.commit()
    assert rows.to_list() == ["Ada", "Charles", "Mary"]
    with pytest.raises(eg.TransactionClosed):
        tx.query("g.V()")
    assert circle.db.query("g.E().hasLabel('ADMIRES').count()").one() == 1


def test_a_snapshot_refuses_a_text_that_writes(circle: People) -> None:
    with pytest.raises(eg.InvalidError, match=r"this query writes, and a snapshot can't be written to"):
        circle.db.snapshot().query("g.addV('Person')")
    assert circle.db.query("g.V().count()").one() == 3


@pytest.mark.parametrize("where", ["database", "transaction", "snapshot"])
def test_an_error_shows_its_place_when_the_query_is_asked(circle: People, where: str) -> None:
    things: dict[str, Any] = {
        "database": circle.db,
        "transaction": circle.db.begin(),
        "snapshot": circle.db.snapshot(),
    }
    with pytest.raises(eg.InvalidError) as caught:
        things[where].query("g.V()\n .otu('KNOWS')")
    assert str(caught.value) == (
        "line 2, column 3: no step is called `otu`; did you mean `out`?\n   .otu('KNOWS')\n    ^^^"
    )


def test_a_misspelt_name_is_a_warning_once_a_place_and_an_error_where_asked(circle: People) -> None:
    text = "g.V().hasLabel('Persn').values('name')"
    said = "line 1, column 16: no label is called `Persn`; did you mean `Person`?"
    with circle.db.begin() as tx, circle.db.snapshot() as snapshot:
        for where in (circle.db, tx, snapshot):
            with warnings.catch_warnings(record=True) as met:
                warnings.simplefilter("default")
                for _ in range(2):
                    assert where.query(text).to_list() == []
                assert where.query("g.V().hasLabel('Person').count()").one() == 3
            assert [(each.category, str(each.message)) for each in met] == [(eg.UnknownNameWarning, said)]
            assert met[0].filename == __file__
            with pytest.raises(eg.InvalidError, match="no label is called `Persn`"):
                where.query(text, strict=True)
        assert said in snapshot.explain(text)


def test_variables_have_any_name_and_are_given_once(circle: People) -> None:
    found = circle.db.query("g.inject(timeout, bindings, text)", bindings={"timeout": 1, "bindings": 2, "text": 3})
    assert found.to_list() == [1, 2, 3]
    assert circle.db.query("g.inject(text, a)", text=1, bindings={"a": 2}).to_list() == [1, 2]
    with pytest.raises(eg.InvalidError, match="variable `a` is given twice"):
        circle.db.query("g.inject(a)", a=1, bindings={"a": 1})
    with pytest.raises(eg.InvalidError, match="`missing`"):
        circle.db.query("g.inject(missing)")


def test_what_no_variable_can_be_is_named(circle: People) -> None:
    itself: list[Any] = []
    itself.append(itself)
    for value, said in [
        (object(), "variable `x`: a property can't hold a object"),
        ([1, {2: object()}], "variable `x`: a property can't hold a object"),
        (itself, "variable `x`: it is nested more than 100 deep"),
        (eg.Property(1, "k", 2), "variable `x`: a Property can't be the value of a variable"),
    ]:
        with pytest.raises(eg.InvalidError) as caught:
            circle.db.query("g.inject(x)", x=value)
        assert said in str(caught.value)
    with pytest.raises(eg.NotFoundError, match=r"variable `x`: .*LIKES.* isn't in the graph"):
        circle.db.query("g.E(x)", x=eg.EdgeId(circle.ada, "LIKES", circle.charles))


def test_results_are_made_while_they_are_fetched() -> None:
    db = eg.open()
    db.add_vertices("Point", {"at": list(range(5_000))})
    # The rest of the query never ends within the test: each row would repeat for ever.
    endless = "g.V().hasLabel('Point').union(__.values('at'), __.repeat(__.identity()).until(__.has('nothing')))"
    rows = db.snapshot().query("g.V().values('at')")
    assert [next(rows), next(rows)] == [0, 1]
    assert len(rows.to_list()) == 4_998
    assert rows.to_list() == []
    started = time.monotonic()
    assert db.query("g.V().values('at')").first() == 0
    with pytest.raises(eg.LimitError, match=r"timeout of 0\.2 s"):
        db.query(endless, timeout=0.2).to_list()
    assert time.monotonic() - started < 60


def test_one_and_first_say_what_there_is(circle: People) -> None:
    assert circle.db.query("g.V().count()").one() == 3
    with pytest.raises(eg.NotFoundError, match="there is none"):
        circle.db.query("g.V().has('name', 'Nobody')").one()
    with pytest.raises(eg.InvalidError, match="there are more"):
        circle.db.query(NAMES).one()
    assert circle.db.query(NAMES).first() == "Ada"
    assert circle.db.query("g.V().has('name', 'Nobody')").first() is None
    assert circle.db.query("g.V().has('name', 'Nobody')").first("none") == "none"
    begun = circle.db.query(NAMES)
    assert next(begun) == "Ada"
    assert begun.first() == "Charles"
    with pytest.raises(eg.ClosedError, match="these results were closed"):
        next(begun)
    with pytest.raises(TypeError):
        len(circle.db.query(NAMES))  # type: ignore[arg-type]


def test_closed_results_give_nothing_more(circle: People) -> None:
    with circle.db.query(NAMES) as rows:
        assert next(rows) == "Ada"
        assert rows.is_open
    assert not rows.is_open
    assert repr(rows) == "<evergraph.Results, closed>"
    rows.close()
    for use in [rows.to_list, rows.one, rows.first, rows.to_arrow, lambda: next(rows)]:
        with pytest.raises(eg.InvalidError, match=r"closed|fetched already"):
            use()


def test_results_end_with_the_snapshot_that_they_are_read_from(circle: People) -> None:
    snapshot = circle.db.snapshot()
    rows, made = snapshot.query(NAMES), snapshot.query(NAMES).to_list()
    snapshot.close()
    assert made == ["Ada", "Charles", "Mary"]
    with pytest.raises(eg.SnapshotClosed, match="the snapshot that these results are read from was closed"):
        rows.to_list()
    with pytest.raises(eg.SnapshotClosed):
        snapshot.query("g.V()")


def test_results_hold_their_snapshot_until_they_are_closed(kept: People) -> None:
    path = kept.db.path
    assert path is not None
    # What counts them holds one, too.
    others = kept.db.stats()["open_snapshots"]
    rows = kept.db.query(NAMES)
    assert kept.db.stats()["open_snapshots"] == others + 1
    kept.db.query("g.V().drop()")
    assert rows.to_list() == ["Ada", "Charles", "Mary"]
    assert kept.db.stats()["open_snapshots"] == others
    rest = kept.db.query("g.inject(1, 2)")
    kept.db.close()
    with pytest.raises(eg.DatabaseClosed):
        kept.db.query("g.V()")
    # They are the last handle.
    assert rest.to_list() == [1, 2]
    with eg.open(path) as again:
        assert again.query("g.V().count()").one() == 0


def test_collected_results_let_go_of_their_snapshot(circle: People) -> None:
    others = circle.db.stats()["open_snapshots"]
    rows = circle.db.query(NAMES)
    assert circle.db.stats()["open_snapshots"] == others + 1
    del rows
    gc.collect()
    assert circle.db.stats()["open_snapshots"] == others


def test_results_belong_to_one_thread_at_a_time_and_memory_is_limited(circle: People) -> None:
    with pytest.raises(eg.LimitError, match="memory"):
        circle.db.query("g.V().repeat(both()).times(12).path().fold()", memory_limit=10_000).to_list()

    def fetch(rows: eg.Results) -> None:
        with contextlib.suppress(eg.EvergraphError):
            rows.to_list()

    def refusal() -> str:
        rows = circle.db.query("g.V().repeat(__.both()).times(26).path().count()", timeout=2)
        slow = threading.Thread(target=fetch, args=(rows,))
        slow.start()
        time.sleep(0.3)
        try:
            rows.close()
        except eg.BusyError as error:
            return str(error)
        finally:
            slow.join()
        return ""

    # On a busy machine the other thread may not fetch yet, or not any more.
    refusals = (refusal() for _ in range(30))
    assert "another thread is fetching these results" in next(filter(None, refusals), "")


@pytest.mark.parametrize("where", ["database", "transaction", "snapshot"])
def test_ctrl_c_stops_a_query(circle: People, where: str) -> None:
    things: dict[str, Any] = {
        "database": circle.db,
        "transaction": circle.db.begin(),
        "snapshot": circle.db.snapshot(),
    }
    # A program that is begun in the background ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    started = time.monotonic()

    def ask() -> None:
        # Not before, or it might come while nobody expects it yet.
        timer.start()
        things[where].query("g.V().repeat(__.identity()).until(__.has('nothing'))").to_list()

    try:
        with pytest.raises(KeyboardInterrupt):
            ask()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 60
    assert circle.db.query("g.V().count()").one() == 3


def test_tables_have_a_column_a_key_or_one_of_results(circle: People) -> None:
    db = circle.db
    ages = db.query("g.V().order().by('born').values('born')").to_arrow()
    assert ages.schema == pa.schema([("result", pa.int64())])
    assert ages["result"].to_pylist() == [1780, 1791, 1815]
    with db.begin() as tx:
        tx.set(circle.ada, title="Countess")
    maps = db.query(
        "g.V().order().by('born').project('v', 'title', 'e').by().by('title').by(__.outE())"
    ).to_arrow()
    assert maps.column_names == ["v", "e", "title"]
    assert maps.schema.field("v").type == pa.uint64()
    assert maps["v"].to_pylist() == [circle.mary, circle.charles, circle.ada]
    assert maps["title"].to_pylist() == [None, None, "Countess"]
    assert maps["e"].to_pylist()[0] == {
        "source": circle.mary,
        "target": circle.ada,
        "type": "KNOWS",
        "discriminator": 0,
    }
    paths = db.query("g.V(v).out().out().path()", v=circle.ada).to_arrow()
    assert paths["result"].to_pylist() == [[circle.ada, circle.charles, circle.mary]]
    none = db.query("g.V().has('name', 'Nobody')").to_arrow()
    assert (none.column_names, none.num_rows) == (["result"], 0)
    begun = db.query(NAMES)
    next(begun)
    with pytest.raises(eg.InvalidError, match="fetched already"):
        begun.to_arrow()
    once = db.query(NAMES)
    assert once.to_arrow().num_rows == 3
    with pytest.raises(eg.InvalidError, match="fetched already"):
        once.to_arrow()
    with pytest.raises(eg.LimitError, match="the results would hold more than the query's 1,000 bytes of memory"):
        db.query("g.V().repeat(__.both()).emit().times(6).values('name')", memory_limit=1_000).to_arrow()
    with pytest.raises(eg.InvalidError, match="a table can't hold a tree"):
        db.query("g.V().out().tree()").to_arrow()
    with pytest.raises(eg.InvalidError, match="null"):
        db.query("g.inject(1).constant(x)", x=[1, None]).to_arrow()


def test_many_results_are_all_there_in_their_order() -> None:
    db = eg.open()
    db.add_vertices("Point", {"at": list(range(10_000))})
    assert list(db.query("g.V().values('at')")) == list(range(10_000))
    assert db.query("g.V().values('at')").to_arrow()["result"].to_pylist() == list(range(10_000))


def test_explain_names_the_index_and_runs_nothing(circle: People) -> None:
    snapshot = circle.db.snapshot()
    said = snapshot.explain("g.V().has('Person', 'name', n).out()", n="Ada")
    assert "Person.name" in said
    assert "Person.name" not in snapshot.explain("g.V().out()")
    # It writes, and is only explained.
    assert "addV" in snapshot.explain("g.addV('Person')")
    assert circle.db.query("g.V().count()").one() == 3


def test_a_fork_gets_an_error_from_results_of_its_parent(tmp_path: Path) -> None:
    db = people(eg.open(tmp_path / "people.eg")).db
    rows = db.query(NAMES)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            rows.to_list()
            said = b"no error"
        except eg.ForkError:
            said = b"ForkError"
        os.write(writing, said)
        os._exit(0)
    assert os.read(reading, 100) == b"ForkError"
    os.waitpid(child, 0)
    assert rows.to_list() == ["Ada", "Charles", "Mary"]
