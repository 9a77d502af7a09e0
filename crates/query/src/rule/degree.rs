//! Counts from degrees: `out().count()` asks each vertex how many edges it has, and reads no list.

use crate::plan::operator::{ExpandTo, Operator, Reducer};

pub(super) fn apply(operators: &mut Vec<Operator>) {
    for at in 1..operators.len() {
        if operators[at] != Operator::Reduce(Reducer::Count) {
            continue;
        }
        if let Operator::Expand(expand) = &mut operators[at - 1] {
            expand.to = ExpandTo::Count;
            operators[at] = Operator::Reduce(Reducer::SumOfCounts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::Expand;
    use evergraph_graph::id::Direction;

    #[test]
    fn the_last_hop_before_a_count_reads_no_list() {
        let hop = |to| Operator::Expand(Expand { direction: Direction::Out, types: None, to });
        let mut operators =
            vec![hop(ExpandTo::Neighbors), hop(ExpandTo::Edges(None)), Operator::Reduce(Reducer::Count)];
        apply(&mut operators);
        assert_eq!(
            operators,
            [hop(ExpandTo::Neighbors), hop(ExpandTo::Count), Operator::Reduce(Reducer::SumOfCounts)]
        );
    }
}
