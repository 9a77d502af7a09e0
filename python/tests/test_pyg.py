"""PyTorch Geometric itself draws batches from a snapshot: `make pyg` runs this, in an environment with PyTorch."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shop import Shop, shop

import evergraph as eg

torch = pytest.importorskip("torch", reason="PyTorch isn't here: make pyg has it")
loader = pytest.importorskip("torch_geometric.loader", reason="PyTorch Geometric isn't here: make pyg has it")

from torch_geometric import typing as pyg_typing  # noqa: E402 - after what skips all of it
from torch_geometric.nn import SAGEConv, to_hetero  # noqa: E402

from evergraph.pyg import NeighborSampler, Stores  # noqa: E402

BUYS = ("User", "BUYS", "Item")
FEATURES: dict[str, Any] = {"User": {"x": ["age", "score"], "y": "club"}, "Item": {"x": ["price", "code"]}}
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "pyg.md"


@pytest.fixture(scope="module")
def full() -> Iterator[Shop]:
    """Give a shop that no test changes."""
    made = shop()
    with made.db:
        yield made


def stores_of(db: eg.Database, **given: Any) -> Stores:
    with db.snapshot() as snapshot:
        return snapshot.torch_geometric_stores(**given)


def known(made: Shop, kind: tuple[str, str, str]) -> Counter[tuple[int, int]]:
    return Counter((source, target) for source, target, _ in made.edges[kind])


def edges_of(batch: Any, kind: tuple[str, str, str]) -> list[tuple[int, int]]:
    """Source and target of a batch's edges, by their numbers in the database."""
    source, target = batch[kind].edge_index
    return list(zip(batch[kind[0]].vertex[source].tolist(), batch[kind[2]].vertex[target].tolist(), strict=True))


def test_batches_have_the_known_neighbours_and_their_features(full: Shop) -> None:
    stores = stores_of(full.db, features=FEATURES, edge_features={"BUYS": {"at": "at"}})
    sampler = NeighborSampler(stores, [-1, 3])
    seen: list[int] = []
    for batch in loader.NodeLoader(
        stores, sampler, input_nodes="Item", batch_size=8, transform=stores.add_edge_features
    ):
        assert batch["User"].x.tolist() == [
            np.array(full.users[vertex], dtype=np.float32).tolist() for vertex in batch["User"].vertex.tolist()
        ]
        assert batch["Item"].x.tolist() == [full.items[vertex] for vertex in batch["Item"].vertex.tolist()]
        assert batch["User"].vertex.tolist() == stores.vertices(batch["User"].n_id, "User").tolist()
        seeds = batch["Item"].vertex[: batch["Item"].batch_size].tolist()
        for kind in full.edges:
            assert not Counter(edges_of(batch, kind)) - known(full, kind)
        wanted = Counter((source, seed) for seed in seeds for source, _ in full.reaching(BUYS, seed))
        assert Counter(edges_of(batch, BUYS)) == wanted
        at = zip(edges_of(batch, BUYS), batch[BUYS].at.tolist(), strict=True)
        assert {(source, target, time) for (source, target), time in at} <= set(full.edges[BUYS])
        assert batch["User"].num_sampled_nodes[0] == 0
        assert sum(batch["User"].num_sampled_nodes) == batch["User"].num_nodes
        seen += seeds
    assert seen == sorted(full.items)


def test_loaders_of_neighbours_take_the_sampler(full: Shop) -> None:
    stores = stores_of(full.db, features=FEATURES)
    rows = stores.rows(list(full.items)[:6], "Item")
    batch = next(
        iter(
            loader.NeighborLoader(
                stores,
                num_neighbors=[4],
                neighbor_sampler=NeighborSampler(stores, [4]),
                input_nodes=("Item", rows),
                batch_size=6,
            )
        )
    )
    assert batch["Item"].vertex.tolist() == list(full.items)[:6]
    batch = next(
        iter(
            loader.LinkNeighborLoader(
                stores,
                num_neighbors=[4],
                neighbor_sampler=NeighborSampler(stores, [4]),
                edge_label_index=BUYS,
                batch_size=6,
            )
        )
    )
    assert batch[BUYS].edge_label_index.shape == (2, 6)


