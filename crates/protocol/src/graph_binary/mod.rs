//! GraphBinary 1.0: the binary format of requests, responses and values.

pub mod argument_write;
pub(crate) mod binary_reader;
pub mod bytecode_read;
pub(crate) mod result_read;
pub(crate) mod result_write;
pub(crate) mod type_code;
pub(crate) mod value_write;
