//! Table: a signature, and all of them by name.

use std::fmt;
use std::sync::LazyLock;

use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::{
    branch, filter, map, modulator, predicate, reduce, source, spawn, terminal, text, walk, write,
};

/// What a method is, by where it may stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// Right after `g`, before the traversal: how the graph is looked at.
    Source,
    /// Begins the traversal of a query.
    Spawn,
    /// Does something with what comes to it.
    Step,
    /// Says more about the step before it.
    Modulator,
    /// Ends a query: how its results are wanted.
    Terminal,
    /// Right after `g`, instead of a traversal: `tx`, and what may follow it.
    Transaction,
    /// A predicate's test.
    Predicate,
}

/// What a method may be given, and what it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The method.
    pub name: &'static str,
    /// Where it may stand.
    pub role: Role,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The forms in which it may be called. Of several that fit, the first counts.
    pub forms: &'static [Form],
}

/// One form in which a method may be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// What stands at each place.
    pub places: &'static [Kinds],
    /// What may follow, as often as one likes.
    pub rest: Option<Kinds>,
}

impl Form {
    /// Exactly these places.
    pub(super) const fn of(places: &'static [Kinds]) -> Self {
        Self { places, rest: None }
    }

    /// These places, and then any number of `rest`.
    pub(super) const fn and_more(places: &'static [Kinds], rest: Kinds) -> Self {
        Self { places, rest: Some(rest) }
    }

    /// What stands at `place`, from 0; `None` behind the last.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<Kinds> {
        self.places.get(place).copied().or(self.rest)
    }

    /// Whether `count` arguments are neither too few nor too many.
    #[must_use]
    pub fn takes(&self, count: usize) -> bool {
        count >= self.places.len() && (count == self.places.len() || self.rest.is_some())
    }
}

impl fmt::Display for Form {
    /// Writes `(Scope, string...)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        formatter.write_str("(")?;
        for place in self.places {
            write!(formatter, "{separator}{place}")?;
            separator = ", ";
        }
        if let Some(rest) = self.rest {
            write!(formatter, "{separator}{rest}...")?;
        }
        formatter.write_str(")")
    }
}

impl Signature {
    pub(super) const fn new(
        role: Role,
        name: &'static str,
        summary: &'static str,
        forms: &'static [Form],
    ) -> Self {
        Self { name, role, summary, forms }
    }

    /// What it takes, in words: `() or (Scope)`.
    #[must_use]
    pub fn takes(&self) -> String {
        let forms: Vec<_> = self.forms.iter().map(Form::to_string).collect();
        match &*forms {
            [all @ .., last, end] => {
                let mut text: String = all.iter().flat_map(|form| [form.as_str(), ", "]).collect();
                text.push_str(last);
                text + " or " + end
            }
            forms => forms.concat(),
        }
    }
}

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
