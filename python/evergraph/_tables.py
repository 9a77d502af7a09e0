"""Tables: conversion of all accepted inputs to Arrow tables, and of Arrow tables to data frames."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from evergraph.errors import InvalidError

__all__ = ["ids_of", "library", "table_of", "to_pandas", "to_polars"]


def library(name: str, extra: str) -> Any:
    """Import an optional library."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install evergraph[{extra}]") from error


def to_pandas(table: pa.Table) -> Any:
    """Give a table as a pandas data frame, without rounding."""
    pandas = library("pandas", "pandas")
    nullable = {
        **{getattr(pa, f"int{bits}")(): getattr(pandas, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)},
        **{getattr(pa, f"uint{bits}")(): getattr(pandas, f"UInt{bits}Dtype")() for bits in (8, 16, 32, 64)},
        pa.bool_(): pandas.BooleanDtype(),
    }
    frame = table.to_pandas()
    for at, column in enumerate(table.columns):
        if column.null_count and column.type in nullable:
            frame.isetitem(at, column.to_pandas(types_mapper=nullable.get))
    return frame


def to_polars(table: pa.Table) -> Any:
    """Give a table as a Polars data frame.

    Raises
    ------
    InvalidError
        If Polars has no type for a column.
    """
    polars = library("polars", "polars")
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_interval(column.type):
            raise InvalidError(f"column {name!r}: Polars has no durations with months or days; use to_arrow()")
    return polars.from_arrow(table)


def table_of(data: Any, columns: tuple[str, ...] = ()) -> pa.Table:
    """Give ``data`` as a table.

    Parameters
    ----------
    data
        Anything with Arrow's C stream or C array interface (pyarrow, Polars, DuckDB, ...), a pandas data frame
        (without its index), a structured NumPy array, a mapping of columns, or an iterable of mappings. With
        `columns` also a NumPy array of shape (rows, columns).
    columns
        The names of the columns of such an array.

    Raises
    ------
    InvalidError
        For any other input, and for columns that Arrow does not support.
    """
    try:
        return _table_of(data, columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InvalidError(f"these rows can't be a table: {error}") from error


def _table_of(data: Any, columns: tuple[str, ...]) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if type(data).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return pa.table(data)
    if isinstance(data, np.ndarray):
        return _of_array(data, columns)
    if isinstance(data, Mapping):
        return pa.table({name: _column(values) for name, values in data.items()})
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return _of_rows(data)
    raise InvalidError(f"expected a table, or rows of one, not {type(data).__name__}")


def _of_array(data: np.ndarray[Any, Any], columns: tuple[str, ...]) -> pa.Table:
    if data.dtype.names is not None:
        return pa.table({name: pa.array(np.ascontiguousarray(data[name])) for name in data.dtype.names})
    if data.ndim == 2 and columns and data.shape[1] == len(columns):
        if data.dtype.kind == "f" and np.all(data == np.floor(data)) and np.all(np.abs(data) < 2**53):
            # What NumPy makes of numbers of vertices (uint64) beside Python's (int64).
            data = data.astype(np.int64)
        return pa.table({name: pa.array(np.ascontiguousarray(data[:, at])) for at, name in enumerate(columns)})
    wanted = f", or one of shape (rows, {len(columns)})" if columns else ""
    raise InvalidError(f"expected a structured array{wanted}, not one of {data.dtype} and shape {data.shape}")


def _column(values: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if hasattr(values, "__arrow_c_stream__") and not isinstance(values, np.ndarray):
        return pa.chunked_array(values)
    return pa.array(values)


def _of_rows(rows: Iterable[Any]) -> pa.Table:
    """Give a table whose columns are all keys of the rows, in order of appearance; missing values are nulls."""
    gathered: dict[str, list[Any]] = {}
    length = 0
    for row in rows:
        if not isinstance(row, Mapping):
            raise InvalidError(f"row {length}: expected a mapping, not {type(row).__name__}")
        for name, value in row.items():
            column = gathered.setdefault(name, [])
            column.extend([None] * (length - len(column)))
            column.append(value)
        length += 1
    for column in gathered.values():
        column.extend([None] * (length - len(column)))
    # Rows without a column are rows as well, of which Arrow knows the number by a column that goes again.
    table: pa.Table = pa.table(
        {name: pa.array(values) for name, values in gathered.items()} or {"": pa.nulls(length)}
    )
    return table if gathered else table.select([])


def ids_of(vertices: Any) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Give vertex ids as a plain array."""
    if isinstance(vertices, pa.Array | pa.ChunkedArray):
        vertices = vertices.to_numpy()
    elif isinstance(vertices, Iterable) and not isinstance(vertices, np.ndarray):
        vertices = list(vertices)
    array = np.asarray(vertices)
    if array.ndim == 0:
        array = array.reshape(1)
    if array.size == 0:
        return np.zeros(0, dtype=np.uint64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.dtype.kind == "i" and array.min() < 0):
        raise InvalidError(f"expected vertex ids, not an array of {array.dtype} and shape {array.shape}")
    return np.ascontiguousarray(array, dtype=np.uint64)
