//! Filters into scans: `V().hasLabel('a').has('k', 1)` reads the vertices of a label, or asks an index.

use crate::plan::operator::Operator;

pub(super) fn apply(operators: &mut Vec<Operator>) {
    let mut at = 0;
    while at + 1 < operators.len() {
        let next = match (&mut operators[at], at + 1) {
            (Operator::Vertices(_) | Operator::Edges(_), next) => next,
            _ => {
                at += 1;
                continue;
            }
        };
        let Operator::Filter(_) = &operators[next] else {
            at += 1;
            continue;
        };
        let Operator::Filter(tests) = operators.remove(next) else { continue };
        if let Operator::Vertices(scan) | Operator::Edges(scan) = &mut operators[at] {
            scan.tests.extend(tests);
        }
    }
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
        apply(&mut operators);
        let tests = ["a", "b"].map(|key| Test::Has(key.into())).to_vec();
        assert_eq!(operators, [Operator::Vertices(Scan { ids: None, tests }), Operator::Unfold, has("c")]);
    }
}
