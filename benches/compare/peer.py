"""A child that works on request: asked for a run, it replies with seconds, an error, or its death.

After a crash or a run that takes too long, the next request gets a new child.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

WORKER = Path(__file__).with_name("peer_worker.py")


class Child:
    """A command that answers lines of JSON with lines of JSON; a context manager, which ends it.

    `environment` is added to that of this process.
    """

    def __init__(self, command, seconds_max, environment=None):
        self.command, self.seconds_max = [str(word) for word in command], seconds_max
        self.environment = os.environ | (environment or {})
        self.child = None
        self.errors = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Ends the child, if there is one, and gives its return code."""
        if self.child is None:
            return None
        self.child.kill()
        code = self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()
        self.errors.close()
        self.child = None
        return code

    def ask(self, request):
        """The child's reply: a dict with `seconds` and `answered`, or with `error`."""
        if self.child is None:
            self.errors = tempfile.TemporaryFile("w+")
            self.child = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                env=self.environment,
            )
        try:
            print(json.dumps(request), file=self.child.stdin, flush=True)
        except BrokenPipeError:
            return {"error": self.died()}
        if not select.select([self.child.stdout], [], [], self.seconds_max)[0]:
            self.end()
            return {"error": f"more than {self.seconds_max} s"}
        line = self.child.stdout.readline()
        return json.loads(line) if line else {"error": self.died()}

    def died(self):
        """How the child ended by itself, in words, with the last line that it left on standard error."""
        code = self.child.wait()
        self.errors.seek(0)
        last = self.errors.read().strip().rpartition("\n")[2]
        self.end()
        how = f"crashed: {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return f"{how}: {last}" if last else how


class Peer(Child):
    """One library of Python, in `peer_worker.py`."""

    def __init__(self, library, folder, seconds_max, environment=None):
        super().__init__([sys.executable, WORKER, library, folder], seconds_max, environment)
