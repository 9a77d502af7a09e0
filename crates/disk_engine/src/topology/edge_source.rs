//! Edge source: edges of consecutive commits as a topology reads them, in a file or in the run of memory graphs.

use crate::file::csr_file::CsrFile;
#[cfg(doc)]
use crate::file::file_records::FileRecords;
use crate::file::file_scan::FileScan;
use crate::file::plain_list::PlainLists;
use crate::file::ranked_numbers::{NumberColumn, RankedNumbers};
use crate::file::shared_window::SharedWindow;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::generation::GenerationSource;
use crate::level::Level;
use crate::level_scan::{LevelScan, Lists};
use crate::memory_graph::graph::MemoryGraph;
use crate::memory_graph::sorted_run::{RunScan, SortedRun};
use crate::merge::list_source::{ListSlice, ListSource, SliceFront};
use crate::source::{ListedItem, PropertyAnswer, RecordSource};
use crate::tree_state::SourceHandle;
use crate::view::level_records::LevelRecords;
use crate::view::read_source::ReadSource;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::view::GroupBits;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// A file as a topology reads it: scans of ranges of lists beside the point reads of a [`ReadSource`].
pub trait ScannedFile: ReadSource + 'static {
    /// A scan of lists, which holds the file. Of one item, records come from the oldest to the newest, or as one.
    type Scan: ListSource<Error: Into<Error>>;

    /// Whether a reader at `until` sees nothing of the file.
    fn is_newer(&self, until: Timestamp) -> bool;

    /// How many pages of lists, vertices and entries it has.
    fn pages_count(&self) -> u64;

    /// The lists of a range of vertices in one subject, with the records through `until`; stamped ones that are newer
    /// may be among them. Scans of one topology read pages together, in its `window`.
    ///
    /// # Errors
    /// `io` or `corrupt`, naming file and offset.
    fn scan_lists(
        file: &Arc<Self>,
        subject: Subject,
        vertices: Range<u32>,
        until: Timestamp,
        window: &Arc<SharedWindow>,
    ) -> Result<Self::Scan>;

    /// As [`FileRecords::may_have_list`].
    fn may_have_list(&self, list: ListId, until: Timestamp) -> bool;

    /// As [`FileRecords::pages_of_list`].
    fn pages_of_list(&self, list: ListId, until: Timestamp) -> usize;

    /// As [`FileRecords::plain_list`].
    ///
    /// # Errors
    /// `io` or `corrupt`, naming file and offset.
    fn plain_list(&self, list: ListId, until: Timestamp, out: &mut PlainLists) -> Result<Option<u64>>;

    /// As [`CsrFile::pages_of_lists`].
    fn pages_of_lists(&self, lists: &RangeInclusive<ListId>, column: Option<&NumberColumn>) -> usize;

    /// As [`CsrFile::is_cached`].
    fn is_cached(&self, list: ListId, column: Option<&NumberColumn>) -> bool;

    /// As [`CsrFile::read_numbers_ahead`].
    fn read_numbers_ahead(&self, column: &NumberColumn, ranks: impl Iterator<Item = Range<u64>>);

    /// As [`CsrFile::numbers`]; false too if the file has another way to its properties.
    ///
    /// # Errors
    /// `io` or `corrupt`, naming file and offset.
    fn numbers_of(
        &self,
        column: &NumberColumn,
        ranks: Range<u64>,
        window: &SharedWindow,
        numbers: &mut RankedNumbers,
        out: &mut Vec<f64>,
    ) -> Result<bool>;
}

impl ScannedFile for CsrFile {
    type Scan = FileScan;

    fn is_newer(&self, until: Timestamp) -> bool {
        self.at(until).sees_nothing()
    }

    fn pages_count(&self) -> u64 {
        self.topology_index().pages().len() as u64
    }

    fn scan_lists(
        file: &Arc<Self>,
        subject: Subject,
        vertices: Range<u32>,
        _until: Timestamp,
        window: &Arc<SharedWindow>,
    ) -> Result<FileScan> {
        let list = |vertex| ListId { subject, vertex: VertexId(vertex) };
        debug_assert!(!vertices.is_empty(), "a walk asks for vertices that have lists");
        let lists = list(vertices.start)..=list(vertices.end.saturating_sub(1));
        Ok(FileScan::sharing(file, lists, window)?)
    }

    #[inline]
    fn may_have_list(&self, list: ListId, until: Timestamp) -> bool {
        self.at(until).may_have_list(list)
    }

    fn pages_of_list(&self, list: ListId, until: Timestamp) -> usize {
        self.at(until).pages_of_list(list)
    }

