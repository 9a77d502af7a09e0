//! `g.io('people.json').read()`: imports a whole file, or exports the whole graph.

/// A file that a query reads or writes. It is all that the query does, and the database does it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Io {
    /// Where it is.
    pub path: Box<str>,
    /// What is in it; what its name says if nothing is said.
    pub format: Option<Format>,
    /// Whether the graph is written to it; it is read into the graph if not.
    pub to_file: bool,
}

impl Io {
    /// What the query does with the file, for a sentence about it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        if self.to_file { "writes" } else { "reads" }
    }
}

/// What is in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// GraphML.
    GraphMl,
    /// GraphSON.
    GraphSon,
}
