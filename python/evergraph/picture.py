"""Picture: a small graph drawn by Matplotlib, laid out by NetworkX.

The amount of data read depends on the picture, not on the graph: neighbours come from queries with a limit, and
the edges between chosen vertices from their short lists.

============  ============================================================
chosen        all vertices, if they fit; else a breadth-first search
edges         the lists of chosen vertices; for a hub, those at the other ends
============  ============================================================
"""

from __future__ import annotations

import io
import os
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evergraph._tables import ids_of, library
from evergraph.errors import InvalidError, NotFoundError
from evergraph.values import EdgeId, Subgraph

if TYPE_CHECKING:
    from evergraph.files import StrPath
    from evergraph.snapshot import Snapshot

__all__ = ["Picture", "draw"]

LIMIT_MAX = 500
# The list of a vertex with more edges isn't read: what it has in common with others is found in theirs.
HUB_EDGES = 10_000
# With more vertices or edges, captions would hide the picture.
VERTEX_CAPTIONS_MAX = 150
EDGE_CAPTIONS_MAX = 40
CAPTION_LENGTH = 20
COLOURS = 8
# Curved, so that edges there and back are two.
CURVE = "arc3,rad=0.08"

Pair = tuple[int, int]


class Picture:
    """A picture of a graph, as ``Snapshot.show`` draws it. Notebooks show it.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        Matplotlib's figure, which may be changed.
    vertices, edges : int
        How many were drawn; edges of one type between the same vertices are one arrow.
    title : str
        What the picture shows, and of how many vertices if it is only a part.
    """

    __slots__ = ("edges", "figure", "title", "vertices")

    def __init__(self, figure: Any, title: str, vertices: int, edges: int) -> None:
        """Use ``Snapshot.show``."""
        self.figure = figure
        self.title = title
        self.vertices = vertices
        self.edges = edges

    def save(self, path: StrPath) -> None:
        """Write it to a file: ``.svg``, ``.png`` or ``.pdf``, by the ending of its name."""
        with quiet():
            self.figure.savefig(os.fspath(path), bbox_inches="tight")

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        with quiet():
            self.figure.savefig(content, format="png", dpi=110, bbox_inches="tight")
        return content.getvalue()

    def __repr__(self) -> str:
        """Say what the picture shows."""
        return f"<evergraph.Picture of {self.title}>"


class quiet(warnings.catch_warnings):  # noqa: N801 - as what it derives from
    """Suppress warnings about characters that the font does not have: they are drawn as boxes."""

    def __enter__(self) -> Any:
        """Begin."""
        entered = super().__enter__()
        warnings.filterwarnings("ignore", message="Glyph")
        return entered


def draw(
    snapshot: Snapshot,
    of: Subgraph | npt.ArrayLike | None,
    types: list[str],
    labels: list[str],
    caption: str | None,
    limit: int,
    size: tuple[float, float],
) -> Picture:
    """See ``Snapshot.show``."""
    if not 1 <= limit <= LIMIT_MAX:
        raise InvalidError(f"limit={limit}: from 1 to {LIMIT_MAX} vertices can be drawn")
    library("matplotlib", "show")
    library("networkx", "show")
    counts = snapshot.labels()
    for name in labels:
        # The error names those that there are.
        snapshot.schema(name)
    total = sum(count for name, count in counts.items() if not labels or name in labels)
    if isinstance(of, Subgraph):
        vertices, total = of.vertices[:limit], len(of.vertices)
        drawn = set(vertices)
        edges = Counter(
            ((edge.source, edge.target), edge.type) for edge in of.edges if {edge.source, edge.target} <= drawn
        )
    else:
        vertices = chosen(snapshot, of, types, labels, limit, total)
        edges = edges_between(snapshot, vertices, types)
    return Picture(*drawing(snapshot, vertices, edges, total, caption, size))


def chosen(
    snapshot: Snapshot,
    of: npt.ArrayLike | None,
    types: list[str],
    labels: list[str],
    limit: int,
    total: int,
) -> list[int]:
    """Vertices to draw: those given, or all, or the first ones; then their neighbours, breadth-first."""
    of_labels, label_names = called("hasLabel", "l", labels)
    both, type_names = called("both", "t", types)
    if of is None:
        text = f"g.V(){of_labels}.limit(most)"
        first = snapshot.query(text, bindings={**label_names, "most": limit}).to_list()
        if total <= limit:
            return first
    else:
        first = [int(vertex) for vertex in ids_of(of)]
        gone = next((vertex for vertex in first[:limit] if not snapshot.has(vertex)), None)
        if gone is not None:
            raise NotFoundError(f"vertex {gone} isn't there")
    found: dict[int, None] = {}
    given = first if of is not None else first[:1]
    waiting = list(given)
    # What is given comes first, and then neighbours; without any, the next of the first ones.
    found.update(dict.fromkeys(given[:limit]))
    rest = iter(first)
    while len(found) < limit:
        if not waiting:
            following = next((vertex for vertex in rest if vertex not in found), None)
            if following is None:
                break
            found[following] = None
            waiting.append(following)
            continue
        vertex = waiting.pop(0)
        text = f"g.V(v){both or '.both()'}{of_labels}.dedup().limit(most)"
        names = {**label_names, **type_names, "v": vertex, "most": limit + 1}
        for neighbor in snapshot.query(text, bindings=names):
            if len(found) == limit:
                break
            if neighbor not in found:
                found[neighbor] = None
                waiting.append(neighbor)
    return list(found)


