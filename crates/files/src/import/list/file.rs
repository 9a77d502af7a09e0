//! List file: an unopened list of vertices or of edges.

use crate::import::bytes::input::Input;
use crate::import::mapping::rule::FileRule;

/// What a list is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListKind {
    /// A vertex a line.
    Vertices,
    /// An edge a line.
    Edges,
    /// DIMACS shortest paths: an arc a line, after a line that counts.
    Dimacs,
    /// Matrix Market: an entry a line, after lines that say what it means.
    MatrixMarket,
}

/// A list and how to read it.
#[derive(Debug)]
pub struct ListFile {
    /// Where it is.
    pub input: Input,
    /// What it is.
    pub kind: ListKind,
    /// How it is read.
    pub rule: FileRule,
}
