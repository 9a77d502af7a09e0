//! Built load: a load whose files are durable and open, until it is installed or given up.

use crate::durable::load::output::{LoadFileLimits, LoadFiles};
use crate::durable::load::present::last_present;
use crate::durable::load::touched::TouchedSegments;
use crate::durable::load::write::{LoadWrite, WrittenLoad};
use crate::file_set::FileSet;
use crate::format::file_head::BOTTOMMOST_LEVEL;
use crate::format::file_name::FileNumber;
use crate::format::filter::FilterChoice;
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::groups::GroupTable;
use crate::key_range::KeyRange;
use crate::stored_file::{KeyedFile, StoredFile};
use crate::tree::{ReplacedState, Tree};
use crate::tree_state::SourceHandle;
use crate::view::read_source::ReadSource;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::durable_engine::{LoadPlan, OnLoadProgress};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a load is built with: files are of type `F`, sources of `L`.
#[derive(Clone, Copy)]
pub struct LoadContext<'a, F, L> {
    /// Where files are written.
    pub directory: &'a Arc<dyn Directory>,
    /// Numbers of files that were never used.
    pub next_number: &'a dyn Fn() -> FileNumber,
    /// What is there, newest first.
    pub sources: &'a [L],
    /// The newest commit, which `sources` are read at: every commit is readable, and none comes meanwhile.
    pub newest: Timestamp,
    /// The groups that are there.
    pub groups: &'a GroupTable,
    /// The files that are there.
    pub set: &'a FileSet<F>,
    /// Which filters new files get.
    pub filters: FilterChoice,
    /// Opens a file that was written.
    pub open: &'a dyn Fn(&StoredFile) -> CheckpointResult<F>,
}

/// A load that is built, and not installed yet. Dropped without being installed, it removes its files.
#[derive(Debug)]
pub struct BuiltLoad<F> {
    /// Of lists that were there before, or of everything in a small load: L0, in key order.
    newest: Vec<Arc<F>>,
    /// Of new groups: one level below, in key order.
    bottom: Vec<Arc<F>>,
    /// Removes them, unless they are kept. Behind the open files: handles go first.
    files: LoadFiles,
    groups: BTreeMap<GroupId, LabelId>,
    touched: Arc<TouchedSegments>,
    /// The new groups, and of groups that were there the edges of indexed types.
    staged: GroupTable,
    entries: Mutex<LoadedEntries<F>>,
}

/// What a load brings of indexes that lie in files.
#[derive(Debug)]
struct LoadedEntries<F> {
    /// Of indexes that were there: L0.
    newest: Vec<Arc<F>>,
    /// Of each new index: the bottommost level, if there is room.
    new: Vec<(IndexId, Subject, Vec<Arc<F>>)>,
}

impl<F: KeyedFile> BuiltLoad<F> {
    /// Writes the files of a load and opens them.
    ///
    /// Cost: see `write.rs`; `plan.memory_bytes` for sorting, and beside it a writer's buffers and what open
    /// files take. More than that where one group's edges of one type need more, or 256 parts of a side are
    /// too few.
    ///
    /// # Errors
    /// As `DurableEngine::build_load`; `io`. What was written is removed then.
    pub fn build<L: ReadSource>(
        plan: &LoadPlan<'_>,
        context: &LoadContext<'_, F, L>,
        done: &mut OnLoadProgress<'_>,
    ) -> Result<Self> {
        Self::build_within(plan, context, LoadFileLimits::default().within(plan.memory_bytes), done)
    }

    pub(super) fn build_within<L: ReadSource>(
        plan: &LoadPlan<'_>,
        context: &LoadContext<'_, F, L>,
        limits: LoadFileLimits,
        done: &mut OnLoadProgress<'_>,
    ) -> Result<Self> {
        let LoadContext { directory, next_number, sources, newest, groups, set, filters, open } = *context;
        let present = |list, neighbor| last_present(sources, newest, list, neighbor);
        let write = LoadWrite { plan, directory, next_number, present: &present, limits, filters };
        let WrittenLoad { mut files, groups: new_groups, touched } = write.write(done)?;
        let level = free_level(set, &files.bottom);
        files.bottom.iter_mut().for_each(|file| file.level = level);
        let open_all = |files: &[StoredFile]| -> CheckpointResult<Vec<Arc<F>>> {
            files.iter().map(|file| open(file).map(Arc::new)).collect()
        };
        let (newest, bottom) = (open_all(&files.newest)?, open_all(&files.bottom)?);
        let staged = GroupTable::new();
        for (group, label) in &new_groups {
            staged.open(*group, *label);
        }
        for (group, subject) in touched.iter() {
            let SubjectKind::Edges { edge_type, side } = subject.kind() else { continue };
            if new_groups.contains_key(&group) {
                staged.add_subject(group, subject);
            } else if side == EdgeSide::Out
                && plan.indexed.contains(&edge_type)
                && let Some(label) = groups.label(group)
            {
                staged.open(group, label);
                staged.add_subject(group, subject);
            }
        }
        let entries = Mutex::new(LoadedEntries { newest: Vec::new(), new: Vec::new() });
        Ok(Self { newest, bottom, files, groups: new_groups, touched: Arc::new(touched), staged, entries })
    }

