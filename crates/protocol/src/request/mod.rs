//! Requests: what clients send, in both formats, both ways.

pub(crate) mod argument_check;
pub mod error;
pub mod read;
#[allow(clippy::module_inception)]
pub mod request;
pub mod write;
