//! GML: graphs as nested lists of keys and values (Graph Modelling Language, not that of geography).
//!
//! ```text
//! lexer    bytes to keys, values and brackets
//! reader   these to elements
//! ```
//!
//! Source: Himsolt, "GML: A portable Graph File Format" (1997).

pub mod lexer;
pub mod reader;
