"""Transactions: what they write, when it is seen, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from conftest import People

import evergraph as eg


def test_a_block_commits_at_its_end_and_rolls_back_on_an_exception(circle: People) -> None:
    db, ada, *_ = circle
    with db.begin() as tx:
        tx.set(ada, title="Countess")
        assert db.snapshot().get(ada, "title") is None
    assert db.snapshot().get(ada, "title") == "Countess"
    with pytest.raises(KeyError), db.begin() as tx:  # noqa: PT012 - what is raised inside comes out
        tx.set(ada, title="Mathematician")
        raise KeyError
    assert db.snapshot().get(ada, "title") == "Countess"


def test_of_two_that_write_one_property_the_first_wins_and_the_other_may_try_again(circle: People) -> None:
    db, ada, *_ = circle
    first, second = db.begin(), db.begin()
    first.set(ada, born=1)
    second.set(ada, born=2)
    first.commit()
    with pytest.raises(eg.ConflictError, match="born"):
        second.commit()
    assert db.snapshot().get(ada, "born") == 1


def test_a_vertex_is_deleted_in_parts(circle: People) -> None:
    db, ada, *_ = circle
    with db.begin() as tx:
        others = [tx.add_vertex("Person") for _ in range(5)]
        for other in others:
            tx.add_edge(ada, "KNOWS", other)
    edges = db.snapshot().query("g.V(x).bothE().count()", x=ada).one()
    with db.begin() as tx:
        assert tx.delete_edges_of(ada, 2) == 2
    assert db.delete_vertex_in_parts(ada) == edges - 2
    with pytest.raises(eg.NotFoundError):
        db.delete_vertex_in_parts(ada)
    with pytest.raises(eg.NotFoundError), db.begin() as tx:
        tx.delete_edges_of(ada, 2)
    assert db.snapshot().get(others[0], "name") is None


def test_transact_runs_its_body_again_until_it_commits(circle: People) -> None:
    db, ada, *_ = circle
    calls = []

    def add_a_year(tx: eg.Transaction) -> int:
        calls.append(1)
        born: int = tx.get(ada, "born")
        if len(calls) == 1:
            with db.begin() as other:
                other.set(ada, born=1900)
        tx.set(ada, born=born + 1)
        return born + 1

    assert db.transact(add_a_year) == 1901
    assert (len(calls), db.snapshot().get(ada, "born")) == (2, 1901)


def test_what_the_body_raises_comes_out_of_transact_as_it_is(circle: People) -> None:
    class Odd(Exception):
        pass

    def body(tx: eg.Transaction) -> None:
        tx.set(circle.ada, born=0)
        raise Odd

    with pytest.raises(Odd):
        circle.db.transact(body)
    assert circle.db.snapshot().get(circle.ada, "born") == 1815


def test_a_serializable_transaction_is_refused_if_what_it_read_was_changed(circle: People) -> None:
    db, ada, charles, _ = circle
    tx = db.begin(isolation="serializable")
    tx.set(charles, born=tx.get(ada, "born"))
    with db.begin() as other:
        other.set(ada, born=1816)
    with pytest.raises(eg.ConflictError):
        tx.commit()


def test_a_transaction_that_took_too_long_is_refused(circle: People) -> None:
    with pytest.raises(eg.LimitError), circle.db.begin(timeout=0.0) as tx:
        tx.set(circle.ada, born=1)


def test_none_removes_a_property_and_is_left_out_of_what_is_added(circle: People) -> None:
    with circle.db.begin() as tx:
        tx.set(circle.ada, born=None)
        grace = tx.add_vertex("Person", name="Grace", born=None)
        assert tx.properties(grace) == {"name": "Grace"}
        tx.remove(circle.charles, "born", "never there")
    snapshot = circle.db.snapshot()
    assert snapshot.properties(circle.ada) == {"name": "Ada"}
    assert snapshot.properties(circle.charles) == {"name": "Charles"}


def test_put_vertex_finds_by_the_unique_key_and_leaves_exactly_what_is_given(circle: People) -> None:
    with circle.db.begin() as tx:
        assert tx.put_vertex("Person", "name", name="Ada", title="Countess") == circle.ada
        new = tx.put_vertex("Person", "name", name="Grace", born=1906)
        with pytest.raises(eg.InvalidError, match="unique key"):
            tx.put_vertex("Person", "born", born=1)
    snapshot = circle.db.snapshot()
    assert snapshot.properties(circle.ada) == {"name": "Ada", "title": "Countess"}
    assert snapshot.find("Person", name="Grace") == new


def test_edges_are_added_put_changed_and_deleted(circle: People) -> None:
    db, ada, charles, _ = circle
    with db.begin() as tx:
        parallel = tx.add_edge(ada, "KNOWS", charles, since=1834)
        assert parallel.discriminator == 1
        tx.put_edge(ada, "KNOWS", charles, met="party")
        tx.set(parallel, since=1835)
        assert tx.degree(ada, "KNOWS") == 2
    snapshot = db.snapshot()
    assert snapshot.properties(parallel) == {"since": 1835}
    assert snapshot.properties(eg.EdgeId(ada, "KNOWS", charles)) == {"met": "party"}
    with db.begin() as tx:
        tx.delete_edge(parallel)
        tx.delete_vertex(circle.mary)
    snapshot = db.snapshot()
    assert (snapshot.has(parallel), snapshot.has(circle.mary)) == (False, False)
    assert snapshot.edge_types() == {"KNOWS": 1}


def test_a_whole_number_takes_the_width_of_its_property(circle: People) -> None:
    with circle.db.begin() as tx:
        tx.declare_property("Person", "age", "short")
        tx.declare_property("Person", "height", "double")
        tx.set(circle.ada, age=36, height=2)
        assert tx.get(circle.ada, "height") == 2.0
        with pytest.raises(eg.InvalidError, match="age"):
            tx.set(circle.ada, age=100_000)
        with pytest.raises(eg.InvalidError, match="height"):
            tx.set(circle.ada, height="tall")


def test_many_rows_in_one_transaction_are_seen_by_it_and_taken_back_with_it(circle: People) -> None:
    db = circle.db
    tx = db.begin()
    new = tx.add_vertices("Person", pl.DataFrame({"name": ["Grace", "Alan"], "born": [1906, None]}))
    assert [tx.get(vertex, "name") for vertex in new.tolist()] == ["Grace", "Alan"]
    rows = [{"source": "Grace", "target": "Ada", "since": 1}, {"source": "Alan", "target": "Ada"}]
    person = ("Person", "name")
    assert tx.add_edges("ADMIRES", rows, source_key=person, target_key=person) == 2
    assert tx.put_edges("ADMIRES", np.array([[new[0], circle.ada]])) == 1
    assert tx.properties(eg.EdgeId(int(new[0]), "ADMIRES", circle.ada)) == {}
    tx.rollback()
    assert db.snapshot().labels() == {"Person": 3}


def test_a_transaction_that_ended_says_so(circle: People) -> None:
    tx = circle.db.begin()
    tx.commit()
    assert not tx.is_open
    uses: list[Callable[[], object]] = [lambda: tx.get(0, "name"), tx.commit, lambda: tx.add_vertex("Person")]
    for use in uses:
        with pytest.raises(eg.TransactionClosed):
            use()
    tx.rollback()


def test_a_second_thread_in_the_same_transaction_gets_an_error_not_a_crash(circle: People) -> None:
    tx = circle.db.begin()
    rows = {"name": [f"n{number}" for number in range(200_000)]}
    said: list[BaseException] = []
    stop = threading.Event()

    def poke() -> None:
        while not stop.is_set():
            try:
                tx.get(circle.ada, "name")
            except eg.BusyError as error:
                said.append(error)
                return

    thread = threading.Thread(target=poke)
    thread.start()
    tx.add_vertices("Word", rows)
    stop.set()
    thread.join()
    assert len(said) == 1
    assert "another thread" in str(said[0])
    tx.rollback()
