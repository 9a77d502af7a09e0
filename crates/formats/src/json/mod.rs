//! JSON: a strict reader that keeps numbers as text, a streaming reader, and a writer.

pub(crate) mod brackets;
pub mod read;
pub(crate) mod stream;
pub mod value;
pub mod write;
