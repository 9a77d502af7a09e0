//! Table: all signatures, by family and by name.

use std::sync::LazyLock;

use crate::gremlin::signature::method::{Role, Signature};
use crate::gremlin::signature::{
    branch, filter, map, modulator, predicate, reduce, source, spawn, terminal, text, walk, write,
};

/// The families, in the order of the documentation.
const FAMILIES: [&[Signature]; 12] = [
    source::SIGNATURES,
    spawn::SIGNATURES,
    walk::SIGNATURES,
    map::SIGNATURES,
    text::SIGNATURES,
    filter::SIGNATURES,
    reduce::SIGNATURES,
    branch::SIGNATURES,
    write::SIGNATURES,
    modulator::SIGNATURES,
    terminal::SIGNATURES,
    predicate::SIGNATURES,
];

/// All signatures, by family.
pub fn signatures() -> impl Iterator<Item = &'static Signature> {
    FAMILIES.into_iter().flatten()
}

/// Steps and modulators, by family: what may follow a point within a traversal.
pub fn steps() -> impl Iterator<Item = &'static Signature> {
    signatures().filter(|signature| matches!(signature.role, Role::Step | Role::Modulator))
}

/// All signatures, by name; those of one name by role.
static BY_NAME: LazyLock<Vec<&'static Signature>> = LazyLock::new(|| {
    let mut sorted: Vec<_> = signatures().collect();
    sorted.sort_by_key(|signature| (signature.name, signature.role));
    sorted
});

/// The signatures of `name`, in all roles that it has. Cost: a binary search.
#[must_use]
pub fn named(name: &str) -> &'static [&'static Signature] {
    let start = BY_NAME.partition_point(|signature| signature.name < name);
    let count = BY_NAME[start..].iter().take_while(|signature| signature.name == name).count();
    &BY_NAME[start..start + count]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_found_in_each_role() {
        for signature in signatures() {
            let found = named(signature.name).iter().filter(|found| found.role == signature.role);
            assert_eq!(found.collect::<Vec<_>>(), [&signature], "{}", signature.name);
        }
        assert!(named("nothing").is_empty() && named("").is_empty() && named("zzz").is_empty());
    }

    #[test]
    fn a_name_has_one_role_within_a_traversal() {
        let mut seen = BTreeSet::new();
        assert!(steps().all(|signature| seen.insert(signature.name)));
    }

    #[test]
    fn every_signature_says_what_it_does_and_takes() {
        for Signature { name, summary, forms, .. } in signatures() {
            assert!(!forms.is_empty(), "{name}");
            assert!(summary.ends_with('.') && summary.len() <= 100, "{name}: {summary}");
        }
    }

    #[test]
    fn forms_are_told_in_words() {
        let takes = |name: &str, role| {
            named(name).iter().find(|signature| signature.role == role).expect(name).takes()
        };
        assert_eq!(takes("inV", Role::Step), "()");
        assert_eq!(takes("count", Role::Step), "() or (Scope)");
        assert_eq!(takes("out", Role::Step), "(string...)");
        assert_eq!(takes("tail", Role::Step), "(), (Scope), (integer) or (Scope, integer)");
        assert_eq!(takes("withSack", Role::Source), "(value) or (value, Operator)");
    }

    #[test]
    fn the_table_has_what_the_grammar_has() {
        let count =
            |wanted: &[Role]| signatures().filter(|signature| wanted.contains(&signature.role)).count();
        assert_eq!(count(&[Role::Step, Role::Modulator]), 135);
        assert_eq!((count(&[Role::Source]), count(&[Role::Spawn])), (7, 10));
    }
}
