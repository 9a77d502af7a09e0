//! Formats: files that hold vertices and edges in one stream, read and written element by element.

pub mod element;
pub mod error;
pub mod graphml;
pub mod graphson;
pub mod json;
#[cfg(test)]
mod strategy;
