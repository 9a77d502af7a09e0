"""Random graphs and random traversals, which most of the time fit what they are at.

    python traversals.py SEED COUNT

prints as many graphs, each with its traversals, from this seed and those after it: a line of JSON each.
"""

import json
import random
import re
import sys
from dataclasses import dataclass, replace

VERTEX_LABELS, EDGE_LABELS, KEYS = ("x", "y"), ("a", "b"), ("n", "m", "s")
NUMBERS, WORDS, NAMES = ("0", "1", "2", "3", "-1"), ("red", "green", "blue", ""), ("A", "B")

# In all lists `#` stands for a traversal, $k for a key, $n for a number, $l for one as wide as those of the graph, $w for a word, $v and $e for a label of vertices
# and of edges, $p for a predicate of numbers, $c of a count, $a and $g for names
# of steps and of side effects, @0 and @1 for the ids of vertices. What depends on the order of what comes is in the last of
# them alone, which follow an order and keep it: their results are compared in order.
OF_VERTICES = """
out() in() both() out('$e') in('$e') both('$e') both('a','b') outE() inE() bothE() outE('$e') inE('$e') values('$k') values()
values('n','s') properties() properties('$k') valueMap() valueMap('$k') label() id() has('$k') has('$k',$p)
has('$v','n',$p) hasLabel('$v') hasNot('$k') hasId(@1) elementMap('$k') has('s','$w') has('s',within('$w','$w'))
has('s',startingWith('$w')) dedup().by(label).count() dedup().by('$k').count() group().by(label).by(count()) groupCount().by('n')
group().by('n').by(values('m').sum()) groupCount().by(label) group().by(label).by(out().count()) where(out('$e').count().is($c))
where(outE('$e')) project('a','b').by('n').by(out().count()) project('a').by(values('$k').fold().count(local))
choose(hasLabel('$v'),#,#) choose(out(),#,#) choose(label).option('x',#).option('y',#) optional(out()) sideEffect(out())
bothE().otherV() outE().inV() inE().outV() repeat(out()).times(2) repeat(both()).times(2) repeat(out('$e')).emit().times(2)
emit().repeat(in()).times(2) repeat(out().simplePath()).times(3) times(2).repeat(out()) repeat(out()).times(3).dedup()
emit(hasLabel('$v')).repeat(out()).times(2) repeat(out()).emit(has('n',$p)).times(2) until(has('n',$p)).repeat(out().simplePath())
repeat(out().simplePath()).until(has('n',$p)) local(out().count()) local(out().dedup()) aggregate('$g').out().where(without('$g')) dedup('$a').count()
path().by('n') path().by(label) simplePath() cyclicPath() both().both().dedup().count() group('$g').by(label) group('$g').by('n').by(count()).cap('$g') out().in().dedup()
as('$a').out().where(neq('$a')) as('$a').out().as('$a').select(all,'$a') as('A').out().as('B').select('A','B').by('n')
match(__.as('A').out().as('B'),__.as('B').in('$e').as('C')).select('A','C') where(__.as('$a').out()) valueMap('n','s').select('n')
order().by('n').by('s').by(id).limit(2) order().by('m',desc).by(id).range(1,3) aggregate('$g').by('n').cap('$g').count(local)
property('n',$l).count() properties('$k').key() properties().hasKey('$k').value() properties('n').hasValue($p) values('n').sum()
""".split()
OF_EDGES = """
inV() outV() bothV() values('w') has('w',$p) hasLabel('$e') label() properties() valueMap() inV().label() otherV()
where(inV().has('n',$p)) group().by(label).by(values('w').sum()) groupCount().by('w') dedup().by(label).count() project('w').by('w')
dedup().by(inV()).count() has('$e','w',$p) path().by('w') elementMap('w') where(outV().as('$a')) groupCount().by(outV())
""".split()
OF_VALUES = """
is($p) is(gt($n)) sum() min() max() mean() count() dedup() groupCount() fold().count(local) math('_+1') is(typeOf(GType.NUMBER))
is(within($n,$n)) is(neq($n)) is(without($n)) identity() constant($l) fold().sum(local) fold().max(local) is(typeOf(GType.STRING))
asString() length() toUpper() concat('$w') asNumber() is(eq('$w')) group().by(identity()).by(count()) fold().dedup(local).count(local)
""".split()
OF_ANYTHING = """
count() dedup() identity() fold().count(local) limit(0) as('$a') select('$a') select('A','B') where('A',neq('B')) where(eq('$a'))
where(#) not(#) and(#,#) or(#,#) map(#.fold().count(local)) flatMap(#) local(#) union(#,#) union(identity(),#) coalesce(#,#) optional(#) path()
groupCount() group().by(#.count()).by(count()) group().by(count()) barrier() choose(#,#,#) map(#).count() path().count(local)
fold().unfold() aggregate('$g').cap('$g').count(local) sideEffect(#) dedup('$a').count() simplePath() none() constant('$w')
filter(#) unfold() flatMap(#).count() project('p').by(#.count()) union(#,#).dedup() where(#.count().is($c)) select('$a').by(#.count())
identity().as('$a') repeat(#).times(2) repeat(#).emit().times(2) project('p','q').by(#.count()).by(#.fold().count(local)) group().by(#.count()).by(#.count())
dedup().by(#.count()).count() where('A',eq('B')).by(#.count()) choose(#.count()).option($n,#).option(none,#) limit(1).count() tail(1).count() skip(1).count()
aggregate('$g').by(#.count()).cap('$g').unfold() order().by(#.count()).count() map(#.fold()).count(local) index().unfold()
""".split()
OF_ORDERED = """
choose(#,#,#) choose(has('n',$p),#,#) choose(values('n')).option($n,#).option(none,#) choose(label).option('x',#).option('y',#)
choose(hasLabel('$v'),#) coalesce(#,#) coalesce(#,constant('$w')) optional(#) union(#,#) union(identity(),#) union(#,#,constant('$w'))
local(#) local(union(#,#)) flatMap(#) flatMap(union(#,#)) map(#) map(coalesce(#,#)) branch(label).option('x',#).option(any,#) where(#) not(#)
or(#,#) filter(#) sideEffect(#) as('$a') dedup() skip(1) limit(3) range(1,4) tail(3) barrier() fold().unfold() union(limit(2),#)
repeat(#).times(1) path().by(id).by(id).count(local) project('p').by(#.count()) order().by(id) match(__.as('A').identity().as('B')).select('B')
""".split()
#: Traversals within those: at most one result of a traverser, which TinkerGraph finds in no other order.
ONE_OF_VERTEX = """
values('$k') has('n',$p) hasLabel('$v') identity() constant('$w') id() label() has('s','$w') values('n').is($p) out().count()
has('$k').values('$k') local(out('$e').count()) coalesce(values('$k'),constant('$w')) choose(has('n',$p),identity(),constant($l))
optional(values('$k')) valueMap('$k').count(local)
""".split()
PREDICATES = """
gt($n) lt($n) gte($n) lte($n) eq($n) neq($n) between($n,$n) inside($n,$n) outside($n,$n) within($n,$n) without($n)
gt($n).and(lt($n)) lt($n).or(gt($n)) not(gt($n)) not(within($n,$n))
""".split()
COUNTED = ("gt(1)", "lt(2)", "gte(1)", "lte(1)", "eq(0)", "eq(1)", "neq(0)", "between(1,3)", "within(0,2)", "without(1)")
STARTS = ["V()"] * 6 + """
E() V(@0) V(@0,@1) V().hasLabel('$v') V().has('n',$p) V().has('$v','s','$w') E().hasLabel('$e') V().has('$v','n',$p) inject($l,$l)
""".split()
FILLED = {"k": KEYS, "n": NUMBERS, "l": [f"{number}L" for number in NUMBERS], "w": WORDS, "v": VERTEX_LABELS, "e": EDGE_LABELS, "p": PREDICATES,
          "c": COUNTED, "a": NAMES, "g": ("G", "H")}
