"""What tests share: a small graph, in memory and on disk."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import evergraph as eg


class People(NamedTuple):
    """A database with Ada, Charles and Mary, who know each other in a circle."""

    db: eg.Database
    ada: int
    charles: int
    mary: int


def people(db: eg.Database) -> People:
    """Add them to `db`."""
    db.create_index("Person", "name", unique=True)
    db.create_index("Person", "born", ordered=True)
    with db.begin() as tx:
        ada = tx.add_vertex("Person", name="Ada", born=1815)
        charles = tx.add_vertex("Person", name="Charles", born=1791)
        mary = tx.add_vertex("Person", name="Mary", born=1780)
        tx.add_edge(ada, "KNOWS", charles, since=1833)
        tx.add_edge(mary, "KNOWS", ada, since=1840)
        tx.add_edge(charles, "KNOWS", mary, since=1827)
    return People(db, ada, charles, mary)


def need(name: str) -> Any:
    """Import an optional library. Without it the test is skipped, but not in CI if requirements.txt lists it."""
    requirements = (Path(__file__).parents[1] / "requirements.txt").read_text()
    if os.environ.get("CI") and f"\n{name}==" in requirements:
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"needs {name}")


@pytest.fixture
def circle() -> Iterator[People]:
    """Give the three in memory."""
    with eg.open() as db:
        yield people(db)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[People]:
    """Give the three on disk."""
    with eg.open(tmp_path / "people.eg") as db:
        yield people(db)
