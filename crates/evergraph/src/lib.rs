//! What Rust users open: a database, its transactions and its snapshots.

pub mod generate;
pub mod import;
pub mod read;
pub mod transaction;
