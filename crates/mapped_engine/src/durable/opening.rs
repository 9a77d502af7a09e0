//! Opening and closing: what was found in array files becomes a graph, with `live` made anew; what is still read when it is closed is
//! left to those who read it.
//!
//! ```text
//! open     the directory is synced, `live` is made anew, then: a lock reader-<n> is held by a process that has not joined it
//!          --> nothing is overwritten, and neither files nor log removed, until none is
//!          names are known, the log is open: others may join
//! close    this writer takes one, kept by whoever still has an extent: a frozen graph, or a snapshot
//! ```
//!
//! Source: mapped-engine, section 5.

use crate::body_store::extent_bytes::ExtentBytes;
use crate::body_store::stored_body::StoredBody;
use crate::body_store::stored_column::StoredColumn;
use crate::checkpoint::ledger::LedgerEntry;
use crate::checkpoint::open::{FoundFiles, FoundSegment, found_ledger, open_files, sync_names};
use crate::checkpoint::write::Checkpointer;
use crate::claimed_slots::{ReaderLock, has_joined, is_reader_file, reader_file};
use crate::engine::attach::AttachedSegment;
use crate::engine::graph::MappedGraph;
use crate::engine::mapped_engine::MappedEngine;
use crate::engine::options::MappedOptions;
use crate::extents::table::{ExtentOptions, Extents, Reuse};
use crate::files::segment_id::{INDEXES, SegmentId};
use crate::live::Live;
use crate::live_file::{FILE_NAME, LiveFile};
use crate::live_head::{LiveHead, SLOTS, SLOTS_PER_PROCESS};
use crate::words::SharedWords;
use evergraph_graph::id::LabelId;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::io::directory::{Directory, LockGuard, LockState};
use evergraph_storage::io::error::IoError;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::Timeline;
use std::sync::Arc;

/// A database that was opened.
#[derive(Debug)]
pub struct OpenedDatabase {
    /// The engine, with every commit through C.
    pub engine: MappedEngine,
    /// Bytes that were read of its files.
    pub bytes_count: u64,
}

/// Opens the database of `directory`, whose manifest this is; its lock is held. The log is read later.
///
/// Builds of indexes are going to take memory of `budget`.
///
/// Cost: a look at each segment, and the runs; no body is read.
///
/// # Errors
/// As [`open_files`]; `limit` if runs don't fit into `live`.
pub fn open_database(
    directory: &Arc<dyn Directory>,
    manifest: &Manifest,
    timeline: &Arc<Timeline>,
    options: (MappedOptions, ExtentOptions),
    budget: &Arc<MemoryBudget>,
) -> CheckpointResult<OpenedDatabase> {
    sync_names(&**directory)?;
    // In this order: a process that joined the `live` before has its lock by now, or learns that it is another one.
    let opened = new_live(directory, timeline, &options.0).and_then(|live| {
        let reuse = reuse(&**directory, &live)?;
        open_in(live, reuse, directory, manifest, timeline, options, budget)
    });
    if opened.is_err() {
        remove_shared_files(&**directory);
    }
    opened
}

/// Removes the files that processes share while the database is open: `live`, and those of readers that nobody holds. The caller
/// has the database's lock, and writes no more.
///
/// Whoever has joined `live` has it mapped. Whoever is about to join it finds that its name is gone, once it has the lock of a
/// reader, and looks again. The next opening makes all of them anew: what can't be removed is its affair.
pub fn remove_shared_files(directory: &dyn Directory) {
    let _ = directory.remove(FILE_NAME);
    let names = directory.list().unwrap_or_default();
    for name in names.iter().filter(|name| is_reader_file(name)) {
        if let Ok(Some(lock)) = directory.lock_unchanged(name) {
            let _ = directory.remove(name);
            drop(lock);
        }
    }
}

/// As [`open_database`], in a process that writes nothing and has no lock: what is in memory is its own.
///
/// # Errors
/// As [`open_database`].
pub fn open_to_read(
    directory: &Arc<dyn Directory>,
    manifest: &Manifest,
    timeline: &Arc<Timeline>,
    options: MappedOptions,
) -> CheckpointResult<OpenedDatabase> {
    let sizes = options.region_sizes;
    let live = live_in(Arc::new(SharedWords::on_heap(sizes)), timeline, &options)?;
    let options = (options, ExtentOptions::default());
    // Nothing is built here.
    let budget = Arc::new(MemoryBudget::new(0));
    open_in(live, Reuse::OnlyRead, directory, manifest, timeline, options, &budget)
}

