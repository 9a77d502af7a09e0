//! Plans: what a query does, as data.
//!
//! A plan holds names, numbers and items, never an id of a store, a pointer or a closure: it is explained, cached by
//! the text it came from, and could be sent to where the data is.

pub mod algorithm;
pub mod call;
pub mod describe;
pub mod element_reads;
pub mod function;
pub mod io;
mod liveness;
pub mod merge;
pub mod new_element;
pub mod operator;
pub mod operator_facts;
pub mod parts;
pub mod pattern;
pub mod predicate;
pub mod row_order;
pub mod scalar;
mod visit;
