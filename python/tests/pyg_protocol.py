"""A stand-in for the part of PyTorch and PyG that our stores and sampler touch, written from PyG's documentation.

Tensors are NumPy arrays, base classes are abstract where PyG's are. What passes here has all methods that PyG asks
for, and they answer in the shapes that it documents; that PyG's loaders take them is for `make pyg` to say.
"""

from __future__ import annotations

import abc
import enum
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

OURS = ["evergraph.pyg.sampler", "evergraph.pyg.stores"]


class Tensor(np.ndarray[Any, np.dtype[Any]]):
    """An array that answers to the few methods of a tensor."""

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> np.ndarray[Any, Any]:
        return self.view(np.ndarray)

    def to(self, kind: Any) -> Tensor:
        return self.astype(kind).view(Tensor)


def tensor(values: Any) -> Tensor:
    return np.asarray(values).view(Tensor)


class EdgeLayout(enum.Enum):
    COO = "coo"
    CSC = "csc"
    CSR = "csr"


@dataclass
class TensorAttr:
    group_name: Any = None
    attr_name: Any = None
    index: Any = None


@dataclass
class EdgeAttr:
    edge_type: Any
    layout: EdgeLayout
    is_sorted: bool = False
    size: tuple[int, int] | None = None


class FeatureStore(abc.ABC):
    @abc.abstractmethod
    def _put_tensor(self, tensor: Any, attr: Any) -> bool: ...
    @abc.abstractmethod
    def _get_tensor(self, attr: Any) -> Any: ...
    @abc.abstractmethod
    def _remove_tensor(self, attr: Any) -> bool: ...
    @abc.abstractmethod
    def _get_tensor_size(self, attr: Any) -> Any: ...
    @abc.abstractmethod
    def get_all_tensor_attrs(self) -> list[Any]: ...


class GraphStore(abc.ABC):
    @abc.abstractmethod
    def _put_edge_index(self, edge_index: Any, edge_attr: Any) -> bool: ...
    @abc.abstractmethod
    def _get_edge_index(self, edge_attr: Any) -> Any: ...
    @abc.abstractmethod
    def _remove_edge_index(self, edge_attr: Any) -> bool: ...
    @abc.abstractmethod
    def get_all_edge_attrs(self) -> list[Any]: ...


class BaseSampler(abc.ABC):
    @abc.abstractmethod
    def sample_from_nodes(self, index: Any, **given: Any) -> Any: ...
    @abc.abstractmethod
    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> Any: ...


@dataclass
class SamplerOutput:
    node: Any
    row: Any
    col: Any
    edge: Any
    batch: Any = None
    num_sampled_nodes: Any = None
    num_sampled_edges: Any = None
    metadata: Any = None


class HeteroSamplerOutput(SamplerOutput):
    """The same by type."""


class NumNeighbors:
    def __init__(self, values: Any) -> None:
        self.values = values

    def get_values(self, edge_types: list[Any]) -> dict[Any, list[int]]:
        return self.values if isinstance(self.values, dict) else dict.fromkeys(edge_types, self.values)


def node_sample(inputs: Any, sample_fn: Any) -> Any:
    typed = inputs.input_type is not None
    out = sample_fn({inputs.input_type: inputs.node} if typed else inputs.node, None)
    out.metadata = (inputs.input_id, inputs.time)
    return out


def modules() -> dict[str, ModuleType]:
    """Give the modules that are imported, by name."""
    parts: dict[str, dict[str, Any]] = {
        "torch": {"Tensor": Tensor, "from_numpy": tensor, "stack": np.stack, "long": np.int64},
        "torch.utils": {},
        "torch.utils.data": {"get_worker_info": lambda: None},
        "torch_geometric": {},
        "torch_geometric.data": {
            "Data": SimpleNamespace,
            "HeteroData": SimpleNamespace,
            "EdgeAttr": EdgeAttr,
            "TensorAttr": TensorAttr,
            "FeatureStore": FeatureStore,
            "GraphStore": GraphStore,
        },
        "torch_geometric.data.graph_store": {"EdgeLayout": EdgeLayout},
        "torch_geometric.sampler": {
            "BaseSampler": BaseSampler,
            "HeteroSamplerOutput": HeteroSamplerOutput,
            "NumNeighbors": NumNeighbors,
            "SamplerOutput": SamplerOutput,
        },
        "torch_geometric.sampler.neighbor_sampler": {"edge_sample": None, "node_sample": node_sample},
    }
    made = {}
    for name, content in parts.items():
        made[name] = ModuleType(name)
        vars(made[name]).update(content)
    return made


@contextmanager
def stand_in() -> Iterator[None]:
    """Put the stand-in where PyTorch and PyG would be, and take it away with what was imported over it."""
    made = modules()
    sys.modules.update(made)
    try:
        yield
    finally:
        for name in [*made, *OURS]:
            sys.modules.pop(name, None)
