//! Disk benchmark: the disk engine on a graph several times larger than its memory limit.
//!
//! ```text
//! graph    R-MAT edges, loaded; some more inserted, so that several levels have files     same edges: memory engine
//! reads    questions about one item and about batches: time, and pages read
//! ```
//!
//! Run by `make bench-disk`. Files lie in `--folder`, on the disk that is measured; pages are read by direct I/O, so
//! that the system's page cache holds none of them. What would make figures lie: a file system without direct I/O
//! (said in the first lines), a busy machine, a graph that fits into the limit (`--limit-mib`).

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time, and waits for compactions")]

mod graph;
mod options;
mod reads;

use crate::options::Options;
use evergraph_graph::error::Result;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    reads::run(&Options::from_arguments(std::env::args().skip(1))?)
}