    fn plain_list(&self, list: ListId, until: Timestamp, out: &mut PlainLists) -> Result<Option<u64>> {
        Ok(self.at(until).plain_list(list, out)?)
    }

    fn pages_of_lists(&self, lists: &RangeInclusive<ListId>, column: Option<&NumberColumn>) -> usize {
        Self::pages_of_lists(self, lists, column)
    }

    fn is_cached(&self, list: ListId, column: Option<&NumberColumn>) -> bool {
        Self::is_cached(self, list, column)
    }

    fn read_numbers_ahead(&self, column: &NumberColumn, ranks: impl Iterator<Item = Range<u64>>) {
        Self::read_numbers_ahead(self, column, ranks);
    }

    fn numbers_of(
        &self,
        column: &NumberColumn,
        ranks: Range<u64>,
        window: &SharedWindow,
        numbers: &mut RankedNumbers,
        out: &mut Vec<f64>,
    ) -> Result<bool> {
        Ok(self.numbers(column, ranks, window, numbers, out)?)
    }
}

/// Consecutive memory graphs and what they come to.
#[derive(Debug)]
pub(super) struct MergedGraphs<F> {
    /// The newest first, for point reads: in files, once they are flushed. The run needs no graph.
    sources: Vec<SourceHandle<F>>,
    run: SortedRun,
}

/// Edges of consecutive commits.
#[derive(Debug)]
pub(super) enum EdgeSource<F> {
    /// Memory graphs.
    Graphs(MergedGraphs<F>),
    /// A file.
    File(Arc<F>),
    /// A level below L0.
    Level(Arc<Level<F>>),
}

/// Which files of a source have records of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListHolder<'l, F> {
    /// The source has none.
    Nothing,
    /// One file.
    File(&'l F),
    /// Memory graphs, or several files.
    Others,
}

/// The edge sources of a snapshot, the newest first: memory graphs with none but memory graphs between them are
/// one. `wanted` are the subjects that will be scanned.
pub(super) fn edge_sources<F>(
    sources: Vec<SourceHandle<F>>,
    timestamp: Timestamp,
    wanted: impl Fn(Subject) -> bool,
    budget: &Arc<dyn Budget>,
) -> Result<Vec<EdgeSource<F>>> {
    let mut edge_sources = Vec::new();
    let (mut sources_of_run, mut graphs) = (Vec::new(), Vec::new());
    let close = |sources: &mut Vec<SourceHandle<F>>, graphs: &mut Vec<Arc<MemoryGraph>>| {
        let run = SortedRun::new(&std::mem::take(graphs), timestamp, &wanted, budget)?;
        Ok::<_, Error>(EdgeSource::Graphs(MergedGraphs { sources: std::mem::take(sources), run }))
    };
    for source in sources {
        // Graphs next to each other are one source, everything else is one by itself.
        let edge_source = match &source {
            SourceHandle::Graph(graph) => Err(Arc::clone(graph)),
            SourceHandle::Generation(generation) => match generation.source() {
                GenerationSource::Graph(graph) => Err(graph),
                GenerationSource::File(file) => Ok(EdgeSource::File(Arc::clone(file))),
            },
            SourceHandle::File(file) => Ok(EdgeSource::File(Arc::clone(file))),
            SourceHandle::Level(level) => Ok(EdgeSource::Level(Arc::clone(level))),
        };
        match edge_source {
            Err(graph) => {
                graphs.push(graph);
                sources_of_run.push(source);
            }
            Ok(edge_source) => {
                if !graphs.is_empty() {
                    edge_sources.push(close(&mut sources_of_run, &mut graphs)?);
                }
                edge_sources.push(edge_source);
            }
        }
    }
    if !graphs.is_empty() {
        edge_sources.push(close(&mut sources_of_run, &mut graphs)?);
    }
    Ok(edge_sources)
}

impl<F> EdgeSource<F> {
    /// Records of lists that lie in memory graphs.
    pub(super) fn graph_records(&self) -> usize {
        match self {
            Self::Graphs(edge_source) => edge_source.run.len(),
            Self::File(_) | Self::Level(_) => 0,
        }
    }
}