@pytest.mark.skipif(
    not (pyg_typing.WITH_PYG_LIB or pyg_typing.WITH_TORCH_SPARSE),
    reason="neither pyg-lib nor torch-sparse is here, which PyG's own sampler needs",
)
@pytest.mark.filterwarnings("ignore")
def test_the_sampler_that_pyg_has_draws_the_same_neighbourhoods(full: Shop) -> None:
    stores = stores_of(full.db, features=FEATURES)
    for homogeneous in (False, True):
        stores = stores_of(full.db, homogeneous=True) if homogeneous else stores
        nodes = torch.arange(9) if homogeneous else "Item"
        both = [
            loader.NeighborLoader(stores, [-1, -1], input_nodes=nodes, batch_size=9, **given)
            for given in ({}, {"neighbor_sampler": NeighborSampler(stores, [-1, -1])})
        ]
        for theirs, ours in zip(*both, strict=True):
            if homogeneous:
                parts = [(theirs, ours)]
                assert sorted(theirs.n_id.tolist()) == sorted(ours.n_id.tolist())
            else:
                parts = [(theirs[kind], ours[kind]) for kind in full.edges]
                for label in ("User", "Item"):
                    assert sorted(theirs[label].n_id.tolist()) == sorted(ours[label].n_id.tolist())
            for their, our in parts:
                assert sorted(their.e_id.tolist()) == sorted(our.e_id.tolist())


def test_a_homogeneous_graph_gives_batches_of_one_type(full: Shop) -> None:
    stores = stores_of(
        full.db,
        labels="User",
        features={"x": ["age", "score"], "y": "club"},
        edge_features={"at": "at"},
        homogeneous=True,
    )
    kind = ("User", "LIKES", "User")
    for batch in loader.NodeLoader(
        stores,
        NeighborSampler(stores, [-1]),
        input_nodes=stores.rows(list(full.users)),
        batch_size=16,
        transform=stores.add_edge_features,
    ):
        found = [
            (*pair, at)
            for *pair, at in zip(
                batch.vertex[batch.edge_index[0]].tolist(),
                batch.vertex[batch.edge_index[1]].tolist(),
                batch.at.tolist(),
                strict=True,
            )
        ]
        seeds = set(batch.vertex[: batch.batch_size].tolist())
        assert sorted(found) == sorted(edge for edge in full.edges[kind] if edge[1] in seeds)
        assert batch.x.shape == (batch.num_nodes, 2)
        assert batch.y.dtype == torch.int64


@pytest.mark.parametrize("mode", ["binary", "triplet", None])
def test_links_are_drawn_with_their_neighbours(full: Shop, mode: str | None) -> None:
    stores = stores_of(full.db, features=FEATURES)
    pairs = set(known(full, BUYS))
    count = 0
    for batch in loader.LinkLoader(
        stores, NeighborSampler(stores, [3, 2]), edge_label_index=BUYS, batch_size=32, neg_sampling=mode
    ):
        if mode == "triplet":
            sources = batch["User"].vertex[batch["User"].src_index]
            targets = batch["Item"].vertex[batch["Item"].dst_pos_index]
            assert len(batch["Item"].dst_neg_index) == len(sources)
        else:
            source, target = batch[BUYS].edge_label_index
            sources, targets = batch["User"].vertex[source], batch["Item"].vertex[target]
            if mode == "binary":
                positive = batch[BUYS].edge_label == 1
                assert int(positive.sum()) * 2 == len(positive)
                sources, targets = sources[positive], targets[positive]
        assert set(zip(sources.tolist(), targets.tolist(), strict=True)) <= pairs
        count += len(sources)
        for kind in full.edges:
            assert not Counter(edges_of(batch, kind)) - known(full, kind)
    assert count == len(full.edges[BUYS])


def test_a_batch_knows_nothing_later_than_its_seeds(full: Shop) -> None:
    stores = stores_of(full.db, features=FEATURES, edge_times={"BUYS": "at", "LIKES": "at"})
    nodes, times = stores.rows(list(full.items), "Item"), torch.linspace(0, 1200, len(full.items)).long()
    # The loader's own check is for its own sampler: it wants the name of the time.
    given = {"input_time": times, "time_attr": "time", "neighbor_sampler": NeighborSampler(stores, [5, 5])}
    [batch] = loader.NeighborLoader(
        stores,
        [5, 5],
        input_nodes=("Item", nodes),
        batch_size=100,
        transform=stores.add_edge_features,
        **given,
    )
    for kind in full.edges:
        tree = batch[kind[2]].batch[batch[kind].edge_index[1]]
        assert torch.all(batch[kind].time <= times[tree])
        assert len(batch[kind].time) > 0


def test_pytorchs_seed_and_a_seed_of_its_own_repeat_a_draw(full: Shop) -> None:
    stores = stores_of(full.db, features=FEATURES)

    def drawn(seed: int | None) -> list[list[int]]:
        sampler = NeighborSampler(stores, [2, 2], seed=seed)
        return [batch[BUYS].e_id.tolist() for batch in loader.NodeLoader(stores, sampler, input_nodes="Item")]

    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)
    torch.manual_seed(1)
    first = drawn(None)
    assert drawn(None) != first
    torch.manual_seed(1)
    assert drawn(None) == first


