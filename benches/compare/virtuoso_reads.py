"""Eight of LDBC's reads on Virtuoso, beside our plans and PostgreSQL's statements.

What: seconds of IS1, IS3, IS4, IS5, IS7, IC2, IC4 and IC8, one client, prepared, through ODBC. The other thirteen
need WITH, DISTINCT ON or FILTER, which Virtuoso's SQL does not have.

The harness writes what is measured (`--replica-export`): the tables of these reads with their indexes, the
statements, their parameters, PostgreSQL's answers, and the times of ours and of PostgreSQL on the same rows. Here
a private Virtuoso gets rows and indexes, in row-wise tables and in memory, and answers the same statements, as far
as its dialect lets it: `DIALECT` has every change, with its reason. The script fails if an answer differs.

Source: LiveGraph (VLDB 2020), tables 7 and 9, where Virtuoso is built from another branch and has 48 clients.
Never an LDBC result.

Run it with `make bench-virtuoso`. It lies if other programs are busy, and more so than scripts in which all take
turns: ours and PostgreSQL were measured a few minutes before. A part of each time is pyodbc's, in Python, where
the harness's client is Rust: a look-up by key is measured beside the reads, to show how large that part can be.
"""

import argparse
import csv
import glob
import itertools
import json
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

try:
    import pyodbc
except ImportError:  # unixODBC's library is not here
    pyodbc = None

import results
from tables import machine, markdown, milliseconds, ratio, shown

SECTION = "Replica: Virtuoso"
HOW_TO_INSTALL = "Virtuoso is not here (apt install virtuoso-opensource-7-bin libvirtodbc0 libodbc2)"
DRIVERS = "/usr/lib/*/odbc/virtodbc.so"
#: A server that makes its database needs so many seconds at most, on a slow disk.
START_TIME_MAX = 300
ROWS_OF_A_TRANSACTION = 1000

#: Pages have 8 KiB: all of the network is in memory. A transaction reads what is committed, as in PostgreSQL.
SETTINGS = """
[Database]
DatabaseFile = {folder}/virtuoso.db
ErrorLogFile = {folder}/virtuoso.log
LockFile = {folder}/virtuoso.lck
TransactionFile = {folder}/virtuoso.trx
xa_persistent_file = {folder}/virtuoso.pxa
ErrorLogLevel = 7
FileExtend = 200
MaxCheckpointRemap = 2000
Striping = 0
TempStorage = TempDatabase

[TempDatabase]
DatabaseFile = {folder}/virtuoso-temp.db
TransactionFile = {folder}/virtuoso-temp.trx
MaxCheckpointRemap = 2000
Striping = 0

[Parameters]
ServerPort = 127.0.0.1:{port}
DisableUnixSocket = 1
MaxClientConnections = 10
CheckpointInterval = 60
CaseMode = 2
DefaultIsolation = 2
NumberOfBuffers = 100000
MaxDirtyBuffers = 75000
ThreadsPerQuery = 2
DirsAllowed = {folder}
"""

#: Types of columns. Moments come as milliseconds; a birthday is shown and not computed with.
TYPES = {
    "bigint": "BIGINT", "integer": "INTEGER", "text": "VARCHAR", "date": "VARCHAR(10)",
    "timestamp with time zone": "BIGINT",
}

#: The views of the statements, without columns that none of them reads.
VIEWS = (
    """CREATE VIEW knows AS
        SELECT "Person_id" AS a, "Person_id2" AS b, "creationDate" AS since FROM person_knows_person
        UNION ALL SELECT "Person_id2", "Person_id", "creationDate" FROM person_knows_person""",
    """CREATE VIEW message AS
        SELECT id, "creationDate" AS created, coalesce(content, "imageFile", '') AS content, creator, place
            FROM post
        UNION ALL SELECT id, "creationDate", coalesce(content, ''), creator, place FROM comment""",
)

#: What is changed of PostgreSQL's statements: an expression, what it becomes, and why.
DIALECT = (
    (r"\bms\(([^()]*)\)", r"\1", "moments are stored as milliseconds, so that nothing has to convert them"),
    (r'"(\w+)\.(\w+)"', r'"\1_\2"', "it divides names at dots"),
    (r"\bSELECT FROM\b", "SELECT 1 FROM", "a SELECT has a column"),
    (r"\b(c|name)\b", r'"\1"', "C and NAME are words of its grammar"),
    (r"\bGROUP BY t\.id\b", 'GROUP BY t.id, t."name"', "a column beside an aggregate is in GROUP BY, key or not"),
    (r"^SELECT (.*) LIMIT (\d+)$", r"SELECT TOP \2 \1", "it has TOP in place of LIMIT"),
)


def programs():
    """The server's program and the ODBC driver, if they are here."""
    server, drivers = shutil.which("virtuoso-t"), sorted(glob.glob(DRIVERS))
    return (server, drivers[0]) if server and drivers and pyodbc else None


