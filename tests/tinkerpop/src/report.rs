//! Report: how far we are, as a line and as `docs/gremlin.md`.

use crate::calls::{is_of_g_tran, used};
use crate::jar::RELEASE;
use crate::outcome::{Outcome, Tally};
use crate::run::Ran;
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
# Gremlin: how much of it is there

<!-- `make tinkerpop` writes this page: change tests/tinkerpop/src/report.rs instead. -->

Programs in Rust (`db.gremlin(text)`: see the module `evergraph::gremlin`) and Python (`db.query(text)`: see the guide) and the
command `evergraph query DB TEXT` ask in Gremlin. This page says how much of it is there.

Apache TinkerPop tests its own graphs with 2,061 scenarios in Gherkin, of which it can't run 11 itself. `make tinkerpop` runs
them on Evergraph, from the jar gremlin-test RELEASE: each in an embedded database in memory, with batches of 1, 3 and 1,024
rows, which must make no difference. A scenario that passed once may never fail again (`tests/tinkerpop/passed.txt`); CI
sees to it.

What differs from TinkerPop's runner: ids are Evergraph's own, so that scenarios which choose ids fail; an element as a
parameter is its id; several values of one key of a vertex become one list when a graph is loaded. Where a scenario takes it that
vertices may have several names (`@MultiProperties`) or properties may have properties (`@MetaProperties`), a schema says so
for the labels that such scenarios add.

## Several values of a key

The type of a property says how many values of its key a vertex has. Of type `list` or `set`, each element is a property of its
own: `values('k')` gives all, `has('k', v)` asks for any, `property(list, 'k', v)` adds one, and `property('k', v)` joins
them as the type says; with a collection and no cardinality it replaces them all. Of any other type there is one value, and a
list within a property of type `any` is that one value. A property without a type gets one by its first write: `list` or `set`
from that cardinality, `any` from a collection that is one value. Properties of edges have one value.

## Properties of properties

Each value of a key of a vertex can have properties of its own (meta-properties), where the schema asks for them:
`declare_meta_properties(\"Person\", \"name\")` in a transaction, once, for new and old vertices. Then
`property('name', 'Ada', 'since', 1815)` writes them with the value, and a property is an element among others:
`properties('name').has('since', 1815)`, `.values('since')`, `.valueMap()`, `.property('since', 1816)`,
`.properties('since').drop()`. Without that declaration writing one is an error that says so. They live and go with their value:
whoever sets or removes it leaves nothing known of it, by other means than Gremlin too; and of two transactions that
change a value or what is known of it at once, one meets a conflict. Edges' properties have none, and they have none themselves.
Indexes don't know them, and exports leave them out. A null is no value here either: it takes one away.

## Order, and numbers of equal value

An order that `order()`, `unfold()` or the items of `inject()` promise lasts: `union`, `choose`, `branch`, `coalesce`, `optional`, `local`,
`flatMap`, `map` and `match` give what becomes of one row before what becomes of the next. Where an option of the first three has a
barrier, such as `count()`, `order()` or `dedup()`, each option runs to its end before the next one, as in TinkerPop. `repeat()`
gives loop after loop, each in order; equal rows of a loop are one row that stands where the first of them stood.

Numbers of equal value are one in `dedup()`, `group()`, `groupCount()`, `intersect()`, `difference()`, `disjunct()`, `merge()` and sets,
whatever their types: the `int` 27, the `long` 27 and 27.0. A number that is written to a property is stored in the type of the
property if that holds it exactly, and refused otherwise.

## Deleting, writing and limits

`drop()` deletes once all that it deletes has been found: `g.V(hub).both().drop()` takes all neighbours with it, also where the hub
is one of them. Where a traversal within another deletes, as in `sideEffect(out().drop())`, it runs for one row after the
other, once all these rows have come, and sees what was deleted for those before. Behind a write, `limit()` and `timeLimit()` end it:
`addV().limit(1)` adds one vertex. So how many rows a batch has makes no difference.

## What a query says of itself

`profile()` at the end gives a map of what each step did, with the keys of TinkerPop's metrics in GraphSON; `profile('x')` does where
`cap('x')` follows. The steps are those of Evergraph's plan. `explain()` at the end gives that plan as a text, and nothing runs.
`timeLimit(n)` begins with the first traverser that comes, for each traverser of the step around anew. Options that mean nothing
here are ignored, whether `with(key, value)` or `OptionsStrategy` sets them; `evaluationTimeout` and `strict` mean something:
`g.with('strict')` refuses a label, an edge type or a property that the graph doesn't have, which only gets a note otherwise.

## Merging at the same time

Two transactions that `mergeV` the same vertex at once: at the level *serializable* one of them fails with a conflict, and run
again it finds what the other added. At the level *snapshot*, which is the default, neither sees the other's vertex, and both
add one, unless a unique index is on one of the properties: then the second fails. `mergeE` is alike. A null in a map stands
for a property that isn't there.

## Algorithms

`pageRank()`, `peerPressure()`, `connectedComponent()` and `shortestPath()` need no graph computer: they run on what the
query sees, own writes and `SubgraphStrategy` included, with the kernels that `evergraph run` has. The first three compute
something of every vertex, which later steps read by its key: `g.V().pageRank().order().by('gremlin.pageRankVertexProgram.pageRank', desc)`.
Nothing is written to the graph, unless a step does: `.property('rank', __.values('r'))`. Their options are TinkerPop's: `with(PageRank.edges, __.outE('knows'))`, `PageRank.times`,
`PageRank.propertyName`, `ShortestPath.target`, `ShortestPath.distance` ... What differs: they stand in the query itself, not in a
traversal within; a component is named by its least id, over edges whichever way they point; of equal votes the least id
counts; a computed value is read by `values`, `has`, `by` and in maps, while `properties()` gives what the graph has; distances
aren't negative. For one number of a large graph, such as a single shortest path, `evergraph::algorithms::shortest_path` reads less: a
query gathers all edges first.

## Services and files

`call('name')` calls a service of the application: in Rust, what implements `evergraph::query::service::Service` and is given to the
query with `.services(...)`. `g.call()` lists them. There are none but those.

`g.io('graph.json').read()` imports a file of GraphSON or GraphML, `.write()` exports one, as `evergraph import` and `evergraph export`
do; it is all that the query does. In a program only where `.files(true)` says so: a text from outside should not name
files of the machine. Gryo, which is Java's own, isn't read.
";

/// The page `docs/gremlin.md`: sums, a table by step, and all that fail, with the reason.
#[must_use]
pub fn page(ran: &[Ran]) -> String {
    let mut page = PREFACE.replace("RELEASE", RELEASE);
    let all: Tally = ran.iter().map(|ran| &ran.outcome).collect();
    page += "\n| scenarios | passed | failed | not implemented | all |\n|---|--:|--:|--:|--:|\n";
    page += &row("all that can be run", all);
    page += &row("with G-Tran's 48 steps alone", of_g_tran(ran));
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
        let page = page(&all);
        for line in [
            "| all that can be run | 2 | 1 | 1 | 4 |",
            "| V | 0 | 0 | 1 | 1 |",
            "| addE | 1 | 1 | 0 | 2 |",
            "| `n` | a\\|b |",
            "| x() isn't supported | 1 |",
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
