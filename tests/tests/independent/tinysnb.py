"""Kuzu's tinysnb, asked by DuckDB: counts, sums, joins and groups of the CSV files in FOLDER, as they lie there.

usage: tinysnb.py FOLDER
"""

import sys
from pathlib import Path

import duckdb

from canonical import answer

folder = Path(sys.argv[1])
db = duckdb.connect()


def table(name: str, file: str, columns: list[str], header: bool) -> str:
    """A query for the first columns of a file, as texts; the others are called c7, c8, ..."""
    width = WIDTHS[name]
    names = columns + [f"c{number}" for number in range(len(columns), width)]
    spec = "{" + ", ".join(f"'{column}': 'VARCHAR'" for column in names) + "}"
    path = str(folder / file).replace("'", "''")
    return (
        f"SELECT * FROM read_csv('{path}', columns = {spec}, header = {str(header).lower()}, auto_detect = false,"
        " delim = ',', quote = '\"', escape = '\\')"
    )


WIDTHS = {"person": 16, "knows": 9, "organisation": 10, "works": 5, "studies": 11}
PERSON = ["id", "name", "gender", "student", "worker", "age", "eyes"]
db.execute(
    "CREATE VIEW person AS SELECT id::BIGINT id, name, gender::INT gender, student::BOOL student, age::INT age,"
    f" eyes::DOUBLE eyes FROM ({table('person', 'vPerson.csv', PERSON, True)} UNION ALL"
    f" {table('person', 'vPerson2.csv', PERSON, False)})"
)
KNOWS = ["source", "target", "since"]
db.execute(
    "CREATE VIEW knows AS SELECT source::BIGINT source, target::BIGINT target, since::DATE since"
    f" FROM ({table('knows', 'eKnows.csv', KNOWS, False)} UNION ALL {table('knows', 'eKnows_2.csv', KNOWS, False)})"
)
ORGANISATION = ["id", "name", "code", "mark"]
db.execute(
    "CREATE VIEW organisation AS SELECT id::BIGINT id, name, mark::DOUBLE mark"
    f" FROM ({table('organisation', 'vOrganisation.csv', ORGANISATION, False)})"
)
WORKS = ["source", "target", "year"]
db.execute(
    "CREATE VIEW works AS SELECT source::BIGINT source, target::BIGINT target, year::BIGINT AS year"
    f" FROM ({table('works', 'eWorkAt.csv', WORKS, False)})"
)

answer(
    {
        question: db.execute(query).fetchall()
        for question, query in {
            # How many, how old together, how many of them study, and whose eyes are best.
            "people": "SELECT count(*), sum(age)::BIGINT, count(*) FILTER (student), max(eyes * 10)::BIGINT FROM person",
            "people by gender": "SELECT gender, count(*), sum(age)::BIGINT FROM person GROUP BY gender ORDER BY gender",
            "acquaintances": "SELECT count(*), min(since)::VARCHAR, max(since)::VARCHAR FROM knows",
            # Whom somebody knows: how many, and how old they are together.
            "ages of the known": "SELECT a.name, count(*), sum(b.age)::BIGINT FROM knows JOIN person a ON source = a.id"
            " JOIN person b ON target = b.id GROUP BY a.name ORDER BY a.name",
            "known of the known": "SELECT count(*) FROM knows a JOIN knows b ON a.target = b.source",
            "workers": "SELECT o.name, p.name, year, (o.mark * 10)::BIGINT FROM works JOIN person p ON source = p.id"
            " JOIN organisation o ON target = o.id ORDER BY p.name",
        }.items()
    }
)
