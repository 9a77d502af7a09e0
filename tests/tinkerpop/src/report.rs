//! Report: how far we are, as a line and as `docs/gremlin.md`.

use crate::calls::{is_of_g_tran, used};
use crate::exceptions::{CLUSTER, exceptions};
use crate::jar::RELEASE;
use crate::outcome::{Outcome, Tally};
use crate::ratchet;
use crate::run::Ran;
use crate::target::RequestForm;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The sums, in three lines.
#[must_use]
pub fn sum(ran: &[Ran]) -> String {
    let line = |tally: Tally| {
        let Tally { passed, failed, not_implemented, .. } = tally;
        format!(
            "passed {} of {}, failed {}, not implemented {}",
            thousands(passed),
            thousands(tally.all()),
            failed,
            thousands(not_implemented)
        )
    };
    let all: Tally = ran.iter().map(|ran| &ran.outcome).collect();
    format!(
        "{}; unsupported {}\nwith G-Tran's 48 steps alone: {}",
        line(all),
        all.unsupported,
        line(of_g_tran(ran))
    )
}

fn of_g_tran(ran: &[Ran]) -> Tally {
    ran.iter().filter(|ran| is_of_g_tran(&ran.case.scenario)).map(|ran| &ran.outcome).collect()
}

/// Why scenarios don't pass, the most frequent reasons first, with some names each. Of what isn't implemented, all that
/// a scenario needs and that no scenario passes with.
#[must_use]
pub fn reasons(ran: &[Ran]) -> String {
    const NAMES: usize = 4;
    let passed = ran.iter().filter(|ran| ran.outcome == Outcome::Passed);
    let there: BTreeSet<Box<str>> = passed.flat_map(|ran| used(&ran.case.scenario)).collect();
    let missing: BTreeSet<&str> = ran.iter().filter_map(missing_step).collect();
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for ran in ran {
        let reason = match &ran.outcome {
            Outcome::Failed(why) => format!("failed: {}", without_place(why)),
            Outcome::NotImplemented(what) => {
                let used = used(&ran.case.scenario);
                let needed = used.iter().filter(|name| missing.contains(&***name) && !there.contains(*name));
                let needed = needed.map(AsRef::as_ref).chain(missing_step(ran));
                let needed: BTreeSet<&str> = needed.collect();
                match needed.len() {
                    0 => format!("not implemented: {}", without_place(what)),
                    _ => format!("not implemented: {}", Vec::from_iter(needed).join(", ")),
                }
            }
            _ => continue,
        };
        by_reason.entry(reason).or_default().push(&ran.case.name);
    }
    let mut reasons: Vec<_> = by_reason.into_iter().collect();
    reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let mut text = String::new();
    for (reason, names) in reasons {
        let some = names.iter().take(NAMES).copied().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{:5}  {reason}\n       {some}", names.len());
    }
    text
}

/// The step that the compiler stopped at.
fn missing_step(ran: &Ran) -> Option<&str> {
    match &ran.outcome {
        Outcome::NotImplemented(what) => without_place(what).split_once("() ").map(|(step, _)| step),
        _ => None,
    }
}

/// A reason without `line 1, column 7: `, so that equal ones are counted together.
fn without_place(why: &str) -> &str {
    why.strip_prefix("line ").and_then(|rest| rest.split_once(": ")).map_or(why, |(_, rest)| rest)
}

/// What a page says before its figures.
const PREFACE: &str = "\
# Gremlin: what is supported

<!-- `make tinkerpop` writes this page: change tests/tinkerpop/src/report.rs instead. -->

Gremlin queries run from Rust (`db.gremlin(text)`: see the module `evergraph::gremlin`), from Python (`db.query(text)`: see
the guide) and with the command `evergraph query DB TEXT`. This page says how much of Gremlin is supported, and where
Evergraph differs from TinkerPop.

Apache TinkerPop tests its own graphs with 2,061 scenarios in Gherkin; its own runner cannot run 11 of them. `make tinkerpop`
runs them on Evergraph, from the jar gremlin-test RELEASE. Each runs in an embedded in-memory database, with batches of 1, 3
and 1,024 rows, which must make no difference. CI checks that a scenario that passed once never fails again
(`tests/tinkerpop/passed.txt`).

The runner differs from TinkerPop's in four ways. Ids are Evergraph's own, so scenarios that choose ids fail. An element as a
parameter is its id. Several values of one key of a vertex become one list when a graph is loaded. If a scenario expects
vertices with several names (`@MultiProperties`) or properties with properties (`@MetaProperties`), the labels that it adds
are declared accordingly.

## Several values of a key

