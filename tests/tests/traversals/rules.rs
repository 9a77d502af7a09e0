//! Rules: a plan gives the same after them as before, on random traversals of random graphs, in batches of any size, on
//! one thread and on several.

use crate::shown;
use evergraph::analysis::kernels::CompiledKernels;
use evergraph::graph::budget::Unlimited;
use evergraph::graph::cancel::CancelFlag;
use evergraph::query::execute::context::Graph;
use evergraph::query::execute::limits::{Charge, QueryLimits};
use evergraph::query::gremlin::bindings::Bindings;
use evergraph::query::gremlin::compile::{as_written, compile};
use evergraph::query::gremlin::parser::ParseLimits;
use evergraph::query::gremlin::read::read;
use evergraph::query::plan::operator::Plan;
use evergraph::query::service::Services;
use evergraph::query::session::run;
use evergraph::{Database, ErrorKind};
use proptest::prelude::*;

/// Steps whose answer doesn't depend on the order in which traversers come. `#` stands for a traversal.
const STEPS: [&str; 60] = [
    "out()",
    "in()",
    "both()",
    "out('a')",
    "in('b')",
    "both('a', 'b')",
    "outE()",
    "inE('a')",
    "bothE()",
    "inV()",
    "outV()",
    "otherV()",
    "bothV()",
    "values('n')",
    "values()",
    "properties('n')",
    "id()",
    "label()",
    "has('n')",
    "has('n', gt(1))",
    "has('n', within(1, 2))",
    "hasLabel('x')",
    "hasNot('n')",
    "has('w', lt(2))",
    "is(gt(1))",
    "dedup()",
    "dedup().by('n')",
    "identity()",
    "barrier()",
    "as('p')",
    "as('q')",
    "select('p')",
    "select('p', 'q')",
    "where('p', neq('q'))",
    "where(eq('p'))",
    "dedup('p')",
    "count()",
    "sum()",
    "min()",
    "max()",
    "groupCount()",
    "groupCount().by('n')",
    "order().by('n').count()",
    "simplePath()",
    "path()",
    "where(#)",
    "not(#)",
    "map(#)",
    "flatMap(#)",
    "local(#)",
    "optional(#)",
    "coalesce(#, #)",
    "union(#, #)",
    "choose(#, #, #)",
    "and(#, #)",
    "or(#, #)",
    "repeat(#).times(2)",
    "repeat(#).times(2).emit()",
    "until(#).repeat(#)",
    "map(#).groupCount()",
];

/// Most traversals are hops and filters: that is what rules are about.
const HOPS: usize = 26;

fn steps(depth: u32) -> BoxedStrategy<String> {
    let step = prop_oneof![3 => 0..HOPS, 2 => 0..STEPS.len()].prop_map(|number| STEPS[number].to_owned());
    let step = if depth == 0 {
        step.prop_filter("a traversal of its own depth", |step| !step.contains('#')).boxed()
    } else {
        let within = proptest::collection::vec(steps(depth - 1), 3);
        let filled = |(step, within): (String, Vec<String>)| {
            within.iter().fold(step, |step, of| step.replacen('#', &format!("__.{of}"), 1))
        };
        (step, within).prop_map(filled).boxed()
    };
    proptest::collection::vec(step, 1..6).prop_map(|steps| steps.join(".")).boxed()
}

/// Vertices of two labels, some with a number, and edges of two types, some parallel, some loops.
fn graph(vertices: &[(bool, Option<i32>)], edges: &[(usize, usize, bool, i32)]) -> Database {
    let db = crate::database();
    db.transact(|tx| {
        let mut all = Vec::new();
        for (is_x, number) in vertices {
            let number = number.map(|number| ("n", number.into()));
            all.push(tx.add_vertex(if *is_x { "x" } else { "y" }, number.as_slice())?);
        }
        for (from, to, is_a, weight) in edges {
            let [from, to] = [from, to].map(|at| all[at % all.len()]);
            tx.add_edge(from, if *is_a { "a" } else { "b" }, to, &[("w", (*weight).into())])?;
        }
        Ok(())
    })
    .unwrap();
    db
}

/// What a plan gives, in no order; nothing if that is more than the test has time for.
fn answers(
    plan: &Plan,
    db: &Database,
    batch_rows: usize,
    threads: usize,
) -> Option<Result<Vec<String>, String>> {
    let limits = QueryLimits { batch_rows, threads, memory_bytes: 8 << 20, ..QueryLimits::default() };
    let snapshot = db.snapshot();
    let charge = Charge::new(limits, CancelFlag::default(), &Unlimited);
    match run(plan, Graph::Read(&snapshot), charge, &Services::default(), &CompiledKernels)
        .and_then(|mut results| results.collect())
    {
        Ok(items) => {
            let mut found: Vec<String> = items.iter().map(shown).collect();
            found.sort();
            Some(Ok(found))
        }
        Err(error) if error.kind() == ErrorKind::Limit => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_gives_the_same_after_the_rules(
        vertices in proptest::collection::vec((any::<bool>(), proptest::option::of(0..3)), 1..6),
        edges in proptest::collection::vec((0..6_usize, 0..6_usize, any::<bool>(), 0..4), 0..10),
        first in proptest::sample::select(vec!["V()", "E()", "V().hasLabel('x')", "V(0)"]),
        rest in steps(2),
    ) {
        let db = graph(&vertices, &edges);
        let text = format!("g.{first}.{rest}");
        let query = read(&text, &ParseLimits::default(), &Bindings::new()).unwrap();
        let (Ok(plain), Ok(improved)) = (as_written(&query), compile(&query)) else { return Ok(()) };
        let Some(expected) = answers(&plain, &db, 1024, 1) else { return Ok(()) };
        for (batch_rows, threads) in [(1024, 1), (1, 2), (3, usize::MAX)] {
            let Some(found) = answers(&improved, &db, batch_rows, threads) else { continue };
            match (&expected, &found) {
                // Which of several mistakes is met first is nobody's promise.
                (Err(_), Err(_)) => {}
                _ => prop_assert_eq!(&found, &expected, "{} with batches of {}", text, batch_rows),
            }
        }
    }
}
