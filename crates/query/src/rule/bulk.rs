//! Merging between hops: `out().out().count()` walks on from each vertex once, however many walks lead there.
//!
//! A merge holds rows back until all are there. So it stands only where a barrier further on waits for all of them anyway,
//! and where nothing between could tell one row that stands for three from three rows.

use crate::plan::function::Function;
use crate::plan::operator::{ExpandTo, Operator};
use crate::plan::scalar::Scalar;

pub(super) fn apply(operators: &mut Vec<Operator>) {
    for at in (1..operators.len()).rev() {
        let is_hop = matches!(operators[at], Operator::Expand(_));
        if is_hop && follows_a_hop(&operators[..at]) && is_awaited(&operators[at..]) {
            operators.insert(at, Operator::Bulk);
        }
    }
}

/// Whether a barrier waits for everything that passes here, and nothing before it minds who comes together.
pub(super) fn is_awaited(operators: &[Operator]) -> bool {
    let first = operators.iter().find(|operator| !is_blind(operator));
    matches!(first, Some(Operator::Reduce(_) | Operator::Group(_) | Operator::Order(_) | Operator::Top(..)))
}

/// Whether several walks may lead to the same vertex here: the last thing that moved was a hop.
fn follows_a_hop(operators: &[Operator]) -> bool {
    let moved = operators
        .iter()
        .rev()
        .find(|operator| !matches!(operator, Operator::Filter(_) | Operator::Where { .. }));
    match moved {
        Some(Operator::Expand(expand)) => matches!(expand.to, ExpandTo::Neighbors),
        Some(Operator::EdgeEnds(_)) => true,
        _ => false,
    }
}

/// Whether it does the same with one row that stands for several as with several rows, and asks for none before all came.
fn is_blind(operator: &Operator) -> bool {
    if operator.parts().iter().any(|(_, of)| of.gathers()) {
        return false;
    }
    match operator {
        Operator::Expand(_)
        | Operator::EdgeEnds(_)
        | Operator::Filter(_)
        | Operator::Where { .. }
        | Operator::Properties { .. }
        | Operator::Unfold
        | Operator::Dedup { .. }
        | Operator::Bulk => true,
        Operator::As(_) => true,
        Operator::Map(function) => !matches!(function, Function::Scalar(Scalar::Sample(_))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::{Expand, Reducer, Scan};
    use evergraph_graph::id::Direction;

    fn hop() -> Operator {
        Operator::Expand(Expand::new(Direction::Out, None, ExpandTo::Neighbors))
    }

    fn count() -> Operator {
        Operator::Reduce(Reducer::Count)
    }

    #[test]
    fn hops_that_a_barrier_waits_for_are_merged_between() {
        let mut operators = vec![Operator::Vertices(Scan::default()), hop(), hop(), hop(), count()];
        apply(&mut operators);
        assert_eq!(
            operators,
            [
                Operator::Vertices(Scan::default()),
                hop(),
                Operator::Bulk,
                hop(),
                Operator::Bulk,
                hop(),
                count()
            ]
        );
    }

    #[test]
    fn a_limit_is_not_kept_waiting() {
        let mut operators = vec![hop(), hop(), Operator::Range { skip: 0, limit: 3 }, count()];
        let before = operators.clone();
        apply(&mut operators);
        assert_eq!(operators, before);
    }
}
