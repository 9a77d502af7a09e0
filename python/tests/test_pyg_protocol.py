"""The stores and the sampler by PyG's documented interface, where PyTorch isn't: see `pyg_protocol`."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pyg_protocol import EdgeAttr, EdgeLayout, HeteroSamplerOutput, TensorAttr, stand_in, tensor
from shop import Shop, shop

import evergraph as eg

BUYS = ("User", "BUYS", "Item")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is not None, reason="PyTorch is here: test_pyg.py tests with PyG itself"
)


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[Shop, Any]]:
    """Give a shop and its stores."""
    content = shop()
    with stand_in(), content.db, content.db.snapshot() as snapshot:
        yield (
            content,
            snapshot.torch_geometric_stores(
                features={"User": ["age", "score"]}, edge_features={"BUYS": {"at": "at"}}
            ),
        )


def test_features_are_listed_and_got(made: tuple[Shop, Any]) -> None:
    content, stores = made
    listed = [(attr.group_name, attr.attr_name) for attr in stores.features.get_all_tensor_attrs()]
    assert listed == [("User", "vertex"), ("User", "x"), ("Item", "vertex"), (BUYS, "at")]
    users = sorted(content.users)
    for index, wanted in [
        (None, users),
        (tensor([3, 1]), [users[3], users[1]]),
        (np.array([0]), users[:1]),
        (slice(2, 4), users[2:4]),
    ]:
        got = stores.features._get_tensor(TensorAttr("User", "vertex", index))
        assert got.tolist() == wanted
        got = stores.features._get_tensor(TensorAttr("User", "x", index))
        assert got.tolist() == [np.array(content.users[user], dtype=np.float32).tolist() for user in wanted]
    assert int(stores.features._get_tensor(TensorAttr("User", "vertex", 5))) == users[5]
    assert stores.features._get_tensor_size(TensorAttr("User", "x")) == (len(users), 2)
    assert stores.features._get_tensor_size(TensorAttr(BUYS, "at")) == (len(content.edges[BUYS]),)


def test_edges_are_listed_and_got(made: tuple[Shop, Any]) -> None:
    content, stores = made
    attrs = stores.graph.get_all_edge_attrs()
    assert {attr.edge_type for attr in attrs} == set(content.edges)
    assert all(attr.layout == EdgeLayout.CSC for attr in attrs)
    sizes = {attr.edge_type: attr.size for attr in attrs}
    assert sizes[BUYS] == (len(content.users), len(content.items))
    row, column = stores.graph._get_edge_index(EdgeAttr(BUYS, EdgeLayout.COO))
    pairs = zip(stores.vertices(row, "User").tolist(), stores.vertices(column, "Item").tolist(), strict=True)
    assert Counter(pairs) == Counter((source, target) for source, target, _ in content.edges[BUYS])
    again, pointers = stores.graph._get_edge_index(EdgeAttr(BUYS, EdgeLayout.CSC))
    assert again.tolist() == row.tolist()
    assert np.repeat(np.arange(len(content.items)), np.diff(pointers)).tolist() == column.tolist()
    assert stores.graph._get_edge_index(EdgeAttr(BUYS, EdgeLayout.CSR)) is None


def test_what_is_served_cannot_be_written(made: tuple[Shop, Any]) -> None:
    features, graph = made[1]
    for write in (features._put_tensor, graph._put_edge_index):
        with pytest.raises(eg.InvalidError, match="take another snapshot"):
            write(None, None)
    for remove in (features._remove_tensor, graph._remove_edge_index):
        with pytest.raises(eg.InvalidError, match="take another snapshot"):
            remove(None)


def test_the_sampler_draws_around_rows(made: tuple[Shop, Any]) -> None:
    from evergraph.pyg.sampler import NeighborSampler

    content, stores = made
    sampler = NeighborSampler(stores, [-1], seed=1)
    rows = tensor([4, 2])
    seeds = SimpleNamespace(node=rows, input_id=tensor([0, 1]), time=None, input_type="Item")
    out = sampler.sample_from_nodes(seeds)
    assert isinstance(out, HeteroSamplerOutput)
    assert out.metadata[0].tolist() == [0, 1]
    assert out.node["Item"].tolist() == [4, 2]
    sources = stores.vertices(out.node["User"][out.row[BUYS]], "User")
    targets = stores.vertices(out.node["Item"][out.col[BUYS]], "Item")
    items = stores.vertices([4, 2], "Item").tolist()
    wanted = [(source, item) for item in items for source, _ in content.reaching(BUYS, item)]
    assert sorted(zip(sources.tolist(), targets.tolist(), strict=True)) == sorted(wanted)
    assert out.num_sampled_edges[BUYS] == [len(wanted)]
