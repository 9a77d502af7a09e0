"""A child that writes an R-MAT graph with weights as CSV, in bounded memory, and prints where searches may begin.

    python weighted_csv.py PROGRAM FOLDER SCALE EDGE_FACTOR

FOLDER gets Vertex.csv and EDGE.csv, with Neo4j's headers. Weights are eighths from 1/8 to 8, as in the harness
(`src/workload/disk/graph.rs`), so that sums of them are exact.
"""

import json
import sys
from pathlib import Path

import numpy
import pyarrow
import pyarrow.csv

from evergraph_program import Evergraph

BLOCK_BYTES = 16 << 20


def weights(source, target):
    """The weight of each edge."""
    mixed = source.astype(numpy.uint32) * numpy.uint32(31) + target.astype(numpy.uint32) * numpy.uint32(17)
    return ((mixed >> numpy.uint32(3)) % numpy.uint32(64) + numpy.uint32(1)) / 8.0


def blocks(path, names):
    """The columns of a file of numbers with spaces between, block by block."""
    return pyarrow.csv.open_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(delimiter=" "),
    )


def rows(path, header, tables):
    """Writes a header and tables to a file."""
    options = pyarrow.csv.WriteOptions(include_header=False)
    with path.open("wb") as file:
        file.write(header)
        for table in tables:
            pyarrow.csv.write_csv(table, file, write_options=options)


def main(program, folder, scale, edge_factor):
    folder = Path(folder)
    lists = folder / "list"
    said = Evergraph(program).call(
        "generate", "rmat", "--out", lists, "--scale", scale, "--edge-factor", edge_factor)
    degrees = numpy.zeros(said["vertices_count"], dtype=numpy.int64)

    def weighted():
        for block in blocks(lists / "rmat.e", ["source", "target"]):
            source, target = (block.column(at).to_numpy() for at in (0, 1))
            numpy.add.at(degrees, source, 1)
            yield pyarrow.table({"source": source, "target": target, "weight": weights(source, target)})

    rows(folder / "EDGE.csv", b":START_ID(Vertex),:END_ID(Vertex),weight:double\n", weighted())
    ids = (pyarrow.table([block.column(0)], names=["id"]) for block in blocks(lists / "rmat.v", ["id"]))
    rows(folder / "Vertex.csv", b"id:ID(Vertex){id-type:long}\n", ids)
    for file in lists.iterdir():
        file.unlink()
    lists.rmdir()
    print(json.dumps({"vertices": said["vertices_count"], "edges": said["edges_count"], "source": int(degrees.argmax())}))


if __name__ == "__main__":
    main(*sys.argv[1:])
