//! Where edges were reached from: only `otherV()` asks, and without it rows that are alike otherwise are the same.

use crate::plan::operator::{EdgeEnd, Expand, ExpandTo, Operator, Traversal};

pub(super) fn apply(root: &mut Traversal) {
    let mut is_asked = false;
    root.visit(&mut |traversal| {
        let asks = |operator: &Operator| matches!(operator, Operator::EdgeEnds(EdgeEnd::Other(_)));
        is_asked |= traversal.operators.iter().any(asks);
    });
    if is_asked {
        return;
    }
    root.visit(&mut |traversal| {
        for operator in &mut traversal.operators {
            if let Operator::Expand(Expand { to: to @ ExpandTo::Edges(Some(_)), .. }) = operator {
                *to = ExpandTo::Edges(None);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::Direction;

    fn edges(slot: Option<usize>) -> Operator {
        Operator::Expand(Expand { direction: Direction::Out, types: None, to: ExpandTo::Edges(slot) })
    }

    #[test]
    fn an_edge_remembers_where_it_was_reached_from_if_anybody_asks() {
        let of = |end| {
            let child = Traversal { operators: vec![Operator::EdgeEnds(end)] };
            let mut root = Traversal { operators: vec![edges(Some(3)), Operator::Local(child)] };
            apply(&mut root);
            root.operators[0].clone()
        };
        assert_eq!(of(EdgeEnd::Other(3)), edges(Some(3)));
        assert_eq!(of(EdgeEnd::Target), edges(None));
    }
}
