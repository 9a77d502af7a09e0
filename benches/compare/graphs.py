"""The graphs on which algorithms are compared, all from one R-MAT graph of `evergraph generate`.

directed  as generated: loops and parallel edges kept
weighted  the same with a whole number of 1 to 255 on each edge
simple    the largest component read as undirected, without loops and parallel edges, ids 0, 1, ...:
          what networkit demands of a graph for communities and triangles
acyclic   the edges of `simple`, each from the smaller id to the larger one
small     `simple` of a small R-MAT graph, for what takes a search from every vertex
few       a small R-MAT graph, directed, without loops and parallel edges, for what has many answers

Each is a file of pairs beside its database, and `NAME.npy` for the others: shape (2, m), or (3, m) with
weights, dtype int64.
"""

import numpy
import pyarrow
import pyarrow.csv

SMALL_SCALE = 10
NAMES = ("directed", "weighted", "simple", "acyclic", "small", "few")


def component(vertices, ends):
    """The vertices of the largest weakly connected component, as a mask of shape (vertices,).

    Labels sink along edges and are then followed to their roots, round by round: a few rounds do.
    """
    labels = numpy.arange(vertices)
    while True:
        low = numpy.minimum(labels[ends[0]], labels[ends[1]])
        before = labels.copy()
        numpy.minimum.at(labels, before[ends[0]], low)
        numpy.minimum.at(labels, before[ends[1]], low)
        while not numpy.array_equal(labels, labels[labels]):
            labels = labels[labels]
        if numpy.array_equal(labels, before):
            return labels == numpy.bincount(labels).argmax()


def without_twins(vertices, ends):
    """The edges of shape (2, m) without loops, each pair once, sorted."""
    source, target = ends[:, ends[0] != ends[1]]
    return numpy.stack(numpy.divmod(numpy.unique(source * vertices + target), vertices))


def simple(vertices, ends):
    """The largest component as undirected: how many vertices, and each pair once, smaller id first."""
    ends = without_twins(vertices, numpy.sort(ends, axis=0))
    inside = component(vertices, ends)
    renamed = numpy.cumsum(inside) - 1
    return int(inside.sum()), renamed[ends[:, inside[ends[0]]]]


def written(folder, name, ends):
    """The path of a list of edges, an edge a line, which this writes."""
    path = folder / f"{name}.e"
    table = pyarrow.table([pyarrow.array(column) for column in ends], names=[str(i) for i in range(len(ends))])
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ")
    pyarrow.csv.write_csv(table, path, write_options=options)
    return path


def generated(evergraph, folder, scale):
    """The ends of an R-MAT graph of 16 edges a vertex: shape (2, m)."""
    out = folder / f"rmat{scale}"
    evergraph.call("generate", "rmat", "--scale", scale, "--out", out)
    table = pyarrow.csv.read_csv(
        out / "rmat.e",
        read_options=pyarrow.csv.ReadOptions(column_names=["source", "target"]),
        parse_options=pyarrow.csv.ParseOptions(delimiter=" "),
    )
    return numpy.stack([column.to_numpy() for column in table.columns])


def of_files(path):
    """How many vertices the files at `path` have, and the ends of their edges: shape (2, m).

    A list of edges, `SOURCE TARGET ...` a line, whose vertices are 0, 1, ...; or a folder of LDBC's, whose files
    `A_EDGE_B_0_0.csv.gz` begin with the ids of both ends, each kind with ids of its own: here they are numbered through.
    """
    if path.is_file():
        ends = numpy.stack([column.to_numpy() for column in columns(path, " ", False)])
        return int(ends.max()) + 1, ends
    ids, edges = {}, []
    for file in sorted(path.glob("*.csv*")):
        words = file.name.split("_")
        kinds = [words[0], words[2]] if len(words) == 5 else [words[0]]
        # One whole column at a time: a vertex file has other columns, texts among them.
        ends = [column.to_numpy() for column in columns(file, "|", True)[:len(kinds)]]
        for kind, numbers in zip(kinds, ends, strict=True):
            ids.setdefault(kind, []).append(numbers)
        if len(kinds) == 2:
            edges.append((kinds, ends))
    known = {kind: numpy.unique(numpy.concatenate(numbers)) for kind, numbers in ids.items()}
    first = dict(zip(known, numpy.cumsum([0] + [numbers.size for numbers in known.values()]), strict=False))
    placed = [[first[kind] + numpy.searchsorted(known[kind], numbers)
               for kind, numbers in zip(kinds, ends, strict=True)] for kinds, ends in edges]
    return sum(numbers.size for numbers in known.values()), numpy.hstack([numpy.stack(ends) for ends in placed])


def columns(path, delimiter, header):
    """The first two columns of a file, or its only one; its names are skipped if it has a header."""
    table = pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(skip_rows=int(header), autogenerate_column_names=True),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False),
    )
    return table.columns[:2]


def make(evergraph, folder, scale):
    """Makes all graphs in `folder`: NAME.npy and the database NAME.eg of each.

    Returns
    -------
    dict of str to int
        How many vertices each has; their keys are 0, 1, ...
    """
    ends, small_ends = (generated(evergraph, folder, each) for each in (scale, SMALL_SCALE))
    weights = numpy.random.default_rng(1).integers(1, 256, ends.shape[1])
    all_simple, small_simple = simple(2**scale, ends), simple(2**SMALL_SCALE, small_ends)
    graphs = {
        "directed": (2**scale, ends),
        "weighted": (2**scale, numpy.vstack((ends, weights))),
        "simple": all_simple,
        "acyclic": all_simple,
        "small": small_simple,
        "few": (2**SMALL_SCALE, without_twins(2**SMALL_SCALE, small_ends)),
    }
    assert tuple(graphs) == NAMES
    for name, (vertices, columns) in graphs.items():
        numpy.save(folder / f"{name}.npy", columns)
        evergraph.call("import", folder / f"{name}.eg", written(folder, name, columns),
                       "--vertices", f"0..{vertices}")
    return {name: vertices for name, (vertices, _) in graphs.items()}
