//! Entries of indexes, as bytes.
//!
//! - [`entry`]: one entry, of a value and an item
//! - [`entry_body`]: the sorted entries of a body, in place

pub mod entry;
pub mod entry_body;
