//! Compaction job: what is merged into which level, and how much memory that takes.

use crate::compact::chain::{ChainFiles, EntryChain, ListChain, chains_of};
use crate::compact::output::{OutputFiles, OutputForm, OutputLimits};
use crate::compact::property_copy::{COLUMN_BYTES, ColumnMemory, PropertyCopy};
use crate::compact::property_plan::{PlannedPart, PropertyPlan};
use crate::file::csr_file::CsrFile;
use crate::file::page_scan::ScanWindow;
use crate::format::entries::entry::{EntryRecord, ItemKind};
use crate::format::file_name::{FileNumber, PAGE_BYTES};
use crate::format::filter::FilterChoice;
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::format::tree_key::ItemKey;
use crate::merge::delete_rule::DeleteRule;
use crate::merge::entry_merge::EntryMerge;
use crate::merge::list_merge::ListMerge;
use crate::merge::list_source::ListKey;
use crate::merge::merge_error::MergeError;
use crate::merge::merged_run::MergedRun;
use crate::stored_file::StoredFile;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::Directory;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Records whose properties are copied at once, at most: so many that a column is worth going to, so few that they are
/// little memory, and that files are cut near their limit. Where records are large it is fewer.
const PART_RECORDS: usize = 1024;
/// Records of the first part of a subject: nothing is known of how large they are.
const FIRST_PART_RECORDS: usize = 64;
/// The fewest records of a part: a part of the largest ones is half a megabyte a property.
const PART_RECORDS_MIN: usize = 16;
/// Bytes for buffers with which a job is fast: of these, scans of all sources share a quarter, and columns of a subject
/// an eighth; in half of them finished pages wait for the end of their subject.
const BUFFER_BYTES: RangeInclusive<u64> = 8 << 20..=64 << 20;
/// The smallest read of a scan, in pages.
const SCAN_PAGES_MIN: u64 = 4;
/// What a source takes beside its window: a decoded page, and its records in the merge.
const SOURCE_BYTES: u64 = 1 << 20;
/// What a writer takes beside the pages that wait: a span of each file, and filters.
const WRITER_BYTES: u64 = 4 << 20;
/// What a writer takes for each property of a subject: the values of a page, and the page.
const WRITER_COLUMN_BYTES: u64 = 48 << 10;
/// The least memory, in bytes, that columns keep in small budgets: those of eight properties in eight sources.
const KEPT_COLUMNS_BYTES_MIN: u64 = 4 << 20;
/// The most memory, in bytes, that columns keep.
const KEPT_COLUMNS_BYTES_MAX: u64 = 256 << 20;
/// The least length of outputs in small budgets.
const FILE_BYTES_MIN: u64 = 4 << 20;

/// A compaction: files that become files of one level.
#[derive(Clone, Debug)]
pub struct CompactionJob {
    /// What is merged, newest first; files with disjoint keys, such as those of a level, in any order among themselves.
    /// Every file between two of them that has keys of both is one of them.
    pub inputs: Vec<Arc<CsrFile>>,
    /// The level of the outputs.
    pub output_level: u8,
    /// Which Deletes are left out.
    pub deletes: DeleteRule,
    /// The indexes whose entries are kept: the others were dropped. All if there is none. A commit that is later than the
    /// dropping has synced it before a manifest names the outputs.
    pub kept_indexes: Option<BTreeSet<Subject>>,
    /// How long outputs get.
    pub limits: OutputLimits,
    /// Which filters outputs get.
    pub filters: FilterChoice,
    /// Bytes that pages of columns may take, decoded, while records of other columns are copied.
    pub kept_columns_bytes: u64,
    /// Bytes of buffers: scans of all sources share a quarter, and columns of a subject an eighth.
    buffer_bytes: u64,
}

impl CompactionJob {
    /// A merge of `inputs` into `output_level`, with files of the usual size.
    #[must_use]
    pub fn new(inputs: Vec<Arc<CsrFile>>, output_level: u8, deletes: DeleteRule) -> Self {
        let limits = OutputLimits::default();
        let (kept_indexes, buffer_bytes) = (None, *BUFFER_BYTES.end());
        let kept_columns_bytes = KEPT_COLUMNS_BYTES_MAX;
        let filters = FilterChoice::default();
        Self {
            inputs,
            output_level,
            deletes,
            kept_indexes,
            limits,
            filters,
            kept_columns_bytes,
            buffer_bytes,
        }
    }

