"""Clusters: graphs by the folders of nodes, how these are named and refused, and which commits are waited for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import People
from etcd import etcd, two_nodes

import evergraph as eg

__all__ = ["etcd", "two_nodes"]

NAMES = "g.V().has('Person', 'name', 'Ada').both('KNOWS').order().by('name').values('name')"


def test_the_folders_of_two_nodes_open_one_graph_which_is_there_again_later(two_nodes: tuple[str, str]) -> None:
    with eg.open(two_nodes[0]) as first, eg.open(two_nodes[1]) as second:
        assert first.engine == second.engine == "cluster"
        # Another handle of the same node.
        with eg.open(two_nodes[0]) as same:
            assert same.query("g.V().count()").one() == 0
        first.create_index("Person", "name", unique=True)

        # A transaction by one, which the other sees when it is committed, as a whole.
        with first.begin() as tx:
            ada = tx.add_vertex("Person", name="Ada", born=1815)
            charles = tx.add_vertex("Person", name="Charles", born=1791)
            tx.add_edge(ada, "KNOWS", charles, since=1833)
            assert tx.query("g.V().out('KNOWS').count()").one() == 1
            assert second.query("g.V().count()").one() == 0
        at = tx.committed_at
        assert at is not None

        def befriend(tx: eg.Transaction) -> int:
            mary = tx.add_vertex("Person", name="Mary", born=1780)
            tx.add_edge(mary, "KNOWS", ada, since=1840)
            return mary

        with second.snapshot(after=at) as before:
            mary = second.transact(befriend, after=at)
            with first.snapshot(fresh=True) as now:
                assert now.timestamp > before.timestamp
                assert now.get(mary, "name") == "Mary"
                assert now.query(NAMES).to_list() == ["Charles", "Mary"]
                assert now.query("g.V().out('KNOWS').out('KNOWS').values('name')").to_list() == ["Charles"]
                assert now.labels() == {"Person": 3}
            assert before.query(NAMES).to_list() == ["Charles"], "it stays as it was"

        # What is rolled back leaves nothing, and of two that change the same one is refused.
        tx = first.begin(fresh=True)
        tx.delete_vertex(ada)
        tx.rollback()
        one, other = first.begin(fresh=True), second.begin(fresh=True)
        one.set(charles, born=1792)
        other.set(charles, born=1793)
        one.commit()
        with pytest.raises(eg.ConflictError):
            other.commit()
        with pytest.raises(eg.InvalidError, match="unique"):
            second.transact(lambda tx: tx.add_vertex("Person", name="Ada"), fresh=True)
        second.transact(lambda tx: tx.set(mary, born=1781), fresh=True)

    # Their nodes have ended. From the folders and the log everything is there again.
    with eg.open(two_nodes[1]) as second, eg.open(two_nodes[0]) as first:
        for db in (second, first):
            with db.snapshot(fresh=True) as now:
                assert now.query(NAMES).to_list() == ["Charles", "Mary"]
                assert now.query("g.V().values('born').sum()").one() == 1815 + 1792 + 1781
                assert now.find("Person", name="Charles") == charles
        first.query("g.addV('Person').property('name', 'Grace')")
        with second.begin(fresh=True) as tx:
            grace = tx.find("Person", name="Grace")
            assert grace not in (None, ada, charles, mary), "no id is given twice"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"engine": "disk"}, "engine"),
        ({"durability": "none"}, "durability"),
        ({"read_only": True}, "read_only"),
        ({"persistent_memory": "required"}, "persistent_memory"),
        ({"log_file_bytes": 1 << 20}, "log_file_bytes"),
    ],
)
def test_settings_of_files_are_refused_for_a_cluster(tmp_path: Path, settings: Any, says: str) -> None:
    with pytest.raises(eg.InvalidError, match=says):
        eg.open(f"cluster:{tmp_path}/node-0", **settings)


def test_a_folder_that_is_no_node_is_told_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(eg.NotFoundError, match="node-0"):
        eg.open(f"cluster:{tmp_path}/node-0")
    assert list(tmp_path.iterdir()) == []
    for path in ["cluster:", "cluster://host:7400/social"]:
        with pytest.raises(eg.InvalidError, match="names no folder"):
            eg.open(path)
    with pytest.raises(eg.InvalidError, match="files of one database"):
        eg.check_files(f"cluster:{tmp_path}")


def test_one_database_sees_every_commit_whatever_is_waited_for(circle: People) -> None:
    db, ada, *_ = circle
    tx = db.begin()
    assert tx.committed_at is None
    tx.set(ada, born=1)
    tx.commit()
    at = tx.committed_at
    assert at is not None
    assert db.snapshot(after=at).timestamp == db.snapshot(fresh=True).timestamp == at
    with db.begin(fresh=True) as second:
        assert second.get(ada, "born") == 1
    assert second.committed_at == at, "it wrote nothing"
    assert db.transact(lambda tx: tx.get(ada, "born"), after=at) == 1
    rolled_back = db.begin(after=at)
    rolled_back.rollback()
    assert rolled_back.committed_at is None
    for uses in [db.begin, db.snapshot]:
        with pytest.raises(eg.InvalidError, match="after"):
            uses(fresh=True, after=at)


def test_only_a_cluster_settles_a_transaction(circle: People) -> None:
    unknown = eg.UnknownOutcomeError("the connection was lost")
    assert unknown.transaction is None
    with pytest.raises(eg.InvalidError, match="names no transaction"):
        circle.db.settle(unknown)
    unknown.transaction = "2.7.143@57-00c0ffee00c0ffee"
    given: eg.UnknownOutcomeError | str
    for given in (unknown, unknown.transaction):
        with pytest.raises(eg.InvalidError, match="00c0ffee00c0ffee"):
            circle.db.settle(given)
    with pytest.raises(eg.InvalidError, match="names no transaction"):
        circle.db.settle("143")
