"""The examples of docstrings and of the README run as they are printed."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import people

import evergraph as eg

ROOT = Path(__file__).parents[2]
MODULES = ["evergraph", *(module.name for module in pkgutil.walk_packages(eg.__path__, "evergraph."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("._native")])
def test_examples_of_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for example in finder.find(module, name):
        # Each sees the three people, and nothing of another example.
        db, ada, charles, mary = people(eg.open())
        with db.snapshot() as snapshot:
            example.globs.update(db=db, ada=ada, charles=charles, mary=mary, snapshot=snapshot)
            failed = runner.run(example).failed
        assert failed == 0, f"{example.name} doesn't give what it says: see above"


def public(thing: object) -> list[str]:
    return [name for name in vars(thing) if not name.startswith("_") and callable(getattr(thing, name))]


@pytest.mark.parametrize("thing", [eg.Database, eg.Snapshot, eg.Transaction])
def test_everything_public_is_documented(thing: type) -> None:
    assert thing.__doc__
    missing = [name for name in public(thing) if not getattr(thing, name).__doc__]
    assert missing == []


def test_the_native_module_has_what_its_stub_says() -> None:
    stub = Path(str(Path(eg.__file__).parent / "_native.pyi")).read_text()
    native: ModuleType = importlib.import_module("evergraph._native")
    for name in re.findall(r"^class ([A-Z]\w+)", stub, re.MULTILINE):
        declared = stub.split(f"class {name}", 1)[1].split("\nclass ", 1)[0]
        for method in re.findall(r"def (\w+)", declared):
            assert hasattr(getattr(native, name), method), f"{name}.{method}"


def test_the_readme_is_true(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    quickstart = readme.split("## Quick start: Python", 1)[1].split("\n## ", 1)[0]
    script = "\n".join(re.findall(r"```python\n(.*?)```", quickstart, re.DOTALL))
    for name in ["people.csv", "knows.csv"]:
        text = next(block for block in re.findall(r"```csv\n(.*?)```", readme, re.DOTALL) if is_file(name, block))
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"print\(.*\)\s+# (.*)", script)
    assert done.stdout.splitlines() == said


def is_file(name: str, block: str) -> bool:
    return block.startswith(":START_ID") == (name == "knows.csv")
