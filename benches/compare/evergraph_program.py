"""The program evergraph as the scripts of this folder call it: a command, its JSON, its answer file."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy
import pyarrow.parquet

import measured_child

#: What the program writes for a vertex that a search by whole steps did not reach.
UNREACHED = numpy.iinfo(numpy.int64).max


class Evergraph:
    """A built program.

    Settings of the person who runs the scripts play no part: `--no-config` goes with every call.
    """

    def __init__(self, program):
        self.program = str(program)

    def call(self, *arguments):
        """What a command prints, as JSON; its own error text if it fails."""
        command = [self.program, *map(str, arguments), "--json", "--no-config"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def version(self):
        """Its name and version, as `--version` says them."""
        return subprocess.run([self.program, "--version"], check=True, capture_output=True,
                              text=True).stdout.strip()

    def run(self, database, arguments, threads):
        """One run of an algorithm, in a process of its own: its memory is fresh, its page faults are in the times.

        Returns
        -------
        dict
            `seconds`, a dict with what `open`, `freeze` and `kernel` took, and `spent`, `wall` and `cpu` seconds
            of the whole process.
        """
        command = [self.program, "run", database, *arguments, "--threads", threads, "--json", "--no-config"]
        done = measured_child.run(command)
        if "error" in done:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done['error']}")
        return {"seconds": done["said"]["seconds"], "spent": done["spent"]}

    def answer(self, database, arguments, vertices):
        """The whole answer of an algorithm, read from the file that it writes.

        Returns
        -------
        dict of str to numpy.ndarray
            The file's columns. If it has `value`, that is one number a vertex in the order of the
            keys, which are 0 to `vertices` - 1, and minus one where a search did not arrive.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "answer.parquet")
            self.call("run", database, *arguments, "--output", file)
            table = pyarrow.parquet.read_table(file)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        if "value" in columns:
            values, keys = columns["value"], columns["key"]
            ordered = numpy.full(vertices, -1, dtype=values.dtype)
            ordered[keys] = values
            unreached = numpy.isinf(ordered) if ordered.dtype.kind == "f" else ordered == UNREACHED
            columns["value"] = numpy.where(unreached, -1, ordered)
        return columns
