"""Packed graph: raw edges in one array on persistent memory, without transactions.

An insertion is durable when it returns. Views show the lists as they were when they were made, and algorithms run
on them. For properties, transactions and queries, use a database: the guide says when to use which.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from evergraph import _native
from evergraph.algorithms import Algorithms
from evergraph.errors import InvalidError
from evergraph.handle import Handle, state_of
from evergraph.progress import Progress, shown

if TYPE_CHECKING:
    from evergraph._native import PackedGraph as NativePackedGraph
    from evergraph._native import PackedView as NativePackedView
    from evergraph.values import Direction

__all__ = ["PackedGraph", "PackedView"]

_VERTICES_MAX = (1 << 30) - 1


def _number(value: int, name: str) -> int:
    """Check a vertex or a size that the native module takes in 32 bits."""
    if not 0 <= value < _VERTICES_MAX:
        raise InvalidError(f"{name} is {value}; numbers of a packed graph are from 0 to {_VERTICES_MAX - 1}")
    return int(value)


def _numbers(values: Any, name: str) -> npt.NDArray[np.uint32]:
    """Give numbers of vertices as the native module wants them."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidError(f"{name} must be one column of numbers, not an array of shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.dtype.kind not in "iu":
        raise InvalidError(f"{name} must be whole numbers without nulls, not {array.dtype}")
    for extreme in (array.min(), array.max()):
        _number(int(extreme), name)
    return np.ascontiguousarray(array, np.uint32)


class PackedGraph(Handle):
    """A graph of plain edges on persistent memory: inserted in place, and durable one by one.

    There are no transactions, properties or types: a database has those. Use a packed graph for a stream of edges
    between numbered vertices. Each edge is stored on both sides, so that all algorithms run on a view that do not
    look edges up one by one.

    As a context manager it is shut down at the end.

    Parameters
    ----------
    path : path-like, optional
        A folder on a file system of persistent memory, with a folder for each side. Without one the graph is in
        memory, and gone at the end.
    vertices : int
        Vertices that a new graph has: the numbers below it. ``insert_vertex`` adds more.
    edges : int
        Edges that a new graph is likely to get. It begins with 8 bytes for each on each side, and grows.
    log_records : int
        Records of a section log of a new graph, 12 bytes each: 2 to 1365.
    create : bool
        Whether a graph that is not there is created; otherwise that is an error.
    emulate_dax : bool
        Take a file system that is not one of persistent memory. All works alike, and what a call returned from
        survives the end of the process, but not that of the system.
    caches_persist : bool
        The processor's caches survive a power cut (eADR), so no line is written back. On Linux,
        ``/sys/bus/nd/devices/region*/persistence_domain`` says ``cpu_cache`` then.
    scan : bool
        Open from the edge array and its logs, and check every slot, even if the graph was shut down.

    Raises
    ------
    NotFoundError
        If there is no graph, and ``create`` is false.
    BusyError
        If another process has it open.
    IoError
        If the file system is not one of persistent memory, and ``emulate_dax`` is false.
    CorruptionError
        If a file is damaged or cut short: it names file and byte.
    InvalidError
        For a parameter out of range.

    Examples
    --------
    >>> import evergraph as eg
    >>> graph = eg.PackedGraph(vertices=10)
    >>> graph.insert_edge(6, 1)
    >>> with graph.consistent_view() as view:
    ...     graph.insert_edge(6, 4)
    ...     view.neighbors(6).tolist(), graph.consistent_view().neighbors(6).tolist()
    ([1], [1, 4])
    """

    __slots__ = ("__weakref__", "_native")
    _native: NativePackedGraph

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        vertices: int = 0,
        edges: int = 0,
        log_records: int = 170,
        create: bool = True,
        emulate_dax: bool = False,
        caches_persist: bool = False,
        scan: bool = False,
    ) -> None:
        """Open or create it; see the class."""
        if path is None and not create:
            raise InvalidError("a packed graph in memory is always created: give a path, or create=True")
        if not 0 <= edges < 1 << 63:
            raise InvalidError(f"edges is {edges}; it is a number of edges")
        self._native = _native.packed_graph(
            path,
            {
                "create": create,
                "vertices": _number(vertices, "vertices"),
                "edges": edges,
                "log_records": _number(log_records, "log_records"),
                "emulate_dax": emulate_dax,
                "caches_persist": caches_persist,
                "scan": scan,
            },
        )

    @property
    def is_open(self) -> bool:
        """Whether it was not shut down."""
        return self._native.is_open

    @property
    def found(self) -> Literal["created", "shut down", "scanned"]:
        """How it was opened: new, after a shutdown, or from the edge array, as after a power cut."""
        return self._native.found

    def insert_edge(self, source: int, target: int) -> None:
        """Insert an edge behind those of `source`, durably. Parallel edges and loops are allowed.

        Raises
        ------
        InvalidError
            If a vertex does not exist: it names it.
        LimitError
            If the graph has to grow and the disk is full. Nothing was inserted.
        """
        self._native.insert_edge(_number(source, "source"), _number(target, "target"))

    def insert_edges(self, sources: Any, targets: Any, *, progress: Progress = None) -> None:
        """Insert edges in their order, each as ``insert_edge`` does.

        Parameters
        ----------
        sources, targets : array-like of shape (edges,) and whole numbers
            NumPy arrays, Arrow arrays and columns of tables, lists: one number of each for an edge.
        progress
            See ``evergraph.progress``. What was inserted before a call is stopped stays: the error says how many.

        Raises
        ------
        InvalidError
            If the two do not have one number an edge, or a vertex does not exist; nothing was inserted.
        LimitError
            If the graph has to grow and the disk is full: it says how many edges were inserted.

        Examples
        --------
        >>> import evergraph as eg
        >>> graph = eg.PackedGraph(vertices=4)
        >>> graph.insert_edges([0, 0, 1], [1, 2, 2])
        >>> graph.statistics()["edges"]
        3
        """
        with shown(progress) as callback:
            self._native.insert_edges(_numbers(sources, "sources"), _numbers(targets, "targets"), callback)

    def delete_edge(self, source: int, target: int) -> bool:
        """Delete one edge from `source` to `target`, durably; whether there was one.

        Its slot and that of a tombstone are given back when the array is replaced by a larger one.

        Raises
        ------
        InvalidError
            If a vertex does not exist.
        """
        return self._native.delete_edge(_number(source, "source"), _number(target, "target"))

    def insert_vertex(self, vertex: int) -> None:
        """Make sure that `vertex` and all vertices with smaller numbers exist, durably.

        Raises
        ------
        LimitError
            If the disk is full. Some of the vertices may have been added.
        """
        self._native.insert_vertex(_number(vertex, "vertex"))

    def consistent_view(self) -> PackedView:
        """Take a view of this moment, which later insertions and deletions do not change.

        It takes 8 bytes of memory a vertex.
        """
        return PackedView(self._native.view())

    def statistics(self) -> dict[str, int]:
        """Sizes, and what was done since it was opened.

        Returns
        -------
        dict
            ``vertices``, ``edges``; and of both sides together ``bytes``, ``slots``, ``used_slots``,
            ``inserted_into_gaps``, ``inserted_into_logs``, ``rebalances``, ``resizes``, ``bytes_written_back``
            and ``fences``.
        """
        return self._native.statistics()

    def shutdown(self) -> None:
        """Save what is in ordinary memory, so that the next opening need not scan the array, and close the graph.

        Does nothing if it was shut down. A graph that is not shut down is complete all the same.

        Raises
        ------
        BusyError
            If views are open.
        """
        self._native.shutdown()

    def close(self) -> None:
        """Shut it down."""
        self.shutdown()

    def __repr__(self) -> str:
        """Describe it."""
        state = state_of(self)
        if state:
            return f"<PackedGraph{state}>"
        counts = self.statistics()
        return f"<PackedGraph: {counts['vertices']:,} vertices, {counts['edges']:,} edges>"


