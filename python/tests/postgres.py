"""A PostgreSQL server of the tests' own, on a free port of this machine, removed when they are over."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_programs import programs

SHOP = """
CREATE TABLE customer (id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE product (id bigint PRIMARY KEY, title text NOT NULL, price numeric(10, 2) NOT NULL);
CREATE TABLE bought (customer_id bigint REFERENCES customer, product_id bigint REFERENCES product,
    pieces int NOT NULL, PRIMARY KEY (customer_id, product_id));
INSERT INTO customer VALUES (1, 'Ada'), (2, 'Bob');
INSERT INTO product VALUES (1, 'tea', 3.50), (2, 'cup', 9.00);
INSERT INTO bought VALUES (1, 1, 2), (1, 2, 1), (2, 1, 5)
"""


class PostgresServer:
    """A server that listens on this machine alone."""

    def __init__(self, folder: Path, programs: Path, *more_settings: str) -> None:
        """Make a cluster in a folder, and start its server; settings are those of tests unless others follow."""
        self.programs, self._folder = programs, folder
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, "postgres", "postgres")
        self.password = secrets.token_hex(16)
        secret = folder / "password"
        secret.write_text(self.password)
        if self._user:
            shutil.chown(secret, "postgres", "postgres")
        data = folder / "data"
        made = ["-D", f"{data}", "-U", "postgres", "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync"]
        self._run([f"{programs / 'initdb'}", *made])
        settings = ["listen_addresses=127.0.0.1", "wal_level=logical", "fsync=off", "shared_buffers=32MB"]
        options = [option for setting in (*settings, *more_settings) for option in ("-c", setting)]
        # Somebody else may take the port before the server does.
        while not self._start(["-D", f"{data}", "-k", f"{folder}", *options]):
            pass

    def _start(self, arguments: list[str]) -> bool:
        """Start it on a port that is free now, unless that is taken by then."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command, said = [f"{self.programs / 'postgres'}", "-p", f"{self.port}", *arguments], self._folder / "log"
        with said.open("w") as log:
            self._process = subprocess.Popen(command, cwd=self._folder, user=self._user, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while self._psql("postgres", "SELECT 1", check=False).returncode != 0:
            if self._process.poll() is not None and "Address already in use" in said.read_text():
                return False
            assert self._process.poll() is None, said.read_text()
            assert time.monotonic() < deadline, said.read_text()
            time.sleep(0.1)
        return True

    def url(self, database: str) -> str:
        """The URL of a database, for the superuser, whose password is in PGPASSWORD."""
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def run(self, database: str, sql: str) -> str:
        """Run statements as the superuser; rows come as lines."""
        return self._psql(database, sql).stdout

    def stop(self) -> None:
        """Kill the server."""
        self._process.kill()
        self._process.wait()

    def _psql(self, database: str, sql: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [
            f"{self.programs / 'psql'}",
            "-XqAt",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        return subprocess.run(
            [*command, "-U", "postgres", "-d", database, "-c", sql],
            env={**os.environ, "PGPASSWORD": self.password},
            check=check,
            capture_output=True,
            text=True,
        )

    def _run(self, command: list[str]) -> None:
        subprocess.run(command, cwd=self._folder, user=self._user, check=True, capture_output=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Give a server; where there is no PostgreSQL the test is skipped, but not in CI."""
    found = programs()
    if found is None:
        assert not os.environ.get("CI"), "apt install postgresql-15"
        pytest.skip("PostgreSQL's programs are not here (apt install postgresql-15)")
    with tempfile.TemporaryDirectory(prefix="evergraph-postgres-") as folder:
        server = PostgresServer(Path(folder), found)
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def shop(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> tuple[PostgresServer, str]:
    """Give a database with a shop, and its name; its password is in the environment."""
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    name = f"shop_{secrets.token_hex(4)}"
    postgres.run("postgres", f"CREATE DATABASE {name}")
    postgres.run(name, SHOP)
    return postgres, name
