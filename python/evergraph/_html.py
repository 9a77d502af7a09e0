"""HTML: the display of databases, snapshots and results in notebooks, shortened and escaped."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

__all__ = ["COLUMNS_MAX", "ROWS_MAX", "paragraph", "results_table", "table"]

ROWS_MAX = 20
COLUMNS_MAX = 20
TEXT_MAX = 100

SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = SHORT.maxlong = TEXT_MAX
SHORT.maxlist = SHORT.maxtuple = SHORT.maxset = SHORT.maxfrozenset = SHORT.maxdict = 10


def shown(value: Any) -> str:
    """A value, shortened and escaped."""
    text = value[: TEXT_MAX + 1] if isinstance(value, str) else SHORT.repr(value)
    return escape(text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…")


def paragraph(text: str) -> str:
    """A line of text."""
    return f"<p>{escape(text)}</p>"


def table(columns: Sequence[Any], rows: Iterable[Sequence[Any]], count: int | None = None) -> str:
    """The first rows and columns of a table; `count` is the total number of rows, if known."""
    rows = list(islice(rows, ROWS_MAX + 1))
    more = len(rows) > ROWS_MAX if count is None else count > ROWS_MAX
    wide = len(columns) > COLUMNS_MAX
    columns = columns[:COLUMNS_MAX]
    end = ["…"] if wide else []
    head = "".join(f"<th>{cell}</th>" for cell in [*map(shown, columns), *end])
    body = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in [*map(shown, row[:COLUMNS_MAX]), *end])}</tr>"
        for row in rows[:ROWS_MAX]
    )
    rest = "" if not more else "<p>and more</p>" if count is None else f"<p>and {count - ROWS_MAX:,} more</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def results_table(rows: Sequence[Any]) -> str:
    """Results: one column a key if all are maps with strings as keys, as in ``Results.to_arrow``."""
    rows = rows[: ROWS_MAX + 1]
    if rows and all(isinstance(row, Mapping) and all(isinstance(key, str) for key in row) for row in rows):
        names = list(dict.fromkeys(key for row in rows for key in islice(row, COLUMNS_MAX + 1)))
        if names:
            return table(names, ([row.get(name, "") for name in names[:COLUMNS_MAX]] for row in rows))
    return table(["result"], ([row] for row in rows))