    /// The same with about an eighth of `budget_bytes` for the buffers of as many jobs as may run at once, shared among them,
    /// if that is less than it would take: at least 8 MiB for each, at most 64. Decoded pages of columns take a sixteenth, if
    /// there are so many, shared too. Outputs are shorter in a small budget, since levels are.
    #[must_use]
    pub fn within(mut self, budget_bytes: u64, jobs_max: usize) -> Self {
        let share = budget_bytes / 8 / jobs_max.max(1) as u64;
        self.buffer_bytes = share.clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end());
        self.limits.file_bytes = self.limits.file_bytes.min((budget_bytes / 16).max(FILE_BYTES_MIN));
        self.limits.waiting_bytes = self.limits.waiting_bytes.min(self.buffer_bytes / 2);
        self.kept_columns_bytes = (share / 2).clamp(KEPT_COLUMNS_BYTES_MIN, KEPT_COLUMNS_BYTES_MAX);
        self
    }

    /// The memory that [`CompactionJob::run`] takes, about, for the caller to reserve: its buffers, without those of
    /// columns if there are none, some 4 MB, a megabyte a source, 48 KB a property, and 64 KB a property and source as far
    /// as columns are kept. A long value comes on top, several times.
    ///
    /// Cost: binary searches, a few for each property and file.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let sources = chains_of(&self.inputs).len() as u64;
        let has_columns = self.inputs.iter().any(|file| file.stored().columns.is_some());
        let columns = if has_columns { self.columns_bytes(sources) } else { 0 };
        sources * (self.scan_window(sources).bytes() + SOURCE_BYTES) + WRITER_BYTES + columns
    }

    /// What columns take: those that are read, those that are written, and pages that wait.
    fn columns_bytes(&self, sources: u64) -> u64 {
        let files = || self.inputs.iter();
        let subjects: BTreeSet<_> = files().flat_map(|file| file.property_subjects()).collect();
        let properties = |subject| {
            let keys: BTreeSet<_> = files().flat_map(|file| file.property_keys(subject)).collect();
            keys.len() as u64
        };
        let properties = subjects.into_iter().map(properties).max().unwrap_or(0);
        let kept =
            (properties * sources * COLUMN_BYTES).min(self.kept_columns_bytes + sources * COLUMN_BYTES);
        let waiting = self.limits.waiting_bytes + self.part_bytes();
        self.buffer_bytes / 8 + kept + properties * WRITER_COLUMN_BYTES + waiting
    }

    /// Bytes that the properties of the records of a part shall take about: so much is written beyond what may wait.
    fn part_bytes(&self) -> u64 {
        self.limits.waiting_bytes / 4
    }

    /// Merges the inputs: gives the files that take their place, by key, all durable; none if nothing is left. Inputs stay
    /// as they are, and readable. A number from `numbers` is used once, whatever becomes of the file.
    ///
    /// `stop` is asked every thousand records or so.
    ///
    /// Cost: some 10 to 100 ns a record, and 100 ns a property; every byte of the inputs is read once, past the cache, and
    /// what is left is written once. Two or three syncs an output.
    ///
    /// # Errors
    /// [`CheckpointError::Cancelled`] when `stop` says so; [`CheckpointError::Corrupt`], naming file and offset, for
    /// damaged inputs and for records that contradict each other; what the system says. No output is left then, unless its
    /// removal fails too.
    ///
    /// # Concurrency
    /// Any thread, for as long as it takes. Nothing is locked.
    ///
    /// # Panics
    /// If there are no inputs.
    pub fn run(
        &self,
        directory: &Arc<dyn Directory>,
        numbers: &mut dyn FnMut() -> FileNumber,
        stop: &dyn Fn() -> bool,
    ) -> CheckpointResult<Vec<StoredFile>> {
        assert!(!self.inputs.is_empty(), "a compaction has inputs");
        let stored = || self.inputs.iter().map(|file| file.stored());
        let form = OutputForm {
            level: self.output_level,
            first_ts: stored().map(|file| file.first_ts).min().unwrap_or(Timestamp::ZERO),
            last_ts: stored().map(|file| file.last_ts).max().unwrap_or(Timestamp::ZERO),
            limits: self.limits,
            filters: self.filters,
        };
        let chains = chains_of(&self.inputs);
        let window = self.scan_window(chains.len() as u64);
        let mut output = OutputFiles::new(directory, form, numbers);
        let kept_indexes = self.kept_indexes.as_ref();
        let rules = MergeRules { window, until: form.last_ts, deletes: &self.deletes, kept_indexes };
        let windows = self.buffer_bytes / 8;
        let memory = ColumnMemory { windows, kept: windows + self.kept_columns_bytes };
        merge_lists(&chains, (memory, self.part_bytes()), rules, &mut output, stop)?;
        merge_entries(chains, rules, &mut output, stop)?;
        output.keep()
    }

    /// The window of each scan, if there are so many.
    fn scan_window(&self, sources: u64) -> ScanWindow {
        let ScanWindow { read_pages, reads_ahead } = ScanWindow::WIDE;
        let bytes = self.buffer_bytes / 4 / sources.max(1);
        let pages = bytes / (1 + reads_ahead as u64) / PAGE_BYTES as u64;
        ScanWindow { read_pages: pages.clamp(SCAN_PAGES_MIN, read_pages.into()) as u32, reads_ahead }
    }
}

