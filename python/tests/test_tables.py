"""Values in tables: what goes in as a column is the value that Python reads, and comes out as a column again."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import need

import evergraph as eg

UTC = dt.timezone.utc
BIG = 2**64 - 1
COLUMNS: dict[str, tuple[Any, str, list[Any]]] = {
    # What goes in, the type of the property, and what Python reads.
    "small uint64": (pa.array([1, None, 2**63 - 1], pa.uint64()), "long", [1, None, 2**63 - 1]),
    "uint64": (pa.array([1, None, BIG], pa.uint64()), "bigint", [1, None, BIG]),
    "struct": (
        pa.array([{"city": "Rome", "zip": 100}, None, {"city": "Pisa", "zip": None}]),
        "map",
        [{"city": "Rome", "zip": 100}, None, {"city": "Pisa"}],
    ),
    "nested struct": (
        pa.array([{"at": {"x": 1.5, "tags": ["a", "b"]}}, {"at": {"x": 2.5, "tags": []}}]),
        "map",
        [{"at": {"x": 1.5, "tags": ["a", "b"]}}, {"at": {"x": 2.5, "tags": []}}],
    ),
    "map": (
        pa.array([[(1, "a"), (2, "b")], None, []], pa.map_(pa.int64(), pa.large_string())),
        "map",
        [{1: "a", 2: "b"}, None, {}],
    ),
    "list of structs": (
        pa.array([[{"k": 1}, {"k": 2}], []], pa.large_list(pa.struct([("k", pa.int64())]))),
        "list",
        [[{"k": 1}, {"k": 2}], []],
    ),
    "list of uint64": (pa.array([[1, BIG], []], pa.large_list(pa.uint64())), "list", [[1, BIG], []]),
    "duration": (
        pa.array([1, None, -90_000_000_000_001], pa.duration("ns")),
        "duration",
        [eg.Duration(nanoseconds=1), None, eg.Duration(seconds=-90_001, nanoseconds=999_999_999)],
    ),
    "days": (
        pa.array([dt.timedelta(days=2, hours=3), dt.timedelta(days=-1)], pa.duration("us")),
        "duration",
        [dt.timedelta(days=2, hours=3), dt.timedelta(days=-1)],
    ),
    "interval": (
        pa.array([pa.MonthDayNano([14, -3, 7]), None], pa.month_day_nano_interval()),
        "duration",
        [eg.Duration(months=14, days=-3, nanoseconds=7), None],
    ),
    "ages of stones": (
        pa.array([3 * 10**17, None, 1], pa.duration("s")),
        "duration",
        [eg.Duration(seconds=3 * 10**17), None, dt.timedelta(seconds=1)],
    ),
    "timestamps of all times": (
        pa.array([dt.datetime(1066, 10, 14, tzinfo=UTC), dt.datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)]),
        "datetime",
        [dt.datetime(1066, 10, 14, tzinfo=UTC), dt.datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)],
    ),
    "decimal": (
        pa.array(
            [decimal.Decimal("1.10"), None, decimal.Decimal("-12345678901234567890.25")], pa.decimal128(38, 2)
        ),
        "decimal",
        [decimal.Decimal("1.10"), None, decimal.Decimal("-12345678901234567890.25")],
    ),
    "dictionary with a null in it": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([7, None])),
        "long",
        [7, None, 7],
    ),
    "date64": (pa.array([dt.date(1815, 12, 10)], pa.date64()), "date", [dt.date(1815, 12, 10)]),
}


def loaded(db: eg.Database, column: Any, name: str = "value") -> list[int]:
    """Load a column as vertices; their numbers."""
    found: list[int] = db.add_vertices("Thing", pa.table({name: column})).tolist()
    return found


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_becomes_values_and_a_column_again(name: str) -> None:
    column, kind, values = COLUMNS[name]
    with eg.open() as db:
        vertices = loaded(db, column)
        snapshot = db.snapshot()
        assert snapshot.schema("Thing") == {"value": kind}
        read = [snapshot.get(vertex, "value") for vertex in vertices]
        assert read == values
        assert [type(one) for one in read] == [type(one) for one in values]
        out = snapshot.vertices("Thing")["value"]
        out.validate(full=True)
    with eg.open() as again:
        # What came out goes in again, and is the same.
        vertices = loaded(again, out)
        snapshot = again.snapshot()
        assert [snapshot.get(vertex, "value") for vertex in vertices] == values
        assert snapshot.vertices("Thing")["value"].type == out.type


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([1, BIG], pa.uint64()), pa.uint64()),
        (
            pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
            pa.struct([("a", pa.int64()), ("b", pa.large_string())]),
        ),
        (pa.array([[(1, 1.5)]], pa.map_(pa.int64(), pa.float64())), pa.map_(pa.int64(), pa.float64())),
        (pa.array([5], pa.duration("s")), pa.duration("ns")),
        (pa.array([3 * 10**17], pa.duration("s")), pa.duration("s")),
        (pa.array([pa.MonthDayNano([1, 0, 0])]), pa.month_day_nano_interval()),
        (pa.array([dt.datetime(1066, 10, 14)]), pa.timestamp("us", "UTC")),
        (pa.array([decimal.Decimal("1.5"), decimal.Decimal("1.25")]), pa.decimal128(38, 2)),
    ],
)
def test_a_column_comes_out_in_the_type_that_holds_it(column: Any, kind: Any) -> None:
    with eg.open() as db:
        loaded(db, column)
        assert db.snapshot().vertices("Thing").schema.field("value").type == kind


def test_a_duration_is_found_however_it_was_written() -> None:
    two_days = dt.timedelta(days=2)
    with eg.open() as db:
        db.create_index("Thing", "value")
        [one] = loaded(db, pa.array([two_days], pa.duration("ns")))
        with db.begin() as tx:
            other = tx.add_vertex("Thing", value=two_days)
            calendar = tx.add_vertex("Thing", value=eg.Duration(days=2))
        snapshot = db.snapshot()
        assert snapshot.find_all("Thing", value=two_days) == [one, other]
        assert snapshot.find_all("Thing", value=eg.Duration(days=2)) == [calendar]
        # A day of a calendar isn't always 24 hours: it stays what it is.
        assert snapshot.get(calendar, "value") == eg.Duration(days=2)
        assert snapshot.get(one, "value") == two_days


def test_pandas_nanoseconds_are_kept_and_nat_is_refused() -> None:
    pd = need("pandas")
    moment, time = pd.Timestamp("2026-01-02T03:04:05.123456789Z"), pd.Timedelta("1 days 00:00:00.000000007")
    with eg.open() as db:
        with db.begin() as tx:
            vertex = tx.add_vertex("Thing", moment=moment, time=time)
            for nothing in (pd.NaT, pd.NA):
                with pytest.raises(eg.InvalidError):
                    tx.add_vertex("Thing", moment=nothing)
        table = db.snapshot().properties_of([vertex], "moment", "time")
        assert table["moment"].cast(pa.int64()).to_pylist() == [moment.value]
        assert table["time"].cast(pa.int64()).to_pylist() == [time.value]


def test_numbers_of_several_types_are_a_column_of_numbers() -> None:
    with eg.open() as db:
        for given, kind in [
            ([np.int8(1), 2**40], pa.int64()),
            ([1, 2**64 - 1], pa.uint64()),
            ([-1, 2**64], pa.decimal128(38, 0)),
            ([1, 1.5], pa.float64()),
            ([np.float32(0.5), 0.1], pa.float64()),
            ([1, decimal.Decimal("0.5")], pa.decimal128(38, 1)),
            # No float is this number.
            ([2**53 + 1, 0.5], pa.large_string()),
            ([1, "one"], pa.large_string()),
        ]:
            table = db.query("g.inject(xs).unfold()", xs=given).to_arrow()
            assert table.schema.field("result").type == kind, given
            if kind != pa.large_string():
                assert table["result"].to_pylist() == given


def test_maps_of_a_query_are_structs_in_its_table() -> None:
    with eg.open() as db:
        rows = [{"at": {"x": 1, "y": None}}, {"at": {"x": 2}}]
        with pytest.raises(eg.InvalidError, match="null"):
            db.query("g.inject(rows).unfold()", rows=rows).to_arrow()
        table = db.query("g.inject(rows).unfold()", rows=[{"at": {"x": 1, "z": "a"}}, {"at": {"x": 2}}]).to_arrow()
        assert table["at"].to_pylist() == [{"x": 1, "z": "a"}, {"x": 2, "z": None}]
        # As many keys as vertices say something by themselves: they are no columns.
        counts = {f"k{at}": at for at in range(300)}
        wide = db.query("g.inject(1).project('m').by(__.constant(m))", m=counts).to_arrow()
        assert wide.schema.field("m").type == pa.map_(pa.large_string(), pa.int64())
        assert dict(wide["m"].to_pylist()[0]) == counts


@pytest.mark.parametrize(
    ("declared", "column", "says"),
    [
        ("byte", pa.array([1, 300]), 'column "value": row 1: 300 is beyond what a byte can be'),
        ("long", pa.array([1, BIG], pa.uint64()), f'column "value": row 1: {BIG} has no exact long'),
        ("float", pa.array([0.5, 0.1]), 'column "value": row 1: 0.1 has no exact float'),
        ("double", pa.array([2**53 + 1]), 'column "value": row 0: 9007199254740993 has no exact double'),
        ("map", pa.array(["a"]), 'column "value": map expected, found string'),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_its_row(declared: str, column: Any, says: str) -> None:
    with eg.open() as db:
        with db.begin() as tx:
            tx.declare_property("Thing", "value", declared)
        with pytest.raises(eg.InvalidError) as caught:
            loaded(db, column)
        assert str(caught.value) == says


def test_a_row_far_behind_is_named_by_its_own_number() -> None:
    rows = 200_000
    values = pa.array([[1]] * rows + [[None]], pa.list_(pa.int64()))
    with eg.open() as db, pytest.raises(eg.InvalidError, match=f"row {rows}: element 1 of the list has no value"):
        loaded(db, values)


def test_a_property_with_a_type_takes_numbers_that_it_holds_exactly() -> None:
    for declared, given in [("bigint", [1, 2]), ("decimal", [1, 2]), ("double", [1, 2]), ("byte", [1, 2])]:
        with eg.open() as db:
            with db.begin() as tx:
                tx.declare_property("Thing", "value", declared)
            loaded(db, pa.array(given, pa.uint64()))
            snapshot = db.snapshot()
            assert snapshot.schema("Thing") == {"value": declared}
            assert snapshot.query("g.V().values('value')").to_list() == given


def test_tables_go_to_polars_and_pandas_and_back() -> None:
    need("pandas")
    pl = need("polars")
    columns = {
        "number": [1, 2],
        "big": pa.array([1, BIG], pa.uint64()),
        "at": [{"x": 1}, {"x": 2}],
        "time": [dt.timedelta(days=1), dt.timedelta(seconds=5)],
        "identity": pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes]).cast(pa.binary(16)),
    }
    with eg.open() as db:
        db.add_vertices("Thing", columns)
        table = db.snapshot().vertices("Thing").drop_columns(["vertex", "label"])
        for frame in (pl.from_arrow(table), table.to_pandas()):
            with eg.open() as again:
                again.add_vertices("Thing", frame)
                found = again.snapshot().vertices("Thing").drop_columns(["vertex", "label"])
                assert found.to_pylist() == table.to_pylist()
