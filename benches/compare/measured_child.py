"""A child process whose wall time, CPU time and peak memory are its own: read by `wait4` when it ends."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time


def run(command, address_space_max=None, seconds_max=None):
    """Runs a command that prints one JSON document.

    Parameters
    ----------
    command : list
    address_space_max : int, optional
        Bytes of address space that the child may map (RLIMIT_AS). Default: no limit
    seconds_max : float, optional
        After so long the child is killed. Default: never

    Returns
    -------
    dict
        `spent` (`wall` and `cpu` in seconds), `peak` in bytes (the most resident at once), and `said`, the document; or
        `error`, the last lines of what it wrote on standard error, or the signal that ended it, and `late`, whether
        it was killed for its time.
    """
    def limit():
        if address_space_max is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space_max, address_space_max))

    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        child = subprocess.Popen([str(word) for word in command], stdout=output, stderr=errors, preexec_fn=limit)
        late = threading.Event()

        def end():
            late.set()
            os.kill(child.pid, signal.SIGKILL)

        clock = threading.Timer(seconds_max, end) if seconds_max is not None else None
        if clock:
            clock.start()
        # The child is there as long as nobody has waited for it: the clock is stopped before it is reaped.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        wall = time.perf_counter() - began
        if clock:
            clock.cancel()
            clock.join()
        _, status, usage = os.wait4(child.pid, 0)
        # Waited for above, so that the figures are this child's alone.
        child.returncode = os.waitstatus_to_exitcode(status)
        if late.is_set():
            return {"error": f"longer than {seconds_max:g} s", "late": True}
        if child.returncode != 0:
            errors.seek(0)
            last = errors.read().strip()[-300:]
            return {"error": last or f"ended with code {child.returncode}", "late": False}
        output.seek(0)
        # Linux counts the peak in KiB.
        spent = {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime}
        return {"spent": spent, "peak": usage.ru_maxrss * 1024, "said": json.load(output)}
