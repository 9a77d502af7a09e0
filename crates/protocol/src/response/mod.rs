//! Responses: what a server answers, frame by frame.

pub mod attributes;
pub mod document;
pub mod frame;
pub mod read;
pub mod status;
