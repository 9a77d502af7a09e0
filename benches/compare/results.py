"""Entries of `results.json`, the file that the harness in `benches/src` writes and shows.

An entry has a figure of ours beside one library's, and no goal: `evergraph-benches --show` holds every entry
against the one table of goals and makes the tables.
"""

import json
import statistics

from tables import ratio


def median(values):
    """The median of one value a round, and their range."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def entry(section, name, title, ours, peer, theirs, settings, spent=((), ()), repeated=0,
          unit="s"):
    """One figure, ours beside a library's, or alone.

    Parameters
    ----------
    section, name, title, peer : str
        Its heading, its name for programs, what it is for people, and whose the others are; no peer if it is alone.
    ours, theirs : list of float
        One value a round; those of the same round belong together. None if there is no peer.
    settings : dict of str to str
    spent : pair of lists of dict
        What each of our runs and of theirs took, `wall` and `cpu` seconds of the whole run; empty where nobody knows.
    repeated : int
        How many runs were disturbed and repeated.
    unit : str
        What the values are, as `evergraph_measure::figure::Unit` spells it: seconds if nothing is said.

    Returns
    -------
    dict
    """
    return {
        "name": name, "section": section, "title": title, "unit": unit, "ours": median(ours), "peer": peer,
        "theirs": theirs and median(theirs), "ratio": theirs and ratio(ours, theirs), "goal": None, "met": None, "claim": None,
        "runs": len(ours), "settings": settings,
        "ours_spent": list(spent[0]), "theirs_spent": list(spent[1]), "repeated": repeated,
    }


def add(path, section, entries, notes):
    """Puts the entries of one section into the file `path`, in place of those of the last time."""
    empty = {"machine": {}, "plan": {}, "engines": {}, "notes": {}, "entries": []}
    results = json.loads(path.read_text()) if path.exists() else empty
    results["entries"] = [each for each in results["entries"] if each["section"] != section] + entries
    results["notes"][section] = notes
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")
