"""What NetworkX reads about its backend whenever it is imported, so that it need not import evergraph."""

from __future__ import annotations

from typing import Any

FUNCTIONS = {
    "all_pairs_shortest_path": "A shortest path from each node to each that it reaches.",
    "all_pairs_shortest_path_length": "How many edges each node is away from each.",
    "ancestors": "All that reach a node, without itself.",
    "average_clustering": "The mean of `clustering`.",
    "betweenness_centrality": "How many shortest paths lead through each node, from a search from every node.",
    "bfs_edges": "The edges of a breadth-first search, as they are found.",
    "bfs_layers": "The nodes by their distance from some.",
    "bfs_predecessors": "Each node with the one that it was found from.",
    "bfs_successors": "Each node with those that were found from it.",
    "bfs_tree": "The tree of a breadth-first search: a ``networkx.DiGraph`` of NetworkX's own.",
    "bidirectional_dijkstra": "The least sum of weights between two nodes, and a path.",
    "bidirectional_shortest_path": "A shortest path between two nodes. A live graph is searched from both ends.",
    "closeness_centrality": "How near each node is to those that reach it.",
    "clustering": "How many of the pairs of each node's neighbours are connected.",
    "connected_components": "The connected components.",
    "core_number": "The innermost core that each node is in.",
    "degree_centrality": "The share of other nodes that each is connected to.",
    "descendants": "All that a node reaches, without itself.",
    "descendants_at_distance": "The nodes at a distance.",
    "dijkstra_path": "A path of the least sum of weights between two nodes.",
    "dijkstra_path_length": "The least sum of weights between two nodes.",
    "eigenvector_centrality": "How important those are that point to each node.",
    "find_cycle": "The cycle that a depth-first search closes first.",
    "has_cycle": "Whether edges form a cycle.",
    "has_path": "Whether one node reaches another.",
    "in_degree_centrality": "The share of other nodes that point to each.",
    "is_connected": "Whether there is one.",
    "is_directed_acyclic_graph": "Whether edges have directions and form no cycle.",
    "is_empty": "Whether there are no edges.",
    "is_forest": "Whether all components are trees, without regard to directions.",
    "is_strongly_connected": "Whether there is one.",
    "is_tree": "Whether it is one tree, without regard to directions.",
    "is_weakly_connected": "Whether there is one.",
    "isolates": "The nodes without edges.",
    "louvain_communities": "Communities by modularity. The answer is always the same: nothing is drawn at random.",
    "node_connected_component": "The component of a node.",
    "number_connected_components": "How many connected components there are.",
    "number_of_isolates": "How many nodes have no edges.",
    "number_of_selfloops": "How many loops there are.",
    "number_strongly_connected_components": "How many strongly connected components there are.",
    "number_weakly_connected_components": "How many weakly connected components there are.",
    "out_degree_centrality": "The share of other nodes that each points to.",
    "pagerank": "PageRank: by the kernel, or by NumPy if there are weights or starts.",
    "shortest_path": "Shortest paths between two nodes, from one, to one, or between all.",
    "shortest_path_length": "The lengths of shortest paths between two nodes, from one, to one, or between all.",
    "single_source_dijkstra": "The least sums of weights, and paths.",
    "single_source_dijkstra_path": "A path of the least sum of weights to each node.",
    "single_source_dijkstra_path_length": "The least sum of weights to each node.",
    "single_source_shortest_path": "A shortest path from one node to each that it reaches.",
    "single_source_shortest_path_length": "How many edges each node is away from one.",
    "single_target_shortest_path": "A shortest path to one node from each that reaches it.",
    "single_target_shortest_path_length": "How many edges one node is away from each.",
    "strongly_connected_components": "The components whose nodes reach each other.",
    "topological_generations": "Nodes by the longest way to them.",
    "topological_sort": "Every node after those that point to it.",
    "transitivity": "How many of all pairs of neighbours are connected.",
    "triangles": "How many triangles each node is in.",
    "weakly_connected_components": "The components without regard to directions.",
}
"""What runs on Evergraph. A test compares it with what there is."""


def get_info() -> dict[str, Any]:
    """Give the entry point ``networkx.backend_info``."""
    return {
        "backend_name": "evergraph",
        "project": "evergraph",
        "package": "evergraph",
        "short_summary": "Evergraph runs it on a database, live or converted.",
        "functions": {name: {"additional_docs": text} for name, text in FUNCTIONS.items()},
    }
