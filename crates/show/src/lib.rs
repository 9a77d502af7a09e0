//! Show: what shows Evergraph at work: a demonstration, benchmarks of one machine, and generated graphs.
//!
//! ```text
//! demo      a bank's payments: written durably, analysed live, killed, verified
//! bench     what this machine reaches: commits, live analysis, look-ups, import, restart, transactions
//! generate  a seeded graph of a kind, to be loaded or written to files
//! folder    where the first two keep their databases
//! ```
//!
//! Each part is given what to do, a console to tell it on, and the flag that Ctrl-C sets. The command line and the
//! settings behind it are the program's: `crates/cli`, whose `demo`, `bench` and `generate` run this.

pub mod bench;
pub mod demo;
pub mod folder;
pub mod generate;
