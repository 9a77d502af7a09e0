"""Features: properties as arrays of numbers, a row a vertex or an edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evergraph.errors import InvalidError

__all__ = ["Feature", "Features", "feature", "features_by_name", "properties_named", "times"]

Feature: TypeAlias = str | Sequence[str]
"""What one tensor is made of: a property alone, or a list of properties that become its columns."""

Features: TypeAlias = Feature | Mapping[str, Feature]
"""Tensors by name; a `Feature` alone is called by a name that goes without saying."""

_Array: TypeAlias = npt.NDArray[Any]


def features_by_name(given: Features | None, name: str) -> dict[str, Feature]:
    """Give features by name; one alone is called `name`."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    return {name: given}


def properties_named(features: Mapping[str, Feature]) -> list[str]:
    """Return the properties that the features use, each once."""
    listed: dict[str, None] = {}
    for made_of in features.values():
        for name in _listed(made_of):
            listed[name] = None
    return list(listed)


def _listed(made_of: Feature) -> list[str]:
    return [made_of] if isinstance(made_of, str) else list(made_of)


def feature(table: pa.Table, made_of: Feature, what: str) -> _Array:
    """Give one feature.

    Parameters
    ----------
    table : pyarrow.Table
        A row a vertex or an edge.
    made_of : str or list of str
        A property alone keeps its kind: whole numbers, dates (days) and datetimes (nanoseconds) are int64, truth
        values bool, others float32. Properties in a list are float32 columns, side by side. A property of lists
        that are of one length has a column for each place.
    what : str
        What the rows are, for errors.

    Returns
    -------
    numpy.ndarray of shape (rows,), or (rows, columns) for a list or a property of lists

    Raises
    ------
    InvalidError
        If a row lacks a property, or one isn't made of numbers.
    """
    if isinstance(made_of, str):
        return _numbers(table[made_of], made_of, what, np.float32)
    columns = [_numbers(table[name], name, what, np.float32).astype(np.float32, copy=False) for name in made_of]
    if not columns:
        raise InvalidError(f"a feature of {what} is made of no property: name one")
    return np.column_stack(columns)


def times(table: pa.Table, name: str, what: str) -> npt.NDArray[np.int64 | np.float64]:
    """Give a property that is a time: as `feature` does, but float64 where it isn't whole.

    Raises
    ------
    InvalidError
        If a row lacks it, or it is no single number, date or datetime.
    """
    found = _numbers(table[name], name, what, np.float64)
    if found.ndim != 1 or found.dtype == np.bool_ or (found.dtype.kind == "f" and np.isnan(found).any()):
        raise InvalidError(f"{name} of {what} is not a time: expected a number, a date or a datetime for each")
    return found


def _numbers(column: pa.ChunkedArray, name: str, what: str, real: type[np.floating[Any]]) -> _Array:
    if column.null_count:
        raise InvalidError(
            f"{column.null_count} of {what} have no {name}: set it for all of them, or leave the feature out"
        )
    kind, array = column.type, column.combine_chunks()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(array, name, what)
    if pa.types.is_boolean(kind):
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        array = array.cast(pa.int64())
    if pa.types.is_integer(array.type):
        return np.array(array.to_numpy(zero_copy_only=False), dtype=np.int64)
    if pa.types.is_floating(array.type):
        return np.array(array.to_numpy(zero_copy_only=False), dtype=real)
    raise InvalidError(f"{name} of {what} isn't a number but {kind}: a feature is made of numbers")


def _lists(array: Any, name: str, what: str) -> _Array:
    lengths = np.unique(np.asarray(array.value_lengths()))
    if len(lengths) > 1:
        raise InvalidError(
            f"{name} of {what} has lists of {lengths[0]} to {lengths[-1]} values: a feature needs one length"
        )
    values = array.flatten()
    if values.null_count or not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InvalidError(f"{name} of {what} has lists of something else than numbers ({values.type})")
    flat = np.array(values.to_numpy(zero_copy_only=False), dtype=np.float32)
    return flat.reshape(len(array), int(lengths[0]) if len(lengths) else 0)
