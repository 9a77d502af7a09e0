"""Loading: many vertices and edges at once, from tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evergraph._tables import table_of
from evergraph.progress import Progress, shown
from evergraph.transaction import KeyOf, ends_of

if TYPE_CHECKING:
    from evergraph._native import Database as NativeDatabase

__all__ = ["Loading"]


class Loading:
    """Loads of tables: each is one commit, of any size."""

    __slots__ = ()
    _native: NativeDatabase

    def add_vertices(
        self,
        label: str,
        data: Any,
        *,
        unique_key: str | None = None,
        progress: Progress = None,
    ) -> npt.NDArray[np.uint64]:
        """Load vertices of one label: one commit, of any size, made durable by a checkpoint.

        Other commits are refused as busy until it is done; reads go on.

        Parameters
        ----------
        label : str
            Their label.
        data
            A column a property, a row a vertex: anything with Arrow's C interface (pyarrow, Polars, DuckDB), a
            pandas data frame, a structured NumPy array, a mapping of columns, or an iterable of mappings. Nulls
            are properties that a vertex lacks.
        unique_key : str, optional
            A property to be unique among the label's vertices, with an index, if it isn't yet.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        numpy.ndarray of shape (rows,) and uint64
            Their numbers.

        Raises
        ------
        InvalidError
            For a column that no property can be, or that this one isn't; for a unique key that is there twice.
        BusyError
            If another load runs.

        Examples
        --------
        >>> cities = db.add_vertices("City", {"name": ["Rome", "Pisa"]}, unique_key="name")
        >>> len(cities)
        2
        """
        table = table_of(data)
        with shown(progress) as told:
            first, rows = self._native.add_vertices(label, table, unique_key, told)
        return np.arange(first, first + rows, dtype=np.uint64)

    def add_edges(
        self,
        edge_type: str,
        data: Any,
        *,
        source: str = "source",
        target: str = "target",
        source_key: KeyOf | None = None,
        target_key: KeyOf | None = None,
        progress: Progress = None,
    ) -> int:
        """Load edges of one type between vertices that are there: as `add_vertices`.

        Parameters
        ----------
        edge_type : str
            Their type.
        data
            As of `add_vertices`; also a NumPy array of shape (rows, 2).
        source, target : str
            The columns that name their ends. All others are properties.
        source_key, target_key : (label, key), optional
            The columns hold values of this unique key, instead of numbers of vertices.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        int
            How many.

        Raises
        ------
        NotFoundError
            For an end that isn't there; the text names the row.
        InvalidError
            As of `add_vertices`.

        Examples
        --------
        >>> import numpy as np
        >>> db.add_edges("LIKES", np.array([[ada, mary], [mary, ada]]))
        2
        """
        edges = ends_of(data, source, target, source_key, target_key)
        with shown(progress) as told:
            return self._native.add_edges(edge_type, edges, told)
