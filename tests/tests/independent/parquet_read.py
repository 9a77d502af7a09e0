"""Every Parquet file of FOLDER, read by pyarrow and by DuckDB, which must agree.

usage: parquet_read.py FOLDER
answer: for each file {column: [a text of each row]}, see canonical.py
"""

import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import canonical


def by_pyarrow(path: Path) -> dict[str, list[str]]:
    """The columns of a file; moments by their nanoseconds, for which Python has no type."""
    columns = {}
    table = pq.read_table(path)
    for name, column in zip(table.column_names, table.columns):
        if pa.types.is_timestamp(column.type):
            if column.type.unit != "ns" or column.type.tz != "UTC":
                raise TypeError(f"{path}: {name} is {column.type}")
            counts = column.cast(pa.int64()).to_pylist()
            columns[name] = ["-" if count is None else canonical.moment(count) for count in counts]
        else:
            columns[name] = [canonical.text(value) for value in column.to_pylist()]
    return columns


def by_duckdb(path: Path) -> dict[str, list[str]]:
    """The same, as far as DuckDB's types are as fine: its moments with a zone have microseconds."""
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    found = db.execute("SELECT * FROM read_parquet(?)", [str(path)])
    names = [column[0] for column in found.description or []]
    rows = found.fetchall()
    return {name: [canonical.text(row[at]) for row in rows] for at, name in enumerate(names)}


answers = {}
for path in sorted(Path(sys.argv[1]).glob("*.parquet")):
    answers[path.name] = by_pyarrow(path)
    for name, texts in by_duckdb(path).items():
        theirs = [text[:-3] + "000" if text.startswith("t:") else text for text in answers[path.name][name]]
        if texts != theirs:
            raise AssertionError(f"{path.name}, {name}: DuckDB has {texts}, pyarrow {theirs}")
canonical.answer(answers)
