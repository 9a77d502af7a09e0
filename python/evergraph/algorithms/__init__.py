"""Algorithms: what a snapshot can be asked about the whole of its graph, a file a kind."""

from evergraph.algorithms.centrality import Centrality
from evergraph.algorithms.communities import Communities
from evergraph.algorithms.paths import Paths
from evergraph.algorithms.scope import Choices, Condition, Scope, native_scope, native_weight
from evergraph.algorithms.structure import Structure

__all__ = ["Algorithms", "Choices", "Condition", "Scope", "native_scope", "native_weight"]


class Algorithms(Centrality, Paths, Structure, Communities):
    """Algorithms on a snapshot.

    They run on all cores without the GIL, straight on the database's own lists; writers go on. Ctrl-C stops them.

    All of them take:

    labels : str or list of str, optional
        Vertices of these labels only. Edges to others are left out.
    types : str or list of str, optional
        Edges of these types only.
    where, where_edges : list of conditions, optional
        Vertices, or edges, whose properties satisfy all of these: ``("age", ">=", 18)``,
        ``("city", "in", ["Rome", "Pisa"])``, or a property's name if it must be there.
    keys : str or list of str, optional
        Properties of the vertices to put beside them, say their unique key.
    numpy : bool
        NumPy arrays in place of a table: a tuple, in the order of the columns. What has nulls becomes
        floats with NaN.
    progress : bool or callable, optional
        See ``evergraph.progress``.

    And raise, besides what is said there, ``SnapshotClosed``, ``NotFoundError`` for names that the graph doesn't
    have, ``InvalidError`` for parameters out of range, ``LimitError`` if ``memory_limit`` doesn't suffice.

    Figures about the answer are in the table's metadata, ``table.schema.metadata``; ``freeze_seconds`` and
    ``kernel_seconds`` are what preparing the snapshot's lists and running the algorithm on them took.
    """

    __slots__ = ()
