"""A server of a database in a folder, by the program that was built."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest


def program() -> Path:
    """Find the program that serves; without it the test is skipped, but not in CI."""
    root = Path(__file__).parents[2]
    path = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "debug" / "evergraph"
    if not path.exists():
        assert not os.environ.get("CI"), f"there is no {path}"
        pytest.skip(f"needs {path}, which `cargo build` makes")
    return path


class Served(NamedTuple):
    """A server, and where it is."""

    process: subprocess.Popen[str]
    url: str


def serve(folder: Path, *options: str) -> Served:
    """Serve people.eg of a folder."""
    command = [str(program()), "serve", "people.eg", "--listen", "127.0.0.1:0", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVERGRAPH_")}
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    url = next(word for word in process.stdout.readline().split() if "://" in word)
    return Served(process, url.split("/gremlin")[0])