/// How records are merged.
#[derive(Clone, Copy)]
struct MergeRules<'a> {
    /// How each source is scanned.
    window: ScanWindow,
    /// The newest commit whose records count.
    until: Timestamp,
    /// Which Deletes go.
    deletes: &'a DeleteRule,
    /// Which indexes stay.
    kept_indexes: Option<&'a BTreeSet<Subject>>,
}

fn merge_lists(
    chains: &[ChainFiles],
    (memory, part_bytes): (ColumnMemory, u64),
    MergeRules { window, until, deletes, .. }: MergeRules<'_>,
    output: &mut OutputFiles<'_>,
    stop: &dyn Fn() -> bool,
) -> CheckpointResult<()> {
    let sources = chains.iter().map(|files| ListChain::new(files.clone(), window));
    let sources = sources.collect::<CheckpointResult<Vec<_>>>()?;
    let mut merge = ListMerge::new(sources, until, deletes.clone());
    let mut lists = ListOutput {
        output,
        stop,
        copy: PropertyCopy::new(chains.to_vec(), memory),
        plan: PropertyPlan::default(),
        part_records: FIRST_PART_RECORDS,
        part_bytes,
        subject: Subject::VERTICES,
        last: None,
    };
    loop {
        if let Err(error) = merge.advance() {
            let file = |source: usize| Arc::clone(merge.sources()[source].file());
            return Err(merge_failed(error, file));
        }
        match merge.run() {
            Some(run) => lists.write(merge.sources(), &run)?,
            None => return lists.write_properties(),
        }
    }
}

fn merge_entries(
    chains: Vec<ChainFiles>,
    MergeRules { window, until, deletes, kept_indexes }: MergeRules<'_>,
    output: &mut OutputFiles<'_>,
    stop: &dyn Fn() -> bool,
) -> CheckpointResult<()> {
    let sources = chains.into_iter().map(|files| EntryChain::new(files, window));
    let mut merge = EntryMerge::new(sources.collect::<CheckpointResult<_>>()?, until, deletes.clone());
    let (mut count, mut kind) = (0_usize, None);
    loop {
        match write_entry(&mut merge, kept_indexes, output, &mut kind) {
            Ok(true) => count += 1,
            Ok(false) => return Ok(()),
            Err(error) => {
                let sources = merge.into_sources();
                return Err(merge_failed(error, |source| Arc::clone(sources[source].file())));
            }
        }
        if count.is_multiple_of(PART_RECORDS) {
            check_running(stop)?;
        }
        if output.is_full() {
            output.cut()?;
        }
    }
}

/// Writes the next entry; false at the end. `kind` is that of the items of the index before.
fn write_entry(
    merge: &mut EntryMerge<EntryChain>,
    kept_indexes: Option<&BTreeSet<Subject>>,
    output: &mut OutputFiles<'_>,
    kind: &mut Option<(Subject, ItemKind)>,
) -> Result<bool, MergeError<CheckpointError>> {
    let Some((subject, record)) = merge.next_entry()? else { return Ok(false) };
    let of_record = ItemKind::of(&record.item);
    if kind.is_some_and(|(index, kind)| index == subject && kind != of_record) {
        // An index is of vertices, or of edges: one of the sources is damaged.
        return Err(MergeError::Disordered { source: 0, subject });
    }
    *kind = Some((subject, of_record));
    if kept_indexes.is_some_and(|kept| !kept.contains(&subject)) {
        return Ok(true);
    }
    // An error of the output is passed on as it is, like one of a source.
    let written = output.writer().and_then(|writer| {
        let EntryRecord { value, item, operation, stamp } = record;
        writer.push_entry(subject, &EntryRecord { value, item, operation, stamp })
    });
    written.map(|()| true).map_err(|error| MergeError::Source { source: 0, error })
}

