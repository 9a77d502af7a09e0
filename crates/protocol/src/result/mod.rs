//! Results of queries: elements with their properties, what a server writes, and what a client reads.

pub mod element_reader;
pub(crate) mod item_walk;
pub(crate) mod property_id;
pub mod result_value;
pub(crate) mod result_writer;
