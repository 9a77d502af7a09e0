//! Attributes: what a response says beside code and message, for programs.
//!
//! ```text
//! kind            "conflict"      the kind of an error, as in exit codes and Python's exceptions
//! line, column    1, 7            where a text is wrong, both from 1
//! outcome         "unknown"       a commit whose answer was lost: it may have been written
//! warnings        ["..."]         what stands beside the results, such as an unknown name; TinkerPop's drivers log it
//! renamedEdges    "0-0-1-0 ..."   edges that a commit gave another id: a pair of ids a line
//! vertexKeys      {7: "Ada"}      unique keys of vertices in this frame and the next ones, if the request asks for them
//! ```
//!
//! There is never a stack trace.

use evergraph_graph::error::ErrorKind;
use evergraph_graph::value::Value;
use evergraph_query::error::LineColumn;

/// Attributes of a response: values by name, in the order given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attributes(Vec<(Box<str>, Value)>);

impl Attributes {
    /// The name of the kind of an error.
    pub const KIND: &str = "kind";
    /// The name of the line at which a text is wrong.
    pub const LINE: &str = "line";
    /// The name of the column at which a text is wrong.
    pub const COLUMN: &str = "column";
    /// The name of a commit's outcome.
    pub const OUTCOME: &str = "outcome";
    /// The name of what stands beside the results.
    pub const WARNINGS: &str = "warnings";
    /// The name of the edges that a commit gave another id.
    pub const RENAMED_EDGES: &str = "renamedEdges";
    /// The name of the unique keys of vertices.
    pub const VERTEX_KEYS: &str = "vertexKeys";
    /// The outcome of a commit of which nobody knows whether it was written.
    pub const UNKNOWN: &str = "unknown";

    /// No attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the attribute `name`, or replaces it.
    #[must_use]
    pub fn with(mut self, name: impl Into<Box<str>>, value: impl Into<Value>) -> Self {
        let name = name.into();
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value.into()));
        self
    }

    /// Adds the kind of an error.
    #[must_use]
    pub fn with_kind(self, kind: ErrorKind) -> Self {
        self.with(Self::KIND, kind.name())
    }

    /// Adds line and column of an error in a text.
    #[must_use]
    pub fn with_place(self, place: LineColumn) -> Self {
        self.with(Self::LINE, i64::from(place.line)).with(Self::COLUMN, i64::from(place.column))
    }

    /// Adds that nobody knows whether the commit was written.
    #[must_use]
    pub fn with_unknown_outcome(self) -> Self {
        self.with(Self::OUTCOME, Self::UNKNOWN)
    }

    /// The attribute `name`, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }

    /// Line and column of an error in a text, if the response has them.
    #[must_use]
    pub fn place(&self) -> Option<LineColumn> {
        let number =
            |name| self.get(name).and_then(Value::as_i64).and_then(|number| u32::try_from(number).ok());
        Some(LineColumn { line: number(Self::LINE)?, column: number(Self::COLUMN)? })
    }

    /// Whether nobody knows if the commit was written.
    #[must_use]
    pub fn has_unknown_outcome(&self) -> bool {
        self.get(Self::OUTCOME).and_then(Value::as_str) == Some(Self::UNKNOWN)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}
