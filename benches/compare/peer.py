"""Another library in a child: asked for a run, it replies with seconds, an error, or its death.

After a crash or a run that takes too long, the next request gets a new child.
"""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

WORKER = Path(__file__).with_name("peer_worker.py")


class Peer:
    """One library; a context manager, which ends the child. `environment` is added to that of this process."""

    def __init__(self, library, folder, seconds_max, environment=None):
        self.library, self.folder, self.seconds_max = library, folder, seconds_max
        self.environment = os.environ | (environment or {})
        self.child = None

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
        self.child = None
        return code

    def ask(self, request):
        """The child's reply: a dict with `seconds` and `answered`, or with `error`."""
        if self.child is None:
            self.child = subprocess.Popen(
                [sys.executable, WORKER, self.library, self.folder],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
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
        """How the child ended by itself, in words."""
        code = self.child.wait()
        self.end()
        return f"crashed: {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
