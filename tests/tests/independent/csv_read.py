"""CSV files of an export in FOLDER, as DuckDB takes them with nothing told: counts, sums, a join.

usage: csv_read.py FOLDER
"""

import sys
from pathlib import Path

import duckdb

from canonical import answer

folder = Path(sys.argv[1])
db = duckdb.connect()
for view, file in [("person", "Person.csv"), ("town", "Town.csv"), ("lives", "Person-LIVES_IN-Town.csv")]:
    path = str(folder / file).replace("'", "''")
    db.execute(f"CREATE VIEW {view} AS SELECT * FROM read_csv('{path}', header = true, quote = '\"', escape = '\"')")
answer(
    {
        question: db.execute(query).fetchall()
        for question, query in {
            "persons": 'SELECT count(*), sum("age:int")::BIGINT, count("age:int"), sum("wealth:long")::BIGINT,'
            ' min("born:date")::VARCHAR, sum(length("name:string"))::BIGINT FROM person',
            "towns": 'SELECT count(*), count(DISTINCT "name:string") FROM town',
            "ages by town": 'SELECT t."name:string", count(*), sum(p."age:int")::BIGINT, sum(l."rent:double" * 2)::BIGINT'
            ' FROM lives l JOIN person p ON l.":START_ID(Person){id-type:int}" = p."id:ID(Person){id-type:int}"'
            ' JOIN town t ON l.":END_ID(Town){id-type:long}" = t."id:ID(Town){id-type:long}"'
            ' GROUP BY t."name:string" ORDER BY t."name:string"',
        }.items()
    }
)