impl<F> MergedGraphs<F> {
    /// Appends the next items of a list, at most `limit`; whether there are more.
    fn list(&self, list: ListId, after: Option<ItemKey>, limit: usize, items: &mut Vec<ListedItem>) -> bool {
        let (before, vertex) = (items.len(), list.vertex.0);
        let mut scan = self.run.scan(list.subject, vertex..vertex.saturating_add(1));
        while let Some(slice) = scan.slice() {
            // Keys ascend through all slices: those behind `after` are one piece of the last of them.
            let first = after.map_or(0, |after| first_after(&slice, after));
            for at in first..slice.neighbors.len() {
                if items.len() - before == limit {
                    return true;
                }
                let is_present = slice.operation(at) != RecordOperation::Delete;
                items.push(ListedItem { item: slice.key(at), is_present });
            }
            if scan.advance().is_err() {
                break;
            }
        }
        false
    }
}

/// The first record of a slice behind an item.
fn first_after(slice: &ListSlice<'_>, after: ItemKey) -> usize {
    let (mut low, mut high) = (0, slice.neighbors.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if slice.key(middle) <= after { low = middle + 1 } else { high = middle }
    }
    low
}

impl<F: ScannedFile> EdgeSource<F> {
    /// A scan of the lists of `vertices`.
    pub(super) fn scan(
        &self,
        subject: Subject,
        vertices: Range<u32>,
        until: Timestamp,
        window: &Arc<SharedWindow>,
    ) -> Result<EdgeScan<'_, F>> {
        Ok(match self {
            Self::Graphs(edge_source) => EdgeScan::Run(edge_source.run.scan(subject, vertices)),
            Self::File(file) => EdgeScan::File(file, F::scan_lists(file, subject, vertices, until, window)?),
            Self::Level(level) => EdgeScan::Level(scan_level(level, subject, vertices, until, window)?),
        })
    }

    /// What has the records of a list that a reader at `until` may see. Nothing is read.
    pub(super) fn holder(&self, list: ListId, until: Timestamp) -> ListHolder<'_, F> {
        match self {
            Self::Graphs(edge_source) if edge_source.run.has_list(list) => ListHolder::Others,
            Self::Graphs(_) => ListHolder::Nothing,
            Self::File(file) if file.may_have_list(list, until) => ListHolder::File(file),
            Self::File(_) => ListHolder::Nothing,
            Self::Level(level) => {
                let files = &level.files()[level.places_of_lists(&(list..=list))];
                let mut holders = files.iter().filter(|file| file.may_have_list(list, until));
                match (holders.next(), holders.next()) {
                    (None, _) => ListHolder::Nothing,
                    (Some(file), None) => ListHolder::File(file),
                    (Some(_), Some(_)) => ListHolder::Others,
                }
            }
        }
    }

    /// How many pages of files may have records of a list. Nothing is read.
    pub(super) fn pages_of_list(&self, list: ListId, until: Timestamp) -> usize {
        match self {
            Self::Graphs(_) => 0,
            Self::File(file) => file.pages_of_list(list, until),
            Self::Level(level) => {
                let files = &level.files()[level.places_of_lists(&(list..=list))];
                files.iter().map(|file| file.pages_of_list(list, until)).sum()
            }
        }
    }

    /// About how many pages of files have `lists`, of one subject, and their weights if `column` is given.
    pub(super) fn pages_of_lists(
        &self,
        lists: &RangeInclusive<ListId>,
        column: Option<&NumberColumn>,
    ) -> usize {
        match self {
            Self::Graphs(_) => 0,
            Self::File(file) => file.pages_of_lists(lists, column),
            Self::Level(level) => {
                let files = &level.files()[level.places_of_lists(lists)];
                files.iter().map(|file| file.pages_of_lists(lists, column)).sum()
            }
        }
    }

    /// Whether the pages of a list in the source's files are cached, and those of its weights; `None` if no file has it.
    pub(super) fn is_cached(
        &self,
        list: ListId,
        until: Timestamp,
        column: Option<&NumberColumn>,
    ) -> Option<bool> {
        let of_file = |file: &Arc<F>| file.may_have_list(list, until).then(|| file.is_cached(list, column));
        match self {
            Self::Graphs(_) => None,
            Self::File(file) => of_file(file),
            Self::Level(level) => {
                let files = &level.files()[level.places_of_lists(&(list..=list))];
                files.iter().filter_map(of_file).reduce(|one, other| one && other)
            }
        }
    }

    /// As [`RecordSource::read_ahead`].
    pub(super) fn read_ahead(&self, until: Timestamp, lists: &[ListId]) {
        match self {
            Self::Graphs(_) => {}
            Self::File(file) => file.at(until).read_ahead(lists),
            Self::Level(level) => LevelRecords::new(level, until).read_ahead(lists),
        }
    }

    /// Pages of its files.
    pub(super) fn pages_count(&self) -> u64 {
        match self {
            Self::Graphs(_) => 0,
            Self::File(file) => file.pages_count(),
            Self::Level(level) => level.files().iter().map(|file| file.pages_count()).sum(),
        }
    }

    /// As [`RecordSource::property`].
    pub(super) fn property(
        &self,
        until: Timestamp,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        answers: &mut [PropertyAnswer],
    ) -> Result<()> {
        match self {
            Self::Graphs(edge_source) => edge_source
                .sources
                .iter()
                .try_for_each(|source| source.at(until).property(items, key, answers)),
            Self::File(file) => file.at(until).property(items, key, answers),
            Self::Level(level) => LevelRecords::new(level, until).property(items, key, answers),
        }
    }

    /// As [`RecordSource::list`].
    pub(super) fn list(
        &self,
        until: Timestamp,
        list: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<bool> {
        match self {
            Self::Graphs(edge_source) => Ok(edge_source.list(list, after, limit, items)),
            Self::File(file) => file.at(until).list(list, after, limit, items),
            Self::Level(level) => LevelRecords::new(level, until).list(list, after, limit, items),
        }
    }

    /// As [`RecordSource::group_difference`].
    pub(super) fn group_difference(&self, until: Timestamp, subject: Subject, group: GroupId) -> Result<i64> {
        match self {
            Self::Graphs(edge_source) => {
                let differences = edge_source.sources.iter().map(|source| source.at(until));
                differences.map(|source| source.group_difference(subject, group)).sum()
            }
            Self::File(file) => file.at(until).group_difference(subject, group),
            Self::Level(level) => LevelRecords::new(level, until).group_difference(subject, group),
        }
    }

    /// As [`RecordSource::apply_live`].
    pub(super) fn apply_live(&self, until: Timestamp, group: GroupId, live: &mut GroupBits) -> Result<()> {
        match self {
            // The oldest first, as among sources.
            Self::Graphs(edge_source) => edge_source
                .sources
                .iter()
                .rev()
                .try_for_each(|source| source.at(until).apply_live(group, live)),
            Self::File(file) => file.at(until).apply_live(group, live),
            Self::Level(level) => LevelRecords::new(level, until).apply_live(group, live),
        }
    }
}

