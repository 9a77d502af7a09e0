//! Parallel: `V().has('age').out().count()` counts on every thread, and adds the counts.
//!
//! Only in the traversal itself, not in children, and only of steps that do with a row what they would do with it alone:
//! then rows may go to any thread. Partial results are joined by the barrier that made them; counts by their sum. A `dedup()`
//! is such a barrier: what each thread met once is made once again.

use crate::plan::function::Function;
use crate::plan::operator::{ExpandTo, Operator, Reducer, Traversal};

pub(super) fn apply(operators: &mut Vec<Operator>) {
    let past = operators.iter().position(has_past).unwrap_or(usize::MAX);
    // Whether what comes of all behind what is left of `operators` doesn't depend on the order in which rows come.
    let mut forgets = false;
    let mut made = Vec::with_capacity(operators.len());
    while let Some(operator) = operators.pop() {
        let end = operators.len();
        // Which of several rows goes on must make no difference.
        let fits = |whole: &Operator| {
            (forgets || !keeps_rows(whole)) && (*whole != Operator::EACH_ONCE || past >= end)
        };
        if let Some(whole) = joined(&operator).filter(fits) {
            let first = end - operators.iter().rev().take_while(|operator| is_alone(operator)).count();
            // A single cheap step isn't worth the way.
            if operators[first..].iter().any(is_heavy) {
                let mut body = operators.split_off(first);
                body.push(operator);
                forgets = forgets_order(&whole, forgets);
                made.extend([whole, Operator::Parallel(Traversal { operators: body })]);
                continue;
            }
        }
        forgets = forgets_order(&operator, forgets);
        made.push(operator);
    }
    made.reverse();
    *operators = made;
}

/// Whether rows differ by more than where they are, from here on.
pub(super) fn has_past(operator: &Operator) -> bool {
    match operator {
        Operator::As(_) | Operator::Match(_) => true,
        Operator::Expand(expand) => matches!(expand.to, ExpandTo::Edges(Some(_))),
        _ => false,
    }
}

/// What puts partial results of a barrier together.
pub(super) fn joined(barrier: &Operator) -> Option<Operator> {
    match barrier {
        Operator::Reduce(Reducer::Count | Reducer::SumOfCounts) => {
            Some(Operator::Reduce(Reducer::SumOfCounts))
        }
        Operator::Reduce(Reducer::Min | Reducer::Max) => Some(barrier.clone()),
        rows if keeps_rows(rows) => Some(barrier.clone()),
        _ => None,
    }
}

/// Whether rows come out of it as they came, but fewer.
pub(super) fn keeps_rows(barrier: &Operator) -> bool {
    matches!(barrier, Operator::Bulk) || *barrier == Operator::EACH_ONCE
}

/// Whether what comes of `operator`, and of all behind it, doesn't depend on the order in which rows come, if that is so
/// `behind` it: threads keep none.
pub(super) fn forgets_order(operator: &Operator, behind: bool) -> bool {
    let passes = is_alone(operator) || keeps_rows(operator) || matches!(operator, Operator::Parallel(_));
    if passes { behind } else { joined(operator).is_some() }
}

/// Whether it does with each row what it would do with it alone.
pub(super) fn is_alone(operator: &Operator) -> bool {
    match operator {
        Operator::Expand(_)
        | Operator::EdgeEnds(_)
        | Operator::Filter(_)
        | Operator::Properties { .. }
        | Operator::Unfold => true,
        Operator::Map(function) => matches!(
            function,
            Function::Id | Function::Label | Function::Key | Function::Value | Function::Constant(_)
        ),
        _ => false,
    }
}

/// Whether it takes long enough for a row that threads are worth it.
fn is_heavy(operator: &Operator) -> bool {
    matches!(operator, Operator::Expand(_) | Operator::Filter(_) | Operator::Properties { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::{Expand, Scan, Test};
    use evergraph_graph::id::Direction;

    fn hop(to: ExpandTo) -> Operator {
        Operator::Expand(Expand::new(Direction::Out, None, to))
    }

    #[test]
    fn hops_and_counts_are_run_in_parts() {
        let scan = || Operator::Vertices(Scan::default());
        let counts = || vec![hop(ExpandTo::Count), Operator::Reduce(Reducer::SumOfCounts)];
        let neighbors = || vec![hop(ExpandTo::Neighbors), Operator::Bulk];
        let part = |operators| Operator::Parallel(Traversal { operators });
        let filter = || Operator::Filter(vec![Test::Has("a".into())]);
        let long = [vec![hop(ExpandTo::Neighbors), filter(), filter()], counts()].concat();
        let mut operators = [vec![scan()], long.clone()].concat();
        apply(&mut operators);
        assert_eq!(operators, [scan(), part(long), Operator::Reduce(Reducer::SumOfCounts)]);
        let mut operators = [vec![scan()], neighbors(), counts()].concat();
        apply(&mut operators);
        assert_eq!(
            operators,
            [
                scan(),
                part(neighbors()),
                Operator::Bulk,
                part(counts()),
                Operator::Reduce(Reducer::SumOfCounts)
            ]
        );
    }

    #[test]
    fn a_set_is_made_in_parts_unless_rows_have_a_past() {
        let once = Operator::EACH_ONCE;
        let walk = || vec![hop(ExpandTo::Neighbors), once.clone()];
        let mut operators = [walk(), vec![Operator::Reduce(Reducer::Count)]].concat();
        apply(&mut operators);
        let part = Operator::Parallel(Traversal { operators: walk() });
        assert_eq!(operators, [part, once.clone(), Operator::Reduce(Reducer::Count)]);
        let mut operators = [vec![Operator::As(0)], walk(), vec![Operator::Reduce(Reducer::Count)]].concat();
        let before = operators.clone();
        apply(&mut operators);
        assert_eq!(operators, before);
    }

    #[test]
    fn what_depends_on_other_rows_stays_on_one_thread() {
        let mut operators = vec![
            hop(ExpandTo::Neighbors),
            Operator::Range { skip: 0, limit: 5 },
            Operator::Reduce(Reducer::Count),
        ];
        let before = operators.clone();
        apply(&mut operators);
        assert_eq!(operators, before);
    }
}
