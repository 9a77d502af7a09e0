//! Processes: which ones read a database, told from outside, without joining it.
//!
//! ```text
//! lock of reader-<n>   held: a process reads                 its word in `live`: it has joined the present writer
//! slots 16n..16n+15    its open snapshots, if it has joined             retained bytes: what the writer says that waits for them
//! ```
//!
//! Nothing is changed, and nobody is kept from a lock. What is told was so at some moment while it was looked at.

use crate::claimed_slots::{has_joined, reader_file, slots_of};
use crate::durable::opening::CLAIMS;
use crate::live::{Live, WriterPresence};
use crate::live_file::LiveFile;
use crate::live_head::SLOTS_PER_PROCESS;
use crate::reader::live_reader::presence;
use crate::slots::{ReaderSlot, SlotLook};
use crate::words::SharedWords;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::directory::{Directory, LockState};
use evergraph_storage::sync::atomic::Ordering;
use std::sync::Arc;

/// Who has a database open.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DatabaseProcesses {
    /// The process that has it open to write, if there is one that left its id.
    pub writer: Option<u32>,
    /// The newest commit that its readers see; `None` if nobody writes.
    pub readable: Option<Timestamp>,
    /// Those that read, by claim.
    pub readers: Vec<ReaderProcess>,
}

/// A process that reads a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReaderProcess {
    /// Which claim it has: the number of its file `reader-<n>`.
    pub claim: u32,
    /// Its id, if it left it.
    pub process: Option<u32>,
    /// Whether it reads what the present writer writes. Otherwise it reads what an earlier one left, and that writer keeps the
    /// log and every byte of the array files that were there when it opened the database; of its snapshots nothing is known.
    pub has_joined: bool,
    /// Open snapshots, those in one slot counted once.
    pub snapshots: u32,
    /// The snapshot that has been open for longest.
    pub oldest: Option<OldestSnapshot>,
    /// Bytes of what was replaced since and waits for its snapshots, as the writer found when it looked last, mostly some seconds
    /// ago: in `live`, and bodies in array files without columns that others can share. What snapshots of several processes need counts
    /// for the one that has been open for longest; but of snapshots that began at one commit, with nothing replaced in between, for each
    /// process that has one. `None` unless it has joined.
    pub retained_bytes: Option<u64>,
}

/// The oldest snapshot of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OldestSnapshot {
    /// The commit that it sees.
    pub timestamp: Timestamp,
    /// When it began, in seconds since 1970 on that process' calendar.
    pub begun_unix_seconds: u32,
}

/// Who has the database of `directory` open now.
///
/// Cost: a look for each of 64 files, and a mapping.
///
/// # Errors
/// `io`, naming the file, without permission to read the locks or to map `live`.
pub fn database_processes(directory: &Arc<dyn Directory>) -> Result<DatabaseProcesses> {
    let mut found = DatabaseProcesses::default();
    let mut live = None;
    if let WriterPresence::Present(process) = presence(&**directory)? {
        found.writer = process;
        live = present_live(directory, process)?;
        found.readable = live.as_ref().map(Live::readable);
    }
    for claim in 0..CLAIMS {
        if let LockState::Held(process) = directory.lock_state(&reader_file(claim))? {
            found.readers.push(of_claim(live.as_ref(), claim, process));
        }
    }
    Ok(found)
}

/// What the present writer shares, if it lets others read already.
fn present_live(directory: &Arc<dyn Directory>, process: Option<u32>) -> Result<Option<Live>> {
    let joined = LiveFile::open(Arc::clone(directory)).and_then(|(file, head)| {
        let words = Arc::new(SharedWords::new(Arc::new(file), head.sizes));
        Live::join(words, head.opening, WriterPresence::Present(process))
    });
    match joined {
        Ok(live) => Ok(Some(live)),
        Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

fn of_claim(live: Option<&Live>, claim: u32, process: Option<u32>) -> ReaderProcess {
    let live = live.filter(|live| claim < live.head().slots / SLOTS_PER_PROCESS && has_joined(live, claim));
    let looks: Vec<SlotLook> =
        live.into_iter().flat_map(|live| slots_of(live, claim)).filter_map(ReaderSlot::look).collect();
    let oldest = looks.iter().min_by_key(|look| (look.holder.begun, look.snapshot));
    // Of snapshots that have ended since, the writer does not know yet.
    let retained =
        |live: &Live| if looks.is_empty() { 0 } else { live.retained_word(claim).load(Ordering::Relaxed) };
    ReaderProcess {
        claim,
        process,
        has_joined: live.is_some(),
        snapshots: looks.len() as u32,
        oldest: oldest
            .map(|look| OldestSnapshot { timestamp: look.snapshot, begun_unix_seconds: look.holder.begun }),
        retained_bytes: live.map(retained),
    }
}
