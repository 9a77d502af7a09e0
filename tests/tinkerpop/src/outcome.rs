//! Outcome: what became of a scenario.

/// What became of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everything was as expected.
    Passed,
    /// Something wasn't: what, in a line.
    Failed(String),
    /// It needs what Evergraph says that it hasn't.
    NotImplemented(String),
    /// TinkerPop itself says that it can't be run.
    Unsupported,
}

impl Outcome {
    /// The same outcome whatever the text of its reason: batches of another size may meet another row first.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::NotImplemented(_) => "not implemented",
            Self::Unsupported => "unsupported",
        }
    }
}

/// How many scenarios met each fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// As expected.
    pub passed: usize,
    /// Not as expected.
    pub failed: usize,
    /// Not there yet.
    pub not_implemented: usize,
    /// Not to be run by anybody.
    pub unsupported: usize,
}

impl Tally {
    /// Counts `outcome`.
    pub fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::NotImplemented(_) => self.not_implemented += 1,
            Outcome::Unsupported => self.unsupported += 1,
        }
    }

    /// Those that can be run.
    #[must_use]
    pub fn all(&self) -> usize {
        self.passed + self.failed + self.not_implemented
    }
}

impl<'a> FromIterator<&'a Outcome> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a Outcome>>(outcomes: I) -> Self {
        let mut tally = Self::default();
        outcomes.into_iter().for_each(|outcome| tally.add(outcome));
        tally
    }
}
