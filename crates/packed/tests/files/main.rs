//! Packed graphs in files: created, opened, killed, damaged, locked, on a disk that is full.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]
#![allow(clippy::disallowed_methods, reason = "a test damages files, and waits for a process that it kills")]

#[path = "../graph/adjacency.rs"]
mod adjacency;
mod damage;
mod kills;
mod openings;

use evergraph_packed::memory::file::FileMemory;
use evergraph_packed::memory::region::Domain;
use evergraph_storage::io::dax::Emulation;
use std::path::Path;

/// The memory of a directory, whatever its file system.
fn memory(place: &Path, domain: Domain) -> FileMemory {
    FileMemory::create(place, Emulation::Demanded, domain).unwrap()
}
