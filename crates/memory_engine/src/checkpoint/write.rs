//! The fuzzy checkpoint: stores bodies that hold every commit through C, while writes go on.
//!
//! ```text
//! 1  C := W, or the horizon if that is older, once the log is synced through it
//! 2  each segment: merged until its body is exact through C; written if its base is not stored yet
//! 3  bodies' file: checksums, sync, sync of the directory
//! 4  catalogue and ids; log synced through need = max(C, every base, the catalogue's commit)
//! 5  manifest: written aside, synced, renamed, directory synced
//! 6  log files up to C and bodies' files that nothing names: removed
//! ```
//!
//! A bulk load is in no log, so a checkpoint has all of it or nothing: one that finds in step 4 that a
//! load was installed since step 1 begins anew.
//!
//! Why what is written is one graph. Of each segment one [`Version`] is loaded, once: body and base
//! belong together, and so do the hubs that it names. Its body is exact through C: either the base
//! is at or after C, or runs and tail hold no record up to C; they hold every record newer than the
//! base, and all commits through C were installed before C was taken. Recovery puts each record of
//! the log with `ts > C` on the segments whose base is older than `ts`. So a segment misses nothing
//! (what is at or before C is in its body) and gets nothing twice (what is at or before its base is
//! skipped). Bases differ; after the log through `need` all of them are one state, and the log does
//! reach `need`, since step 4 comes before step 5. A row that becomes a hub after its segment was
//! loaded is in the body that was loaded. Ids and names are taken after C: no commit that the
//! bodies hold used one that isn't in the manifest, and later ones are in the log.
//!
//! A failure before the renaming leaves everything as it was. One during it leaves either manifest:
//! the files of both stay until a later checkpoint is durable.
//!
//! Source: core-protocol section 8; a model of it held in 200,000 random histories.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::body_file::{BodyFile, BodyFileWriter, FIRST_BODY_OFFSET, file_name, file_number};
use crate::checkpoint::segment_list::SegmentList;
use crate::group::Group;
use crate::merger::Job;
use crate::segment::version::{Layer, Segment, Stored, Version};
use crate::segments::Segments;
use evergraph_bodies::body::Body;
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::segment_id::SegmentId;
use evergraph_storage::checkpoint::contract::{
    CheckpointOutcome, CheckpointProgress, CheckpointSources, OnCheckpointProgress,
};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::{Manifest, NEW_FILE_NAME, remove_if_there};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::{Condvar, Mutex};
use evergraph_storage::timeline::clock::LatchState;

/// A file with fewer bytes of bodies is small.
const SMALL_FILE_BYTES: u64 = 1 << 20;
/// So many small files may be; if there are more, all of them go into the next file.
const SMALL_FILES_MAX: usize = 16;
/// How long a segment that another thread merges is left alone.
const PAUSE: Duration = Duration::from_millis(1);

/// Makes the checkpoints of one open database.
///
/// Concurrency: any thread asks, one checkpoint is made at a time, the others wait. Its lock comes
/// before the log's and the latch; nothing that a commit needs is held while it writes.
#[derive(Debug)]
pub struct Checkpointer {
    directory: Arc<dyn Directory>,
    files: Mutex<Files>,
    pause: (Mutex<()>, Condvar),
}

#[derive(Debug, Default)]
struct Files {
    next: u64,
    /// Bodies' files on disk, whoever names them, and the bytes of bodies in each.
    bytes: BTreeMap<u64, u64>,
}

impl Checkpointer {
    /// For an engine that has no files yet; `directory` is empty.
    #[must_use]
    pub fn new(directory: Arc<dyn Directory>) -> Self {
        Self {
            directory,
            files: Mutex::new(Files { next: 1, bytes: BTreeMap::new() }),
            pause: Default::default(),
        }
    }

    /// For a database whose manifest was read from `directory`, with the segments that `list` names;
    /// removes what an interrupted checkpoint left.
    ///
    /// The directory is synced first: the manifest that was read could be one whose renaming a power
    /// cut still takes back, and then the files of the one before are needed.
    ///
    /// # Errors
    /// Those of opening bodies' files, and what the system says.
    pub fn open(
        directory: Arc<dyn Directory>,
        manifest: &Manifest,
        list: &SegmentList,
    ) -> Result<Self, CheckpointError> {
        if !planted(Bug::OpenedNotSynced) {
            directory.sync_directory()?;
        }
        remove_if_there(&*directory, NEW_FILE_NAME)?;
        let named = list.files();
        let mut files = Files { next: manifest.next_file, bytes: BTreeMap::new() };
        for number in directory.list()?.iter().filter_map(|name| file_number(name)) {
            files.next = files.next.max(number.saturating_add(1));
            if named.contains(&number) {
                let end = BodyFile::open(&*directory, number)?.bodies_end();
                files.bytes.insert(number, end - FIRST_BODY_OFFSET);
            } else {
                directory.remove(&file_name(number))?;
            }
        }
        Ok(Self { directory, files: Mutex::new(files), pause: Default::default() })
    }

