//! GraphSON 3: the same as JSON with types.

pub mod argument_write;
pub mod bytecode_read;
pub(crate) mod result_read;
pub(crate) mod result_write;
