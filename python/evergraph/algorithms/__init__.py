"""Algorithms: the graph algorithms of a snapshot, one file a kind."""

from evergraph.algorithms.centrality import Centrality
from evergraph.algorithms.communities import Communities
from evergraph.algorithms.paths import Paths
from evergraph.algorithms.scope import Choices, Condition, Scope, native_scope, native_weight
from evergraph.algorithms.structure import Structure

__all__ = ["Algorithms", "Choices", "Condition", "Scope", "native_scope", "native_weight"]


class Algorithms(Centrality, Paths, Structure, Communities):
    """Algorithms on a snapshot.

    They run on all cores without the GIL, directly on the database's lists, while writers continue. Ctrl-C
    stops them.

    All of them take:

    labels : str or list of str, optional
        Vertices of these labels only. Edges to others are left out.
    types : str or list of str, optional
        Edges of these types only.
    where, where_edges : list of conditions, optional
        Vertices, or edges, whose properties satisfy all of these: ``("age", ">=", 18)``,
        ``("city", "in", ["Rome", "Pisa"])``, or a property's name if it must exist.
    keys : str or list of str, optional
        Properties of the vertices to add as columns, such as their unique key.
    numpy : bool
        NumPy arrays in place of a table: a tuple, in the order of the columns. Columns with nulls become
        floats with NaN.
    progress : bool or callable, optional
        See ``evergraph.progress``.

    In addition to the errors of each, all raise ``SnapshotClosed``, ``NotFoundError`` for names that the graph
    does not have, ``InvalidError`` for parameters out of range, and ``LimitError`` beyond ``memory_limit``.

    Figures about the answer are in the table's metadata, ``table.schema.metadata``; ``freeze_seconds`` and
    ``kernel_seconds`` are the times to prepare the snapshot's lists and to run the algorithm on them.
    """

    __slots__ = ()
