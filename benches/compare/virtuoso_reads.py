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
the harness's client is Rust. To show how much that is, two statements that read hardly anything are measured
beside the reads, one for a cell and one for 120: a read that returns as many takes at least as long, whatever its
plan.
"""

import argparse
import csv
import glob
import itertools
import json
import re
import secrets
import shutil
import signal
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

# Where the package's tests find PostgreSQL.
sys.path.append(str(Path(__file__).parents[2] / "python" / "tests"))
from postgres_programs import programs as postgres_programs  # noqa: E402

SECTION = "Replica: Virtuoso"
HOW_TO_INSTALL = "on Debian and Ubuntu: apt install virtuoso-opensource-7-bin libvirtodbc0 libodbc2 postgresql"
DRIVERS = "/usr/lib/*/odbc/virtodbc.so"
#: A server that makes its database needs so many seconds at most, on a slow disk.
START_TIME_MAX = 300
ROWS_OF_A_TRANSACTION = 1000
#: SQLSTATEs of what its SQL does not have: 37000 and 42xxx. Any other error is no refusal of a statement.
REFUSALS = ("37000", "42")

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

#: The views of the statements, without columns that none of them reads; and replies, for IS7.
VIEWS = (
    """CREATE VIEW knows AS
        SELECT "Person_id" AS a, "Person_id2" AS b, "creationDate" AS since FROM person_knows_person
        UNION ALL SELECT "Person_id2", "Person_id", "creationDate" FROM person_knows_person""",
    """CREATE VIEW message AS
        SELECT id, "creationDate" AS created, coalesce(content, "imageFile", '') AS content, creator, place
            FROM post
        UNION ALL SELECT id, "creationDate", coalesce(content, ''), creator, place FROM comment""",
    """CREATE VIEW reply AS
        SELECT "replyOfPost" AS parent, id, "creationDate", content, creator FROM comment
            WHERE "replyOfPost" IS NOT NULL
        UNION ALL SELECT "replyOfComment", id, "creationDate", content, creator FROM comment
            WHERE "replyOfComment" IS NOT NULL""",
)

#: A parameter that is a whole number, as a text: the driver sends those of 64 bits as 0, and delivers 0 or the lower
#: 32 bits (issue 1472 of openlink/virtuoso-opensource).
WHOLE_NUMBER = "CAST(? AS BIGINT)"

#: What is changed of PostgreSQL's statements: an expression, what it becomes, and why.
DIALECT = (
    (r'\bcomment c ON c\."replyOfPost" = m\.id OR c\."replyOfComment" = m\.id', "reply c ON c.parent = m.id",
     "it reads the whole table for an OR of two columns, which a view of two searches spares it"),
    (r"\bms\(([^()]*)\)", r"CAST(\1 AS VARCHAR)",
     "moments are stored as milliseconds, so that nothing has to compute them"),
    (r"(?<=[T,] )(?<!DESC, )([cmp]\.id)(?=,)", r"CAST(\1 AS VARCHAR)",
     "ids and moments in answers are texts: its driver does not deliver whole numbers of 64 bits"),
    (r'"(\w+)\.(\w+)"', r'"\1_\2"', "it divides names at dots"),
    (r"\bSELECT FROM\b", "SELECT 1 FROM", "a SELECT has a column"),
    (r"\b(c|name)\b", r'"\1"', "C and NAME are words of its grammar"),
    (r"\bGROUP BY t\.id\b", 'GROUP BY t.id, t."name"', "a column beside an aggregate is in GROUP BY, key or not"),
    (r"^SELECT (.*) LIMIT (\d+)$", r"SELECT TOP \2 \1", "it has TOP in place of LIMIT"),
)

#: Cells as the longest answers have them, for a plan that reads the first rows of a table.
TWENTY_ROWS = """SELECT TOP 20 CAST(id AS VARCHAR), "firstName", "lastName", gender, birthday,
    CAST("creationDate" AS VARCHAR) FROM person"""


def driver_path():
    """Where Virtuoso's ODBC driver is; None if it is not here."""
    return next(iter(sorted(glob.glob(DRIVERS))), None)


