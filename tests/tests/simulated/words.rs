//! Words: the labels, types and keys of a simulated graph.

pub const LABELS: [&str; 2] = ["A", "B"];
/// Allows parallel edges.
pub const PARALLEL: &str = "MANY";
/// At most one edge from a vertex to another.
pub const SIMPLE: &str = "ONE";
/// A text; unique among the first label's vertices while there is an index that says so.
pub const NAME: &str = "name";
/// A whole number.
pub const WEIGHT: &str = "weight";
