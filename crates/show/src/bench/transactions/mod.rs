//! Transactions under load: what isolation, contention, hubs, old snapshots and long logs cost.
//!
//! ```text
//! contest         the same clients under both isolation levels, in turn
//! told            a section as a Markdown table, ready to be pasted
//! social          LinkBench's mix on its own distributions, at low and high contention
//! half_writes     half of the transactions write, on an R-MAT graph
//! hub_look_ups    single edges of a hub looked up while somebody appends to it
//! hub_appends     threads that append to one hub, beside as many on vertices of their own
//! held_snapshot   updates with and without a snapshot that stays open
//! recovery        opening, by the length of the log; what checksums take of it and of commits
//! ```
//!
//! What is compared takes turns within one process. Every throughput of transactions counts those that
//! committed, after all their retries; the share of attempts that were refused stands beside it.

pub mod contest;
pub mod half_writes;
pub mod held_snapshot;
pub mod hub_appends;
pub mod hub_look_ups;
pub mod plan;
pub mod recovery;
pub mod run;
pub mod social;
pub mod told;