def check(flags):
    """Exit with what is missing of all that `make bench-virtuoso` needs.

    Parameters
    ----------
    flags : list of str
        What the harness will get, as `--interactive FOLDER`.
    """
    needed = {
        "Virtuoso's server (virtuoso-t)": shutil.which("virtuoso-t"),
        "its ODBC driver (virtodbc.so)": driver_path(),
        "unixODBC's library, which pyodbc needs": pyodbc,
        "PostgreSQL, or its user where this is root": postgres_programs(),
    }
    missing = [what for what, found in needed.items() if not found]
    if missing:
        sys.exit(f"make bench-virtuoso lacks {'; '.join(missing)} ({HOW_TO_INSTALL})")
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--interactive", type=Path)
    folder = parser.parse_known_args(flags)[0].interactive
    if folder is None or not (folder / "relational").is_dir():
        sys.exit('make bench-virtuoso needs REPLICA_FLAGS="--interactive FOLDER", LDBC\'s relations in the '
                 "folder's `relational`")


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
    return re.sub(r"\$\d+", WHOLE_NUMBER, sql), places


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
                connection.execute(f"{{call USER_SET_PASSWORD ('dba', '{password}')}}")
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
        try:
            return self._answers(said)
        except BaseException:
            self.stop()
            raise

    def _answers(self, said):
        """Wait until it answers. False if somebody else has its port."""
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
        marks = [WHOLE_NUMBER if kind in ("BIGINT", "INTEGER") else "?" for kind in kinds]
        insert = f'INSERT INTO "{name}" ({", ".join(columns)}) VALUES ({", ".join(marks)})'
        with (folder / f"{name}.csv").open(newline="") as file:
            lines = csv.reader(file)
            next(lines)
            rows = ([cell or None for cell in line] for line in lines)
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


def compared(connection, exported):
    """The reads whose answers are PostgreSQL's, ready to be measured; exits if an answer is another.

    Returns
    -------
    tuple of (list of (dict, cursor, str, list), dict of str to str)
        A read, its own cursor, which keeps its statement prepared, the statement and its sets of parameters; and
        what Virtuoso says to those that it refuses, by their titles.
    """
    ready, refused = [], {}
    for read in exported["reads"]:
        sql, places = translated(read["sql"])
        sets = [[str(parameters[place]) for place in places] for parameters in read["parameters"]]
        cursor = connection.cursor()
        for parameters, expected in zip(sets, read["answers"], strict=True):
            try:
                answer = cursor.execute(sql, parameters).fetchall()
            except pyodbc.Error as error:
                if not error.args[0].startswith(REFUSALS):
                    raise
                refused[read["title"]] = str(error)
                print(f"   left out: {read['title']}, Virtuoso refuses it: {error}\n{sql}", file=sys.stderr)
                break
            found = [[cell_text(cell) for cell in row] for row in answer]
            if found != expected:
                sys.exit(f"answers differ: {read['title']} of {parameters}: {found}, not {expected}")
        else:
            ready.append((read, cursor, sql, sets))
    return ready, refused


