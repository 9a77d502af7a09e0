"""Checks a server with gremlinpython, as its users query it: `main.py URL [PASSWORD ROOT]`.

Each function of a module whose name begins with `check_` is one check, run in both formats; the last line says how
many passed. With a password the checks of log-ins are run: the server has the users reader, writer and nobody, all
with this password, and its certificate is signed by ROOT, a file in PEM. The program that runs this restarts the
server at the line "restart", waits until nothing runs there at the line "idle", adds a vertex with a date and a
period at the line "sample", and writes a line when that is done.
"""

import sys
import time

import connections
import elements
import logins
import rows
import transactions_and_errors
import values
from support import SERIALIZERS, Context


def main():
    url, *secrets = sys.argv[1:]
    modules = [logins] if secrets else [values, elements, transactions_and_errors, rows, connections]
    checks = [
        check for module in modules for name, check in vars(module).items() if name.startswith("check_")
    ]
    passed = 0
    for serializer in SERIALIZERS:
        context = logins.Site(url, serializer, *secrets) if secrets else Context(url, serializer)
        for check in checks:
            began = time.monotonic()
            try:
                check(context)
            except BaseException:
                print(f"{check.__name__} with {serializer.__name__} failed", file=sys.stderr)
                raise
            print(f"{check.__name__}: {(time.monotonic() - began) * 1000:.0f} ms")
            passed += 1
        context.close()
    print(f"{passed} passed", flush=True)


main()
