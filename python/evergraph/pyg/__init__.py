"""PyTorch Geometric: stores and a sampler, so that its loaders draw batches from a snapshot.

``Snapshot.torch_geometric_stores`` gives the pair of stores; ``NeighborSampler`` draws from it::

    from evergraph.pyg import NeighborSampler
    from torch_geometric.loader import NodeLoader

    stores = snapshot.torch_geometric_stores(features={"Person": {"x": ["age", "income"], "y": "club"}})
    loader = NodeLoader(stores, NeighborSampler(stores, [10, 5]), input_nodes="Person", batch_size=512)

Needs ``pip install evergraph[torch]``. What lies below PyTorch (`topology`, `features`, `graph`, `sampling`) is
NumPy alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evergraph.pyg.sampler import NeighborSampler
    from evergraph.pyg.stores import FeatureStore, GraphStore, Stores

__all__ = ["FeatureStore", "GraphStore", "NeighborSampler", "Stores"]


def __getattr__(name: str) -> object:
    """Import what needs PyTorch when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{'sampler' if name == 'NeighborSampler' else 'stores'}"), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"this needs {error.name}: pip install evergraph[torch]") from error
