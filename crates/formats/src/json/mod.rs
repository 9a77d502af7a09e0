//! JSON: a strict reader that keeps numbers as text, one that takes a file apart as it comes, and a writer.

pub(crate) mod brackets;
pub mod read;
pub(crate) mod stream;
pub mod write;
