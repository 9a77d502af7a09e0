//! What a person or a program sees: tables, numbers, progress, errors, and the key that stops it all.

pub mod console;
pub mod failure;
pub mod interrupt;
pub mod meter;
pub mod number;
pub mod table;
