"""Random traversals on random graphs, here and on TinkerGraph: do both give the same?

    python differential.py ORACLE [--seconds 60] [--seed N]

ORACLE is the folder that Maven built (`pom.xml`). Each round makes a small graph and some traversals, asks both, and
compares the results: in their order where one is promised, behind `order()` and steps that keep it, elsewhere as a bag. A
traversal whose results differ is made as small as it can be, and printed with its graph; the program then ends with 1.

Where one gives an error and the other results, that differs too; two errors are alike, whatever they say. What is known
to differ, and why, stands in `known.py`.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import evergraph
from evergraph.gremlin.elements import MAKER
from evergraph.query import query_settings
from gremlin_python.structure.graph import Edge, Property, Vertex, VertexProperty
from gremlin_python.structure.graph import Path as Walk

from known import reason
from traversals import made

# Random traversals name much that a random graph doesn't have.
warnings.simplefilter("ignore", evergraph.UnknownNameWarning)

#: Results of a traversal that are compared; more than so many aren't.
MOST = 3000
SECONDS, MEMORY_BYTES = 5, 64 << 20
TOO_MUCH = "too much"


class Oracle:
    """TinkerGraph in a JVM, which answers lines of JSON."""

    def __init__(self, folder):
        command = ["java", "-Xmx1g", "-cp", f"{folder}/classes:{folder}/lib/*", "evergraph.oracle.Oracle"]
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, graph, texts):
        """The results of each text, or the error."""
        with evergraph.open() as db:
            ids = built(db, graph)
            # An edge's id is a text, in the order in which they are asked for.
            of_edges = dict(db.query("g.E().map(__.union(values('e'), id()).fold())"))
        vertices = [item | {"id": number} for item, number in zip(graph["vertices"], ids, strict=True)]
        edges = [item | {"id": of_edges[item["properties"]["e"]]} for item in graph["edges"]]
        request = {"vertices": vertices, "edges": edges, "texts": [named(text, ids) for text in texts], "most": MOST}
        print(json.dumps(request), file=self.child.stdin, flush=True)
        answers = json.loads(self.child.stdout.readline())
        return [answer["error"] or bounded(answer["results"]) for answer in answers]


def bounded(results):
    """The results, unless they are too many."""
    return TOO_MUCH if len(results) > MOST else results


def ours(graph, texts):
    """The same from us."""
    answers = []
    for text in texts:
        # A new graph for each text: some of them write.
        with evergraph.open() as db:
            answers.append(answer(db, named(text, built(db, graph))))
    return answers


def built(db, graph):
    """Puts a graph into a new database, and gives the ids of its vertices, which TinkerGraph's get too."""
    with db.begin() as tx:
        ids = [tx.add_vertex(item["label"], **item["properties"]) for item in graph["vertices"]]
        for item in graph["edges"]:
            tx.add_edge(ids[item["from"]], item["label"], ids[item["to"]], **item["properties"])
    return ids


def named(text, ids):
    """The text with the ids of vertices in place of `@0`, `@1`."""
    return re.sub(r"@(\d)", lambda found: str(ids[int(found[1]) % len(ids)]), text)


def answer(db, text):
    """The results of a text, or the error."""
    try:
        settings = query_settings(timeout=SECONDS, memory_limit=MEMORY_BYTES, making=(MAKER, True))
        native = db._native.query(text, {}, settings)
        results = []
        while len(results) <= MOST and (rows := native.fetch(1024)):
            results += [shown(row) for row in rows]
        return bounded(results)
    except evergraph.LimitError:
        return TOO_MUCH
    except evergraph.EvergraphError as error:
        return f"{type(error).__name__}: {error}"


def shown(thing):
    """As `Oracle.java` spells it."""
    match thing:
        case None:
            return "null"
        case bool():
            return str(thing).lower()
        case float():
            return f"d{thing!r}"
        case str():
            return f"'{thing}'"
        case Vertex():
            return f"v{thing.id}"
        case Edge():
            return "e" + next((str(each.value) for each in thing.properties if each.key == "e"), "?")
        case Property() | VertexProperty():
            return f"p({thing.key}, {shown(thing.value)})"
        case Walk():
            return f"path{shown(thing.objects)}"
        case dict():
            return "{" + ", ".join(sorted(shown(entry) for entry in thing.items())) + "}"
        case set() | frozenset():
            return "set{" + ", ".join(sorted(map(key, thing))) + "}"
        case tuple():
            # An entry of a map.
            return f"({key(thing[0])}, {value(thing[1])})"
        case list():
            return "[" + ", ".join(map(shown, thing)) + "]"
    return str(thing)


