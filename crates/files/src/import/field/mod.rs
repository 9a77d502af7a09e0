//! Field: the value of one field's text, in the type of its column.

pub mod cell;
pub mod epoch;
pub mod guess;
pub mod integer;
pub mod lenient;
pub mod literal;
