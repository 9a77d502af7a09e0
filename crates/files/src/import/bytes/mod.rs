//! Bytes: files, pipes and standard input, decompressed, a block at a time.

pub mod input;
pub mod lines;
pub mod source;
