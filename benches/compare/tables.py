"""Medians, ratios and the Markdown in which `docs/benchmarks.md` shows them.

A ratio is the median of the ratios of runs in turn, not the ratio of medians: what slows the machine
down for a while slows both sides of a pair.
"""

import platform
import statistics
from pathlib import Path


def ratio(ours, theirs):
    """The median of ours / theirs over runs in turn, and its range.

    Parameters
    ----------
    ours, theirs : list of float
        One value a round; those of the same round belong together.

    Returns
    -------
    dict with median, low, high
    """
    each = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return {"median": statistics.median(each), "low": min(each), "high": max(each)}


def shown(ratio_of):
    """A ratio as it stands in a table: the median, the range in brackets; two decimals, or a digit that counts."""
    median, low, high = (f"{ratio_of[key]:.2f}" if ratio_of[key] >= 0.01 else f"{ratio_of[key]:.1g}"
                         for key in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def milliseconds(seconds):
    """The median of seconds, in milliseconds, with three digits that count."""
    value = statistics.median(seconds) * 1000
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 4
    return f"{value:,.{digits}f}"


def markdown(head, rows):
    """A Markdown table.

    Parameters
    ----------
    head : list of str
    rows : list of list of str
        Each as long as the head.
    """
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def machine():
    """The processor, its cores and the system, for the head of a report."""
    models = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    memory = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines()
                  if line.startswith("MemTotal"))
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": len(models),
        "memory_GiB": round(memory / 2**20, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load": Path("/proc/loadavg").read_text().split()[0],
    }
