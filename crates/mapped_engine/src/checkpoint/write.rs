//! The fuzzy checkpoint: stores what was committed since the last one, while writes go on.
//!
//! ```text
//! 1  C := W, once the log is synced through it
//! 2  each segment that changed: its records up to C that no file holds, as a run in a batch; if they are too many, a body.
//!    Runs in batches of which less than a quarter is alive move into a new one. What is going to be named is held
//! 3  array files synced
//! 4  catalogue and ids; log synced through need = max(C, every base, the catalogue's commit)
//! 5  manifest: written aside, synced, renamed, directory synced
//! 6  log files up to C and array files without extents: removed, unless readers of an earlier writer hold a lock. What only the
//!    manifest before named is free
//! ```
//!
//! Bodies are in files when they are merged; nothing here copies one, but for what a failed sync lost. So a checkpoint costs
//! what was committed, and the manifest.
//!
//! Why what is named is one graph. Of each segment one version is looked at: its body is exact at its base, and its records are
//! all that are newer. Those up to C are in runs, which belong to a base: if that changed, the records between it and C are
//! written anew. Recovery puts each record of the log with `ts > C` on the segments whose base is older than `ts`. So a segment
//! misses nothing, and gets nothing twice. Ids and names are taken after C: no commit that the files hold used one that isn't in
//! the manifest, and later ones are in the log. A bulk load is in no log, so a checkpoint that one overtook begins anew.
//!
//! A failure before the renaming leaves everything as it was; what was written is free again. One during it leaves either
//! manifest: what both name is held until a later checkpoint is durable.
//!
//! Source: mapped-engine, section 6; core-protocol, section 8.

use crate::checkpoint::contract::{CheckpointBody, CheckpointSegments, CheckpointVersion, MergeStep};
use crate::checkpoint::ledger::{Ledger, LedgerEntry, LedgerRun};
use crate::extents::table::Extents;
use crate::files::batch::{BatchWriter, RunTicket, StoredRun, WrittenBatches};
use crate::files::run_form::encode_run;
use crate::files::section::{NamedIndexes, STORED_RUNS_MAX};
use crate::files::segment_id::SegmentId;
use crate::segment_state::due_runs;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::contract::{
    CheckpointOutcome, CheckpointProgress, CheckpointSources, OnCheckpointProgress,
};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::{Manifest, NEW_FILE_NAME, remove_if_there};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::{Condvar, Mutex};
use evergraph_storage::timeline::clock::LatchState;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// How long a segment that another thread merges is left alone.
const PAUSE: Duration = Duration::from_millis(1);
/// How often a merge is tried, or waited for, until the records become a run.
const MERGE_TRIES_MAX: u32 = 1000;
/// A batch of whose bytes less than one in so many is alive is packed again.
const THIN: u64 = 4;

/// Makes the checkpoints of one open database.
///
/// # Concurrency
/// Any thread asks, one checkpoint is made at a time, the others wait. `making` comes before the log's locks and the latch;
/// nothing that a commit needs is held while it writes. `named` is a leaf.
#[derive(Debug)]
pub struct Checkpointer<B> {
    directory: Arc<dyn Directory>,
    extents: Arc<Extents>,
    making: Mutex<()>,
    named: Mutex<NamedLedgers<B>>,
    pause: (Mutex<()>, Condvar),
}

/// What manifests name that a power cut may leave.
#[derive(Debug)]
struct NamedLedgers<B> {
    /// The one that is durable.
    durable: Arc<Ledger<B>>,
    /// Those whose renaming failed since.
    uncertain: Vec<Arc<Ledger<B>>>,
}

impl<B: CheckpointBody> Checkpointer<B> {
    /// Of a database whose manifest names what `ledger` holds.
    #[must_use]
    pub fn new(directory: Arc<dyn Directory>, extents: Arc<Extents>, ledger: Ledger<B>) -> Self {
        let named = NamedLedgers { durable: Arc::new(ledger), uncertain: Vec::new() };
        Self {
            directory,
            extents,
            making: Mutex::default(),
            named: Mutex::new(named),
            pause: Default::default(),
        }
    }

