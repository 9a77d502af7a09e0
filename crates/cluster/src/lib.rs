//! Decides transactions from a shared log: records, certification, digests, and what reads and writes the log. No I/O.
//!
//! ```text
//! coordinator  reads at S, buffers writes
//!              key_hash   what it checks, what it touches: hashes
//!              record     one record
//!              log        packed with others into a message   ──append──> shared log
//!                                                                             │
//! every node   log             messages in order            <──read_from──────┘
//!              digest          is this the log that everybody reads?
//!              certification   commit or refusal of each record
//! ```
//!
//! The log orders; every node decides alike. Whether a transaction commits is a function of the log before its record,
//! so that there is no vote, no lock, and nothing to fail over. The log is an interface and a form in memory; one
//! on an existing engine, nodes, partitions as stores and queries over them are not here yet.
//!
//! Source: G-Tran (VLDB 2022), whose optimistic concurrency control with decentralised coordinators this is; an ordered
//! log replaces its clocks, its status table and its optimistic validation.

pub mod certification;
pub mod digest;
pub mod key_hash;
pub mod log;
pub mod log_position;
pub mod planted;
pub mod record;
pub mod record_id;
