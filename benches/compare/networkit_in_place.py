"""A child that loads an export of ours into networkit and runs one algorithm: what a copy for analysis costs.

    python networkit_in_place.py FORM EDGES VERTICES ALGORITHM THREADS ANSWER

FORM is `csv` or `parquet`, EDGES the file of edges, VERTICES how many there are; their ids are 0, 1, ... It
prints seconds of loading (reading the file, building the graph) and of the algorithm, with what the process
spent on both, and saves the answer. pyarrow reads the files: it does so on all threads that it is given.
"""

import json
import sys
import time

import numpy
import pyarrow
import pyarrow.csv
import pyarrow.parquet

import networkit_runs


def ends(form, edges):
    """Sources and targets of an export: shape (2, m), dtype int64."""
    if form == "csv":
        # Source, type, target: the header has roles, not names.
        options = pyarrow.csv.ReadOptions(column_names=["source", "type", "target"], skip_rows=1)
        table = pyarrow.csv.read_csv(edges, read_options=options)
        columns = table["source"], table["target"]
    else:
        table = pyarrow.parquet.read_table(edges)
        columns = table.column(0), table.column(2)
    return numpy.stack([column.to_numpy().astype(numpy.int64) for column in columns])


def main(form, edges, vertices, algorithm, threads, answer):
    pyarrow.set_cpu_count(int(threads))
    networkit_runs.threads(int(threads))
    began, worked = time.perf_counter(), time.process_time()
    graph = networkit_runs.graph("directed", int(vertices), ends(form, edges))
    load = time.perf_counter() - began
    (run,) = networkit_runs.RUNS[algorithm].values()
    seconds, found = run(graph)
    spent = {"wall": time.perf_counter() - began, "cpu": time.process_time() - worked}
    numpy.save(answer, found())
    print(json.dumps({"load": load, "run": seconds, "spent": spent}))


if __name__ == "__main__":
    main(*sys.argv[1:])