The type of a property decides how many values of its key a vertex has. If the type is `list` or `set`, each element is a
property of its own: `values('k')` returns all of them, `has('k', v)` matches any of them, `property(list, 'k', v)` adds one,
and `property('k', v)` adds one as the type prescribes; with a collection and no cardinality it replaces them all. A property
of any other type has one value, and a list in a property of type `any` is that one value. A property without a type gets one
from its first write: `list` or `set` from that cardinality, `any` from a collection that is one value. Properties of edges
have one value.

## Properties of properties

Each value of a vertex property can have properties of its own (meta-properties), if the schema declares them: call
`declare_meta_properties(\"Person\", \"name\")` once in a transaction; it applies to new and existing vertices. Then
`property('name', 'Ada', 'since', 1815)` writes them with the value, and a property is an element like any other:
`properties('name').has('since', 1815)`, `.values('since')`, `.valueMap()`, `.property('since', 1816)`,
`.properties('since').drop()`. Writing a meta-property without that declaration is an error that says so. Meta-properties
belong to their value: setting or removing the value removes them, also outside Gremlin. Two transactions that change a value
or its meta-properties at the same time conflict. Edge properties and meta-properties have no meta-properties. Indexes do not
cover them, and exports leave them out. Here too, a null means no value: writing a null removes the meta-property.

## Elements as arguments

A driver may send a vertex or an edge that it received as an argument. It stands for its id in `V`, `E`, `hasId`, `from`, `to`, `mergeV`,
`mergeE`, `option`, `call` and `with`, which find it by that, and in `inject`, which returns the id. Everywhere else, as in `is(v)` and
`P.eq(v)`, it is refused: there an id would be compared with elements, and equal none.

## Order, and numbers of equal value

An order established by `order()`, `unfold()` or the items of `inject()` is kept: `union`, `choose`, `branch`, `coalesce`,
`optional`, `local`, `flatMap`, `map` and `match` return all results of one row before those of the next. If an option of the
first three has a barrier, such as `count()`, `order()` or `dedup()`, each option runs to its end before the next one, as in
TinkerPop. `repeat()` returns loop after loop, each in order; equal rows of a loop become one row at the position of the
first.

`dedup()`, `group()`, `groupCount()`, `intersect()`, `difference()`, `disjunct()`, `merge()` and sets treat numbers of equal
value as the same, whatever their types: the `int` 27, the `long` 27 and 27.0. A number that is written to a property is
stored in the property's type if that type holds it exactly, and refused otherwise.

## Deleting, writing and limits

`drop()` deletes only after all elements to delete have been found: `g.V(hub).both().drop()` deletes all neighbours, even if
the hub is one of them. If a nested traversal deletes, as in `sideEffect(out().drop())`, it runs for one row after the other,
after all these rows have arrived, and sees the deletions of the rows before. After a write, `limit()` and `timeLimit()` end
it: `addV().limit(1)` adds one vertex. The number of rows in a batch therefore makes no difference.

## Profile, explain and options

`profile()` at the end returns a map with the figures of each step, under the keys of TinkerPop's metrics in GraphSON;
`profile('x')` does so if `cap('x')` follows. The steps are those of Evergraph's plan. `explain()` at the end returns that
plan as text, and does not run the query. `timeLimit(n)` starts with the first traverser that arrives, and anew for each
traverser of the enclosing step. Options without a meaning in Evergraph are ignored, whether set by `with(key, value)` or by
`OptionsStrategy`. Two options have a meaning: `evaluationTimeout`, and `strict`. `g.with('strict')` refuses a label, an edge
type or a property that the graph does not have; otherwise these only get a note.

## Concurrent merges

If two transactions `mergeV` the same vertex at the same time at the level *serializable*, one of them fails with a conflict;
when it is retried, it finds the vertex that the other added. At the level *snapshot*, the default, neither sees the other's
vertex and both add one, unless one of the properties has a unique index: then the second transaction fails. `mergeE` behaves
in the same way. A null in a map stands for a missing property.

## Algorithms

`pageRank()`, `peerPressure()`, `connectedComponent()` and `shortestPath()` need no graph computer: they run on the graph as
the query sees it, including its own writes and `SubgraphStrategy`, with the kernels of `evergraph run`. The first three
compute a value for every vertex, which later steps read by its key:
`g.V().pageRank().order().by('gremlin.pageRankVertexProgram.pageRank', desc)`. Nothing is written to the graph, unless a step
does so: `.property('rank', __.values('r'))`. Their options are TinkerPop's: `with(PageRank.edges, __.outE('knows'))`,
`PageRank.times`, `PageRank.propertyName`, `ShortestPath.target`, `ShortestPath.distance` ... They differ from TinkerPop as
follows. They are allowed only in the query itself, not in a nested traversal. A component is named by its least id, and
ignores the direction of edges. Among equal votes the least id wins. A computed value is read by `values`, `has`, `by` and in
maps, while `properties()` returns only stored properties. Distances must not be negative. A query gathers all edges first;
for a single answer on a large graph, such as one shortest path, `evergraph::algorithms::shortest_path` reads less.

