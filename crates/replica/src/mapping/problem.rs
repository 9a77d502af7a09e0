//! Problem: what is wrong with a mapping, by line and key.

use evergraph_graph::error::Error;
use std::fmt;

/// What is wrong with a mapping: each problem names line and key, and what is allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappingProblems(pub Vec<String>);

impl fmt::Display for MappingProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for MappingProblems {}

impl From<MappingProblems> for Error {
    fn from(problems: MappingProblems) -> Self {
        Error::invalid(problems.to_string())
    }
}

/// What is wrong with the value of a key of a rule.
#[derive(Debug)]
pub(super) struct Fault {
    /// The key.
    pub(super) key: &'static str,
    /// What is wrong, and what is allowed.
    pub(super) why: String,
}

impl Fault {
    pub(super) fn new(key: &'static str, why: impl Into<String>) -> Self {
        Self { key, why: why.into() }
    }
}
