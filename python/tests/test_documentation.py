"""The examples of docstrings, of the README and of the guide run as they are printed."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from conftest import people

import evergraph as eg

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")])
# Pages whose first line is this need what CI doesn't install: `make pyg` runs them.
ELSEWHERE = "<!-- runs in: "
MODULES = ["evergraph", *(module.name for module in pkgutil.walk_packages(eg.__path__, "evergraph."))]
NEED_TORCH = ["evergraph.pyg.sampler", "evergraph.pyg.stores"]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("._native")])
def test_examples_of_docstrings_run(name: str) -> None:
    if name in NEED_TORCH:
        pytest.importorskip("torch_geometric", reason="needs PyTorch Geometric: make pyg")
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
    return [name for name in dir(thing) if not name.startswith("_") and callable(getattr(thing, name))]


@pytest.mark.parametrize(
    "thing",
    [
        eg.Database,
        eg.PackedGraph,
        eg.PackedView,
        eg.RemoteDatabase,
        eg.RemoteTransaction,
        eg.Replica,
        eg.RgMapping,
        eg.Snapshot,
        eg.Transaction,
    ],
)
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
    script = "\n".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"print\(.*\)\s+# (.*)", script)
    assert done.stdout.splitlines() == said


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    title: str
    line: int
    text: str
    # Whether the block before is directly above.
    follows: bool


def blocks(page: str) -> Iterator[Block]:
    """Give the blocks that stand at the margin, in order."""
    opened, end = None, -1
    lines = page.splitlines()
    for at, line in enumerate(lines):
        if opened is None and line.startswith("```"):
            opened = at
        elif opened is not None and line == "```":
            language, _, rest = lines[opened][3:].partition(" ")
            title = re.search(r'title="(.*?)"', rest)
            text = "".join(f"{inside}\n" for inside in lines[opened + 1 : at])
            follows = end >= 0 and not "".join(lines[end + 1 : opened]).strip()
            yield Block(language, title[1] if title else "", opened + 2, text, follows)
            opened, end = None, at


def announced(code: str) -> list[str]:
    """Give what comments behind calls of `print` say that they print."""
    return re.findall(r"^[^#\n]*\bprint\(.*\) {2,}# (.*)$", code, re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_python_of_a_page_prints_what_the_page_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = path.read_text()
    found = list(blocks(page))
    if not any(block.language == "python" for block in found):
        pytest.skip("the page has no Python")
    if page.startswith(ELSEWHERE):
        pytest.skip(page.splitlines()[0])
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": path.stem}
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block.language in ("csv", "python") and block.title:
            # A file, which other blocks read or run.
            Path(block.title).write_text(block.text)
        if block.language != "python" or block.title:
            continue
        expected = announced(block.text)
        if after is not None and after.follows and after.language == "text":
            # What a block prints in several lines stands below it.
            expected += after.text.splitlines()
        said = io.StringIO()
        # Empty lines above, so that a traceback names the line of the page.
        with contextlib.redirect_stdout(said):
            exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), namespace)
        assert said.getvalue().splitlines() == expected, f"{path.name}, line {block.line}"


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/notebooks/*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text())
    kept = [cell for cell in notebook["cells"] if cell.get("outputs") or cell.get("execution_count") is not None]
    assert kept == [], f"clear the outputs of {path.name}: `make docs` makes them anew"
    assert list(notebook["metadata"]) == ["kernelspec", "language_info"]
