//! `evergraph bench`: the quick look that users take on their own machine.
//!
//! ```text
//! commits    transactions a second in each mode, beside a bare write and sync
//! live       scan and PageRank on live snapshots, beside a static graph of the same edges; memory
//! looking up a vertex by value, a range, an index built
//! importing  an edge list becomes a durable database
//! restart    opening that database, with a checkpoint and with a long log
//! transactions  a benchmark of its own: isolation, contention, hubs, old snapshots, long logs
//! ```
//!
//! Beside other engines: the harness in `benches/`, which shares `crates/measure` with this.
//!
//! Every figure is the median of several runs with their range, and the runs of what is compared take
//! turns, so that a machine that gets slower for a while slows both. Below each table stands what would
//! make it lie.

pub mod commits;
pub mod importing;
pub mod live;
pub mod looking_up;
pub mod plan;
pub mod report;
pub mod restart;
pub mod run;
pub mod section;
pub mod transactions;
