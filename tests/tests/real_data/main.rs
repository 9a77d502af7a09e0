//! Real graphs, end to end: imported, lived in under transactions, analysed while they change, closed
//! and opened again; always with the answers that their publishers or other tools computed.
//!
//! ```text
//! import         the columns read from the files, with the counts that are known of them
//! mapped         sets read as recognised, and by mapping files with every kind of value
//! snb            LDBC SNB Interactive sample: 31 files, 6,920 operations, one transaction each
//! lsqb           nine counting queries on LDBC's networks; `snb` has them before and after the operations
//! finbench       LDBC FinBench: 55,378 writes of a bank in the order of time, and 20,000 by many threads
//! p2p            Gnutella: a base graph and 30,000 updates are the published graph
//! published      ego-Twitter, R-MAT 17, the Graphalytics examples
//! rome           a road network: ways between two crossings, neighbourhoods, cycles
//! tinkerpop      TinkerPop's sample graphs from GraphSON and GraphML
//! temporal       three streams of timestamped edges, at up to five moments each
//! imported       (support) a database made of files, and its ids
//! peak           (support) a test in a process of its own, whose memory is measured
//! answers        (support) the four algorithms against answer files
//! ```
//!
//! On each engine, most of them; what takes longest on one, and smaller sets on the others. The disk engine has a limit of
//! 64 MiB, the least that it takes. The largest sets' peak memory is compared with that. What the mapped engine writes is also
//! read by readers beside it: `snb`, `p2p` and R-MAT 17 in a process of their own, the others, and older snapshots, in the writer's.
//!
//! Where the sets are, and what happens without them: `tests/src/data.rs`.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod answers;
mod finbench;
mod import;
mod imported;
mod lsqb;
mod mapped;
mod p2p;
mod peak;
mod published;
mod rome;
mod snb;
mod snb_updates;
mod temporal;
mod tinkerpop;
