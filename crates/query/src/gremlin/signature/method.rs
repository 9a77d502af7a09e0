//! Method: the type of a signature: which arguments a method accepts, and where it may be called.

use std::fmt;

use crate::gremlin::signature::kinds::Kinds;

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