def measured(connection, exported, run_time):
    """Rows of the table, entries of `results.json`, notes, and the titles of reads that were left out."""
    rows, figures, notes = [], [], []
    copies = exported["copies"]
    networks = f"{copies} network{'' if copies == 1 else 's'}"
    ready, refused = compared(connection, exported)
    notes += [f"{title}, {networks}: left out, Virtuoso refuses it: {error}" for title, error in refused.items()]
    for read, cursor, sql, sets in ready:
        theirs = [answer_time(cursor, sql, sets, run_time) for _ in read["ours"]]
        rows.append([
            read["title"], str(copies), *(milliseconds(times) for times in (read["ours"], read["of_sql"], theirs)),
            shown(ratio(read["ours"], theirs)), shown(ratio(read["of_sql"], theirs))])
        print("  ".join(rows[-1]), file=sys.stderr)
        figures.append(results.entry(
            SECTION, f"replica.interactive.{read['name']}.copies_{copies}", f"{read['title']}, {networks}",
            read["ours"], "virtuoso", theirs, {"copies": str(copies), "parameters": str(len(sets))}))
    tags = [[str(tag)] for tag, in connection.execute("SELECT TOP 10 id FROM tag").fetchall()]
    cell, cells = (answer_time(connection.cursor(), sql, sets, run_time) for sql, sets in (
        (f"SELECT id FROM tag WHERE id = {WHOLE_NUMBER}", tags), (TWENTY_ROWS, [[]])))
    notes.append(f"{networks}: Virtuoso takes {cell * 1e6:,.0f} µs for a tag's id by the key, and "
                 f"{cells * 1e6:,.0f} µs for the first 20 persons with six columns, through pyodbc")
    return rows, figures, notes, list(refused)


def main():
    parser = argparse.ArgumentParser(description="Eight of LDBC's reads on Virtuoso")
    parser.add_argument("exported", type=Path, nargs="?",
                        help="the folder of `evergraph-benches --replica-export`")
    parser.add_argument("--check", nargs=argparse.REMAINDER, metavar="FLAG",
                        help="only see whether all is here that the harness with these flags and Virtuoso need")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a read is asked in a round [0.5]")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    if chosen.check is not None:
        check(chosen.check)
        return
    if chosen.exported is None:
        parser.error("the folder of `evergraph-benches --replica-export` is missing")
    paths = chosen.exported.glob("copies_*/reads.json")
    exports = sorted(((path.parent, json.loads(path.read_text())) for path in paths),
                     key=lambda each: each[1]["copies"])
    if not exports:
        sys.exit(f"{chosen.exported} has no exported reads")
    # As Ctrl-C does, so that the server ends as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load_average = machine()["load"]
    rows, figures, notes, left_out = [], [], [], []
    for folder, exported in exports:
        with tempfile.TemporaryDirectory(prefix="evergraph-virtuoso-") as text:
            server = VirtuosoServer(Path(text), shutil.which("virtuoso-t"), driver_path())
            try:
                with closing(server.connect()) as connection:
                    version = connection.execute("SELECT sys_stat('st_dbms_ver')").fetchone()[0]
                    load(connection, folder, exported["tables"])
                    measured_now = measured(connection, exported, chosen.seconds)
                for all_of, now in zip((rows, figures, notes, left_out), measured_now, strict=True):
                    all_of.extend(now)
            finally:
                server.stop()
    print(f"Virtuoso {cell_text(version)}\n{machine()}\n{exports[0][1]['source']}\n"
          f"medians of {len(exports[0][1]['reads'][0]['ours'])} rounds, ms\n")
    print(markdown(["read", "networks", "ours", "PostgreSQL", "Virtuoso", "ours / Virtuoso",
                    "PostgreSQL / Virtuoso"], rows))
    print("\n".join(["", *notes]))
    # Figures of another time are better than none.
    if chosen.results and figures:
        results.add(chosen.results, SECTION, figures, [
            f"Virtuoso {cell_text(version)}: row-wise tables in memory, read committed, two threads a query, "
            "indexes as PostgreSQL has them, one client through pyodbc; answers are compared with PostgreSQL's",
            "not in turn: ours was measured by the harness before, in the same rounds as PostgreSQL",
            "statements are PostgreSQL's but for: " + "; ".join(reason for _, _, reason in DIALECT),
            *notes,
            f"load average before: {load_average}",
        ])
    if left_out:
        sys.exit(f"left out: {', '.join(left_out)}: see above")


if __name__ == "__main__":
    main()
