"""A child that reads an answer which `evergraph run --output` wrote, and prints the numbers that other answers have too.

    python answer_sums.py ALGORITHM FILE
"""

import json
import sys

import numpy
import pyarrow.parquet

from evergraph_program import UNREACHED


def sums(algorithm, values):
    """What is compared of an answer: one value a vertex."""
    if algorithm == "bfs":
        values = values[values != UNREACHED]
    elif algorithm == "sssp":
        values = values[numpy.isfinite(values)]
    elif algorithm == "wcc":
        return {"components": numpy.unique(values).size}
    elif algorithm == "pagerank":
        return {"largest": float(values.max()), "squares": float((values * values).sum())}
    return {"reached": values.size, "sum": float(values.sum())}


def main(algorithm, file):
    values = pyarrow.parquet.read_table(file, columns=["value"])["value"].to_numpy()
    print(json.dumps(sums(algorithm, values)))


if __name__ == "__main__":
    main(*sys.argv[1:])
