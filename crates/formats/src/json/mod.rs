//! JSON: a strict reader that keeps numbers as text, and a writer.

pub mod read;
pub mod write;
