"""Where PostgreSQL's programs are; without pytest, so that the benchmarks can look as well."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
from pathlib import Path


def programs() -> Path | None:
    """Where PostgreSQL's programs are, if they can run here: as the user postgres when this is root."""
    found = sorted(
        glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: float(path.split("/")[4]), reverse=True
    )
    other = shutil.which("initdb")
    folders = [Path(path) for path in found] + ([Path(other).parent] if other else [])
    usable = [folder for folder in folders if (folder / "postgres").exists() and (folder / "psql").exists()]
    if not usable or (os.geteuid() == 0 and not _has_user()):
        return None
    return usable[0]


def _has_user() -> bool:
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True