def called(step: str, letter: str, names: list[str]) -> tuple[str, dict[str, str]]:
    """A step with variables for names, and the variables; an empty text for no names."""
    variables = {f"{letter}{at}": name for at, name in enumerate(names)}
    return (f".{step}({', '.join(variables)})" if names else ""), variables


def edges_between(snapshot: Snapshot, vertices: list[int], types: list[str]) -> Counter[tuple[Pair, str]]:
    """The edges between vertices, by their ends and types, with how many there are."""
    drawn, edges = set(vertices), Counter[tuple[Pair, str]]()
    ids = np.array(vertices, dtype=np.uint64)
    if not vertices:
        return edges
    hubs = {side: snapshot.degrees(ids, *types, direction=side) > HUB_EDGES for side in ("out", "in")}

    def read(of: npt.NDArray[np.uint64], direction: Any, sources: set[int]) -> None:
        table = snapshot.neighbors(of, *types, direction=direction, properties=())
        columns = (table.column(name).to_pylist() for name in ("source", "target", "type"))
        for source, target, kind in zip(*columns, strict=True):
            if source in sources and target in drawn:
                edges[(source, target), kind] += 1

    read(ids[~hubs["out"]], "out", drawn)
    far = {int(vertex) for vertex in ids[hubs["out"]]}
    if far:
        read(ids[~hubs["in"]], "in", far)
        # From one hub to another: no list of either is short.
        for kind in types or snapshot.edge_types():
            for target in ids[hubs["in"]].tolist():
                edges.update({((hub, target), kind): 1 for hub in far if snapshot.has(EdgeId(hub, kind, target))})
    return edges


def drawing(
    snapshot: Snapshot,
    vertices: list[int],
    edges: Counter[tuple[Pair, str]],
    total: int,
    caption: str | None,
    size: tuple[float, float],
) -> tuple[Any, str, int, int]:
    """A figure, its title, and how many vertices and edges it has."""
    networkx, figures = library("networkx", "show"), library("matplotlib.figure", "show")
    arrows: dict[Pair, list[str]] = {}
    for (pair, kind), count in edges.items():
        arrows.setdefault(pair, []).append(kind if count == 1 else f"{count} {kind}")
    graph = networkx.DiGraph()
    graph.add_nodes_from(vertices)
    graph.add_edges_from(arrows)
    places = networkx.forceatlas2_layout(graph, seed=7, max_iter=300, strong_gravity=True) if graph else {}
    figure = figures.Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    palette = library("matplotlib", "show").colormaps["Set2"]
    named = {vertex: snapshot.label(vertex) or "" for vertex in vertices}
    by_label = [label for label, _ in Counter(named.values()).most_common()]
    shades = {label: palette(at) if at < COLOURS else "#bbbbbb" for at, label in enumerate(by_label)}
    marks = 260 if len(vertices) <= VERTEX_CAPTIONS_MAX else 60
    for label in by_label:
        nodes = [vertex for vertex in vertices if named[vertex] == label]
        drawn = networkx.draw_networkx_nodes(
            graph, places, nodelist=nodes, node_color=[shades[label]], node_size=marks, ax=axes
        )
        drawn.set_label(plain(label))
    if arrows:
        networkx.draw_networkx_edges(
            graph, places, node_size=marks, edge_color="#888888", connectionstyle=CURVE, ax=axes
        )
    if len(vertices) <= VERTEX_CAPTIONS_MAX:
        for vertex, text in captions(snapshot, vertices, caption).items():
            axes.text(*places[vertex], text, ha="center", va="center", fontsize=8, clip_on=True)
    if len(arrows) <= EDGE_CAPTIONS_MAX:
        kinds = {pair: plain(", ".join(kinds)) for pair, kinds in arrows.items()}
        networkx.draw_networkx_edge_labels(
            graph, places, kinds, font_size=7, node_size=marks, connectionstyle=CURVE, ax=axes
        )
    if by_label:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, markerscale=0.6)
    title = titled(len(vertices), total, sum(edges.values()))
    axes.set_title(title, fontsize=9)
    return figure, title, len(vertices), len(arrows)


def titled(vertices: int, total: int, edges: int) -> str:
    """How much is drawn of how much."""
    of = f"{vertices:,} of {total:,}" if vertices < total else f"{vertices:,}"
    noun = "vertex" if total == 1 else "vertices"
    between = " between them" if vertices < total else ""
    return f"{of} {noun} and {edges:,} edge{'' if edges == 1 else 's'}{between}"


def captions(snapshot: Snapshot, vertices: list[int], key: str | None) -> dict[int, str]:
    """Captions of vertices: a property, else their unique key, else their id."""
    found = {}
    for vertex in vertices:
        value = snapshot.get(vertex, key) if key is not None else None
        if value is None:
            own = snapshot.key_of(vertex) if key is None else None
            value = own[1] if own is not None else vertex
        found[vertex] = plain(str(value))
    return found


def plain(text: str) -> str:
    """A shortened text, without anything that Matplotlib would take for a formula."""
    text = text.replace("\n", " ")
    short = text if len(text) <= CAPTION_LENGTH else f"{text[: CAPTION_LENGTH - 1]}…"
    return short.replace("$", r"\$")
