//! Pajek: networks as sections of lines (`.net`, `.paj`).
//!
//! ```text
//! fields   one line as words and quoted texts
//! section  what a line that begins with `*` announces
//! reader   lines to elements
//! ```
//!
//! Source: Batagelj and Mrvar, "Pajek: Reference Manual", sections 3 and 5.3.

pub mod fields;
pub mod reader;
pub mod section;
