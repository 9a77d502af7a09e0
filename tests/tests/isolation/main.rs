//! Isolation: what transactions of both levels may see of each other, with real threads, on each engine and on a cluster.
//!
//! ```text
//! acid       the anomalies of the LDBC ACID test suite
//! graph      what is special about graphs: dangling edges, both sides of a list, upserts, indexes
//! skews      anomalies of reading only, and of more than two transactions
//! histories  random lists of appends, judged by two independent checkers
//! contention how often transactions commit when they rarely meet
//! deployment where the graph is
//! race       threads that begin together, each with its random numbers
//! ```

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod acid;
mod contention;
mod deployment;
mod graph;
mod histories;
#[path = "../../src/list_history.rs"]
mod list_history;
mod race;
mod skews;
