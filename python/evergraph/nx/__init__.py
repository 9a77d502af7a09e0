"""NetworkX on live data: graphs that read a snapshot, and a backend that runs NetworkX's functions on them.

>>> import networkx as nx
>>> import evergraph.nx as enx
>>> graph = enx.DiGraph(snapshot, types="KNOWS", key="name")
>>> nx.is_strongly_connected(graph)
True
>>> nx.pagerank(nx.path_graph(3), backend="evergraph")[1] > 0.4
True

See the guide to NetworkX (docs/guide/networkx.md). It needs NetworkX: ``pip install evergraph[networkx]``.
"""

from evergraph.nx.conversion import from_networkx, to_networkx
from evergraph.nx.views import DiGraph, Graph, MultiDiGraph, MultiGraph

__all__ = ["DiGraph", "Graph", "MultiDiGraph", "MultiGraph", "from_networkx", "to_networkx"]
