//! Judge: reads the log by itself, and knows the graph at the end of each message.

use crate::cluster::{first_state, partitions};
use crate::script::change;
use crate::shown::Shown;
use evergraph_cluster::log::memory::MemoryLog;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::replicated_state::{DecidedCommit, RecordResult, ReplicatedState};
use evergraph_cluster::record::message::Message;
use evergraph_cluster::tables::cluster_tables::TableAnswer;
use evergraph_graph::id::{PartitionId, VertexId};
use evergraph_graph::mutation::Mutation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of each range that the judge remembers.
pub const ROWS_OF_RANGE: usize = 12;

pub struct Judge {
    pub state: ReplicatedState,
    graph: Shown,
    /// The graph from each message on that changed it.
    graphs: BTreeMap<LogPosition, Arc<Shown>>,
    /// The first vertices of each range of rows that was given to somebody.
    pub given: Vec<VertexId>,
    pub commits: usize,
    pub refused: usize,
}

impl Judge {
    pub fn new() -> Self {
        let graphs = BTreeMap::from([(LogPosition::START, Arc::default())]);
        let (graph, given) = (Shown::default(), Vec::new());
        Self { state: first_state(), graph, graphs, given, commits: 0, refused: 0 }
    }

    /// Reads on.
    pub fn read(&mut self, log: &MemoryLog) {
        for read in log.messages_from(self.state.seen().position.next()) {
            let message = Message::decode(&read.bytes).unwrap();
            let (position, bytes) = (read.position, read.bytes);
            let decided = self.state.apply(ReadMessage { position, message, bytes });
            for record in &decided.records {
                match record.result {
                    RecordResult::Table(TableAnswer::Rows(Ok(range))) => {
                        self.given.extend(range.vertices().take(ROWS_OF_RANGE));
                    }
                    RecordResult::Refused(_) => self.refused += 1,
                    _ => {}
                }
            }
            decided.commits.iter().for_each(|commit| self.commit(commit));
            if !decided.commits.is_empty() {
                self.graphs.insert(position, Arc::new(self.graph.clone()));
            }
        }
    }

    fn commit(&mut self, commit: &DecidedCommit) {
        self.commits += usize::from(!commit.partitions.is_empty());
        for (partition, mutations) in &commit.partitions {
            let own = mutations.iter().filter(|mutation| is_said_by(*partition, mutation));
            own.for_each(|mutation| change(&mut self.graph, mutation));
        }
        for edge in self.graph.out.keys() {
            let ends = [edge.source, edge.target];
            let has_ends = ends.iter().all(|end| self.graph.vertices.contains_key(end));
            assert!(has_ends, "{edge} dangles after {}", commit.id);
        }
    }

    /// The graph at the end of a message that was read.
    pub fn graph_at(&self, position: LogPosition) -> Arc<Shown> {
        assert!(position <= self.state.seen().position, "message {position} was not read");
        let (_, graph) = self.graphs.range(..=position).next_back().unwrap();
        Arc::clone(graph)
    }
}

/// Whether a mutation is counted where this partition has it: that of an edge goes to two.
fn is_said_by(partition: PartitionId, mutation: &Mutation) -> bool {
    match mutation {
        Mutation::InsertEdge { edge, .. } | Mutation::DeleteEdge { edge } => {
            partitions().of_group(edge.source.group()) == partition
        }
        _ => true,
    }
}
