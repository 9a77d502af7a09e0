"""Roads of Rome, measured by scipy: distances from some crossings by Dijkstra's algorithm, and components.

usage: roads.py FILE.gr.gz SOURCE...
"""

import gzip
import sys

import numpy
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from canonical import answer

with gzip.open(sys.argv[1], "rt") as lines:
    words = [line.split() for line in lines]
count = next(int(line[2]) for line in words if line[:2] == ["p", "sp"])
# Of parallel roads the shortest: a sparse matrix would add them up.
roads: dict[tuple[int, int], int] = {}
for line in words:
    if line[:1] == ["a"]:
        source, target, length = map(int, line[1:])
        pair = (source - 1, target - 1)
        roads[pair] = min(length, roads.get(pair, length))
ends = numpy.array(list(roads)).T
matrix = csr_array((list(roads.values()), (ends[0], ends[1])), shape=(count, count), dtype=float)

sources = [int(source) for source in sys.argv[2:]]
distances = dijkstra(matrix, indices=[source - 1 for source in sources])
answer(
    {
        # From each source to the crossings 1, 2, ..., in their order; -1 where no road leads.
        "distances": [[-1 if numpy.isinf(far) else int(far) for far in row] for row in distances],
        "weak": int(connected_components(matrix, connection="weak")[0]),
        "strong": int(connected_components(matrix, connection="strong")[0]),
    }
)
