"""Checks a server with gremlinpython, as its users query it: `main.py URL [PASSWORD ROOT]`.

Each function of a module whose name begins with `check_` is one check, run in both formats; the last line says how
many passed. With a password the checks of log-ins are run: the server has the users reader, writer and nobody, all
with this password, and its certificate is signed by ROOT, a file in PEM. The program that runs this restarts the
server at the line "restart", waits until nothing runs there at the line "idle", adds a vertex with a date and a
period at the line "sample", and writes a line when that is done.
"""

import sys

import connections
import elements
import logins
import rows
import transactions_and_errors
import values
from support import Context, run_checks


def main():
    url, *secrets = sys.argv[1:]
    if secrets:
        run_checks([logins], lambda serializer: logins.Site(url, serializer, *secrets))
    else:
        modules = [values, elements, transactions_and_errors, rows, connections]
        run_checks(modules, lambda serializer: Context(url, serializer))


main()
