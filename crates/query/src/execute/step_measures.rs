//! Step measures: what each step of a query did, by line of its plan's explanation.

use std::time::{Duration, Instant};

/// What a step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepMeasure {
    /// Batches that it gave.
    pub batches: u64,
    /// Rows in them.
    pub rows: u64,
    /// Traversers that the rows stand for, at most 2^64 - 1.
    pub traversers: u64,
    /// How long it ran, with the traversals within it.
    pub time: Duration,
}

/// What each step did, or nothing of one that never ran.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    by_line: Vec<Option<StepMeasure>>,
    notes: Vec<String>,
}

impl Measurements {
    /// Of so many lines, none of them run yet.
    #[must_use]
    pub fn of_lines(count: usize) -> Self {
        Self { by_line: vec![None; count], notes: Vec::new() }
    }

    /// Of the same lines, none of them run yet.
    #[must_use]
    pub fn begin_again(&self) -> Self {
        Self::of_lines(self.by_line.len())
    }

    /// The measurements by line.
    #[must_use]
    pub fn by_line(&self) -> &[Option<StepMeasure>] {
        &self.by_line
    }

    /// What else is to be said of the run.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Adds something that is to be said of the run, if it is measured.
    pub fn add_note(&mut self, note: String) {
        if !self.by_line.is_empty() {
            self.notes.push(note);
        }
    }

    /// Adds the time since `began` to a line; what that did besides is added to the answer. `None` if there is no such
    /// line.
    pub fn note(&mut self, line: usize, began: Instant) -> Option<&mut StepMeasure> {
        let measured = self.by_line.get_mut(line)?.get_or_insert_default();
        measured.time += began.elapsed();
        Some(measured)
    }

    /// Adds measurements of the same lines from another thread.
    pub fn add(&mut self, other: &Self) {
        for (line, other) in self.by_line.iter_mut().zip(&other.by_line) {
            let Some(more) = other else { continue };
            let measured = line.get_or_insert_default();
            measured.batches += more.batches;
            measured.rows += more.rows;
            measured.traversers = measured.traversers.saturating_add(more.traversers);
            measured.time += more.time;
        }
    }
}