`g.call('leiden', [resolution: 2.0])` runs an algorithm of `evergraph run`, by its name with underscores and with its
parameters, on the whole graph or the part that `labels` and `types` name, including the transaction's own writes. A vertex
is given by `with('source', __.V().has('name', 'marko'))` or by its id. Each row is a map: `[vertex: v[3], community: 0]`.
`g.call('--algorithms').with('verbose')` lists the algorithms. A strategy that shows a part of the graph does not apply to
them, so a query that has one is refused. The run counts against the time and memory limits of the query: it copies the
edges of its part, 48 bytes for each.

## Services and files

`call('name')` calls a service of the application: in Rust, an implementation of `evergraph::query::service::Service` that is
passed to the query with `.services(...)`; in Python, [a function](guide/queries.md#services-your-own-functions) that is
passed as `query(..., services=...)`. `g.call()` lists them. The algorithms are the only built-in services.

`g.io('graph.json').read()` imports a GraphSON or GraphML file, and `.write()` exports one, as `evergraph import` and
`evergraph export` do; the query can do nothing else. A program must allow it, by `.files(true)` in Rust and `files=True` in
Python, because a query from outside should not access files of the machine. Gryo, a format of Java's own, is not supported.
";

/// The page `docs/gremlin.md`: sums, a table by step, and all that fail, with the reason. What need not pass
/// elsewhere is in the two texts.
#[must_use]
pub fn page(ran: &[Ran], server_exceptions: &str, cluster_exceptions: &str) -> String {
    let mut page = PREFACE.replace("RELEASE", RELEASE);
    let all: Tally = ran.iter().map(|ran| &ran.outcome).collect();
    page += "\n| scenarios | passed | failed | not implemented | all |\n|---|--:|--:|--:|--:|\n";
    page += &row("all that can be run", all);
    page += &row("with G-Tran's 48 steps alone", of_g_tran(ran));
    page += &on_server(ran, server_exceptions);
    page += &on_cluster(ran, cluster_exceptions);
    page += "\n## By step\n\nA scenario counts for what TinkerPop tests with it, not for each step that it uses.\n\n";
    page += "| step | passed | failed | not implemented | all |\n|---|--:|--:|--:|--:|\n";
    for (step, tally) in by_step(ran) {
        page += &row(&step, tally);
    }
    page += "\n## With G-Tran's steps alone, and not passed\n\n| scenario | why |\n|---|---|\n";
    for ran in ran.iter().filter(|ran| is_of_g_tran(&ran.case.scenario)) {
        if let Outcome::Failed(why) | Outcome::NotImplemented(why) = &ran.outcome {
            let _ = writeln!(page, "| `{}` | {} |", ran.case.name, cell(why));
        }
    }
    page += "\n## Failed\n\nWithout those that need what isn't implemented.\n\n";
    page += "| scenario | why |\n|---|---|\n";
    for ran in ran {
        if let Outcome::Failed(why) = &ran.outcome {
            let _ = writeln!(page, "| `{}` | {} |", ran.case.name, cell(why));
        }
    }
    page += "\n## Not implemented\n\n| what the compiler says | scenarios |\n|---|--:|\n";
    for (what, count) in not_implemented(ran) {
        let _ = writeln!(page, "| {} | {count} |", cell(what));
    }
    page
}

/// What is said of servers before the figures.
const ON_SERVER: &str = "
## On a server

`make tinkerpop-server` runs the same scenarios against a server, over WebSockets, in the three forms in which drivers send
requests; the results are compared by the same code. CI checks that all that passes embedded passes in each form, but for the
exceptions in `tests/tinkerpop/server_exceptions.txt`: those that need services of an application or files of the machine,
which a server does not offer, and what a form cannot express.

| form of requests | passed | exceptions |
|---|--:|--:|
";

fn on_server(ran: &[Ran], server_exceptions: &str) -> String {
    let mut text = ON_SERVER.to_owned();
    let passed = ratchet::text(ran);
    let passed = ratchet::names(&passed).len();
    for form in RequestForm::ALL {
        let exceptions = exceptions(server_exceptions, form.name()).len();
        let (passes, name) = (thousands(passed.saturating_sub(exceptions)), form.name());
        let _ = writeln!(text, "| {name} | {passes} | {exceptions} |");
    }
    text
}

/// What is said of clusters before the exceptions.
const ON_CLUSTER: &str = "
## On a cluster

`make tinkerpop-cluster` runs the same scenarios on [clusters](guide/cluster.md) of three nodes in one process, of whose
partitions one node keeps a third. CI checks that all that passes embedded passes there, but for these exceptions
(`tests/tinkerpop/cluster_exceptions.txt`); PASSED pass.

| scenario | why it is an exception |
|---|---|
";

fn on_cluster(ran: &[Ran], cluster_exceptions: &str) -> String {
    let (passed, exceptions) = (ratchet::text(ran), exceptions(cluster_exceptions, CLUSTER));
    let passes = ratchet::names(&passed).len().saturating_sub(exceptions.len());
    let mut text = ON_CLUSTER.replace("PASSED", &thousands(passes));
    for (name, why) in exceptions {
        let _ = writeln!(text, "| `{name}` | {} |", cell(why));
    }
    text
}

fn row(name: &str, tally: Tally) -> String {
    let Tally { passed, failed, not_implemented, .. } = tally;
    let [passed, failed, missing, all] = [passed, failed, not_implemented, tally.all()].map(thousands);
    format!("| {name} | {passed} | {failed} | {missing} | {all} |\n")
}

/// The scenarios of each `@StepXxx`, by its name; those without such a tag by their file.
fn by_step(ran: &[Ran]) -> BTreeMap<String, Tally> {
    let mut by_step: BTreeMap<String, Tally> = BTreeMap::new();
    for ran in ran.iter().filter(|ran| ran.outcome != Outcome::Unsupported) {
        let tags = ran.case.scenario.tags.iter().filter_map(|tag| tag.strip_prefix("Step"));
        let step = tags.filter(|tag| !tag.starts_with("Class")).map(decapitalised).next();
        let step = step.unwrap_or_else(|| ran.case.file.clone());
        by_step.entry(step).or_default().add(&ran.outcome);
    }
    by_step
}

/// `AddE` is the tag of `addE`; one letter alone stays as it is: `V`.
fn decapitalised(name: &str) -> String {
    match name.split_at_checked(1) {
        Some((first, rest)) if !rest.is_empty() => first.to_lowercase() + rest,
        _ => name.to_owned(),
    }
}

/// What isn't there and how many scenarios meet it first, the most frequent first.
fn not_implemented(ran: &[Ran]) -> Vec<(&str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for ran in ran {
        if let Outcome::NotImplemented(what) = &ran.outcome {
            *counts.entry(without_place(what)).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// A text as a cell of a table, cut if it is long.
fn cell(text: &str) -> String {
    const CHARACTERS_MAX: usize = 240;
    let mut cut: String = text.chars().take(CHARACTERS_MAX).collect();
    if cut.len() < text.len() {
        cut += " ...";
    }
    let mut cell = String::new();
    for character in cut.chars() {
        if matches!(character, '|' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '\\') {
            cell.push('\\');
        }
        cell.push(character);
    }
    cell
}

fn thousands(count: usize) -> String {
    if count < 1000 { count.to_string() } else { format!("{},{:03}", count / 1000, count % 1000) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gherkin::Scenario;
    use crate::run::Case;
    use std::sync::Arc;

    fn ran(tags: &[&str], outcome: Outcome) -> Ran {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let scenario = Arc::new(Scenario { name: "n".to_owned(), tags, steps: Vec::new() });
        Ran { case: Case { name: "n".to_owned(), file: "map/X".to_owned(), scenario }, outcome }
    }

    #[test]
    fn scenarios_count_for_their_step_and_those_for_nobody_not_at_all() {
        let failed = |why: &str| Outcome::Failed(why.to_owned());
        let all = [
            ran(&["StepClassMap", "StepAddE"], Outcome::Passed),
            ran(&["StepAddE"], failed("a|b")),
            ran(&["StepV"], Outcome::NotImplemented("line 1, column 2: x() isn't supported".to_owned())),
            ran(&["StepV"], Outcome::Unsupported),
            ran(&["StepClassMap"], Outcome::Passed),
        ];
        assert_eq!(by_step(&all).keys().collect::<Vec<_>>(), ["V", "addE", "map/X"]);
        let page = page(&all, "bytecode, GraphBinary\tn\tno services\n", "cluster\tn\tno files\n");
        for line in [
            "| all that can be run | 2 | 1 | 1 | 4 |",
            "| V | 0 | 0 | 1 | 1 |",
            "| addE | 1 | 1 | 0 | 2 |",
            "| `n` | a\\|b |",
            "| x() isn't supported | 1 |",
            "| text, GraphBinary | 1 | 0 |",
            "| bytecode, GraphBinary | 0 | 1 |",
            "| `n` | no files |",
        ] {
            assert!(page.lines().any(|other| other == line), "{line} in\n{page}");
        }
        assert!(
            sum(&all).starts_with("passed 2 of 4, failed 1, not implemented 1; unsupported 1\n"),
            "{}",
            sum(&all)
        );
        assert_eq!(thousands(2050), "2,050");
    }
}
