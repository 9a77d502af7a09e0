"""Lists: the adjacency lists of a snapshot, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from evergraph.algorithms import Condition, native_scope, native_weight
from evergraph.errors import InvalidError
from evergraph.progress import Progress, shown
from evergraph.reader import names
from evergraph.values import Direction

if TYPE_CHECKING:
    from evergraph._native import Snapshot as NativeSnapshot

__all__ = ["CompactCsr", "CsrPiece", "Lists"]


_PURPOSE = "a CSR copy"

_CHUNK = 1 << 18
"""Neighbours that are numbered anew at once."""


class CompactCsr(NamedTuple):
    """Adjacency lists whose rows are the vertices of a scope, numbered from 0.

    Attributes
    ----------
    vertices : numpy.ndarray of shape (n,) and uint64
        The vertex of each row, ascending.
    offsets : numpy.ndarray of shape (n + 1,) and int64
        ``neighbors[offsets[row]:offsets[row + 1]]`` are the neighbours of a row.
    neighbors : numpy.ndarray of shape (m,) and uint32
        Rows, ascending within each row.
    weights : numpy.ndarray of shape (m,) and float64, or None
        One for each neighbour, if a weight was requested.
    """

    vertices: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]
    neighbors: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float64] | None


class CsrPiece(NamedTuple):
    """The adjacency lists of some vertices for one edge type.

    Attributes
    ----------
    vertices : numpy.ndarray of shape (n,) and uint64
        Vertices with edges, ascending.
    offsets : numpy.ndarray of shape (n + 1,) and int64
        ``neighbors[offsets[row]:offsets[row + 1]]`` are the neighbours of ``vertices[row]``.
    neighbors : numpy.ndarray of shape (m,) and uint32, read-only
        Vertex ids, ascending within each list.
    shared : bool
        Whether `neighbors` is the database's own array, without a copy.
    """

    vertices: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]
    neighbors: npt.NDArray[np.uint32]
    shared: bool


class Lists:
    """All adjacency lists at once: of all vertices, of a scope, or in the pieces in which they are stored."""

    __slots__ = ()
    _native: NativeSnapshot

    def csr(
        self,
        *types: str,
        direction: Direction = "out",
        labels: str | Iterable[str] | None = None,
        where: Iterable[Condition] | None = None,
        where_edges: Iterable[Condition] | None = None,
        progress: Progress = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        """All adjacency lists in two arrays, copied at the speed of memory.

        Parameters
        ----------
        *types : str
            Only edges of these types; by default all.
        direction : {"out", "in", "both"}
            Whether lists have the edges that leave a vertex, that reach it, or both.
        labels, where, where_edges
            Which vertices and edges: see ``Algorithms``.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        offsets : numpy.ndarray of shape (bound + 1,) and int64
            ``neighbors[offsets[v]:offsets[v + 1]]`` are the neighbours of vertex ``v``. The bound is one more than
            the highest id that a vertex could have; unused ids have empty lists.
        neighbors : numpy.ndarray of shape (edges,) and uint32
            Vertex ids, ascending in each list; a parallel edge repeats its id.

        Raises
        ------
        LimitError
            If the arrays do not fit below the database's memory limit. They count for as long as they live.

        See Also
        --------
        compact_csr : rows numbered from 0 without gaps, with weights.
        csr_pieces : the database's own arrays, without a copy.

        Examples
        --------
        >>> offsets, neighbors = snapshot.csr("KNOWS")
        >>> neighbors[offsets[mary]:offsets[mary + 1]].tolist() == [ada]
        True
        """
        scope = native_scope(labels, types, where, where_edges)
        with shown(progress) as told:
            offsets, neighbors, _ = self._native.csr(scope, direction, None, told)
        return offsets, neighbors

    def csr_pieces(self, edge_type: str, *, direction: Direction = "out") -> list[CsrPiece]:
        """All adjacency lists of one edge type in the pieces in which they are stored, without a copy.

        A piece is a segment: up to 4,096 vertices, or one vertex with very many edges. Its neighbours are the
        database's own array, unless edges were added or deleted since its last merge. A piece stays valid as
        long as it is referenced.

        Parameters
        ----------
        edge_type : str
            The type.
        direction : {"out", "in"}
            Whether lists have the edges that leave a vertex, or those that reach it.

        Returns
        -------
        list of CsrPiece
            Each vertex with edges is in one of them.

        Raises
        ------
        InvalidError
            For "both".

        Examples
        --------
        >>> [piece] = snapshot.csr_pieces("KNOWS")
        >>> piece.vertices.tolist(), piece.offsets.tolist(), piece.neighbors.tolist()
        ([0, 1, 2], [0, 1, 2, 3], [1, 2, 0])
        """
        if direction == "both":
            raise InvalidError('direction="both": the two sides lie apart; take "out" and "in"')
        return [
            CsrPiece(vertices, offsets, table["neighbor"].chunk(0).to_numpy(zero_copy_only=True), shared)
            for vertices, offsets, table, shared in self._native.csr_pieces(edge_type, direction)
        ]

    def compact_csr(
        self,
        *types: str,
        direction: Direction = "out",
        labels: str | Iterable[str] | None = None,
        weight: str | None = None,
        missing_weight: float | None = None,
        where_edges: Iterable[Condition] | None = None,
        progress: Progress = None,
    ) -> CompactCsr:
        """All adjacency lists, with vertices numbered from 0 without gaps.

        Parameters
        ----------
        *types, direction, labels, where_edges, progress
            See `csr`.
        weight : str, optional
            The edge property that is the weight.
        missing_weight : float, optional
            The weight of edges without the property; by default such an edge is an error.

        Returns
        -------
        CompactCsr
            Vertices, offsets, neighbors and weights.

        Raises
        ------
        LimitError
            See `csr`.

        Examples
        --------
        >>> compact = snapshot.compact_csr("KNOWS", weight="since")
        >>> compact.vertices[compact.neighbors].tolist(), compact.weights.tolist()
        ([1, 2, 0], [1833.0, 1827.0, 1840.0])
        """
        scope = native_scope(labels, types, None, where_edges)
        with shown(progress) as told:
            offsets, neighbors, weights = self._native.csr(
                scope, direction, native_weight(weight, missing_weight), told
            )
            table = self._native.vertices(names(labels), [], told)
        vertices: npt.NDArray[np.uint64] = table["vertex"].to_numpy()
        count = len(vertices)
        if count == 0 or int(vertices[-1]) == count - 1:
            # Numbers have no gaps as they are.
            return CompactCsr(vertices, offsets[: count + 1], neighbors, weights)
        kept = self._native.reserve(_PURPOSE, 8 * (count + 1))
        with self._native.reserve(_PURPOSE, 4 * len(offsets) + 32 * count):
            rows = np.zeros(len(offsets) - 1, dtype=np.uint32)
            rows[vertices] = np.arange(count, dtype=np.uint32)
            compact = np.zeros(count + 1, dtype=np.int64)
            kept.keep_with(compact)
            np.cumsum(offsets[vertices + 1] - offsets[vertices], out=compact[1:])
            # In place: they may be most of what the memory limit allows.
            for start in range(0, len(neighbors), _CHUNK):
                part = neighbors[start : start + _CHUNK]
                part[:] = rows[part]
        return CompactCsr(vertices, compact, neighbors, weights)
