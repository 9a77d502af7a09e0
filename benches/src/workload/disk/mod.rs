//! Graphs of several times the memory: the disk engine beside the memory engine, which has all the memory it wants, and
//! beside RocksDB, fjall and LMDB, which have the same limit.
//!
//! ```text
//! writes    loads, inserts with look-ups and without, bytes of files, opening after a kill, a reader that is held
//! reads     questions, cold and warm: time, and pages read; look-ups, lists and a scan beside the others
//! ablations what filters, T, runs in L0, stamps, transactions and the memory graph are worth
//! linkbench LinkBench's mixes, durable; the newest edges of hubs
//! kernels   algorithms on the lists of each; a scan beside the bandwidth of the disk; SSSP beside a writer
//! ```
//!
//! Run by `make bench-disk`. What would make figures lie: a file system without direct I/O, which `writes` says in a note, a
//! busy machine, and a graph that fits into the limit (`--disk-scale`, `--disk-limit`).

pub mod ablations;
pub mod bandwidth;
pub mod graph;
pub mod helper;
pub mod inserts;
pub mod kernel;
pub mod kernels;
pub mod linkbench;
pub mod newest;
pub mod peers;
pub mod questions;
pub mod reads;
pub mod runs;
pub mod tree;
pub mod writes;
