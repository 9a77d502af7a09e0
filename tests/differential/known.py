"""What differs between Evergraph and TinkerGraph, and why that is meant."""

import re

#: TinkerGraph's errors, by a part of them, where we give results: what these are.
LENIENT = [
    ("cannot be cast to class", "a step that can't take a value passes over it"),
    ("ClassCastException: null", "the same, met so often that Java says no more of it"),
    ("does not allow selection by", "a part that a value hasn't is missing, as a property is"),
    ("can only be applied to a traverser that is", "a part that a value hasn't is missing, as a property is"),
    ("nor path has a", "a name that nobody gave is missing, as a property is"),
    ("must have at least a start or end label", "a name that nobody gave is missing, as a property is"),
    ("does not exist in the side-effects", "nothing was gathered under a name that nobody gave"),
    ("Not a legal range", "TinkerGraph makes one range of two, which it refuses then"),
    ("does not support loops", "loops() is 0 outside repeat()"),
    ("The parent of a reducing/supplying barrier can not be repeat()-step", "repeat() takes barriers, wave by wave"),
]
#: Our errors, by a part of them, where TinkerGraph has no result at all: it asks filters in another order.
EARLY = ["can only take", "must resolve to", "but found ", "isn't supported", "Can't parse type"]
#: A pattern of the text, and why what both give there may differ.
KNOWN = [
    (r"count\(\)\.is\(", "TinkerGraph counts no further than the predicate needs, and gives that count"),
    (r"local\(__\.(group|groupCount|fold|count|sum)\(\)", "TinkerGraph's local() of a barrier gives its result though nothing came"),
    (r"limit\(0\)", "TinkerGraph leaves out what follows a limit of none"),
    (r"optional\(", "TinkerGraph's optional() of a barrier gives its result though nothing came"),
    (r"__\.identity\(\)(\.identity\(\))*\)", "TinkerGraph takes identity() out, and an empty traversal gives nothing"),
    (r"as\('\w'\)(\.identity\(\))+\.as\(", "the same of a pattern of match()"),
    (r"asString|concat", "the text of a map has its entries in any order"),
    (r"(local|coalesce)\(.*aggregate", "what was gathered so far depends on the order in which vertices come"),
    (r"local\(.*\)\.as\(", "TinkerGraph doesn't label what comes of local()"),
    (r"fold\(\).*path\(", "what is in a list on a path was gathered in any order"),
    (r"match\(.*(simplePath|cyclicPath|path)\(", "TinkerGraph's match() puts its names onto the path again"),
    (r"(math|mean)\(.*(dedup|group)", "numbers of equal value are one, whatever their widths"),
    (r"properties\(.*\.id\(", "properties have no ids"),
    (r"properties\(.*\.property\(", "properties of properties are declared"),
]


#: Steps with options, which TinkerGraph runs each to its end where one of them has a barrier.
BRANCHES = {"union", "choose", "branch", "option"}
#: Barriers, there and here.
BARRIERS = {
    "count", "sum", "min", "max", "mean", "fold", "order", "dedup", "tail", "group", "groupCount", "sample", "aggregate",
    "barrier", "cap", "tree", "subgraph",
}
#: Barriers there, which here let through what comes at once.
LIMITS = {"limit", "skip", "range"}


def waits_there_alone(text):
    """Whether an option has what is a barrier for TinkerGraph alone: a limit, or a barrier within another traversal."""
    around = []
    for word, mark in re.findall(r"'[^']*'|(\w*)([()])", text):
        if mark == "(":
            if word in LIMITS and BRANCHES & set(around) or word in BARRIERS and BRANCHES & set(around[:-1]):
                return True
            around.append(word)
        elif mark == ")" and around:
            around.pop()
    return False


def reason(text, mine, theirs):
    """Why two answers may differ; nothing if they may not."""
    both = isinstance(mine, list) and isinstance(theirs, list)
    if both and sorted(map(str, mine)) == sorted(map(str, theirs)):
        if waits_there_alone(text):
            return "an order lasts through options with a limit, or with a barrier for each row alone"
        if re.search(r"option\((none|unproductive|any)", text):
            return "where an option has a barrier, those that no value names come first there, and last here"
        if "barrier()" in text:
            return "TinkerGraph's barrier() gives equal results together, where the first of them was"
    if isinstance(theirs, str) and not isinstance(mine, str):
        return next((why for part, why in LENIENT if part in theirs), None)
    if isinstance(mine, str) and not theirs and any(part in mine for part in EARLY):
        return "TinkerGraph asks filters in another order"
    return next((why for pattern, why in KNOWN if re.search(pattern, text)), None)
