//! Requests: what clients send, in both formats, both ways.

pub(crate) mod argument_check;
pub mod error;
pub mod http;
pub mod operation;
pub mod read;
pub mod write;
