"""Parquet files in FOLDER, written by pyarrow and by DuckDB as their users write them, and what is in them.

usage: parquet_write.py FOLDER
answer: for each file {"columns": {name: [our type, [a text of each row]]}}, see canonical.py
"""

import datetime
import decimal
import sys
import uuid
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import canonical

folder = Path(sys.argv[1])
UTC = datetime.timezone.utc
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)
LONG_AGO = datetime.datetime(1815, 12, 10, 1, 2, 3, tzinfo=UTC)
IDS = [uuid.UUID(int=number) for number in (0, 2**127 + 7, 2**128 - 1)]

# Name, our type, Arrow's type, a value for each of three rows.
COLUMNS: list[tuple[str, str, pa.DataType, list[Any]]] = [
    ("id", "int", pa.int32(), [7, -1, 2**31 - 1]),
    ("flag", "bool", pa.bool_(), [True, None, False]),
    ("tiny", "byte", pa.int8(), [-128, 127, None]),
    ("small", "short", pa.int16(), [-(2**15), None, 0]),
    ("wide", "long", pa.int64(), [-(2**63), 2**63 - 1, None]),
    ("unsigned8", "short", pa.uint8(), [255, None, 0]),
    ("unsigned16", "int", pa.uint16(), [2**16 - 1, None, 0]),
    ("unsigned32", "long", pa.uint32(), [2**32 - 1, None, 0]),
    ("unsigned64", "bigint", pa.uint64(), [2**64 - 1, None, 0]),
    ("half", "float", pa.float16(), [0.5, None, -65504.0]),
    ("single", "float", pa.float32(), [0.5, float("inf"), None]),
    ("double", "double", pa.float64(), [0.1, None, -5e-324]),
    ("text", "string", pa.string(), ["Ada", None, "é\n\"'"]),
    ("large", "string", pa.large_string(), ["", "x" * 5000, None]),
    ("colour", "string", pa.dictionary(pa.int8(), pa.string()), ["red", None, "red"]),
    ("bytes", "bytes", pa.binary(), [b"\x00\xff", b"", None]),
    ("fixed", "bytes", pa.binary(3), [b"abc", None, b"\x00\x01\x02"]),
    ("money", "decimal", pa.decimal128(20, 2), [decimal.Decimal("-1.50"), None, decimal.Decimal("12345678901234.05")]),
    ("born", "date", pa.date32(), [datetime.date(1815, 12, 10), None, datetime.date(1970, 1, 1)]),
    ("day", "date", pa.date64(), [datetime.date(1815, 12, 10), None, datetime.date(2024, 2, 29)]),
    ("seconds", "datetime", pa.timestamp("s", "UTC"), [LONG_AGO, None, LONG_AGO]),
    ("millis", "datetime", pa.timestamp("ms"), [LONG_AGO.replace(tzinfo=None), None, None]),
    ("micros", "datetime", pa.timestamp("us", "UTC"), [NOON, None, LONG_AGO]),
    ("nanos", "datetime", pa.timestamp("ns"), [1, None, -1]),
    ("list", "list", pa.list_(pa.int64()), [[1, 2], None, []]),
    ("texts", "list", pa.large_list(pa.string()), [["a", "b"], [], None]),
    ("pair", "list", pa.list_(pa.float64(), 2), [[0.5, 1.5], None, [0.0, -1.0]]),
    ("nested", "list", pa.list_(pa.list_(pa.int32())), [[[1], []], None, [[2, 3]]]),
    ("struct", "map", pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": "x"}, None, {"a": 2, "b": "y"}]),
    ("map", "map", pa.map_(pa.string(), pa.int64()), [[("k", 1), ("l", 2)], None, []]),
    ("nothing", "", pa.null(), [None, None, None]),
]


def expected(name: str, value: Any) -> str:
    """The text of a value as the table above has it."""
    match name:
        case "nanos" if value is not None:
            return canonical.moment(value)
        case "map" if value is not None:
            return canonical.text(dict(value))
    return canonical.text(value)


answers: dict[str, dict[str, tuple[str, list[str]]]] = {}


def write(name: str, columns: list[tuple[str, str, pa.DataType, list[Any]]], **options: Any) -> None:
    """Writes a file, and notes what is in it."""
    arrays = [pa.array(values, type=arrow_type) for _, _, arrow_type, values in columns]
    pq.write_table(pa.table(arrays, names=[column[0] for column in columns]), folder / name, **options)
    answers[name] = {
        column: (our_type, [expected(column, value) for value in values])
        for column, our_type, _, values in columns
        if our_type
    }


for packer in ["none", "snappy", "gzip", "zstd", "lz4"]:
    write(f"{packer}.parquet", COLUMNS, compression=packer)
write("groups.parquet", COLUMNS, row_group_size=1, use_dictionary=False, data_page_version="2.0")
write("old.parquet", [column for column in COLUMNS if column[0] != "nanos"], version="1.0", store_schema=False)
write("ids.parquet", [("id", "string", pa.string(), ["a", "b", "c"]), COLUMNS[1]], compression="gzip")
# Not read, and to be refused by name.
pq.write_table(pa.table({"id": [1]}), folder / "brotli.parquet", compression="brotli")

DUCK = """
    SELECT * FROM (VALUES
        ({id0}::UUID, 7::TINYINT, 18446744073709551615::UBIGINT, 0.1::DOUBLE, -1.50::DECIMAL(9, 2),
         DATE '1815-12-10', TIMESTAMP '2024-02-29 12:00:00.123456', TIMESTAMPTZ '2024-02-29 12:00:00+01', 'é''',
         '\\x00\\xFF'::BLOB, [1, 2], {{'a': 1, 'b': ['x']}}, MAP {{'k': 1.5::DOUBLE}}, true),
        ({id1}::UUID, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ({id2}::UUID, -1, 0, -0.0, 0.01, DATE '2024-02-29', TIMESTAMP '1969-12-31 23:59:59.999999',
         TIMESTAMPTZ '1900-01-01 00:00:00+00', '', ''::BLOB, [], {{'a': 2, 'b': []}}, MAP {{}}, false)
    ) rows(id, tiny, huge, double, money, born, local, moment, text, bytes, list, struct, map, flag)
"""
duck = duckdb.connect()
duck.execute("SET TimeZone = 'UTC'")
query = DUCK.format(id0=f"'{IDS[0]}'", id1=f"'{IDS[1]}'", id2=f"'{IDS[2]}'")
types = ["uuid", "byte", "bigint", "double", "decimal", "date", "datetime", "datetime"]
types += ["string", "bytes", "list", "map", "map", "bool"]
for packer in ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"]:
    path = str(folder / f"duck_{packer}.parquet").replace("'", "''")
    duck.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION {packer})")
    found = duck.execute(query)
    names = [column[0] for column in found.description or []]
    columns = zip(names, types, zip(*found.fetchall()))
    answers[f"duck_{packer}.parquet"] = {
        name: (our_type, [canonical.text(value) for value in values]) for name, our_type, values in columns
    }
canonical.answer(answers)
