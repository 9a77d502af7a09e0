//! Transactions: buffered writes on a snapshot, checked and committed under one short latch.

pub mod names;
