//! Report: what is in a database and what it takes, as documents that the program prints and the server sends, and
//! that the program reads of a server.
//!
//! ```text
//! statistics   everything that is counted: schema, degrees, memory, disk
//! schema       labels, edge types, properties and indexes
//! index        the indexes, with their sizes
//! mapped       files of the mapped engine, and memory beside them
//! plan         the steps of a query, and what each did
//! vertex_names what people call the vertices of an answer
//! ```
//!
//! The names of members are those of `evergraph stats --json` and its like, and part of the interface. Nothing here prints.

pub mod degrees;
pub mod disk_size;
pub mod index;
pub mod mapped;
pub mod plan;
pub mod schema;
pub mod sizes;
pub mod statistics;
pub mod tree;
pub mod vertex_names;
