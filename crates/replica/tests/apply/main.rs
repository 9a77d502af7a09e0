//! Transactions of a source, as bytes of its stream, beside what the graph must be then: a function of the source's rows.
//!
//! ```text
//! source   tables as PostgreSQL has them: keys, deferrable ones, values outside of rows; writes the stream's bytes
//! graph    what the rows come to, said naively; and what a database has
//! model    random transactions, compared after each; planted bugs that the comparison must see
//! large    transactions beyond their memory
//! named    the cases that the design names
//! ```

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod graph;
mod large;
mod model;
mod named;
mod replica;
mod source;
mod stream_bytes;
mod world;
