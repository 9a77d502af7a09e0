//! `ProductiveByStrategy`: `by()` is null where it would give nothing, so that no traverser is dropped.

use crate::plan::operator::{By, Name, Operator, Traversal};

/// Makes each `by()` in `root` productive, but for `by('key')` of those keys.
pub(super) fn apply(root: &mut Traversal, keys: &[Name]) {
    root.visit(&mut |traversal: &mut Traversal| {
        for operator in &mut traversal.operators {
            operator.modulators(&mut |by| {
                if may_give_nothing(by, keys) {
                    let before = std::mem::replace(by, By::Itself);
                    *by = By::OrNull(Box::new(before));
                }
            });
        }
    });
}

fn may_give_nothing(by: &By, keys: &[Name]) -> bool {
    match by {
        By::Itself | By::Item(_) | By::OrNull(_) => false,
        By::Key(key) => !keys.contains(key),
        // Of nothing a count is 0 and a list empty; of a sum nothing is said, as in TinkerPop.
        By::Child(of) => !matches!(of.operators.last(), Some(Operator::Reduce(_))),
        By::Token(_) | By::Slot(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::operator::{Group, GroupValue, Reducer, Sorting};

    #[test]
    fn what_may_give_nothing_gives_null_instead() {
        let child = |operator| By::Child(Traversal { operators: vec![operator] });
        let or_null = |by| By::OrNull(Box::new(by));
        let order = |by| Operator::Order(vec![(by, Sorting::Ascending)]);
        let within = |operator| Operator::Local(Traversal { operators: vec![operator] });
        let mut root = Traversal {
            operators: vec![
                within(order(By::Key("age".into()))),
                order(By::Key("name".into())),
                order(By::Itself),
                order(child(Operator::Reduce(Reducer::Count))),
                order(child(Operator::Unfold)),
                Operator::Group(Group {
                    key: By::Key("age".into()),
                    value: GroupValue::List(By::Key("age".into())),
                    into: None,
                }),
            ],
        };
        apply(&mut root, &["name".into()]);
        let age = || or_null(By::Key("age".into()));
        let expected = [
            within(order(age())),
            order(By::Key("name".into())),
            order(By::Itself),
            order(child(Operator::Reduce(Reducer::Count))),
            order(or_null(child(Operator::Unfold))),
            Operator::Group(Group { key: age(), value: GroupValue::List(age()), into: None }),
        ];
        assert_eq!(root.operators, expected);
    }
}
