//! Merging between hops: `out().out().count()` continues from each vertex once, however many walks reach it.
//!
//! A merge holds rows back until all are there. So it stands only where a barrier further on waits for all of them anyway,
//! and where nothing between could tell one row that stands for three from three rows.
//!
//! Where a `dedup()` follows, how many walks lead to a vertex is nothing that anybody learns: each vertex goes on once, as soon
//! as it is met, in place of a merge.

use crate::plan::function::Function;
use crate::plan::operator::{ExpandTo, Operator, Test};
use crate::plan::predicate::Predicate;
use crate::plan::row_order::promised_before_each;
use crate::plan::scalar::Scalar;

/// Cost: one pass from the end, and a look back from each hop to what moved before it.
pub(super) fn apply(operators: &mut Vec<Operator>) {
    // Whether a set is made, and which barrier waits, behind what is left of `operators`.
    let (mut once, mut barrier) = (false, Barrier::None);
    let promised = promised_before_each(operators, false);
    let mut made = Vec::with_capacity(operators.len());
    while let Some(operator) = operators.pop() {
        let is_hop = matches!(operator, Operator::Expand(_));
        once = if keeps_sets(&operator) { once } else { operator == Operator::EACH_ONCE };
        barrier = if is_blind(&operator) { barrier } else { Barrier::of(&operator) };
        made.push(operator);
        if is_hop && follows_a_hop(operators) {
            if once {
                made.push(Operator::EACH_ONCE);
            } else if barrier.awaits(promised[operators.len()]) {
                made.push(Operator::Bulk);
            }
        }
    }
    made.reverse();
    *operators = made;
}

/// Whether a barrier waits for everything that passes here, ahead of `operators`, and nothing up to it minds who comes
/// together; `promised` says whether rows pass here in a promised order.
pub(super) fn is_awaited(promised: bool, operators: &[Operator]) -> bool {
    let first = operators.iter().find(|operator| !is_blind(operator));
    first.map_or(Barrier::None, Barrier::of).awaits(promised)
}

/// A step that waits for all rows.
#[derive(Clone, Copy)]
enum Barrier {
    None,
    /// What it makes of rows is the same in whatever order they come.
    ForgetsOrder,
    /// It gathers rows in the order that they come in.
    ReadsOrder,
}

impl Barrier {
    fn of(operator: &Operator) -> Self {
        let forgets_order = match operator {
            Operator::Reduce(reducer) => !reducer.reads_order(),
            Operator::Group(group) => group.forgets_order(),
            Operator::Order(_) | Operator::Top(..) => true,
            _ => return Self::None,
        };
        if forgets_order { Self::ForgetsOrder } else { Self::ReadsOrder }
    }

    /// Whether it waits for rows that may come together: not where it would gather them in an order that was promised.
    fn awaits(self, promised: bool) -> bool {
        match self {
            Self::None => false,
            Self::ForgetsOrder => true,
            Self::ReadsOrder => !promised,
        }
    }
}

/// Whether of rows at one vertex it lets all pass or none, so that a set which is made behind it is the same of one of them.
fn keeps_sets(operator: &Operator) -> bool {
    // Nothing that asks where a row has been before: of two rows at a vertex one would pass, and the other not.
    match operator {
        Operator::Expand(_) => operator.parts().is_empty(),
        Operator::Filter(tests) => tests.iter().all(is_of_the_item),
        Operator::EdgeEnds(_) | Operator::Bulk => true,
        _ => false,
    }
}

/// Whether a test asks for nothing but the item.
fn is_of_the_item(test: &Test) -> bool {
    let mut slots = Vec::new();
    test.predicate().into_iter().for_each(|predicate| predicate.slots(&mut slots));
    let gathered = test.predicate().is_some_and(Predicate::reads_side_effects);
    !matches!(test, Test::Slot(..)) && slots.is_empty() && !gathered
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
    let is_blind = match operator {
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
    };
    is_blind && !operator.parts().iter().any(|(_, of)| of.fact().gathers)
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

    fn limit() -> Operator {
        Operator::Range { skip: 0, limit: 3 }
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
    fn walks_that_end_in_a_set_go_on_from_each_vertex_once() {
        let once = || Operator::EACH_ONCE;
        let mut operators = vec![hop(), hop(), hop(), once(), limit()];
        apply(&mut operators);
        assert_eq!(operators, [hop(), once(), hop(), once(), hop(), once(), limit()]);
    }

    #[test]
    fn rows_that_a_later_test_tells_apart_stay_apart() {
        let test = Operator::Filter(vec![Test::Slot(0, Predicate::Within(Vec::new()))]);
        let mut operators = vec![hop(), hop(), test, Operator::EACH_ONCE, limit()];
        let before = operators.clone();
        apply(&mut operators);
        assert_eq!(operators, before);
    }

    #[test]
    fn rows_that_a_barrier_gathers_in_a_promised_order_stay_apart() {
        let fold = || Operator::Reduce(Reducer::Fold);
        let merged = [hop(), Operator::Bulk, hop(), fold()];
        for (first, expected) in [
            (Operator::Vertices(Scan::default()), &merged[..]),
            (Operator::Unfold, &[hop(), hop(), fold()]),
            (Operator::Order(Vec::new()), &[hop(), hop(), fold()]),
        ] {
            let mut operators = vec![first, hop(), hop(), fold()];
            apply(&mut operators);
            assert_eq!(operators[1..], *expected);
        }
    }

    #[test]
    fn a_limit_is_not_kept_waiting() {
        let mut operators = vec![hop(), hop(), limit(), count()];
        let before = operators.clone();
        apply(&mut operators);
        assert_eq!(operators, before);
    }
}
