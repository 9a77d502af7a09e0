//! Unrolling: `repeat(out()).times(2)` becomes `out().out()`, which other rules can improve.

use crate::plan::operator::{Ask, Operator, Repeat};
use crate::plan::row_order::is_promised_behind;
use crate::rule::bulk::is_awaited;

/// More loops than this stay a repeat: a plan should be short enough to be read.
const LOOPS_MAX: u64 = 32;

pub(super) fn apply(operators: &mut Vec<Operator>) {
    let mut rest = std::mem::take(operators).into_iter();
    let mut promised = false;
    while let Some(operator) = rest.next() {
        let promised_here = promised;
        promised = is_promised_behind(&operator, promised);
        // Waves of a repeat merge rows; a chain of hops does only where a barrier waits for all.
        let repeat = match operator {
            Operator::Repeat(repeat) => repeat,
            operator => {
                operators.push(operator);
                continue;
            }
        };
        match loops(&repeat).filter(|_| is_awaited(promised_here, rest.as_slice())) {
            Some(loops) => (0..loops).for_each(|_| operators.extend_from_slice(&repeat.body.operators)),
            None => operators.push(Operator::Repeat(repeat)),
        }
    }
}

/// How often the body runs, if that is known and nothing in it could tell a loop from the next.
fn loops(repeat: &Repeat) -> Option<u64> {
    let (Some((Ask::Times(times), before)), None) = (&repeat.until, &repeat.emit) else { return None };
    let plain = |operator: &Operator| {
        matches!(operator, Operator::Expand(_) | Operator::EdgeEnds(_) | Operator::Filter(_))
    };
    // Asked after the body, it runs once at least.
    let loops = if *before { *times } else { (*times).max(1) };
    (loops <= LOOPS_MAX && repeat.body.operators.iter().all(plain)).then_some(loops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::{Expand, ExpandTo, Reducer, Traversal};
    use evergraph_graph::id::Direction;

    fn hop(direction: Direction) -> Operator {
        Operator::Expand(Expand::new(direction, None, ExpandTo::Neighbors))
    }

    fn count() -> Operator {
        Operator::Reduce(Reducer::Count)
    }

    #[test]
    fn what_no_barrier_waits_for_stays_a_repeat() {
        let limit = Operator::Range { skip: 0, limit: 1 };
        for rest in [vec![], vec![limit, count()]] {
            let mut operators = [vec![repeated(vec![hop(Direction::Out)], 2, false)], rest].concat();
            let before = operators.clone();
            apply(&mut operators);
            assert_eq!(operators, before);
        }
    }

    fn repeated(body: Vec<Operator>, times: u64, before: bool) -> Operator {
        let body = Traversal { operators: body };
        let until = Some((Ask::Times(times), before));
        Operator::Repeat(Box::new(Repeat { body, name: None, until, emit: None }))
    }

    #[test]
    fn a_body_of_hops_is_written_out() {
        let body = vec![hop(Direction::Out), hop(Direction::In)];
        let mut operators = vec![repeated(body.clone(), 2, false), hop(Direction::Both), count()];
        apply(&mut operators);
        assert_eq!(operators, [body.clone(), body.clone(), vec![hop(Direction::Both), count()]].concat());
    }

    #[test]
    fn none_asked_after_is_once_and_asked_before_is_never() {
        let body = vec![hop(Direction::Out)];
        for (before, expected) in [(false, [body.clone(), vec![count()]].concat()), (true, vec![count()])] {
            let mut operators = vec![repeated(body.clone(), 0, before), count()];
            apply(&mut operators);
            assert_eq!(operators, expected);
        }
    }

    #[test]
    fn what_counts_loops_stays_a_repeat() {
        let body = vec![hop(Direction::Out), Operator::Range { skip: 0, limit: 1 }];
        let mut operators =
            vec![repeated(body, 2, false), repeated(vec![hop(Direction::Out)], 1000, false), count()];
        let before = operators.clone();
        apply(&mut operators);
        assert_eq!(operators, before);
    }
}
