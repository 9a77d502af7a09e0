//! Sources: the commits of a history in memory graphs and files, cut anywhere.

use crate::history::{GROUPS, History, label_of};
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::flush::write_generation;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::groups::GroupTable;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_disk_engine::tree_state::SourceHandle;
use evergraph_disk_engine::view::disk_view::DiskView;
use evergraph_disk_engine::view::view_sources::ViewSources;
use evergraph_graph::id::GroupId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use std::sync::Arc;

const CAPACITY: u64 = 1 << 20;

/// What an engine holds.
pub struct Sources {
    groups: GroupTable,
    /// Newest first.
    sources: Vec<SourceHandle<CsrFile>>,
    _budget: MemoryBudget,
}

impl Sources {
    /// Cuts the history where a cut's number is low; a very low one gives the commit a graph of its own. The `flushed`
    /// oldest graphs are files.
    pub fn of(history: &History, cuts: &[u8], flushed: usize) -> Self {
        let groups = GroupTable::new();
        for group in GROUPS {
            groups.open(GroupId(group), label_of(group));
        }
        let promises = Promises::new();
        let open = || MemoryGraph::open(CAPACITY, &promises).unwrap();
        let mut graphs = vec![open()];
        for (commit, cut) in history.commits.iter().zip(cuts) {
            let sorted = SortedCommit::new(&commit.mutations).unwrap();
            for (subject, group) in sorted.segments() {
                groups.add_subject(group, subject);
            }
            if *cut < 20 {
                let graph = MemoryGraph::of_commit(sorted, Vec::new()).unwrap();
                graph.set_timestamp(commit.timestamp);
                graphs.last().unwrap().freeze();
                graphs.extend([graph, open()]);
            } else {
                let graph = graphs.last().unwrap();
                let prepared = graph.prepare(sorted, Vec::new()).unwrap();
                drop(graph.append(commit.timestamp, prepared));
                if *cut < 80 {
                    graph.freeze();
                    graphs.push(open());
                }
            }
        }
        let budget = MemoryBudget::new(64 << 20);
        let reader = PageReader::start(&budget, Background::Stepped).unwrap();
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("sources"));
        let mut sources = Vec::new();
        for (number, graph) in graphs.into_iter().enumerate() {
            if number >= flushed || !graph.is_frozen() {
                sources.push(SourceHandle::Graph(Arc::new(graph)));
            } else if let Some(stored) =
                write_generation(&directory, FileNumber(number as u64), &graph).unwrap()
            {
                sources
                    .push(SourceHandle::File(Arc::new(CsrFile::open(&directory, &stored, &reader).unwrap())));
            }
        }
        sources.reverse();
        Self { groups, sources, _budget: budget }
    }

    /// The view of a snapshot.
    pub fn view(&self, timestamp: Timestamp) -> DiskView<'_> {
        DiskView::new(&self.groups, ViewSources::List(self.sources.clone()), timestamp)
    }
}