    /// The groups that index checks read: a view of [`BuiltLoad::sources`] and these has the load's new
    /// vertices and their edges, and of vertices that were there the new edges of indexed types.
    #[must_use]
    pub fn groups(&self) -> &GroupTable {
        &self.staged
    }

    /// Its files, as a view takes them. Cost: a count a file.
    #[must_use]
    pub fn sources(&self) -> Vec<SourceHandle<F>> {
        let files = self.newest.iter().chain(&self.bottom);
        files.map(|file| SourceHandle::File(Arc::clone(file))).collect()
    }

    /// Adds entries of an index that is there.
    pub(crate) fn add_entries(&self, files: Vec<Arc<F>>) {
        self.files.add_entries(files.iter().map(|file| file.stored().clone()));
        self.entries.lock().newest.extend(files);
    }

    /// Adds an index, whose entries lie under `subject`.
    pub(crate) fn add_index(&self, id: IndexId, subject: Subject, files: Vec<Arc<F>>) {
        self.files.add_entries(files.iter().map(|file| file.stored().clone()));
        self.entries.lock().new.push((id, subject, files));
    }

    /// The indexes that it brings.
    #[must_use]
    pub(crate) fn new_indexes(&self) -> Vec<(IndexId, Subject)> {
        self.entries.lock().new.iter().map(|(id, subject, _)| (*id, *subject)).collect()
    }

    /// What it changes, for conflict checks.
    #[must_use]
    pub fn touched(&self) -> &Arc<TouchedSegments> {
        &self.touched
    }

    /// Makes the load a part of `tree` and of its `groups`. Under the latch, before its timestamp is
    /// published; takes the registry. No I/O; what is returned is dropped outside of all locks.
    ///
    /// Snapshots before the load may pin the set that has it: they read none of its files, whose last commit
    /// is newer than they are. What commits before it left in memory is flushed behind it in L0; until the
    /// checkpoint that does so is durable nobody reads the load (`Timeline::hold_readable`).
    #[must_use = "dropped outside of latch and registry"]
    pub fn install(&self, tree: &Tree<F>, groups: &GroupTable) -> ReplacedState<F> {
        for (group, label) in &self.groups {
            groups.open(*group, *label);
        }
        for (group, subject) in self.touched.iter() {
            groups.add_subject(group, subject);
        }
        self.files.keep();
        tree.replace_set(|set| self.placed_in(set))
    }

    /// As [`BuiltLoad::install`], for a set without a tree.
    #[cfg(all(test, not(any(shuttle, loom))))]
    pub(super) fn placed_for_test(&self, set: &FileSet<F>, groups: &GroupTable) -> FileSet<F> {
        self.groups.iter().for_each(|(group, label)| _ = groups.open(*group, *label));
        self.touched.iter().for_each(|(group, subject)| _ = groups.add_subject(group, subject));
        self.files.keep();
        self.placed_in(set)
    }

    /// The set with the load's files. What was compacted since they were built may have taken the place of those of
    /// new groups; then they go to L0.
    fn placed_in(&self, set: &FileSet<F>) -> FileSet<F> {
        let level = self.bottom.first().map_or(0, |file| file.stored().level);
        let set = set.with_loaded(&self.newest, level, &self.bottom);
        let entries = self.entries.lock();
        let set = set.with_loaded(&entries.newest, 0, &[]);
        entries.new.iter().fold(set, |set, (_, _, files)| set.with_loaded(&[], BOTTOMMOST_LEVEL, files))
    }
}

/// The deepest level none of whose files overlaps with `files`, which don't overlap each other; L0 if there
/// is none.
fn free_level<F: KeyedFile>(set: &FileSet<F>, files: &[StoredFile]) -> u8 {
    let is_free = |level: &u8| {
        let there = set.level(usize::from(*level));
        files.iter().all(|file| KeyRange::of_file(file).overlapped(there).is_empty())
    };
    (1..=BOTTOMMOST_LEVEL).rev().find(is_free).unwrap_or(0)
}
