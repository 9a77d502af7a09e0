//! Random changes of any database: statements that its catalogue allows, from sessions of their own.
//!
//! ```text
//! schema      tables, columns, keys and references of a catalogue, and values that rows have
//! value       a value of a type, as an SQL literal
//! statement   what one statement changes
//! session     transactions of such statements, with savepoints, on a connection; its statements in a file
//! ```

pub mod schema;
pub mod session;
pub mod statement;
pub mod value;