def column_name(name):
    """The name of a column here."""
    return name.replace(".", "_")


def translated(sql):
    """A statement of PostgreSQL in Virtuoso's dialect, and the place of each of its parameters.

    Returns
    -------
    tuple of (str, list of int)
    """
    for pattern, replacement, _ in DIALECT:
        sql = re.sub(pattern, replacement, sql, flags=re.DOTALL)
    places = [int(number) - 1 for number in re.findall(r"\$(\d+)", sql)]
    return re.sub(r"\$\d+", "?", sql), places


def cell_text(cell):
    """A cell as PostgreSQL writes it; nothing for NULL."""
    if cell is None:
        return ""
    if isinstance(cell, bytes):
        return cell.decode()
    return cell if isinstance(cell, str) else str(int(cell))


class VirtuosoServer:
    """A private server that listens on this machine alone. Its database goes with its folder."""

    def __init__(self, folder, program, driver):
        self.folder, self.program, self.driver = folder, program, driver
        # As every new database has it.
        self.password = "dba"
        # Somebody else may take the port before the server does.
        while not self._start():
            pass
        try:
            password = secrets.token_hex(16)
            with closing(self.connect()) as connection:
                connection.execute(f"{{call DB.DBA.USER_SET_PASSWORD ('dba', '{password}')}}")
            self.password = password
        except BaseException:
            self.stop()
            raise

    def _start(self):
        """Start it on a port that is free now, unless that is taken by then."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        settings, said = self.folder / "virtuoso.ini", self.folder / "said"
        settings.write_text(SETTINGS.format(folder=self.folder, port=self.port))
        command = [self.program, "+foreground", "+configfile", str(settings)]
        with said.open("w") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        deadline = time.monotonic() + START_TIME_MAX
        while True:
            try:
                self.connect().close()
                return True
            except pyodbc.Error as error:
                if self.process.poll() is not None:
                    if "in use" in said.read_text():
                        return False
                    sys.exit(f"virtuoso-t ended: {said.read_text()}")
                if time.monotonic() > deadline:
                    self.stop()
                    sys.exit(f"virtuoso-t does not answer: {error}; it said: {said.read_text()}")
            time.sleep(0.2)

    def connect(self):
        """A connection that commits each statement by itself. Texts are UTF-8 on both sides."""
        connection = pyodbc.connect(
            f"DRIVER={self.driver};HOST=127.0.0.1:{self.port};UID=dba;PWD={self.password}", autocommit=True)
        connection.setencoding(encoding="utf-8", ctype=pyodbc.SQL_CHAR)
        connection.setdecoding(pyodbc.SQL_CHAR, encoding="utf-8")
        return connection

    def stop(self):
        """Kill the server."""
        self.process.kill()
        self.process.wait()


def load(connection, folder, tables):
    """Make the tables with their indexes and views. Rows are inserted: a loader of CSV guesses types of cells."""
    connection.autocommit = False
    cursor = connection.cursor()
    for table in tables:
        name, kinds = table["name"], [TYPES[kind] for _, kind in table["columns"]]
        columns = [f'"{column_name(column)}"' for column, _ in table["columns"]]
        # The unique index is that of the primary key.
        indexes = {text: indexed(text) for text in table["indexes"]}
        key = next(each for text, each in indexes.items() if text.startswith("CREATE UNIQUE INDEX"))
        typed = ", ".join(map(" ".join, zip(columns, kinds, strict=True)))
        cursor.execute(f'CREATE TABLE "{name}" ({typed}, PRIMARY KEY ({key}))')
        insert = f'INSERT INTO "{name}" ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))})'
        readers = [int if kind in ("BIGINT", "INTEGER") else str for kind in kinds]
        with (folder / f"{name}.csv").open(newline="") as file:
            lines = csv.reader(file)
            next(lines)
            rows = ([read(cell) if cell else None for read, cell in zip(readers, line, strict=True)]
                    for line in lines)
            while some := list(itertools.islice(rows, ROWS_OF_A_TRANSACTION)):
                cursor.executemany(insert, some)
                connection.commit()
        for number, of_index in enumerate(each for each in indexes.values() if each != key):
            cursor.execute(f'CREATE INDEX "{name}_{number}" ON "{name}" ({of_index})')
        connection.commit()
        found = cursor.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        if found != table["rows"]:
            sys.exit(f"{name} has {found} rows, {table['rows']} were exported")
    for view in VIEWS:
        cursor.execute(view)
    connection.commit()
    connection.autocommit = True
    cursor.execute("CHECKPOINT")


def indexed(text):
    """The columns of an index of PostgreSQL, with commas between, as they are called here."""
    columns = re.search(r"\((.*)\)$", text).group(1)
    return ", ".join(f'"{column_name(column.strip(chr(34)))}"' for column in columns.split(", "))


def answer_time(cursor, sql, sets, run_time):
    """Seconds of one answer, all its rows fetched: the mean of those of `run_time` seconds."""
    count, began = 0, time.perf_counter()
    while count == 0 or time.perf_counter() - began < run_time:
        for parameters in sets:
            cursor.execute(sql, parameters).fetchall()
        count += len(sets)
    return (time.perf_counter() - began) / count


def measured(connection, exported, run_time):
    """Rows of the table, entries of `results.json`, and notes."""
    rows, figures, notes = [], [], []
    copies = exported["copies"]
    networks = f"{copies} network{'' if copies == 1 else 's'}"
    for read in exported["reads"]:
        sql, places = translated(read["sql"])
        sets = [[parameters[place] for place in places] for parameters in read["parameters"]]
        # Each has its own, which keeps its statement prepared.
        cursor = connection.cursor()
        try:
            for parameters, expected in zip(sets, read["answers"], strict=True):
                answer = cursor.execute(sql, parameters).fetchall()
                found = [[cell_text(cell) for cell in row] for row in answer]
                if found != expected:
                    sys.exit(f"answers differ: {read['title']} of {parameters}: {found}, not {expected}")
            theirs = [answer_time(cursor, sql, sets, run_time) for _ in read["ours"]]
        except pyodbc.Error as error:
            notes.append(f"{read['title']}, {networks}: left out, Virtuoso refuses it: {error}")
            print(f"   left out: {notes[-1]}\n{sql}", file=sys.stderr)
            continue
        rows.append([
            read["title"], str(copies), *(milliseconds(times) for times in (read["ours"], read["of_sql"], theirs)),
            shown(ratio(read["ours"], theirs)), shown(ratio(read["of_sql"], theirs))])
        print("  ".join(rows[-1]), file=sys.stderr)
        figures.append(results.entry(
            SECTION, f"replica.interactive.{read['name']}.copies_{copies}", f"{read['title']}, {networks}",
            read["ours"], "virtuoso", theirs, {"copies": str(copies), "parameters": str(len(sets))}))
    tags = [list(tag) for tag in connection.execute("SELECT TOP 10 id FROM tag").fetchall()]
    least = answer_time(connection.cursor(), "SELECT id FROM tag WHERE id = ?", tags, run_time)
    notes.append(f"{networks}: Virtuoso takes {least * 1e6:,.0f} µs for a tag's id by the key, through pyodbc")
    return rows, figures, notes


def main():
    parser = argparse.ArgumentParser(description="Eight of LDBC's reads on Virtuoso")
    parser.add_argument("exported", type=Path, help="the folder of `evergraph-benches --replica-export`")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a read is asked in a round [0.5]")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    found = programs()
    if found is None:
        print(f"   skipped: {HOW_TO_INSTALL}", file=sys.stderr)
        return
    paths = chosen.exported.glob("copies_*/reads.json")
    exports = sorted(((path.parent, json.loads(path.read_text())) for path in paths),
                     key=lambda each: each[1]["copies"])
    if not exports:
        sys.exit(f"{chosen.exported} has no exported reads: make bench-virtuoso needs PostgreSQL and "
                 'REPLICA_FLAGS="--interactive FOLDER", LDBC\'s relations in the folder\'s `relational`')
    load_average = machine()["load"]
    rows, figures, notes = [], [], []
    for folder, exported in exports:
        with tempfile.TemporaryDirectory(prefix="evergraph-virtuoso-") as text:
            server = VirtuosoServer(Path(text), *found)
            try:
                with closing(server.connect()) as connection:
                    version = connection.execute("SELECT sys_stat('st_dbms_ver')").fetchone()[0]
                    load(connection, folder, exported["tables"])
                    measured_now = measured(connection, exported, chosen.seconds)
                for all_of, now in zip((rows, figures, notes), measured_now, strict=True):
                    all_of.extend(now)
            finally:
                server.stop()
    print(f"Virtuoso {cell_text(version)}\n{machine()}\n{exports[0][1]['source']}\n"
          f"medians of {len(exports[0][1]['reads'][0]['ours'])} rounds, ms\n")
    print(markdown(["read", "networks", "ours", "PostgreSQL", "Virtuoso", "ours / Virtuoso",
                    "PostgreSQL / Virtuoso"], rows))
    print("\n".join(["", *notes]))
    if chosen.results:
        results.add(chosen.results, SECTION, figures, [
            f"Virtuoso {cell_text(version)}: row-wise tables in memory, read committed, two threads a query, "
            "indexes as PostgreSQL has them, one client through pyodbc; answers are compared with PostgreSQL's",
            "not in turn: ours was measured by the harness before, in the same rounds as PostgreSQL",
            "statements are PostgreSQL's but for: " + "; ".join(reason for _, _, reason in DIALECT),
            *notes,
            f"load average before: {load_average}",
        ])


if __name__ == "__main__":
    main()
