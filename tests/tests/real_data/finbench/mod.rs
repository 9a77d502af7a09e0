//! LDBC FinBench's write streams: a bank's 55,378 operations, each one transaction, held against a model
//! that applies the same to plain lists.
//!
//! ```text
//! stream          files -> operations in the order of time
//! transactions    an operation on a database: write, or read, check, write or roll back
//! model           an operation on lists; is a snapshot the same bank?
//! replay          the tests: one thread in the order of time, many where operations commute
//! ```
//!
//! The bank that the streams begin with isn't published, so whoever is named is added at first sight, and
//! a delete of an account that nobody named finds none. No operation names an account after its delete.

mod model;
mod replay;
mod stream;
mod transactions;
