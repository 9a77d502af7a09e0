//! Hops: `outE('knows').inV()` is `out('knows')`, and `bothE().otherV()` is `both()`, if the edge between is not used.

use crate::plan::operator::{EdgeEnd, Expand, ExpandTo, Operator};
use evergraph_graph::id::Direction;

pub(super) fn apply(operators: &mut Vec<Operator>) {
    let mut made: Vec<Operator> = Vec::with_capacity(operators.len());
    for operator in operators.drain(..) {
        if let (Some(Operator::Expand(expand)), Operator::EdgeEnds(end)) = (made.last_mut(), &operator)
            && leads_over(expand, *end)
        {
            expand.to = ExpandTo::Neighbors;
        } else {
            made.push(operator);
        }
    }
    *operators = made;
}

/// Whether `end` is where the edges of `expand` lead to.
fn leads_over(expand: &Expand, end: EdgeEnd) -> bool {
    let ExpandTo::Edges(from) = expand.to else { return false };
    match (expand.direction, end) {
        (Direction::Out, EdgeEnd::Target) | (Direction::In, EdgeEnd::Source) => from.is_none(),
        // Nobody else can ask where this edge was come from: the edge itself is forgotten at once.
        (_, EdgeEnd::Other(slot)) => from == Some(slot),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(direction: Direction, from: Option<usize>) -> Operator {
        Operator::Expand(Expand::new(direction, Some(vec!["a".into()]), ExpandTo::Edges(from)))
    }

    fn hop(direction: Direction) -> Operator {
        Operator::Expand(Expand::new(direction, Some(vec!["a".into()]), ExpandTo::Neighbors))
    }

    #[test]
    fn an_edge_that_is_only_crossed_is_a_hop() {
        let mut operators = vec![
            edges(Direction::Out, None),
            Operator::EdgeEnds(EdgeEnd::Target),
            edges(Direction::Both, Some(2)),
            Operator::EdgeEnds(EdgeEnd::Other(2)),
        ];
        apply(&mut operators);
        assert_eq!(operators, [hop(Direction::Out), hop(Direction::Both)]);
    }

    #[test]
    fn back_to_where_it_came_from_is_no_hop() {
        let mut operators = vec![
            edges(Direction::Out, None),
            Operator::EdgeEnds(EdgeEnd::Source),
            edges(Direction::Both, None),
            Operator::EdgeEnds(EdgeEnd::Target),
            edges(Direction::Out, Some(1)),
            Operator::EdgeEnds(EdgeEnd::Other(2)),
        ];
        let before = operators.clone();
        apply(&mut operators);
        assert_eq!(operators, before);
    }
}