/// Writes lists and vertices with their properties.
struct ListOutput<'a, 'o> {
    output: &'a mut OutputFiles<'o>,
    stop: &'a dyn Fn() -> bool,
    copy: PropertyCopy,
    plan: PropertyPlan,
    /// How many records shall be planned before they are written.
    part_records: usize,
    /// How many bytes those shall have.
    part_bytes: u64,
    /// The subject of the plan.
    subject: Subject,
    /// The key that was written last.
    last: Option<(ListKey, ItemKey)>,
}

impl ListOutput<'_, '_> {
    fn write(&mut self, chains: &[ListChain], run: &MergedRun<'_>) -> CheckpointResult<()> {
        let ListKey { subject, .. } = run.list;
        self.check_order(chains, run)?;
        if subject != self.subject {
            self.write_properties()?;
            self.copy.go_to(subject);
            self.subject = subject;
            self.part_records = FIRST_PART_RECORDS;
        }
        let is_in = matches!(subject.kind(), SubjectKind::Edges { side: EdgeSide::In, .. });
        let has_properties = !is_in && self.copy.has_properties();
        let (mut done, mut at) = (PlannedPart::default(), 0);
        while at < run.neighbors.len() {
            check_running(self.stop)?;
            if self.output.is_full() {
                self.write_properties()?;
                self.output.cut()?;
            }
            let part = if has_properties { self.part_records } else { PART_RECORDS };
            let count = (run.neighbors.len() - at).min(part);
            let first_rank = self.output.writer()?.push_run(&run.keys(at..at + count))?;
            if has_properties {
                self.plan.add(chains, run, &mut done, count, first_rank)?;
                if self.plan.records >= self.part_records {
                    self.write_properties()?;
                }
            }
            at += count;
        }
        Ok(())
    }

    /// A merge passes slices on as they are, and a writer takes none that do not ascend.
    fn check_order(&mut self, chains: &[ListChain], run: &MergedRun<'_>) -> CheckpointResult<()> {
        let key = |at: usize| {
            let discriminator = run.discriminators.get(at).copied().unwrap_or(0);
            (run.list, ItemKey::edge(VertexId(run.neighbors[at]), discriminator))
        };
        let ascends = match run.discriminators {
            [] => run.neighbors.is_sorted_by(|left, right| left < right),
            _ => (1..run.neighbors.len()).all(|at| key(at - 1) < key(at)),
        };
        if !ascends || self.last.is_some_and(|last| last >= key(0)) {
            let file = chains[run.property_runs[0].first.source].file();
            let ListKey { subject, vertex } = run.list;
            return Err(file.contradiction(format!("{subject} of {vertex}: records in order expected")));
        }
        self.last = Some(key(run.neighbors.len() - 1));
        Ok(())
    }

    /// Writes the properties of the planned records, all of which are in the file in hand.
    fn write_properties(&mut self) -> CheckpointResult<()> {
        if let Some(writer) = self.output.in_hand()
            && self.plan.records > 0
        {
            let before = writer.bytes();
            self.copy.copy(&self.plan, writer)?;
            let (planned, bytes) = (self.plan.records, writer.bytes() - before);
            self.part_records = next_part(self.part_records, (planned, bytes), self.part_bytes);
        }
        self.plan.clear();
        Ok(())
    }
}

/// How many records shall be planned next, where `part` were to be planned and `planned` of them took so many bytes of
/// pages. Pages get full now and then, so that more and more are planned until some do.
fn next_part(part: usize, (planned, bytes): (usize, u64), bytes_wanted: u64) -> usize {
    let next = if bytes > bytes_wanted {
        (planned as u64 * bytes_wanted / bytes) as usize
    } else if bytes > bytes_wanted / 2 {
        part
    } else {
        part * 2
    };
    next.clamp(PART_RECORDS_MIN, PART_RECORDS)
}

fn check_running(stop: &dyn Fn() -> bool) -> CheckpointResult<()> {
    if stop() { Err(CheckpointError::Cancelled) } else { Ok(()) }
}

/// The error of a merge; `file` gives the file that a source is at.
pub(super) fn merge_failed(
    error: MergeError<CheckpointError>,
    file: impl FnOnce(usize) -> Arc<CsrFile>,
) -> CheckpointError {
    match error {
        MergeError::Source { error, .. } => error,
        other => {
            // Of records that exclude each other, either may be wrong: the newest source stands for all.
            let source = if let MergeError::Disordered { source, .. } = other { source } else { 0 };
            file(source).contradiction(other.to_string())
        }
    }
}
