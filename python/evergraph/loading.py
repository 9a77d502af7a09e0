"""Loading: bulk loads of vertices and edges from tables."""

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
    """Bulk loads of tables: each is one commit, of any size."""

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

        During the load, other commits are refused with ``BusyError``; reads continue.

        Parameters
        ----------
        label : str
            Their label.
        data
            A table with one column a property and one row a vertex: anything with Arrow's C interface (pyarrow,
            Polars, DuckDB), a pandas data frame, a structured NumPy array, a mapping of columns, or an iterable of
            mappings. A null means that the vertex lacks the property.
        unique_key : str, optional
            A property that gets a unique index for the label, if it has none yet.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        numpy.ndarray of shape (rows,) and uint64
            Their ids.

        Raises
        ------
        InvalidError
            If a column has an unsupported type or not the type of its property, or if a unique key occurs twice.
        BusyError
            If another load is running.

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
        """Load edges of one type between existing vertices: a bulk load like `add_vertices`.

        Parameters
        ----------
        edge_type : str
            Their type.
        data
            See `add_vertices`; also a NumPy array of shape (rows, 2).
        source, target : str
            The columns with their ends. All other columns are properties.
        source_key, target_key : (label, key), optional
            The unique key whose values these columns hold; by default they hold vertex ids.
        progress
            See ``evergraph.progress``.

        Returns
        -------
        int
            Number of edges.

        Raises
        ------
        NotFoundError
            If an end does not exist; the message names the row.
        InvalidError
            See `add_vertices`.

        Examples
        --------
        >>> import numpy as np
        >>> db.add_edges("LIKES", np.array([[ada, mary], [mary, ada]]))
        2
        """
        edges = ends_of(data, source, target, source_key, target_key)
        with shown(progress) as told:
            return self._native.add_edges(edge_type, edges, told)