class PackedView(Algorithms, Handle):
    """The edges of a packed graph at one moment.

    It has the algorithms of ``Snapshot``. Those that choose by labels, types or properties, or look edges up one
    by one (``k_hop``, ``shortest_path``, ``cycles``), raise ``InvalidError``.

    Examples
    --------
    >>> import evergraph as eg
    >>> graph = eg.PackedGraph(vertices=3)
    >>> graph.insert_edges([0, 1], [1, 2])
    >>> with graph.consistent_view() as view:
    ...     view.bfs(0)["level"].to_pylist()
    [0, 1, 2]
    """

    __slots__ = ("__weakref__", "_native")
    _native: NativePackedView

    def __init__(self, native: NativePackedView) -> None:
        """Use ``PackedGraph.consistent_view``."""
        self._native = native

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""
        return self._native.is_open

    def close(self) -> None:
        """Close it; running calls continue. Does nothing if it is closed."""
        self._native.close()

    @property
    def vertices(self) -> int:
        """How many vertices it has: the numbers below it."""
        return self._native.counts()[0]

    @property
    def edges(self) -> int:
        """How many edges it has."""
        return self._native.counts()[1]

    def neighbors(self, vertex: int, direction: Direction = "out") -> npt.NDArray[np.uint32]:
        """The other ends of the edges of a vertex, in the order of insertion; with ``"both"``, out before in.

        Returns
        -------
        numpy.ndarray of shape (edges,) and uint32

        Raises
        ------
        NotFoundError
            If the view has no such vertex.
        """
        return self._native.neighbors(_number(vertex, "vertex"), direction)

    def degrees(self, direction: Direction = "out") -> npt.NDArray[np.uint32]:
        """The number of edges of each vertex.

        Returns
        -------
        numpy.ndarray of shape (vertices,) and uint32
        """
        return self._native.degrees(direction)

    def __repr__(self) -> str:
        """Describe it."""
        state = state_of(self)
        if state:
            return f"<PackedView{state}>"
        return f"<PackedView: {self.vertices:,} vertices, {self.edges:,} edges>"
