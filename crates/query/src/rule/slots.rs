//! Slots: leaves out an unused `as('a')`, so that rows carry less, and differ by less.

use crate::plan::operator::{ExpandTo, Operator, Plan, Traversal};

pub(super) fn apply(plan: &mut Plan) {
    let asked = plan.asked_slots();
    // Paths have labels too.
    let keeps_labels = plan.reads_paths;
    plan.root.visit(&mut |traversal: &mut Traversal| {
        traversal.operators.retain(|operator| match operator {
            Operator::As(slot) => keeps_labels || asked[*slot],
            _ => true,
        });
        for operator in &mut traversal.operators {
            if let Operator::Expand(expand) = operator
                && let ExpandTo::Edges(Some(slot)) = expand.to
                && !asked[slot]
            {
                expand.to = ExpandTo::Edges(None);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::{EdgeEnd, Expand, Outcome, Scan};
    use evergraph_graph::id::Direction;

    fn edges(from: Option<usize>) -> Operator {
        Operator::Expand(Expand::new(Direction::Out, None, ExpandTo::Edges(from)))
    }

    fn plan(operators: Vec<Operator>) -> Plan {
        Plan {
            root: Traversal { operators },
            slots: vec!["a".into(), "".into()],
            side_effects: Vec::new(),
            given: Vec::new(),
            seed: None,
            options: Vec::new(),
            sack: None,
            bulks: true,
            reads_paths: false,
            writes: false,
            once: false,
            outcome: Outcome::Results,
        }
    }

    #[test]
    fn a_slot_that_nobody_asks_for_is_not_set() {
        let scan = Operator::Vertices(Scan::default());
        let mut unread = plan(vec![scan.clone(), Operator::As(0), edges(Some(1))]);
        apply(&mut unread);
        assert_eq!(unread.root.operators, [scan.clone(), edges(None)]);
        let other = Operator::EdgeEnds(EdgeEnd::Other(1));
        let of = Traversal { operators: vec![Operator::Dedup { slots: vec![0], by: Vec::new() }] };
        let child = Operator::Where { of, gives: true };
        let mut read = plan(vec![scan, Operator::As(0), edges(Some(1)), other, child]);
        let before = read.clone();
        apply(&mut read);
        assert_eq!(read, before);
    }
}
