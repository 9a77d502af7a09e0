"""Runs of one thread that were disturbed: their CPU and wall times are apart, and they are repeated.

The same rule and numbers as in `src/stopwatch.rs`, which says for which runs it makes sense.
"""

GAP_MAX = 0.1
REPEATS_MAX = 3


def gap(reply):
    """How far `wall` and `cpu` of a reply's `spent` are apart, as a part of the wall time; 0 for an error."""
    if "error" in reply:
        return 0.0
    spent = reply["spent"]
    return abs(spent["cpu"] / spent["wall"] - 1)


def steady(run):
    """Calls `run` until it was not disturbed, at most `REPEATS_MAX` times more.

    Returns
    -------
    tuple of (dict, int)
        The reply of the least disturbed run, and the number of repeats.
    """
    best, repeats = run(), 0
    while gap(best) > GAP_MAX and repeats < REPEATS_MAX:
        best, repeats = min(best, run(), key=gap), repeats + 1
    return best, repeats
