//! The worked examples of the papers that Evergraph's structures come from, one file a paper.
//!
//! ```text
//! livegraph  VLDB 2020       an edge updated between two reads (section 4, figure 3); readers and
//!                            writers on one list (section 5, figure 4)
//! gart       ATC 2023        edges of one epoch, read at two (section 5.2, figure 7); a cycle of fraud
//!                            on fresh rows of PostgreSQL (section 4.1, figures 1 and 4)
//! dgap       SC 2023         a view that stays while edges come (sections 3.1.2, 3.1.3, figure 3);
//!                            a merge that a crash interrupts (section 3.1.4)
//! gtran      VLDB 2022       a property that another transaction is changing, read in each of its phases, on
//!                            three nodes of a cluster (section 4.3, figure 6)
//! ```
//!
//! Those of LSMGraph (SIGMOD 2024; figures 5, 7, 8, 9) are about files and memory graphs that no face of the database
//! shows: `crates/disk_engine/tests/durable/lsmgraph.rs`. DGAP's figures 3 and 4 are also played on its own structure, slot by
//! slot: `crates/packed/tests/graph/dgap.rs`.
//!
//! Each example is read before and after its records became part of a body: our merges stand where
//! the papers compact, and must not be seen.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod dgap;
mod gart;
mod gtran;
mod lists;
mod livegraph;