#: What a traverser is at behind a step that moves it, by how the step ends; behind others where it was.
MOVES = [
    (r"(out|in|both)E\([^)]*\)$", "edge"),
    (r"((out|in|both|other)V|out|in|both)\([^)]*\)$", "vertex"),
    (r"\b(values|id|label|count|sum|min|max|mean|key|value|math|constant|length|asString|toUpper|concat)\([^()]*\)$", "value"),
]
DEPTH_MAX, STEPS_MAX, STEPS_WITHIN_MAX = 2, 6, 3
#: Traversals asked on one graph.
TEXTS = 40
#: How many of the traversals are ordered, and how such a one begins: by ids, which differ.
ORDERED, ORDERED_START, ORDERED_STEPS_MAX = 0.25, "g.V().order().by(id)", 3


@dataclass(frozen=True)
class Step:
    """A step, and the traversals in place of its `#`."""

    pattern: str
    within: tuple["Traversal", ...] = ()

    def text(self):
        """The step as text."""
        text = self.pattern
        for child in self.within:
            text = text.replace("#", child.text(), 1)
        return text


@dataclass(frozen=True)
class Traversal:
    """A start, `g.V()` or `__`, and steps."""

    start: str
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, chance):
        """A random one."""
        if chance.random() < ORDERED:
            return cls(ORDERED_START, ordered_steps(chance))
        start = filled(chance.choice(STARTS), chance)
        kind = {"V": "vertex", "E": "edge", "i": "value"}[start[0]]
        return cls(f"g.{start}", steps(chance, kind, DEPTH_MAX, STEPS_MAX))

    def text(self):
        """The traversal as text."""
        return ".".join([self.start, *(step.text() for step in self.steps)])

    def is_ordered(self):
        """Whether its results come in an order that is promised."""
        return self.start == ORDERED_START

    def smaller(self):
        """Those with a step less, or with a smaller traversal within a step."""
        for at, step in enumerate(self.steps):
            rest = self.steps[:at], self.steps[at + 1:]
            if len(self.steps) > 1:
                yield replace(self, steps=rest[0] + rest[1])
            for child in step.within:
                # What is within in place of the step.
                yield replace(self, steps=rest[0] + child.steps + rest[1])
            for place, child in enumerate(step.within):
                for less in child.smaller():
                    within = (*step.within[:place], less, *step.within[place + 1:])
                    yield replace(self, steps=(*rest[0], replace(step, within=within), *rest[1]))


