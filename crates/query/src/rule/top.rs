//! Top: `order().by('age').limit(3)` keeps three rows, not all.

use crate::plan::operator::{Operator, Sorting};

pub(super) fn apply(operators: &mut [Operator]) {
    for at in 1..operators.len() {
        let Operator::Range { skip, limit } = operators[at] else { continue };
        let Operator::Order(by) = &mut operators[at - 1] else { continue };
        let keep = skip.saturating_add(limit);
        // By chance every row has another place each time that it is sorted.
        if keep < u64::MAX && by.iter().all(|(_, sorting)| *sorting != Sorting::Shuffle) {
            operators[at - 1] = Operator::Top(std::mem::take(by), keep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::By;

    #[test]
    fn an_order_keeps_what_is_asked_of_it() {
        let order = |sorting| Operator::Order(vec![(By::Key("age".into()), sorting)]);
        let range = |skip, limit| Operator::Range { skip, limit };
        let mut operators = vec![
            order(Sorting::Descending),
            range(2, 3),
            order(Sorting::Ascending),
            range(1, u64::MAX),
            order(Sorting::Shuffle),
            range(0, 1),
        ];
        apply(&mut operators);
        let top = Operator::Top(vec![(By::Key("age".into()), Sorting::Descending)], 5);
        let rest = [order(Sorting::Ascending), range(1, u64::MAX), order(Sorting::Shuffle), range(0, 1)];
        assert_eq!(operators[..2], [top, range(2, 3)]);
        assert_eq!(operators[2..], rest);
    }
}
