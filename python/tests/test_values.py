"""Values: what is written comes back, by one item and in tables."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import evergraph as eg

UTC = dt.timezone.utc
VALUES: dict[str, Any] = {
    "truth": True,
    "number": -(2**63),
    "large": 2**200,
    "negative": -(2**100),
    "real": 0.1,
    "exact": decimal.Decimal("1.10"),
    "text": "naïve 🦀",
    "data": b"\x00\xff",
    "day": dt.date(1815, 12, 10),
    "moment": dt.datetime(2026, 11, 21, 4, 5, 6, 789_000, tzinfo=dt.timezone(dt.timedelta(hours=-3))),
    "before": dt.datetime(1815, 12, 10, 1, 2, 3, 4, tzinfo=UTC),
    "time": dt.timedelta(days=-3, seconds=5, microseconds=7),
    "months": eg.Duration(months=14, days=-1, seconds=3, nanoseconds=1),
    "identity": uuid.UUID(int=5),
    "list": [1, "two", [3.0]],
    "set": {1, 2},
    "map": {"a": 1, 2: "b"},
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was_written(name: str) -> None:
    with eg.open() as db:
        with db.begin() as tx:
            vertex = tx.add_vertex("Thing", value=VALUES[name])
        found = db.snapshot().get(vertex, "value")
        assert found == VALUES[name]
        assert type(found) is type(VALUES[name])


def test_numpy_scalars_keep_their_width_and_a_naive_datetime_is_in_utc() -> None:
    with eg.open() as db:
        with db.begin() as tx:
            vertex = tx.add_vertex(
                "Thing", a=np.int8(-1), b=np.int32(2), c=np.float32(0.5), d=np.uint64(7), e=np.bool_(True),
                f=dt.datetime(2026, 1, 1), g=(1, 2), h=frozenset({1}), i=bytearray(b"x"), j=np.float64(2.5),
            )  # fmt: skip
        snapshot = db.snapshot()
        found = snapshot.properties(vertex)
        assert found["f"] == dt.datetime(2026, 1, 1, tzinfo=UTC)
        assert [found[name] for name in "abcdeghij"] == [-1, 2, 0.5, 7, True, [1, 2], {1}, b"x", 2.5]
        kinds = snapshot.schema("Thing")
        assert [kinds[name] for name in "abcd"] == ["byte", "int", "float", "long"]


@pytest.mark.parametrize("value", [object(), 1j, [None], {"a": object()}, np.datetime64("2026-01-01")])
def test_what_no_property_can_hold_is_refused(value: Any) -> None:
    with eg.open() as db, db.begin() as tx, pytest.raises(eg.InvalidError):
        tx.add_vertex("Thing", value=value)


def test_a_table_has_the_types_of_its_properties() -> None:
    with eg.open() as db:
        with db.begin() as tx:
            tx.add_vertex("Thing", **{name: value for name, value in VALUES.items() if name != "list"})
            tx.add_vertex("Thing", tags=["a", "b"])
            tx.add_vertex("Thing", tags=[])
        table = db.snapshot().vertices("Thing")
        table.validate(full=True)
        kinds = {
            "truth": pa.bool_(), "number": pa.int64(), "real": pa.float64(), "text": pa.large_string(),
            "data": pa.large_binary(), "day": pa.date32(), "moment": pa.timestamp("ns", "UTC"),
            "months": pa.month_day_nano_interval(), "time": pa.duration("ns"), "exact": pa.decimal128(38, 2),
            "large": pa.large_string(), "negative": pa.decimal128(38, 0), "tags": pa.large_list(pa.large_string()),
        }  # fmt: skip
        assert {name: table.schema.field(name).type for name in kinds} == kinds
        row = table.to_pylist()[0]
        assert (row["number"], row["moment"], row["large"]) == (VALUES["number"], VALUES["moment"], str(2**200))
        assert table["tags"].to_pylist() == [None, ["a", "b"], []]


def test_a_date_beyond_pythons_is_a_limit_and_not_another_date() -> None:
    with eg.open() as db:
        days = pa.array([10_000_000], pa.int32()).cast(pa.date32())
        (vertex,) = db.add_vertices("Day", {"day": days}).tolist()
        with pytest.raises(eg.LimitError):
            db.snapshot().get(vertex, "day")
        assert db.snapshot().vertices("Day")["day"].cast(pa.int32()).to_pylist() == [10_000_000]
