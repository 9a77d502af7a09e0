//! Field: what the text of one field means, as a value of the type that its column has.

pub mod cell;
pub mod epoch;
pub mod guess;
pub mod integer;
pub mod lenient;
pub mod literal;
