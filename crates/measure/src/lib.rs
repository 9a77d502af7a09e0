//! Measure: what `evergraph bench` and the harness in `benches/` share, so that both measure the same.
//!
//! ```text
//! figure      a median with its range, in a unit that people read
//! machine     what a figure was measured on; memory of this process
//! disk_sync   how often the disk makes a small write durable
//! clients     threads that take steps for a time; a transaction with its attempts
//! kernel      algorithms on any topology, answers that can be compared, a static copy of a live graph
//! social      LinkBench's graph and mix of operations, and those operations as our transactions
//! ```
//!
//! Nothing here decides what is measured or how much; that is with whoever measures.

pub mod clients;
pub mod disk_sync;
pub mod figure;
pub mod kernel;
pub mod machine;
pub mod social;