fn open_in(
    live: Arc<Live>,
    reuse: Reuse,
    directory: &Arc<dyn Directory>,
    manifest: &Manifest,
    timeline: &Arc<Timeline>,
    (options, extents): (MappedOptions, ExtentOptions),
    budget: &Arc<MemoryBudget>,
) -> CheckpointResult<OpenedDatabase> {
    let FoundFiles { extents, segments, indexes, bytes_count } =
        open_files(directory, manifest, extents, reuse)?;
    let extents = Arc::new(extents);
    let graph = MappedGraph::new(
        Arc::clone(timeline),
        Arc::clone(directory),
        Arc::clone(&live),
        Arc::clone(&extents),
        options,
        Arc::clone(budget),
    );
    for group in &manifest.groups {
        graph.open_group(group.id, group.label);
    }
    graph.indexes().found(&indexes.indexes, indexes.next);
    if !indexes.indexes.is_empty() {
        graph.open_group(INDEXES, LabelId(0));
    }
    let mut entries = Vec::with_capacity(segments.len());
    let mut segments = segments.into_iter().peekable();
    while let Some(own) = segments.next() {
        let (own, entry) = attached(own);
        entries.push(entry);
        let mut hubs = Vec::new();
        while let Some(hub) = segments.next_if(|segment| segment.id.hub_row().is_some()) {
            let (hub, entry) = attached(hub);
            entries.push(entry);
            hubs.push(hub);
        }
        let group =
            graph.groups().get(own.id.group()).expect("the section was checked: its groups are there");
        graph.attach(&Arc::clone(group), own, hubs).map_err(CheckpointError::Refused)?;
    }
    let ledger = found_ledger(manifest, indexes, entries);
    let checkpointer = Checkpointer::new(Arc::clone(directory), extents, ledger);
    Ok(OpenedDatabase { engine: MappedEngine::with_files(Arc::new(graph), checkpointer), bytes_count })
}

fn new_live(
    directory: &Arc<dyn Directory>,
    timeline: &Timeline,
    options: &MappedOptions,
) -> CheckpointResult<Arc<Live>> {
    let file = LiveFile::create(Arc::clone(directory)).map_err(CheckpointError::Refused)?;
    live_in(Arc::new(SharedWords::new(Arc::new(file), options.region_sizes)), timeline, options)
}

fn live_in(
    words: Arc<SharedWords>,
    timeline: &Timeline,
    options: &MappedOptions,
) -> CheckpointResult<Arc<Live>> {
    let head = LiveHead::of_opening(options.region_sizes, options.slots).map_err(CheckpointError::Refused)?;
    let live = Live::create(words, head, timeline.published()).map_err(CheckpointError::Refused)?;
    Ok(Arc::new(live))
}

type NamedEntry = (SegmentId, LedgerEntry<Arc<StoredBody>>);

/// The body that lies in the extents of a segment, and what the manifest names of it.
fn attached(mut found: FoundSegment) -> (AttachedSegment, NamedEntry) {
    let columns = found.columns.drain(..).map(|(key, extent)| {
        let base = extent.header().base;
        (key, Arc::new(StoredColumn::new(ExtentBytes::Own(extent), base)))
    });
    let columns = columns.collect();
    let body = found.body.take().map(|extent| Arc::new(StoredBody::found(ExtentBytes::Own(extent), columns)));
    let attached = AttachedSegment {
        id: found.id,
        base: found.base,
        body: body.clone().unwrap_or_else(|| Arc::new(StoredBody::empty())),
        items: found.items as usize,
        records: std::mem::take(&mut found.records),
    };
    (attached, found.into_entry(body))
}

/// Locks that there are.
pub(crate) const CLAIMS: u32 = SLOTS / SLOTS_PER_PROCESS;

/// Whether free bytes may be written: not while a reader's lock is held by a process that has not joined `live`, and so may read
/// what was free when this was opened. Those that have joined have slots.
///
/// Cost: a look for each of 64 files.
///
/// # Errors
/// What the system says.
pub fn reuse(directory: &dyn Directory, live: &Live) -> CheckpointResult<Reuse> {
    for claim in 0..CLAIMS {
        match directory.lock_state(&reader_file(claim))? {
            LockState::Held(_) if !is_joined(live, claim) => return Ok(Reuse::Forbidden),
            LockState::Held(_) | LockState::Free => {}
        }
    }
    Ok(Reuse::Allowed)
}

/// There may be fewer slots than locks.
fn is_joined(live: &Live, claim: u32) -> bool {
    claim < live.head().slots / SLOTS_PER_PROCESS && has_joined(live, claim)
}

/// Lets free bytes be written that an opening had to spare, if nobody reads them any more.
///
/// # Errors
/// What the system says.
pub fn allow_reuse(directory: &dyn Directory, extents: &Extents, live: &Live) -> CheckpointResult<()> {
    if extents.is_reuse_forbidden() && reuse(directory, live)? == Reuse::Allowed {
        extents.allow_reuse()?;
    }
    Ok(())
}

/// Leaves a lock to those who still read extents of a writer that is about to let the database go. The last ones are tried first:
/// processes that read take the first.
pub fn leave_lock(directory: &Arc<dyn Directory>, extents: &Extents) {
    for claim in (0..CLAIMS).rev() {
        match ReaderLock::take_one(directory, claim) {
            Ok(lock) => return extents.close(LockGuard::new(lock)),
            Err(IoError::Locked { .. }) => {}
            // A disk that refuses an empty file: nobody is left to tell, and closing goes on.
            Err(_) => return,
        }
    }
}
