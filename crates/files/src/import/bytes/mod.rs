//! Bytes: files, pipes and standard input, unpacked, a block at a time.

pub mod input;
pub mod lines;
pub mod source;
