//! Decides transactions from a shared log: records, certification, digests, what reads and writes the log, and what a node makes
//! of it. No I/O but a node's own files and, behind the features `network` and `etcd`, connections to other nodes and to the log.
//!
//! ```text
//! coordinator  transaction reads at S, buffers writes
//!              key_hash   what it checks, what it touches: hashes
//!              record     one record
//!              log        packed with others into a message   ──append──> shared log
//!                                                                             │
//! every node   log             messages in order            <──read_from──────┘
//!              digest          is this the log that everybody reads?
//!              certification   commit or refusal of each record
//!              tables          rows, names, indexes, members, places
//!              node            all of this in order, into partitions; checkpoints, starts
//!
//! node to node remote          questions as of a moment of the log, who is asked, and who may answer them
//!              node            what is in use anywhere, and so may not be merged; the thread that owns all of this
//!              transport       frames
//!              copy            what a node lacks, from those that have it
//!              travel          stages of queries, whose rows go from node to node
//! ```
//!
//! The log orders; every node decides alike. Whether a transaction commits is a function of the log before its record,
//! so that there is no vote, no lock, and nothing to fail over. Partitions lie in stores. Log and network are
//! interfaces with forms in memory; the log has one on etcd, and the network one over TCP. What stages of queries are that run where
//! the vertices lie, somebody else knows ([`evergraph_graph::travel`]).
//!
//! Source: G-Tran (VLDB 2022), whose optimistic concurrency control with decentralised coordinators this is; an ordered
//! log replaces its clocks, its status table and its optimistic validation.

pub mod certification;
pub mod checksum;
pub mod copy;
pub mod digest;
pub mod engine;
pub mod key_hash;
pub mod log;
pub mod log_position;
pub mod node;
pub mod planted;
pub mod record;
pub mod record_id;
pub mod remote;
#[cfg(feature = "running")]
pub mod running;
pub mod seeded;
pub mod tables;
pub mod transaction;
pub mod transport;
pub mod travel;