    /// The directory of its files.
    #[must_use]
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    /// The array files.
    #[must_use]
    pub fn extents(&self) -> &Arc<Extents> {
        &self.extents
    }

    /// Does `work` while no checkpoint is made: the manifest on disk stays, and every extent that it names.
    pub fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        let _one = self.making.lock();
        work()
    }

    /// What any manifest may name that is on disk now. Whoever has it keeps the extents.
    #[must_use]
    pub fn named(&self) -> Vec<Arc<Ledger<B>>> {
        let named = self.named.lock();
        named.uncertain.iter().chain([&named.durable]).cloned().collect()
    }

    /// Makes a checkpoint of `segments`, called `engine` in the manifest. `progress` is told after every group and before
    /// every step, and may ask to stop up to the renaming of the manifest.
    ///
    /// Cost: a look at each segment, the records since the checkpoint before and the manifest written once; a sync of each
    /// array file that was written since, and three others. Commits go on meanwhile.
    ///
    /// # Errors
    /// [`CheckpointError::Cancelled`], [`CheckpointError::Poisoned`], those of the log, and what the system says: a full disk
    /// among it, which heals. The checkpoint before is valid then.
    pub fn checkpoint<S>(
        &self,
        engine: &'static str,
        segments: &S,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome>
    where
        S: CheckpointSegments,
        for<'a> S::Version<'a>: CheckpointVersion<Body = B>,
    {
        let _one = self.making.lock();
        loop {
            let mut run = CheckpointRun {
                checkpointer: self,
                engine,
                segments,
                sources,
                progress,
                done: CheckpointProgress::default(),
                through: Timestamp::ZERO,
                before: Arc::clone(&self.named.lock().durable),
                batches: BatchWriter::new(&self.extents, Timestamp::ZERO),
                planned: BTreeMap::new(),
            };
            match run.make()? {
                Some(made) => return Ok(self.clean_up(sources, made)),
                // A bulk load overtook it.
                None => continue,
            }
        }
    }

    /// After the manifest is durable: what nobody needs goes.
    fn clean_up(&self, sources: &CheckpointSources<'_>, made: MadeCheckpoint<B>) -> CheckpointOutcome {
        let mut done = made.outcome;
        let before = {
            let mut named = self.named.lock();
            (std::mem::replace(&mut named.durable, made.ledger), std::mem::take(&mut named.uncertain))
        };
        drop(before);
        // A process that reads by itself what an earlier writer left reads its log, too.
        if !self.extents.is_reuse_forbidden() {
            match sources.log.prune(done.covered_through.0) {
                Ok(bytes) => done.log_bytes_freed = bytes,
                Err(error) => done.left_over = Some(error.into()),
            }
        }
        if let Err(error) = self.extents.remove_empty_files() {
            done.left_over = Some(error);
        }
        done
    }

    fn pause(&self) {
        let guard = self.pause.0.lock();
        drop(self.pause.1.wait_timeout(guard, PAUSE));
    }
}

/// A checkpoint whose manifest is durable.
struct MadeCheckpoint<B> {
    ledger: Arc<Ledger<B>>,
    outcome: CheckpointOutcome,
}

/// A run that is going to be named.
enum PlannedRun {
    /// It is in a file.
    Kept(LedgerRun),
    /// It goes into a new batch.
    New { ticket: RunTicket, after: Timestamp },
}

/// What is going to be named of a segment.
struct PlannedEntry<B> {
    base: Timestamp,
    items: u64,
    body: Option<B>,
    /// Whether the manifest before named this body.
    is_named: bool,
    runs: Vec<PlannedRun>,
}

