//! Layers: the commits of a history in memory graphs, cut anywhere.

use crate::history::{GROUPS, History, label_of};
use evergraph_disk_engine::groups::GroupTable;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_disk_engine::tree::SourceHandle;
use evergraph_disk_engine::view::disk_view::DiskView;
use evergraph_graph::id::GroupId;
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;

const CAPACITY: u64 = 1 << 20;

/// What an engine would hold. A graph stands for its file.
pub struct Layers {
    groups: GroupTable,
    /// Newest first.
    sources: Vec<SourceHandle<MemoryGraph>>,
}

impl Layers {
    /// Cuts the history where a cut's number is low; a very low one gives the commit a graph of its own.
    pub fn of(history: &History, cuts: &[u8]) -> Self {
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
        let handle = |(at, graph): (usize, MemoryGraph)| match at % 3 {
            0 => SourceHandle::File(Arc::new(graph)),
            _ => SourceHandle::Graph(Arc::new(graph)),
        };
        Self { groups, sources: graphs.into_iter().rev().enumerate().map(handle).collect() }
    }

    /// The view of a snapshot.
    pub fn view(&self, timestamp: Timestamp) -> DiskView<'_, SourceHandle<MemoryGraph>> {
        DiskView::new(&self.groups, self.sources.clone(), timestamp)
    }
}