def test_worker_processes_make_the_same_batches_and_draw_apart(full: Shop) -> None:
    stores = stores_of(full.db, features=FEATURES)

    def batches(hops: list[int], workers: int) -> list[Any]:
        # Each batch begins at one item, the same one: only draws differ.
        nodes = ("Item", torch.zeros(4, dtype=torch.long))
        sampler = NeighborSampler(stores, hops, seed=1)
        return list(loader.NodeLoader(stores, sampler, input_nodes=nodes, num_workers=workers))

    for alone, helped in zip(batches([-1], 0), batches([-1], 2), strict=True):
        assert helped["User"].x.tolist() == alone["User"].x.tolist()
        assert edges_of(helped, BUYS) == edges_of(alone, BUYS)
    first, second, *_ = batches([2], 2)
    assert first[BUYS].e_id.tolist() != second[BUYS].e_id.tolist()


def test_a_worker_process_cannot_read_the_snapshot_and_says_what_to_do(full: Shop) -> None:
    with full.db.snapshot() as snapshot:
        stores = snapshot.torch_geometric_stores(features=FEATURES, preload=False)
        sampler = NeighborSampler(stores, [2])
        batch = next(iter(loader.NodeLoader(stores, sampler, input_nodes="Item", batch_size=4)))
        assert batch["Item"].x.tolist() == [full.items[vertex] for vertex in batch["Item"].vertex.tolist()]
        with pytest.raises(eg.ForkError, match="preload=True"):
            next(iter(loader.NodeLoader(stores, sampler, input_nodes="Item", num_workers=1)))


def test_stores_answer_by_the_interface_of_pyg(full: Shop) -> None:
    features, graph = stores = stores_of(full.db, features=FEATURES)
    assert stores.node_types == ["User", "Item"]
    assert set(stores.metadata[1]) == set(full.edges)
    assert features.get_tensor_size(group_name="User", attr_name="x") == (len(full.users), 2)
    assert features.get_tensor("Item", "x", None).shape == (len(full.items), 5)
    picked = features["Item", "vertex", torch.tensor([2, 0])]
    assert picked.tolist() == [sorted(full.items)[2], sorted(full.items)[0]]
    assert features["Item"].x[3].tolist() == full.items[sorted(full.items)[3]]
    assert features["Item", "x", slice(0, 2)].shape == (2, 5)
    with pytest.raises(eg.NotFoundError, match="no feature 'z' of 'Item'"):
        features.get_tensor("Item", "z", None)
    writes: list[Callable[[], Any]] = [
        lambda: features.put_tensor(torch.zeros(3), "Item", "x", None),
        lambda: features.remove_tensor("Item", "x", None),
        lambda: graph.put_edge_index((torch.zeros(1), torch.zeros(1)), BUYS, "coo"),
        lambda: graph.remove_edge_index(BUYS, "csc"),
    ]
    for write in writes:
        with pytest.raises(eg.InvalidError, match="take another snapshot"):
            write()
    row, column = graph.get_edge_index(BUYS, "coo")
    users, items = stores.vertices(row, "User"), stores.vertices(column, "Item")
    assert Counter(zip(users.tolist(), items.tolist(), strict=True)) == known(full, BUYS)
    # PyG's own conversions agree.
    pointers, columns, order = (part[BUYS] for part in graph.csr())
    assert torch.equal(row[order], torch.repeat_interleave(torch.arange(len(full.users)), pointers.diff()))
    assert torch.equal(columns, column[order])
    with pytest.raises(KeyError):
        graph.get_edge_index(BUYS, "csr")


def test_seeds_that_are_no_rows_are_told_apart_from_vertices(full: Shop) -> None:
    stores = stores_of(full.db)
    vertices = torch.tensor(list(full.items))
    made = loader.NodeLoader(stores, NeighborSampler(stores, [2]), input_nodes=("Item", vertices))
    with pytest.raises(eg.InvalidError, match=r"stores.rows\(vertices\)"):
        list(made)


def test_what_a_sampler_cannot_do_is_refused(full: Shop) -> None:
    stores = stores_of(full.db)
    with pytest.raises(eg.InvalidError, match="temporal_strategy"):
        NeighborSampler(stores, [2], temporal_strategy="first")
    with pytest.raises(eg.InvalidError, match="-1"):
        NeighborSampler(stores, [-2])
    with pytest.raises(ValueError, match="edge type"):
        NeighborSampler(stores, {BUYS: [2]})
    with pytest.raises(eg.InvalidError, match="expected a list"):
        NeighborSampler(stores_of(full.db, homogeneous=True), {BUYS: [2]})


