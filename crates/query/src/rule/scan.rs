//! Filters into scans: `V().hasLabel('a').has('k', 1)` reads the vertices of a label, or asks an index.
//!
//! What an algorithm computes is in no index: filters that ask for it stay where they are.

use crate::plan::operator::{Name, Operator, Test};

pub(super) fn apply(operators: &mut Vec<Operator>, computed: &[Name]) {
    let asks = |test: &Test| match test {
        Test::Has(key) | Test::HasNot(key) | Test::Property(key, _) => computed.contains(key),
        _ => false,
    };
    let mut made: Vec<Operator> = Vec::with_capacity(operators.len());
    for operator in operators.drain(..) {
        match (made.last_mut(), operator) {
            (Some(Operator::Vertices(scan) | Operator::Edges(scan)), Operator::Filter(tests))
                if !tests.iter().any(asks) =>
            {
                scan.tests.extend(tests);
            }
            (_, operator) => made.push(operator),
        }
    }
    *operators = made;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::{Scan, Test};

    #[test]
    fn all_filters_after_a_scan_become_its_tests() {
        let has = |key: &str| Operator::Filter(vec![Test::Has(key.into())]);
        let mut operators =
            vec![Operator::Vertices(Scan::default()), has("a"), has("b"), Operator::Unfold, has("c")];
        apply(&mut operators, &[]);
        let tests = ["a", "b"].map(|key| Test::Has(key.into())).to_vec();
        assert_eq!(operators, [Operator::Vertices(Scan { ids: None, tests }), Operator::Unfold, has("c")]);
    }

    #[test]
    fn a_filter_on_what_is_computed_stays() {
        let scan = || Operator::Vertices(Scan::default());
        let mut operators = vec![scan(), Operator::Filter(vec![Test::HasNot("rank".into())])];
        let before = operators.clone();
        apply(&mut operators, &["rank".into()]);
        assert_eq!(operators, before);
    }
}
