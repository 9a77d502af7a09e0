"""NeighborSampler: draws neighbours for PyG's loaders, without ``pyg-lib`` or ``torch-sparse``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info
from torch_geometric.sampler import BaseSampler, HeteroSamplerOutput, NumNeighbors, SamplerOutput
from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

from evergraph.errors import InvalidError
from evergraph.pyg.sampling import Seeds, sample
from evergraph.pyg.stores import Stores
from evergraph.pyg.topology import EdgeType, NodeType

__all__ = ["NeighborSampler"]


class NeighborSampler(BaseSampler):
    """Draws neighbours hop by hop, against the direction of edges, as ``torch_geometric.sampler.NeighborSampler``.

    It goes into ``NodeLoader(stores, sampler, ...)`` and ``LinkLoader(stores, sampler, ...)``, or as
    ``neighbor_sampler=`` into ``NeighborLoader`` and ``LinkNeighborLoader``, whose own needs a compiled package
    beside PyG. Worker processes may have it.

    Parameters
    ----------
    stores : Stores
        Of ``Snapshot.torch_geometric_stores``.
    num_neighbors : list of int, or dict of edge type to list of int
        For each hop how many edges are drawn at each vertex; -1 for all.
    replace : bool
        Whether an edge may be drawn twice at a vertex.
    disjoint : bool
        Whether each seed has a tree of its own; always so for seeds with times.
    temporal_strategy : {"uniform", "last"}
        Of the edges that are not later than a seed: any, or the latest. Edges have times by
        ``torch_geometric_stores(edge_times=...)``, seeds by a loader's ``input_time`` or ``edge_label_time``.
        Edge types without times are drawn from as a whole.
    seed : int, optional
        Draws the same again in a process that asks for the same batches in the same order. By default PyTorch's
        generator decides, which ``torch.manual_seed`` sets and which differs between workers.

    Raises
    ------
    InvalidError
        For a number of neighbours or a strategy that can't be.
    ValueError
        From PyG, if `num_neighbors` leaves out an edge type, names an unknown one, or hops differ.
    """

    def __init__(
        self,
        stores: Stores,
        num_neighbors: Sequence[int] | Mapping[tuple[str, str, str], Sequence[int]],
        *,
        replace: bool = False,
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        seed: int | None = None,
    ) -> None:
        """Sample from `stores`."""
        super().__init__()
        if temporal_strategy not in ("uniform", "last"):
            raise InvalidError(f'temporal_strategy={temporal_strategy!r}: expected "uniform" or "last"')
        self._topology = stores.content.topology
        self._replace, self._disjoint = replace, disjoint
        self._newest = temporal_strategy == "last"
        self._seed, self._draws = seed, 0
        self._fanouts = self._fanouts_of(num_neighbors)

    def _fanouts_of(self, given: Any) -> dict[EdgeType, list[int]]:
        given = dict(given) if isinstance(given, Mapping) else list(given)
        edge_types = list(self._topology.incoming)
        if None in self._topology.vertices:
            if isinstance(given, dict):
                raise InvalidError("num_neighbors: expected a list, since a homogeneous graph has one edge type")
            fanouts: dict[EdgeType, list[int]] = dict.fromkeys(edge_types, given)
        else:
            fanouts = NumNeighbors(given).get_values(edge_types)
        for edge_type, hops in fanouts.items():
            if any(fanout < -1 for fanout in hops):
                raise InvalidError(f"num_neighbors: {list(hops)} of {edge_type}: expected -1 (all), 0 or more")
        return {edge_type: [int(fanout) for fanout in hops] for edge_type, hops in fanouts.items()}

    def sample_from_nodes(self, index: Any, **_: Any) -> Any:
        """Draw around rows: called by loaders.

        Returns
        -------
        torch_geometric.sampler.SamplerOutput or HeteroSamplerOutput
        """
        return node_sample(index, self._sample)

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> Any:
        """Draw around both ends of edges, and around pairs without an edge; called by loaders.

        Returns
        -------
        torch_geometric.sampler.SamplerOutput or HeteroSamplerOutput
        """
        counts = {node_type: len(numbers) for node_type, numbers in self._topology.vertices.items()}
        disjoint = self._disjoint or index.time is not None
        return edge_sample(index, self._sample, counts.get(None, counts), disjoint, None, neg_sampling)

    def _sample(self, seed: Any, seed_time: Any = None) -> Any:
        homogeneous = not isinstance(seed, dict)
        rows = {None: seed} if homogeneous else seed
        times = {None: seed_time} if homogeneous else seed_time or {}
        seeds = {node_type: self._seeds(node_type, of, times.get(node_type)) for node_type, of in rows.items()}
        timed = any(of.times is not None for of in seeds.values())
        found = sample(
            self._topology,
            seeds,
            self._fanouts,
            self._random(),
            replace=self._replace,
            disjoint=self._disjoint or timed,
            newest=timed and self._newest,
        )
        node, batch = _tensors(found.rows), None if found.trees is None else _tensors(found.trees)
        row, col, edge = _tensors(found.sources), _tensors(found.targets), _tensors(found.edges)
        if not homogeneous:
            return HeteroSamplerOutput(
                node=node,
                row=row,
                col=col,
                edge=edge,
                batch=batch,
                num_sampled_nodes=found.rows_per_hop,
                num_sampled_edges=found.edges_per_hop,
            )
        return SamplerOutput(
            node=node[None],
            row=row[None],
            col=col[None],
            edge=edge[None],
            batch=None if batch is None else batch[None],
            num_sampled_nodes=found.rows_per_hop[None],
            num_sampled_edges=found.edges_per_hop[None],
        )

    def _seeds(self, node_type: NodeType, rows: Any, times: Any) -> Seeds:
        known = len(self._topology.of_type(node_type))
        numbers = rows.to(torch.long).numpy()
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= known):
            raise InvalidError(
                f"seeds are rows from 0 to {known - 1} of {node_type or 'the graph'}, found {numbers.min()} to "
                f"{numbers.max()}: stores.rows(vertices) gives the rows of vertices"
            )
        return Seeds(numbers, None if times is None else times.numpy())

    def _random(self) -> np.random.Generator:
        if self._seed is None:
            return np.random.default_rng(int(torch.randint(2**62, ()).item()))
        worker = get_worker_info()
        self._draws += 1
        return np.random.default_rng([self._seed, 0 if worker is None else worker.id + 1, self._draws])


def _tensors(arrays: dict[Any, Any]) -> dict[Any, Any]:
    return {kind: torch.from_numpy(array) for kind, array in arrays.items()}
