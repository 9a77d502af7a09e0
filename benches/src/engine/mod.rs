//! Engines: what every store that is measured can do with edges, and how it was set up.
//!
//! ```text
//! evergraph   both directions of every edge, validated transactions, a log
//! lmdb        B+ tree, pages copied on write; a key a vertex, its targets as sorted duplicates of 4 bytes
//! redb        B+ tree, pages copied on write, in Rust; a key an edge
//! fjall       log-structured merge tree, in Rust; a key an edge
//! rocksdb     log-structured merge tree; a key an edge
//! lmdb_lists, rocksdb_lists  the same with both sides, as lists for kernels (key_lists)
//! limited     ours again, with a limit of memory: either engine; snapshot_reader is what both stores of ours read by
//! ```
//!
//! The others keep one direction, which is in their favour: half of what is written, half of the memory.
//! Putting is an upsert everywhere: an edge that is there stays there once.

pub mod evergraph;
pub mod fjall;
pub mod key_lists;
pub mod key_value;
pub mod kind;
pub mod limited;
pub mod lmdb;
pub mod lmdb_lists;
pub mod power_cut;
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb_lists;
pub mod snapshot_reader;
pub mod store;