    /// The directory of its files.
    #[must_use]
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    /// Makes a checkpoint of `segments`, called `engine` in the manifest. `progress` is told after every group and before every step, and may ask
    /// to stop up to the renaming of the manifest.
    ///
    /// Cost: merges of all segments that changed, their bodies written once, three syncs of files
    /// and two of the directory; memory for one body. Commits go on meanwhile.
    ///
    /// # Errors
    /// [`CheckpointError::Cancelled`], [`CheckpointError::Poisoned`], those of the log, and what
    /// the system says: a full disk among it, which heals. The checkpoint before is valid then.
    pub fn checkpoint(
        &self,
        engine: &'static str,
        segments: &Segments,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> Result<CheckpointOutcome, CheckpointError> {
        let mut files = self.files.lock();
        loop {
            let mut run = Run {
                checkpointer: self,
                engine,
                segments,
                sources,
                progress,
                done: CheckpointProgress::default(),
                through: Timestamp::ZERO,
                rewrite: BTreeSet::new(),
                writer: None,
                created: None,
                stored: Vec::new(),
                fresh: Vec::new(),
            };
            let mut renaming = false;
            match run.make(&mut files, &mut renaming) {
                Ok(Some((manifest, list))) => return Ok(run.clean_up(&mut files, &manifest, &list)),
                Ok(None) => {
                    let created = run.created;
                    self.forget(&mut files, created);
                }
                Err(error) => {
                    // After the renaming began either manifest may be on disk: everything stays.
                    if !renaming {
                        let created = run.created;
                        self.forget(&mut files, created);
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Does `work` while no checkpoint is made: the manifest on disk stays, and every file that it needs.
    /// What `work` opens can be read afterwards too, even if a checkpoint removes it.
    pub fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        let _files = self.files.lock();
        work()
    }

    /// Removes what a failed checkpoint wrote, so that a full disk gets its space back. What cannot
    /// be removed now is removed, or told of, by the next checkpoint.
    fn forget(&self, files: &mut Files, created: Option<u64>) {
        if let Some(number) = created
            && remove_if_there(&*self.directory, &file_name(number)).is_ok()
        {
            files.bytes.remove(&number);
        }
        let _ = remove_if_there(&*self.directory, NEW_FILE_NAME);
    }

    fn pause(&self) {
        let guard = self.pause.0.lock();
        drop(self.pause.1.wait_timeout(guard, PAUSE));
    }
}

/// In place of the bytes of a file that no manifest names yet.
const UNFINISHED: u64 = 0;

/// One checkpoint under way.
struct Run<'a> {
    checkpointer: &'a Checkpointer,
    engine: &'static str,
    segments: &'a Segments,
    sources: &'a CheckpointSources<'a>,
    progress: &'a mut OnCheckpointProgress<'a>,
    done: CheckpointProgress,
    /// C.
    through: Timestamp,
    /// Files whose living bodies move to the new one.
    rewrite: BTreeSet<u64>,
    writer: Option<BodyFileWriter>,
    /// The number of the new file.
    created: Option<u64>,
    stored: Vec<(SegmentId, Stored)>,
    /// What was written now: told to the segments once the manifest is durable.
    fresh: Vec<(Job, Stored)>,
}

impl Run<'_> {
    /// The manifest that is on disk now, and the segments in it; `None` if a bulk load overtook the checkpoint.
    fn make(
        &mut self,
        files: &mut Files,
        renaming: &mut bool,
    ) -> Result<Option<(Manifest, SegmentList)>, CheckpointError> {
        let (segments, log) = (self.segments, self.sources.log);
        let timeline = segments.timeline();
        let (groups, loads): (Vec<Arc<Group>>, u64) = {
            let latch = timeline.latch();
            self.check_healthy(&latch)?;
            // Bodies don't go beyond the horizon: waiting until they do would take as long as a reader elsewhere.
            self.through = timeline.published().min(timeline.horizon());
            (segments.groups().iter().cloned().collect(), latch.loads)
        };
        log.wait_durable(self.through.0)?;
        self.rewrite = thin_files(segments, files);
        self.done.groups_count = groups.len() as u64;
        self.tell()?;
        for group in groups {
            self.write_group(&group, files)?;
            self.done.groups_done += 1;
            self.tell()?;
        }
        if let Some(writer) = self.writer.take_if(|_| !planted(Bug::ManifestBeforeBodies)) {
            writer.finish()?;
        }
        self.tell()?;
        let (newest, catalogue, notes) = {
            // A commit shows its catalogue before its timestamp; under the latch there is none between.
            let latch = timeline.latch();
            self.check_healthy(&latch)?;
            if latch.loads != loads {
                return Ok(None);
            }
            (timeline.published(), (self.sources.catalogue)(), (self.sources.notes)(self.through))
        };
        let groups = (self.sources.groups)();
        let need = self.stored.iter().fold(newest, |need, (_, stored)| need.max(stored.base));
        if !planted(Bug::NeedNotSynced) {
            log.wait_durable(need.0)?;
        }
        self.tell()?;
        if planted(Bug::PruneBeforeManifest) {
            log.prune(self.through.0)?;
        }
        log.make_end_file()?;
        let list = SegmentList { segments: std::mem::take(&mut self.stored) };
        let mut manifest = Manifest {
            engine: self.engine.to_owned(),
            covered_through: self.through,
            need,
            next_file: files.next,
            catalogue: Catalogue::clone(&catalogue),
            groups,
            engine_section: Vec::new().into(),
            has_end_file: true,
            has_index_entries: false,
            has_runs: false,
            notes,
            partition: segments.own_groups(),
        };
        list.put_into(&mut manifest)?;
        manifest.write(&*self.checkpointer.directory, || {
            // Once more: a store that takes no commits any more, because it was closed or something failed,
            // leaves the manifest to whoever opens the database next.
            self.check_healthy(&timeline.latch())?;
            *renaming = true;
            Ok(())
        })?;
        if let Some(writer) = self.writer.take_if(|_| planted(Bug::ManifestBeforeBodies)) {
            writer.finish()?;
        }
        Ok(Some((manifest, list)))
    }

    /// After the manifest is durable: the segments learn where they lie, and what nobody needs goes.
    fn clean_up(self, files: &mut Files, manifest: &Manifest, list: &SegmentList) -> CheckpointOutcome {
        let mut written = 0;
        for (job, stored) in &self.fresh {
            match job {
                Job::Vertices(segment) => segment.set_stored(*stored),
                Job::Edges(segment) => segment.set_stored(*stored),
            }
            written += stored.length.next_multiple_of(8);
        }
        if let Some((_, stored)) = self.fresh.first() {
            files.bytes.insert(stored.file, written);
        }
        let mut done = CheckpointOutcome::new(manifest.covered_through, manifest.need);
        done.segments_count = list.segments.len() as u64;
        done.bodies_written = self.fresh.len() as u64;
        done.bytes_written = self.done.bytes_written;
        match self.sources.log.prune(self.through.0) {
            Ok(bytes) => done.log_bytes_freed = bytes,
            Err(error) => done.left_over = Some(error.into()),
        }
        let named = list.files();
        files.bytes.retain(|number, _| {
            if named.contains(number) {
                return true;
            }
            match remove_if_there(&*self.checkpointer.directory, &file_name(*number)) {
                Ok(()) => false,
                Err(error) => {
                    done.left_over = Some(error.into());
                    true
                }
            }
        });
        done
    }

    /// Whether commits go on: what a panic left half done, or the log does not have, is not written.
    fn check_healthy(&self, latch: &LatchState) -> Result<(), CheckpointError> {
        match &latch.poisoned {
            Some(cause) => Err(CheckpointError::Poisoned { cause: cause.clone() }),
            None => Ok(self.sources.log.check_poison()?),
        }
    }

    fn write_group(&mut self, group: &Group, files: &mut Files) -> Result<(), CheckpointError> {
        let id = |subject, hub| SegmentId { group: group.id, subject, hub };
        self.write_segment(id(None, None), &group.vertices, files)?;
        let edges = Arc::clone(&group.edges());
        for edge in edges.iter() {
            let version = self.write_segment(id(Some(edge.subject), None), &edge.segment, files)?;
            for hub in version.layer.hubs.iter() {
                let id = id(Some(edge.subject), Some(hub.row));
                let own = self.write_segment(id, &hub.segment, files)?;
                if !own.layer.hubs.is_empty() {
                    let problem = "a hub has no hubs of its own".to_owned();
                    return Err(CheckpointError::Unsound { what: id.to_string(), problem });
                }
            }
        }
        Ok(())
    }

    /// Merges a segment until its body is exact through C, and writes it unless it is stored. The
    /// version whose body and base are in the checkpoint.
    fn write_segment<B: Body + StableForm>(
        &mut self,
        id: SegmentId,
        segment: &Arc<Segment<B>>,
        files: &mut Files,
    ) -> Result<Arc<Version<B>>, CheckpointError>
    where
        Job: for<'b> From<&'b Arc<Segment<B>>>,
    {
        let segments = self.segments;
        let version = loop {
            let version = segment.load_full();
            if is_exact_through(&version.layer, self.through) {
                break version;
            }
            if !segments.merger().merge(segments.timeline(), &Job::from(segment)) {
                self.checkpointer.pause();
                self.tell()?;
            }
        };
        let Layer { base, body, hubs, .. } = &version.layer;
        if *base == Timestamp::ZERO && body.items() == 0 && hubs.is_empty() {
            return Ok(version);
        }
        // Bases only grow, one body each: the base tells whether this is the body that is stored.
        let on_disk = segment.stored().filter(|stored| stored.base == *base);
        let stored = match on_disk.filter(|stored| !self.rewrite.contains(&stored.file)) {
            Some(stored) => stored,
            None => {
                let checked = body.check().and_then(|()| id.check_body(&**body));
                checked.map_err(|problem| CheckpointError::Unsound { what: id.to_string(), problem })?;
                let writer = self.writer(files)?;
                let (offset, length) = writer.append(|out| body.put(out))?;
                let stored = Stored { file: writer.number(), offset, length, base: *base };
                self.done.bytes_written += length;
                self.fresh.push((Job::from(segment), stored));
                stored
            }
        };
        self.stored.push((id, stored));
        Ok(version)
    }

    /// The file of this checkpoint, created when the first body needs it.
    fn writer(&mut self, files: &mut Files) -> Result<&mut BodyFileWriter, CheckpointError> {
        if self.writer.is_none() {
            let number = files.next;
            files.next += 1;
            files.bytes.insert(number, UNFINISHED);
            self.created = Some(number);
            self.writer = Some(BodyFileWriter::create(Arc::clone(&self.checkpointer.directory), number)?);
        }
        Ok(self.writer.as_mut().expect("created above"))
    }

    fn tell(&mut self) -> Result<(), CheckpointError> {
        match (self.progress)(self.done) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CheckpointError::Cancelled),
        }
    }
}

/// Whether the body of `layer` is the state of its segment at its base and at `through`.
fn is_exact_through<B>(layer: &Layer<B>, through: Timestamp) -> bool {
    layer.base >= through || planted(Bug::SkipDirty) || !layer.has_any_through(through)
}

/// The files that are less than half alive, and the small ones if they are many.
fn thin_files(segments: &Segments, files: &Files) -> BTreeSet<u64> {
    let mut alive: BTreeMap<u64, u64> = BTreeMap::new();
    let mut count = |stored: Option<Stored>, base| {
        if let Some(stored) = stored.filter(|stored| stored.base == base) {
            *alive.entry(stored.file).or_default() += stored.length.next_multiple_of(8);
        }
    };
    for group in segments.groups().iter() {
        count(group.vertices.stored(), group.vertices.load().layer.base);
        for edge in group.edges().iter() {
            let layer = &edge.segment.load().layer;
            count(edge.segment.stored(), layer.base);
            for hub in layer.hubs.iter() {
                count(hub.segment.stored(), hub.segment.load().layer.base);
            }
        }
    }
    let named = || files.bytes.iter().filter(|(_, bytes)| **bytes != UNFINISHED);
    let small = || named().filter(|(_, bytes)| **bytes < SMALL_FILE_BYTES).map(|(number, _)| *number);
    let thin = named().filter(|(number, bytes)| alive.get(number).copied().unwrap_or(0) * 2 < **bytes);
    let mut rewrite: BTreeSet<u64> = thin.map(|(number, _)| *number).collect();
    if small().count() > SMALL_FILES_MAX {
        rewrite.extend(small());
    }
    rewrite
}
