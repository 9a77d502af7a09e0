"""Queries beside TinkerGraph, JanusGraph, Neo4j and Ladybug, embedded: the same graph, the same questions, in turn.

What: on an R-MAT graph of `evergraph generate`, or on a graph of files (`--graph NAME=PATH`),

    walks       how many walks of 1 to 4 hops begin at a vertex; by both() too, beside those who know Gremlin
    reached     how many vertices a walk of exactly so many hops reaches
    friends     whom the most of a vertex' neighbours know that it doesn't
    scans       walks of two hops in all; vertices of many edges; a property filtered, summed, grouped, the largest

TinkerGraph and JanusGraph get the text that we get, by TinkerPop's own parser of the language
(`GremlinLangScriptEngine`); Neo4j and Ladybug get Cypher, written so that rows at one vertex are counted there: what a
knowing user would write, as their planners don't do it by themselves. Their plans are kept by the text; ours are made
anew each time. JanusGraph is on BerkeleyDB, a transaction a question, its caches as they are by default.

Each lives in a process that stays and gets requests in turn; ours is the Python package (`evergraph_worker.py`),
Ladybug's too (`ladybug_worker.py`), the others are Java programs (`jvm/`). One thread each. A request asks from several
vertices, and what stands in the table is the time of one question. The first rounds don't count. The script ends if an
answer differs.

Run it with `make bench-queries`. It lies if other programs are busy, and about graphs that don't fit the memory.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy

import graphs
import jvm_peers
import results
from evergraph_program import Evergraph
from tables import machine, markdown

HERE = Path(__file__).parent
TITLES = jvm_peers.TITLES | {"ladybug": "Ladybug"}
HOPS = (1, 2, 3, 4)
#: Questions of a request that begins at a vertex.
STARTS = 10
#: How Cypher calls the vertex that a question begins at.
BEGINS = {"neo4j": "MATCH (a0:Vertex) WHERE id(a0) = $start", "ladybug": "MATCH (a0:Vertex) WHERE a0.id = $start"}
#: Who gets our text, and what is called otherwise there: *vertex* is a word of JanusGraph's own.
GREMLIN = {"tinkergraph": {}, "janusgraph": {"'Vertex'": "'Node'"}}
#: How many of a vertex' edges leave it.
DEGREE = {"neo4j": "COUNT { (v)-[:EDGE]->() }", "ladybug": "COUNT { MATCH (v)-[:EDGE]->(:Vertex) }"}


class Question(NamedTuple):
    """A question in both languages; each gives one whole number. No Cypher where it means something else.

    Who answers it wrongly isn't asked.
    """

    name: str
    title: str
    gremlin: str
    cypher: str | None = None
    wrong: tuple[str, ...] = ()


def walks(hops, step="out"):
    """Walks of so many hops from a vertex."""
    hop = "MATCH (a{0})-[:EDGE]->(a{1}) WITH a{1}, {2} AS n{1}"
    rest = [hop.format(at - 1, at, f"sum(n{at - 1})" if at > 1 else "count(*)") for at in range(1, hops)]
    last = "MATCH (a{0})-[:EDGE]->() RETURN ".format(hops - 1) + (f"sum(n{hops - 1})" if hops > 1 else "count(*)")
    # Cypher sees a loop once in both directions, Gremlin twice.
    cypher = " ".join(["{begins}", *rest, last]) if step == "out" else None
    ways = "" if step == "out" else ", both ways"
    return Question(f"walks.{step}.{hops}", f"walks of {hops} hop{'s' * (hops > 1)}{ways}", f"g.V(start){f'.{step}()' * hops}.count()", cypher)


def reached(hops, step="out"):
    """Vertices that a walk of exactly so many hops reaches."""
    rest = [f"MATCH (a{at - 1})-[:EDGE]->(a{at}) WITH DISTINCT a{at}" for at in range(1, hops + 1)]
    cypher = " ".join(["{begins}", *rest, f"RETURN count(a{hops})"]) if step == "out" else None
    ways = "" if step == "out" else ", both ways"
    gremlin = f"g.V(start).repeat(__.{step}()).times({hops}).dedup().count()"
    return Question(f"reached.{step}.{hops}", f"vertices {hops} hop{'s' * (hops > 1)} away{ways}", gremlin, cypher)


FRIENDS = Question(
    "friends", "the ten whom most neighbours know",
    "g.V(start).aggregate('known').out().aggregate('known').out().where(P.without('known')).groupCount()"
    ".order(Scope.local).by(Column.values, Order.desc).limit(Scope.local, 10).select(Column.values).sum(Scope.local)",
)
#: What a scan of a property needs: made once, untimed.
DEGREES = Question(
    "degrees", "", "g.V().property('degree', __.out().count()).count()",
    "MATCH (v:Vertex) OPTIONAL MATCH (v)-[e:EDGE]->() WITH v, count(e) AS n SET v.degree = n RETURN count(v)",
)
SCANS = [
    Question("scan.two_hops", "all walks of two hops", "g.V().out().out().count()",
             "MATCH (:Vertex)-[:EDGE]->(b) WITH b, count(*) AS n MATCH (b)-[:EDGE]->() RETURN sum(n)"),
    Question("scan.degree", "vertices that more than 40 edges leave", "g.V().where(__.out().count().is(P.gt(40))).count()",
             "MATCH (v:Vertex) WHERE {degree} > 40 RETURN count(v)"),
    Question("scan.filter", "vertices by a property, a range", "g.V().has('Vertex', 'degree', P.gt(40)).count()",
             "MATCH (v:Vertex) WHERE v.degree > 40 RETURN count(v)"),
    Question("scan.sum", "a property summed", "g.V().hasLabel('Vertex').values('degree').sum()",
             "MATCH (v:Vertex) RETURN sum(v.degree)"),
    Question("scan.group", "vertices grouped by a property",
             "g.V().hasLabel('Vertex').groupCount().by('degree').count(Scope.local)",
             "MATCH (v:Vertex) WITH v.degree AS degree, count(*) AS n RETURN count(degree)"),
    Question("scan.top", "the hundred largest of a property",
             "g.V().hasLabel('Vertex').order().by('degree', Order.desc).limit(100).values('degree').sum()",
             "MATCH (v:Vertex) WITH v.degree AS degree ORDER BY degree DESC LIMIT 100 RETURN sum(degree)",
             # Ladybug 0.22 sums any hundred: it drops the order before a sum.
             ("ladybug",)),
]
FROM_A_VERTEX = [ask(hops, step) for step in ("out", "both") for ask in (walks, reached) for hops in HOPS]
NOTES = [
    "seconds of one question, text to answer; one thread each; ours from Python, with a snapshot, parsed and planned anew",
    "TinkerGraph and JanusGraph run the same text by TinkerPop's own parser; Neo4j and Ladybug get Cypher that counts "
    "rows at one vertex, and keep its plan",
    "JanusGraph is on BerkeleyDB's Java edition, a transaction a question, its caches as they are by default: pages "
    "are in memory, and what a transaction has read is forgotten at its end",
    "Cypher has no question where its walks are others: both ways it sees a loop once, Gremlin twice",
]


def asked_of(peer, question):
    """The text that this peer gets, if there is one for it."""
    if peer in GREMLIN:
        text = question.gremlin
        for ours, theirs in GREMLIN[peer].items():
            text = text.replace(ours, theirs)
        return text
    if question.cypher is None or peer in question.wrong:
        return None
    return question.cypher.replace("{begins}", BEGINS[peer]).replace("{degree}", DEGREE[peer])


class Contest(jvm_peers.Contest):
    """The graph, us and a peer, each with all edges."""

    def theirs(self):
        if self.peer == "ladybug":
            return self.child([sys.executable, HERE / "ladybug_worker.py", self.folder])
        return super().theirs()

    def starts(self):
        """Vertices that edges leave, drawn evenly."""
        leaving = numpy.unique(self.ends[0])
        return numpy.random.default_rng(7).choice(leaving, STARTS, replace=False).tolist()


def measure(contest, figures, questions):
    """All questions, in turn."""
    print(f"{contest.edges:,} edges, loaded by us and by {TITLES[contest.peer]}", file=sys.stderr, flush=True)
    pair = {"ours": contest.loaded(contest.ours("memory", 1)), "theirs": contest.loaded(contest.theirs())}
    settings = jvm_peers.settings_of(pair)
    starts = contest.starts()
    for question in questions:
        texts = {"ours": question.gremlin, "theirs": asked_of(contest.peer, question)}
        if texts["theirs"] is None:
            continue
        begins = starts if "start" in question.gremlin else [0]

        def ask(name):
            reply = jvm_peers.asked(pair[name], run="query", text=texts[name], starts=begins)
            return reply | {"seconds": reply["seconds"] / len(begins)}

        if question is DEGREES:
            ask("ours"), ask("theirs")
            continue
        done = contest.in_turn({name: partial(ask, name) for name in pair})
        ours, theirs = ({reply["said"] for reply in replies} for replies in done.values())
        if ours != theirs or len(ours) != 1:
            sys.exit(f"answers differ: {question.title}: {ours} is ours, {theirs} {TITLES[contest.peer]}'s")
        figures.add(question.name, question.title, *done.values(), settings=settings)


def main():
    parser = argparse.ArgumentParser(description=f"Evergraph's queries beside {', '.join(TITLES.values())}, embedded")
    parser.add_argument("program", type=Path, help="the built program evergraph, which makes the graph")
    parser.add_argument("jvm", type=Path, help="where Maven built jvm/: a folder a peer")
    parser.add_argument("--scale", type=int, default=12, help="2^N vertices with 16 edges each [12]")
    parser.add_argument("--graph", action="append", default=[], metavar="NAME=PATH",
                        help="a graph of files instead: a list of edges, or a folder of LDBC's; again for another")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count [5]")
    parser.add_argument("--warmups", type=int, default=2, help="rounds before, which don't [2]")
    parser.add_argument("--quick", action="store_true", help="scale 10, to see whether it works")
    parser.add_argument("--peers", default=",".join(TITLES), help="beside these, commas between [%(default)s]")
    parser.add_argument("--heap", default="4g", help="of each JVM [4g]")
    parser.add_argument("--seconds-max", type=int, default=300, help="the longest that a request may take [300]")
    parser.add_argument("--results", type=Path, help="put the figures into this results.json of `make bench`")
    chosen = parser.parse_args()
    chosen.jvm = chosen.jvm.resolve()
    # Nobody of a JVM may be there: this is where the others work, too.
    chosen.jvm.mkdir(parents=True, exist_ok=True)

    print(f"{Evergraph(chosen.program).version()}, heap {chosen.heap} of a JVM, {' '.join(jvm_peers.JAVA)}\n{machine()}")
    scale = 10 if chosen.quick else chosen.scale
    named = [each.split("=", 1) for each in chosen.graph] or [(f"rmat{scale}", None)]
    for name, path in named:
        # On a graph of files the questions from a vertex alone.
        questions = FROM_A_VERTEX if path else [*FROM_A_VERTEX, FRIENDS, DEGREES, *SCANS]
        for peer in jvm_peers.built(chosen):
            figures = jvm_peers.Figures(f"queries on {name}", peer, TITLES[peer])
            with ExitStack() as children:
                folder = Path(children.enter_context(tempfile.TemporaryDirectory(dir=chosen.jvm)))
                if path:
                    graph = graphs.of_files(Path(path))
                else:
                    graph = 2**scale, graphs.generated(Evergraph(chosen.program), folder, scale)
                contest = Contest(chosen, peer, graph, folder, children)
                measure(contest, figures, questions)
            print(f"\n{figures.section}. {contest.vertices:,} vertices, {contest.edges:,} edges; medians of "
                  f"{chosen.rounds} rounds after {chosen.warmups}, ms\n")
            head = ["", "ours", f"{TITLES[peer]}'s", "ours / theirs"]
            print(markdown(head, [row[:4] for row in figures.rows]), flush=True)
            for whose, said in figures.entries[0]["settings"].items():
                print(f"{whose}: {said}")
            if chosen.results:
                results.add(chosen.results, figures.section, figures.entries, NOTES)


if __name__ == "__main__":
    main()