/// One checkpoint under way.
struct CheckpointRun<'a, S, B> {
    checkpointer: &'a Checkpointer<B>,
    engine: &'static str,
    segments: &'a S,
    sources: &'a CheckpointSources<'a>,
    progress: &'a mut OnCheckpointProgress<'a>,
    done: CheckpointProgress,
    /// C.
    through: Timestamp,
    /// What the manifest before names.
    before: Arc<Ledger<B>>,
    batches: BatchWriter<'a>,
    planned: BTreeMap<SegmentId, PlannedEntry<B>>,
}

impl<S, B> CheckpointRun<'_, S, B>
where
    S: CheckpointSegments,
    B: CheckpointBody,
    for<'a> S::Version<'a>: CheckpointVersion<Body = B>,
{
    /// `None` if a bulk load overtook the checkpoint.
    fn make(&mut self) -> CheckpointResult<Option<MadeCheckpoint<B>>> {
        let (log, timeline, extents) =
            (self.sources.log, self.segments.timeline(), &self.checkpointer.extents);
        let (groups, loads) = {
            let latch = timeline.latch();
            self.check_healthy(&latch)?;
            self.through = timeline.published();
            (self.segments.groups(), latch.loads)
        };
        log.wait_durable(self.through.0)?;
        self.batches = BatchWriter::new(extents, self.through);
        self.done.groups_count = groups.len() as u64;
        self.tell()?;
        for group in groups {
            for segment in self.segments.segments(group) {
                for hub in self.plan_segment(&segment)? {
                    let hubs = self.plan_segment(&hub)?;
                    if !hubs.is_empty() {
                        let problem = "a hub has no hubs of its own".to_owned();
                        return Err(CheckpointError::Unsound { what: format!("group {}", group.0), problem });
                    }
                }
            }
            self.done.groups_done += 1;
            self.tell()?;
        }
        self.pack_thin_batches()?;
        let batches =
            std::mem::replace(&mut self.batches, BatchWriter::new(extents, self.through)).finish()?;
        let fresh =
            self.planned.values().filter(|entry| !entry.is_named && entry.body.is_some()).count() as u64;
        let bytes_written = batches.bytes();
        self.done.bytes_written = bytes_written;
        let mut ledger = self.ledger(&batches);
        drop(batches);
        if !planted(Bug::ManifestBeforeBodies) {
            extents.sync()?;
            check_durable(&ledger)?;
        }
        self.tell()?;
        let (newest, catalogue, notes) = {
            // A commit shows its catalogue before its timestamp; under the latch there is none between.
            let latch = timeline.latch();
            self.check_healthy(&latch)?;
            if latch.loads != loads {
                return Ok(None);
            }
            // As of the catalogue: an index of the same identity may have been dropped and built anew.
            ledger.name_indexes(self.segments.indexes());
            (timeline.published(), (self.sources.catalogue)(), (self.sources.notes)(self.through))
        };
        let groups = (self.sources.groups)();
        let need = ledger.segments.values().fold(newest, |need, entry| need.max(entry.base));
        if !planted(Bug::NeedNotSynced) {
            log.wait_durable(need.0)?;
        }
        self.tell()?;
        if planted(Bug::PruneBeforeManifest) {
            log.prune(self.through.0)?;
        }
        log.make_end_file()?;
        let mut manifest = Manifest {
            covered_through: self.through,
            need,
            next_file: extents.next_number(),
            catalogue: Catalogue::clone(&catalogue),
            groups,
            has_end_file: true,
            notes,
            ..Manifest::empty(self.engine, Vec::new())
        };
        ledger.section(extents.unit()).put_into(&mut manifest)?;
        let ledger = Arc::new(ledger);
        if planted(Bug::ReusedUnderCheckpoint) {
            self.checkpointer.named.lock().durable = Arc::clone(&ledger);
            self.before = Arc::clone(&ledger);
        }
        let directory = &*self.checkpointer.directory;
        let mut is_renaming = false;
        let written = manifest.write(directory, || {
            // Once more: a store that takes no commits any more, because it was closed or something failed,
            // leaves the manifest to whoever opens the database next.
            self.check_healthy(&timeline.latch())?;
            // From here on either manifest may be found.
            self.checkpointer.named.lock().uncertain.push(Arc::clone(&ledger));
            is_renaming = true;
            Ok(())
        });
        if let Err(error) = written {
            if !is_renaming {
                // What can't be removed now is removed by the next checkpoint or opening.
                let _ = remove_if_there(directory, NEW_FILE_NAME);
            }
            return Err(error);
        }
        if planted(Bug::ManifestBeforeBodies) {
            extents.sync()?;
        }
        let mut outcome = CheckpointOutcome::new(self.through, need);
        outcome.segments_count = ledger.segments.len() as u64;
        outcome.bodies_written = fresh;
        outcome.bytes_written = bytes_written;
        Ok(Some(MadeCheckpoint { ledger, outcome }))
    }

    /// Whether commits go on: what a panic left half done, or the log does not have, is not written.
    fn check_healthy(&self, latch: &LatchState) -> CheckpointResult<()> {
        match &latch.poisoned {
            Some(cause) => Err(CheckpointError::Poisoned { cause: cause.clone() }),
            None => Ok(self.sources.log.check_poison()?),
        }
    }

    /// Says what is going to be named of a segment; its hubs.
    fn plan_segment(&mut self, segment: &S::Segment) -> CheckpointResult<Vec<S::Segment>> {
        let segments = self.segments;
        let mut version = segments.version(segment)?;
        // The log was synced through C, so that a merge takes all up to it, unless a load holds R back, or there is no room for
        // names. Nothing depends on it: what isn't merged becomes a run.
        for _ in 0..MERGE_TRIES_MAX {
            if version.base() >= self.through || version.newest() <= version.base() || !version.is_merge_due()
            {
                break;
            }
            drop(version);
            let merged = segments.merge(segment);
            self.tell()?;
            version = segments.version(segment)?;
            match merged {
                Ok(MergeStep::Done) => {}
                Ok(MergeStep::Nothing) => break,
                Ok(MergeStep::Busy) => self.checkpointer.pause(),
                Err(error) if is_damage(&error) => return Err(error),
                // A full disk, or no room in `live`: a run is smaller than a body.
                Err(_) => break,
            }
        }
        let (id, base, hubs) = (version.id(), version.base(), version.hubs());
        let before = Arc::clone(&self.before);
        // Bases only grow, one body each: the base tells whether this is the body that is named.
        let before = before.segments.get(&id).filter(|entry| entry.base == base);
        let body = match before {
            Some(entry) => entry.body.clone().or_else(|| version.body().cloned()),
            None => match version.body() {
                Some(body) if body.parts().any(|(_, extent)| extent.is_lost()) => {
                    let rewritten = body.rewritten(&self.checkpointer.extents)?;
                    segments.move_body(segment, body, &rewritten)?;
                    Some(rewritten)
                }
                body => body.cloned(),
            },
        };
        let runs = self.plan_runs(&version, before)?;
        let is_empty = base == Timestamp::ZERO && body.is_none() && runs.is_empty() && hubs.is_empty();
        if !is_empty || id.index_number().is_some() {
            let is_named = before.is_some();
            let items = version.items();
            self.planned.insert(id, PlannedEntry { base, items, body, is_named, runs });
        }
        Ok(hubs)
    }

    /// The runs beside a body: those that are in files, and the records that are not.
    fn plan_runs(
        &mut self,
        version: &S::Version<'_>,
        before: Option<&LedgerEntry<B>>,
    ) -> CheckpointResult<Vec<PlannedRun>> {
        let base = version.base();
        if base >= self.through {
            return Ok(Vec::new());
        }
        let mut kept = before.map_or_else(Vec::new, |entry| entry.runs.clone());
        let mut after = if before.is_some() { base.max(self.before.covered_through) } else { base };
        let is_known = version.newest() <= after || planted(Bug::SkipDirty);
        let mut records = if is_known { Vec::new() } else { version.records(after, self.through)? };
        if !records.is_empty() && kept.len() == STORED_RUNS_MAX {
            let sizes: Vec<usize> = kept.iter().map(|run| run.run.range().bytes as usize).collect();
            let sizes =
                [&sizes[..], &[encode_run(&records).map_err(CheckpointError::Refused)?.len()]].concat();
            // At least one, to make room; and those that aren't four times as large as all that are newer.
            let merged = kept.split_off(sizes.len() - due_runs(&sizes).max(2));
            after = merged[0].after;
            records = version.records(after, self.through)?;
        }
        let mut runs: Vec<PlannedRun> = kept.into_iter().map(PlannedRun::Kept).collect();
        if !records.is_empty() {
            let ticket =
                self.batches.push(version.id(), &encode_run(&records).map_err(CheckpointError::Refused)?)?;
            runs.push(PlannedRun::New { ticket, after });
        }
        Ok(runs)
    }

    /// Moves runs into new batches out of those that are mostly dead.
    fn pack_thin_batches(&mut self) -> CheckpointResult<()> {
        let place = |run: &StoredRun| (run.batch().place().file, run.batch().place().offset);
        let mut alive: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
        let runs = self.planned.values().flat_map(|entry| &entry.runs);
        for run in
            runs.filter_map(|run| if let PlannedRun::Kept(kept) = run { Some(&kept.run) } else { None })
        {
            let of = alive.entry(place(run)).or_insert((0, run.batch().place().payload_bytes));
            of.0 += run.range().occupied().expect("it lies in the batch");
        }
        let is_thin = |&(_, (alive, of)): &(_, (u64, u64))| alive * THIN < of;
        let thin: BTreeSet<(u64, u64)> = alive.into_iter().filter(is_thin).map(|(place, _)| place).collect();
        if thin.is_empty() {
            return Ok(());
        }
        for (id, entry) in &mut self.planned {
            for run in &mut entry.runs {
                if let PlannedRun::Kept(kept) = run
                    && thin.contains(&place(&kept.run))
                {
                    let ticket = self.batches.push(*id, kept.run.bytes()?)?;
                    *run = PlannedRun::New { ticket, after: kept.after };
                }
            }
        }
        Ok(())
    }

    fn ledger(&mut self, batches: &WrittenBatches) -> Ledger<B> {
        let named = |run: PlannedRun| match run {
            PlannedRun::Kept(run) => run,
            PlannedRun::New { ticket, after } => LedgerRun { run: batches.run(&ticket), after },
        };
        let entries = std::mem::take(&mut self.planned).into_iter().map(|(id, entry)| {
            let runs = entry.runs.into_iter().map(named).collect();
            (id, LedgerEntry::new((entry.base, entry.items), entry.body, runs))
        });
        let indexes = NamedIndexes::default();
        Ledger { covered_through: self.through, segments: entries.collect(), indexes }
    }

    fn tell(&mut self) -> CheckpointResult<()> {
        match (self.progress)(self.done) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CheckpointError::Cancelled),
        }
    }
}

/// Whether something is not what was written: nothing may be made of it.
fn is_damage(error: &CheckpointError) -> bool {
    match error {
        CheckpointError::Corrupt { .. } | CheckpointError::Unsound { .. } => true,
        CheckpointError::Refused(error) => error.kind() == ErrorKind::Corrupt,
        _ => false,
    }
}

/// Whether a manifest may name all of this.
fn check_durable<B: CheckpointBody>(ledger: &Ledger<B>) -> CheckpointResult<()> {
    for (id, entry) in &ledger.segments {
        let mut bodies = entry.body.iter().flat_map(CheckpointBody::parts);
        let is_durable = bodies.all(|(_, extent)| extent.is_durable())
            && entry.runs.iter().all(|run| run.run.batch().is_durable());
        if !is_durable {
            let problem = "an extent that is not synced".to_owned();
            return Err(CheckpointError::Unsound { what: id.to_string(), problem });
        }
    }
    Ok(())
}
