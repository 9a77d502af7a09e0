"""An etcd of the tests' own, on free ports of this machine, and clusters on it; removed when they are over."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from served import program

HOW_TO_INSTALL = "etcd is not here: apt install etcd-server (version 3.4 or newer), or name it by EVERGRAPH_ETCD"


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at, below those that the system gives to connections by itself."""
    with ExitStack() as bound:
        ports: list[int] = []
        for port in random.sample(range(20_000, 32_000), 1000):
            found = bound.enter_context(socket.socket())
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
            if len(ports) == count:
                return ports
    raise OSError("hardly any port is free")


class Etcd:
    """A member that is alone."""

    def __init__(self, folder: Path, program: str) -> None:
        """Start it, and wait until it serves; its data lies in a folder."""
        self._folder, self._program = folder, program
        # Somebody else may take a port before it does: it ends then.
        while not self._start():
            pass

    def _start(self) -> bool:
        client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        self.url, said = client, self._folder / "log"
        flags = {
            "name": "m0",
            "data-dir": f"{self._folder / client.rsplit(':')[-1]}",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"m0={peer}",
            # It elects itself at once.
            "heartbeat-interval": "20",
            "election-timeout": "200",
        }
        command = [self._program, *(f"--{name}={value}" for name, value in flags.items())]
        with said.open("w") as log:
            self._process = subprocess.Popen(command, env={}, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self._is_healthy():
            if self._process.poll() is not None and "address already in use" in said.read_text():
                return False
            assert self._process.poll() is None, said.read_text()
            assert time.monotonic() < deadline, said.read_text()
            time.sleep(0.05)
        return True

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=10) as answer:
                return bool(json.load(answer)["health"] == "true")
        except OSError:
            return False

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="session")
def etcd() -> Iterator[Etcd]:
    """Give a member; where there is no etcd the test is skipped, but not in CI."""
    found = os.environ.get("EVERGRAPH_ETCD") or shutil.which("etcd")
    if found is None:
        assert not os.environ.get("CI"), HOW_TO_INSTALL
        pytest.skip(HOW_TO_INSTALL)
    with tempfile.TemporaryDirectory(prefix="evergraph-etcd-") as folder:
        server = Etcd(Path(folder), found)
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def two_nodes(etcd: Etcd, tmp_path: Path) -> tuple[str, str]:
    """Give the paths of the nodes of a new cluster, each of which keeps the partitions that the other does not."""
    addresses = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    options = ["--nodes", addresses, "--log", etcd.url, "--partitions", "8", "--copies", "1", "--quiet"]
    subprocess.run([program(), "cluster", "create", "social", *options], cwd=tmp_path, check=True)
    return f"cluster:{tmp_path}/social/node-0", f"cluster:{tmp_path}/social/node-1"
