//! Counts from degrees: `out().count()` reads the degree of each vertex, and no list.

use crate::plan::operator::{ExpandTo, Operator, Reducer};

pub(super) fn apply(operators: &mut [Operator]) {
    for at in 1..operators.len() {
        if operators[at] != Operator::Reduce(Reducer::Count) {
            continue;
        }
        if let Operator::Expand(expand) = &mut operators[at - 1]
            && expand.edges.operators.is_empty()
            && expand.vertices.operators.is_empty()
        {
            expand.to = ExpandTo::Count;
            operators[at] = Operator::Reduce(Reducer::SumOfCounts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::{Expand, Test, Traversal};
    use evergraph_graph::id::Direction;

    #[test]
    fn the_last_hop_before_a_count_reads_no_list() {
        let hop = |to| Operator::Expand(Expand::new(Direction::Out, None, to));
        let mut operators =
            vec![hop(ExpandTo::Neighbors), hop(ExpandTo::Edges(None)), Operator::Reduce(Reducer::Count)];
        apply(&mut operators);
        assert_eq!(
            operators,
            [hop(ExpandTo::Neighbors), hop(ExpandTo::Count), Operator::Reduce(Reducer::SumOfCounts)]
        );
    }

    #[test]
    fn a_hop_over_some_of_the_edges_is_made() {
        let some = Traversal { operators: vec![Operator::Filter(vec![Test::Has("weight".into())])] };
        let all = Expand::new(Direction::Out, None, ExpandTo::Neighbors);
        for hop in [Expand { edges: some.clone(), ..all.clone() }, Expand { vertices: some, ..all }] {
            let before = vec![Operator::Expand(hop), Operator::Reduce(Reducer::Count)];
            let mut after = before.clone();
            apply(&mut after);
            assert_eq!(after, before);
        }
    }
}
