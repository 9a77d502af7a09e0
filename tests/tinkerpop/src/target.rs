//! Target: where the queries of scenarios run: in this process, or on a server.

use std::fmt;

/// Where queries run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// In this process.
    Embedded {
        /// Rows of a batch.
        batch_rows: usize,
    },
    /// On a server, over a WebSocket.
    Server(RequestForm),
}

/// Form of requests: those that TinkerPop's drivers send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RequestForm {
    /// `eval`: a text and its bindings, in GraphBinary.
    Text,
    /// `bytecode`, in GraphBinary.
    Bytecode,
    /// `bytecode`, in GraphSON 3.
    BytecodeGraphSon,
}

impl RequestForm {
    /// All of them.
    pub const ALL: &[RequestForm] = &[Self::Text, Self::Bytecode, Self::BytecodeGraphSon];

    /// What reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text, GraphBinary",
            Self::Bytecode => "bytecode, GraphBinary",
            Self::BytecodeGraphSon => "bytecode, GraphSON 3",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded { batch_rows } => write!(formatter, "batches of {batch_rows}"),
            Self::Server(form) => formatter.write_str(form.name()),
        }
    }
}