def key(thing):
    """A key of a map, an item of a set: tuples there stand for collections, in any order."""
    return "(" + ", ".join(sorted(map(key, thing))) + ")" if type(thing) is tuple else shown(thing)


def value(thing):
    """A value of a map: lists there were gathered in any order."""
    return "[" + ", ".join(sorted(map(shown, thing))) + "]" if isinstance(thing, list) else shown(thing)


def alike(traversal, mine, theirs):
    """Whether two answers to a traversal say the same; errors do, and what one has no time for is nobody's."""
    if TOO_MUCH in (mine, theirs):
        return True
    if isinstance(mine, str) or isinstance(theirs, str):
        return isinstance(mine, str) and isinstance(theirs, str)
    return mine == theirs if traversal.is_ordered() else Counter(mine) == Counter(theirs)


def smallest(oracle, graph, traversal):
    """The traversal and the graph without what the difference doesn't need."""
    def differs(graph, traversal):
        text = traversal.text()
        return not alike(traversal, ours(graph, [text])[0], oracle.ask(graph, [text])[0])

    changed = True
    while changed:
        changed = False
        for smaller in traversal.smaller():
            if differs(graph, smaller):
                traversal, changed = smaller, True
                break
        for kind in ("edges", "vertices"):
            # The last vertex alone, and only if no edge needs it: the others keep their numbers.
            for at in reversed(range(len(graph[kind]))):
                less = graph | {kind: graph[kind][:at] + graph[kind][at + 1:]}
                if kind == "vertices" and (at + 1 < len(graph[kind]) or any(
                        at in (edge["from"], edge["to"]) for edge in graph["edges"])):
                    continue
                if less["vertices"] and differs(less, traversal):
                    graph, changed = less, True
    return graph, traversal


def main():
    parser = argparse.ArgumentParser(description="random traversals on random graphs, here and on TinkerGraph")
    parser.add_argument("oracle", type=Path, help="the folder that Maven built")
    parser.add_argument("--seconds", type=float, default=60, help="how long [60]")
    parser.add_argument("--seed", type=int, help="what the first round begins from; the next one's is one more")
    parser.add_argument("--differences", type=int, default=1, help="end after so many [1]")
    chosen = parser.parse_args()

    oracle = Oracle(chosen.oracle)
    seed = random.randrange(1 << 30) if chosen.seed is None else chosen.seed
    ends = time.monotonic() + chosen.seconds
    print(f"Traversals here and on TinkerGraph for {chosen.seconds:g} s, from seed {seed}.")
    sums = Counter()
    while time.monotonic() < ends and sums["differ"] < chosen.differences:
        graph, traversals = made(seed)
        texts = [traversal.text() for traversal in traversals]
        for traversal, mine, theirs in zip(traversals, ours(graph, texts), oracle.ask(graph, texts), strict=True):
            if alike(traversal, mine, theirs):
                same = isinstance(mine, str) and isinstance(theirs, str)
                sums["errors of both" if same else "too much" if TOO_MUCH in (mine, theirs) else "same"] += 1
                continue
            if why := reason(traversal.text(), mine, theirs):
                sums[f"known: {why}"] += 1
                continue
            small, traversal = smallest(oracle, graph, traversal)
            text = traversal.text()
            mine, theirs = ours(small, [text])[0], oracle.ask(small, [text])[0]
            if why := reason(text, mine, theirs):
                sums[f"known: {why}"] += 1
                continue
            sums["differ"] += 1
            print(f"\nseed {seed}: {text}\n  graph   {json.dumps(small)}\n  here    {told(mine)}\n  there   {told(theirs)}",
                  flush=True)
        seed += 1
    print("\n" + ", ".join(f"{count:,} {what}" for what, count in sums.most_common()))
    sys.exit(1 if sums["differ"] else 0)


def told(answer):
    """An answer for people."""
    return f"error {answer}" if isinstance(answer, str) else answer


if __name__ == "__main__":
    main()
