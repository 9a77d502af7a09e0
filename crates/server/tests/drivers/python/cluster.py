"""Checks two nodes of a cluster with gremlinpython, as its users query them: `cluster.py URL URL`.

What a plain server is checked for, the first node is as well. Then what one node commits, the other reads; the checks of
that are in `nodes.py`.
"""

import sys

import elements
import nodes
import rows
import transactions_and_errors
from support import run_checks


def main():
    first, second = sys.argv[1:]
    modules = [elements, transactions_and_errors, rows, nodes]
    run_checks(modules, lambda serializer: nodes.Nodes(first, second, serializer))


main()
