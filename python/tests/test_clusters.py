"""Clusters: how a node's folder is named and refused, and which commits a transaction and a snapshot wait for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import People

import evergraph as eg


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
    with pytest.raises(eg.InvalidError, match="graph of a cluster"):
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