/// A scan of one source.
pub(super) enum EdgeScan<'l, F: ScannedFile> {
    /// Of memory graphs.
    Run(RunScan<'l>),
    /// Of a file.
    File(&'l Arc<F>, F::Scan),
    /// Of a level below L0.
    Level(LevelScan<F, Lists<F::Scan>, Error>),
}

impl<F: ScannedFile> EdgeScan<'_, F> {
    /// The file that the slice in front is of, unless it is of memory graphs.
    pub(super) fn file(&self) -> Option<&Arc<F>> {
        match self {
            Self::Run(_) => None,
            Self::File(file, _) => Some(file),
            Self::Level(scan) => scan.file(),
        }
    }
}

/// A scan of the lists of `vertices` in a level, through those of its files that may have them and that a reader at
/// `until` sees.
fn scan_level<F: ScannedFile>(
    level: &Arc<Level<F>>,
    subject: Subject,
    vertices: Range<u32>,
    until: Timestamp,
    window: &Arc<SharedWindow>,
) -> Result<LevelScan<F, Lists<F::Scan>, Error>> {
    let list = |vertex| ListId { subject, vertex: VertexId(vertex) };
    let lists = list(vertices.start)..=list(vertices.end.saturating_sub(1));
    let window = Arc::clone(window);
    LevelScan::lists(level, level.places_of_lists(&lists), move |file| {
        // A bulk load's may be newer than the reader.
        let is_seen = !file.is_newer(until);
        is_seen.then(|| F::scan_lists(file, subject, vertices.clone(), until, &window)).transpose()
    })
}

impl<F: ScannedFile> ListSource for EdgeScan<'_, F> {
    type Error = Error;

    #[inline]
    fn slice(&self) -> Option<ListSlice<'_>> {
        match self {
            Self::Run(scan) => scan.slice(),
            Self::File(_, scan) => scan.slice(),
            Self::Level(scan) => scan.slice(),
        }
    }

    #[inline]
    fn front(&self) -> Option<SliceFront> {
        match self {
            Self::Run(scan) => scan.front(),
            Self::File(_, scan) => scan.front(),
            Self::Level(scan) => scan.front(),
        }
    }

    #[inline]
    fn advance(&mut self) -> Result<()> {
        match self {
            Self::Run(scan) => scan.advance(),
            Self::File(_, scan) => scan.advance().map_err(Into::into),
            Self::Level(scan) => scan.advance(),
        }
    }
}
