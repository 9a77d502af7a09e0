//! Rules: rewrite a plan into one that returns the same and reads less.
//!
//! | rule | before | after |
//! |---|---|---|
//! | `scan` | `V()`, then `has(...)` | one scan with its tests, which an index may answer |
//! | `slots` | `as('a')` that nobody asks for | nothing |
//! | `unroll` | `repeat(out()).times(2)` | `out().out()` |
//! | `hop` | `outE().inV()` | `out()`, unless somebody asks for paths |
//! | `top` | `order()`, then `limit(3)` | three rows wait, not all |
//! | `degree` | `out()`, then `count()` | the sum of degrees: no list is read |
//! | `parallel` | hops, then a count | parts of it on every thread, and their sum |
//! | `remote` | hops over several nodes, then a count | parts of it on every node, and their sum: when a query begins |
//! | `bulk` | `out().out()`, then a barrier | rows at one vertex merged between |
//!
//! Most rules see one traversal at a time; [`improve`] applies them to all within a plan, the innermost first.

mod bulk;
mod degree;
mod hop;
mod parallel;
pub(crate) mod remote;
mod scan;
mod slots;
mod top;
mod unroll;

use crate::plan::operator::{Operator, Plan, Traversal};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;

/// What is done to one traversal.
struct Rule {
    apply: fn(&mut Vec<Operator>),
    /// Whether a path is the same afterwards: it has an item for each step.
    keeps_paths: bool,
    /// Whether it makes rows one that stand for several.
    bulks: bool,
}

/// The rules for traversals, after `scan`, in the order that they are applied in.
const RULES: [Rule; 5] = [
    Rule { apply: |operators| top::apply(operators), keeps_paths: true, bulks: false },
    Rule { apply: unroll::apply, keeps_paths: true, bulks: false },
    Rule { apply: hop::apply, keeps_paths: false, bulks: false },
    Rule { apply: |operators| degree::apply(operators), keeps_paths: false, bulks: false },
    Rule { apply: bulk::apply, keeps_paths: false, bulks: true },
];

/// The plan after all rules, unless `stop` says to stop. Cost: a few passes over its operators.
///
/// # Errors
/// `cancelled`.
pub fn improve(mut plan: Plan, stop: &CancelFlag) -> Result<Plan> {
    slots::apply(&mut plan);
    let computed = plan.root.computed();
    plan.root.visit(&mut |traversal: &mut Traversal| scan::apply(&mut traversal.operators, &computed));
    let reads_paths = plan.reads_paths;
    // Rows with sacks are one only where a barrier says how their sacks are.
    let bulks = plan.bulks && plan.sack.is_none();
    plan.root.visit(&mut |traversal: &mut Traversal| {
        let fits = |rule: &&Rule| (rule.keeps_paths || !reads_paths) && (bulks || !rule.bulks);
        for rule in RULES.iter().filter(fits) {
            if !stop.is_cancelled() {
                (rule.apply)(&mut traversal.operators);
            }
        }
    });
    // Threads share no side effects and no sacks; writes see what was written before.
    if !reads_paths && !plan.writes && bulks && plan.side_effects.is_empty() {
        parallel::apply(&mut plan.root.operators);
    }
    stop.check()?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::Scan;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn whoever_stops_gets_no_plan() {
        let root = Traversal { operators: vec![Operator::Vertices(Scan::default())] };
        let plan = Plan { root, ..Plan::default() };
        let stop = CancelFlag::default();
        assert_eq!(improve(plan.clone(), &stop).map_err(|error| error.kind()), Ok(plan.clone()));
        stop.cancel();
        assert_eq!(improve(plan, &stop).map_err(|error| error.kind()), Err(ErrorKind::Cancelled));
    }
}
