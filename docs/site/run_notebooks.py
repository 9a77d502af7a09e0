"""Runs the notebooks of docs/notebooks from top to bottom and writes each as a page.

Usage: run_notebooks.py FOLDER. A page has the text, the code, what it printed, and plots beside it as pictures. A
cell that fails ends the program with its traceback. Notebooks are kept without outputs: those are made here, each
time.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

SITE = Path(__file__).parent
# One look for all plots, read when a kernel begins.
os.environ["MATPLOTLIBRC"] = str(SITE / "matplotlibrc")

import nbformat  # noqa: E402
from jupyter_client.manager import AsyncKernelManager  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbconvert import MarkdownExporter  # noqa: E402

# What a cell may take, so that a build can't hang; whole notebooks are aimed at a minute.
CELL_SECONDS_MAX = 600


def main(folder: Path) -> None:
    """Run all of them, two at a time."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = sorted(SITE.parent.glob("notebooks/*.ipynb"))
    with ProcessPoolExecutor(2) as pool:
        for path, seconds in zip(paths, pool.map(run, paths, [folder] * len(paths)), strict=True):
            print(f"   {path.name} ran in {seconds:.0f} s")


def run(path: Path, folder: Path) -> float:
    """Run the notebook `path` and write its page; the seconds that it took."""
    started = time.monotonic()
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as somewhere, tempfile.TemporaryDirectory() as sockets:
        # Sockets in a folder, none on the network.
        connection = str(Path(sockets) / "kernel.json")
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", connection_file=connection)
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS_MAX,
            startup_timeout=CELL_SECONDS_MAX,
            km=kernel,
            resources={"metadata": {"path": somewhere}},
        )
        # The kernel ends with it, though it is ours.
        client.execute(cleanup_kc=True)
    write(notebook, path.name, folder)
    return time.monotonic() - started


def write(notebook: nbformat.NotebookNode, name: str, folder: Path) -> None:
    """Write what a notebook became."""
    stem = name.removesuffix(".ipynb")
    resources = {"unique_key": stem, "output_files_dir": "."}
    text, made = MarkdownExporter().from_notebook_node(notebook, resources)
    # pandas brings looks of its own; the site's are wanted.
    text = re.sub(r"<style scoped>.*?</style>\n", "", text, flags=re.DOTALL)
    text = text.replace('<table border="1" class="dataframe">', "<table>")
    title, rest = text.split("\n", 1)
    whence = f'*This page is a notebook: <a href="{name}" download>download it</a> and run it.*'
    (folder / f"{stem}.md").write_text(f"{title}\n\n{whence}\n{rest}")
    for picture, data in made["outputs"].items():
        (folder / Path(picture).name).write_bytes(data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