def test_a_copy_has_all_vertices_edges_and_features(full: Shop) -> None:
    with full.db.snapshot() as snapshot:
        data = snapshot.to_torch_geometric(features=FEATURES, edge_features={"BUYS": ["at"]})
        single = snapshot.to_torch_geometric("LIKES", labels="User", features=["age"], homogeneous=True)
    data.validate()
    assert data["User"].num_nodes == len(full.users)
    assert data["Item"].x.tolist() == [full.items[vertex] for vertex in data["Item"].vertex.tolist()]
    assert data["User"].y.dtype == torch.int64
    for kind in full.edges:
        assert Counter(edges_of(data, kind)) == known(full, kind)
    columns = zip(edges_of(data, BUYS), data[BUYS].edge_attr[:, 0].tolist(), strict=True)
    assert sorted((source, target, int(at)) for (source, target), at in columns) == sorted(full.edges[BUYS])
    single.validate()
    assert single.num_edges == len(full.edges["User", "LIKES", "User"])
    assert single.x.shape == (len(full.users), 1)


def communities(db: eg.Database, count: int, groups: int) -> np.ndarray[Any, Any]:
    """Add vertices of some groups with faint features, and edges mostly within groups; give their groups."""
    random = np.random.default_rng(0)
    group = random.integers(0, groups, count)
    hint = np.eye(groups)[group] + random.normal(0, 1.2, (count, groups))
    columns = {f"hint{at}": hint[:, at] for at in range(groups)}
    vertices = db.add_vertices("Person", {"group": group, **columns})
    sources, targets = random.integers(0, count, (2, count * 60))
    kept = (group[sources] == group[targets]) | (random.random(count * 60) < 0.05)
    db.add_edges("KNOWS", np.column_stack([vertices[sources[kept]], vertices[targets[kept]]])[: count * 12])
    return group


def test_a_network_learns_communities_while_others_write() -> None:
    groups, count = 4, 800
    hints = [f"hint{at}" for at in range(groups)]
    with eg.open() as db:
        group = communities(db, count, groups)
        with db.snapshot() as snapshot:
            stores = snapshot.torch_geometric_stores(features={"Person": {"x": hints, "y": "group"}})
        stop = threading.Event()
        written = 0

        def write() -> None:
            nonlocal written
            while not stop.wait(0.002):
                with db.begin() as tx:
                    new = tx.add_vertex("Person", group=0, **dict.fromkeys(hints, 9.0))
                    tx.add_edge(new, "KNOWS", written % 100)
                written += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            accuracy, alone = learned(stores, torch.from_numpy(group), groups)
        finally:
            stop.set()
            writer.join()
        assert written > 0
        assert stores.features.get_tensor_size("Person", "x") == (count, groups)
        later = stores_of(db, features={"Person": {"x": hints}})
        assert later.features.get_tensor_size("Person", "x") == (count + written, groups)
    assert accuracy > 0.8, f"{accuracy:.2f} of the test's vertices; chance is {1 / groups}"
    assert accuracy > alone + 0.1, f"features alone give {alone:.2f}: neighbours didn't help"


def learned(stores: Stores, group: Any, groups: int) -> tuple[float, float]:
    """Train on half of the vertices; give the share of the others that is right, and that by features alone."""
    torch.manual_seed(0)

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = SAGEConv((-1, -1), 16), SAGEConv((-1, -1), groups)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.second(self.first(x, edge_index).relu(), edge_index)

    network = to_hetero(Network(), stores.metadata)
    shuffled = torch.randperm(len(group))
    train, test = shuffled[: len(group) // 2], shuffled[len(group) // 2 :]
    sampler = NeighborSampler(stores, [8, 4])
    optimiser = None
    for _ in range(4):
        for batch in loader.NodeLoader(
            stores, sampler, input_nodes=("Person", train), batch_size=64, shuffle=True
        ):
            scores = network(batch.x_dict, batch.edge_index_dict)["Person"][: batch["Person"].batch_size]
            optimiser = optimiser or torch.optim.Adam(network.parameters(), lr=0.02)
            optimiser.zero_grad()
            wanted = batch["Person"].y[: batch["Person"].batch_size]
            torch.nn.functional.cross_entropy(scores, wanted).backward()
            optimiser.step()
    [batch] = loader.NodeLoader(stores, sampler, input_nodes=("Person", test), batch_size=len(test))
    with torch.no_grad():
        scores = network(batch.x_dict, batch.edge_index_dict)["Person"][: len(test)]
    right = (scores.argmax(dim=1) == group[test]).float().mean().item()
    alone = (batch["Person"].x[: len(test)].argmax(dim=1) == group[test]).float().mean().item()
    return right, alone


def test_the_guide_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert blocks
    names: dict[str, Any] = {}
    for at, block in enumerate(blocks, 1):
        exec(compile(block, f"{GUIDE.name}, block {at}", "exec"), names)
