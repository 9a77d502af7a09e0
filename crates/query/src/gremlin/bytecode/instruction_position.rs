//! Instruction position: the instruction and the argument that an error in bytecode is about.

use std::fmt;

use crate::error::{Span, TextError, quoted};

/// An instruction, and which of its arguments is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionPosition {
    /// Whether it is a source instruction.
    pub of_source: bool,
    /// Its number among its kind, from 1.
    pub number: usize,
    /// What it is called.
    pub name: Box<str>,
    /// The number of the argument, from 1; `None` if the instruction itself is meant.
    pub argument: Option<usize>,
}

impl fmt::Display for InstructionPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.of_source { "source instruction" } else { "step" };
        write!(formatter, "{kind} {} ({})", self.number, quoted(&self.name))?;
        self.argument.map_or(Ok(()), |argument| write!(formatter, ", argument {argument}"))
    }
}

/// What is wrong in bytecode that is being read, and the places around it, the innermost first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    error: TextError,
    is_malformed: bool,
    places: Vec<InstructionPosition>,
}

impl ReadError {
    /// The bytes at `span` are wrong: `message` says how.
    #[must_use]
    pub fn invalid(span: Span, message: impl Into<String>) -> Self {
        Self { error: TextError::invalid(span, message), is_malformed: false, places: Vec::new() }
    }

    /// The bytes at `span` are not in the format: `message` says what was expected there. Drivers never write such
    /// bytes, whatever their users ask for.
    #[must_use]
    pub fn malformed(span: Span, message: impl Into<String>) -> Self {
        Self { is_malformed: true, ..Self::invalid(span, message) }
    }

    /// The bytes at `span` are more than what reads them allows: `message` says of what.
    #[must_use]
    pub fn limit(span: Span, message: impl Into<String>) -> Self {
        Self { error: TextError::limit(span, message), is_malformed: false, places: Vec::new() }
    }

    /// Whether the bytes are not in the format.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.is_malformed
    }

    /// The same, seen from `place`, which is around all that were told so far.
    #[must_use]
    pub fn within(mut self, place: InstructionPosition) -> Self {
        self.places.push(place);
        self
    }

    /// The error with its places, for whoever asked for the reading.
    #[must_use]
    pub fn told(self) -> TextError {
        placed(self.error, &self.places)
    }
}

/// `error` with `places` before its message, which are the innermost first. Of many, those at both ends.
pub(super) fn placed(mut error: TextError, places: &[InstructionPosition]) -> TextError {
    const SHOWN_MAX: usize = 6;
    let shown: Vec<String> = if places.len() > SHOWN_MAX {
        let (inner, outer) = (&places[..SHOWN_MAX / 2], &places[places.len() - SHOWN_MAX / 2..]);
        let outer = outer.iter().rev().map(InstructionPosition::to_string);
        outer.chain(["…".to_owned()]).chain(inner.iter().rev().map(InstructionPosition::to_string)).collect()
    } else {
        places.iter().rev().map(InstructionPosition::to_string).collect()
    };
    if !shown.is_empty() {
        error.message = format!("{}: {}", shown.join(", "), error.message);
    }
    error
}
