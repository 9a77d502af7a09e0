//! Signatures: the arguments and the purpose of each method. One table, a file a family.
//!
//! ```text
//! method   "limit", a step
//! summary  "Passes on the first results and no more."
//! forms    limit(integer)   limit(Scope, integer)
//! ```
//!
//! The table checks calls from text and from bytecode, and completion and documentation read it.
//!
//! - [`kinds`]: sets of kinds of arguments
//! - [`method`]: a signature
//! - [`table`]: all of them, by family and by name
//! - a file a family: source, spawn, walk, map, text, filter, reduce, branch, write, modulator, terminal,
//!   and [`predicate`]; `forms` has what they share

mod branch;
mod filter;
mod forms;
pub mod kinds;
mod map;
pub mod method;
mod modulator;
pub mod predicate;
mod reduce;
mod source;
mod spawn;
pub mod table;
mod terminal;
mod text;
mod walk;
mod write;
