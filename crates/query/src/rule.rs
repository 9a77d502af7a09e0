//! Rules: a plan becomes one that gives the same and reads less.
//!
//! | rule | before | after |
//! |---|---|---|
//! | `scan` | `V()`, then `has(...)` | one scan with its tests, which an index may answer |
//! | `came_from` | `outE()` and no `otherV()` anywhere | nobody remembers where an edge was reached from |
//! | `degree` | `out()`, then `count()` | the sum of degrees: no list is read |
//!
//! But for `came_from` a rule sees one traversal at a time; [`improve`] applies them to all within a plan, the innermost first.

mod came_from;
mod degree;
mod scan;

use crate::plan::operator::{Operator, Plan, Traversal};

/// What a rule does to one traversal.
type Rule = fn(&mut Vec<Operator>);

/// All rules, in the order that they are applied in.
const RULES: [(&str, Rule); 2] =
    [("filters into scans", scan::apply), ("counts from degrees", |operators| degree::apply(operators))];

/// The plan after all rules.
#[must_use]
pub fn improve(mut plan: Plan) -> Plan {
    came_from::apply(&mut plan.root);
    // A path has an item for each step, and so every step must be there.
    let reads_paths = plan.reads_paths;
    plan.root.visit(&mut |traversal: &mut Traversal| {
        for (name, rule) in RULES {
            if !reads_paths || name != "counts from degrees" {
                rule(&mut traversal.operators);
            }
        }
    });
    plan
}