def steps(chance, kind, depth, most):
    """Some steps; most of them fit what the one before leads to."""
    chosen = []
    for _ in range(chance.randint(1, most)):
        fitting = {"vertex": OF_VERTICES, "edge": OF_EDGES, "value": OF_VALUES}[kind]
        pattern = chance.choice(fitting if chance.random() < 0.7 else OF_ANYTHING)
        children = pattern.count("#")
        if children and depth == 0:
            continue
        within = tuple(Traversal("__", steps(chance, kind, depth - 1, STEPS_WITHIN_MAX)) for _ in range(children))
        chosen.append(Step(filled(pattern, chance), within))
        kind = next((to for ends, to in MOVES if re.search(ends, pattern)), kind)
    return tuple(chosen) or (Step("identity()"),)


def ordered_steps(chance):
    """Some steps that keep the order of vertices; the last of them may lead to what no step after it takes."""
    chosen = []
    for _ in range(chance.randint(1, ORDERED_STEPS_MAX)):
        pattern = chance.choice(OF_ORDERED)
        ones = [Step(filled(chance.choice(ONE_OF_VERTEX), chance)) for _ in range(pattern.count("#"))]
        chosen.append(Step(filled(pattern, chance), tuple(Traversal("__", (one,)) for one in ones)))
    return tuple(chosen)


def filled(pattern, chance):
    """The pattern with its letters filled in."""
    while found := re.search(r"\$(\w)", pattern):
        pattern = pattern[:found.start()] + chance.choice(FILLED[found[1]]) + pattern[found.end():]
    return pattern


def graph(chance):
    """Vertices and edges, some with properties, some parallel, some loops."""
    def some(properties):
        return {key: value() for key, value in properties.items() if chance.random() < 0.7}

    def number():
        return int(chance.choice(NUMBERS))

    vertices = [{"label": chance.choice(VERTEX_LABELS),
                 "properties": some({"n": number, "m": number, "s": lambda: chance.choice(WORDS)})}
                for _ in range(chance.randint(1, 6))]
    ends = range(len(vertices))
    edges = [{"label": chance.choice(EDGE_LABELS), "from": chance.choice(ends), "to": chance.choice(ends),
              "properties": some({"w": number}) | {"e": place}} for place in range(chance.randint(0, 9))]
    return {"vertices": vertices, "edges": edges}


def made(seed):
    """The graph of a seed, and its traversals."""
    chance = random.Random(seed)
    return graph(chance), [Traversal.of(chance) for _ in range(TEXTS)]


def main():
    first, count = map(int, sys.argv[1:])
    for seed in range(first, first + count):
        on, traversals = made(seed)
        texts = [{"text": traversal.text(), "ordered": traversal.is_ordered()} for traversal in traversals]
        print(json.dumps(on | {"seed": seed, "traversals": texts}))


if __name__ == "__main__":
    main()
