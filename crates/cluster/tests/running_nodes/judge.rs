//! Judge: reads the log by itself, and knows the graph after each commit.

use crate::cluster::ClusterSetup;
use crate::script::change;
use crate::shown::Shown;
use evergraph_cluster::certification::outcome::Refusal;
use evergraph_cluster::log::memory::MemoryLog;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::node::replicated_state::{
    AppliedRecord, DecidedCommit, RecordResult, ReplicatedState,
};
use evergraph_cluster::record::body::RecordBody;
use evergraph_cluster::record::message::Message;
use evergraph_cluster::tables::cluster_tables::TableAnswer;
use evergraph_graph::id::{PartitionId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rows of each range that the judge remembers.
pub const ROWS_OF_RANGE: usize = 12;

pub struct Judge {
    pub state: ReplicatedState,
    graph: Shown,
    /// The graph from each commit on.
    graphs: BTreeMap<Timestamp, Arc<Shown>>,
    /// The first vertices of each range of rows that was given to somebody.
    pub given: Vec<VertexId>,
    /// When transactions committed.
    pub commits: BTreeSet<Timestamp>,
    pub refused: usize,
    /// Parts of large transactions.
    pub parts: usize,
}

impl Judge {
    pub fn new() -> Self {
        let graphs = BTreeMap::from([(Timestamp::ZERO, Arc::default())]);
        let (graph, given) = (Shown::default(), Vec::new());
        Self {
            state: ClusterSetup::default().first_state(),
            graph,
            graphs,
            given,
            commits: BTreeSet::new(),
            refused: 0,
            parts: 0,
        }
    }

    /// Reads on.
    pub fn read(&mut self, log: &MemoryLog) {
        for read in log.messages_from(self.state.seen().position.next()) {
            let message = Message::decode(&read.bytes).unwrap();
            let (position, bytes) = (read.position, read.bytes);
            let bodies: Vec<_> = message.records.iter().map(|record| record.body.clone()).collect();
            let decided = self.state.apply(ReadMessage { position, message, bytes });
            for (record, body) in decided.records.iter().zip(bodies) {
                self.look_at(record, &body);
            }
            decided.commits.iter().for_each(|commit| self.commit(commit));
        }
    }

    fn look_at(&mut self, record: &AppliedRecord, body: &RecordBody) {
        match record.result {
            RecordResult::Table(TableAnswer::Rows(Ok(range))) => {
                self.given.extend(range.vertices().take(ROWS_OF_RANGE));
            }
            RecordResult::Committed => {
                self.commits.insert(record.timestamp);
            }
            RecordResult::PartKept => self.parts += 1,
            RecordResult::Refused(refusal) => {
                self.refused += 1;
                // Every refusal has a reason: here nothing else ever happens.
                let (Refusal::Conflict { changed, .. }, RecordBody::Transaction { since, .. }) =
                    (refusal, body)
                else {
                    panic!("{} was refused: {refusal}", record.id);
                };
                assert!(!changed.visible_at(*since) && changed < record.timestamp, "{changed} was seen");
            }
            _ => {}
        }
    }

    fn commit(&mut self, commit: &DecidedCommit) {
        for (partition, mutations) in &commit.partitions {
            let own = mutations.iter().filter(|mutation| is_said_by(*partition, mutation));
            own.for_each(|mutation| change(&mut self.graph, mutation));
        }
        for edge in self.graph.out.keys() {
            let ends = [edge.source, edge.target];
            let has_ends = ends.iter().all(|end| self.graph.vertices.contains_key(end));
            assert!(has_ends, "{edge} dangles after {}", commit.id);
        }
        self.graphs.insert(commit.timestamp, Arc::new(self.graph.clone()));
    }

    /// Transactions that have committed or were refused.
    pub fn decided(&self) -> usize {
        self.commits.len() + self.refused
    }

    /// The graph that a snapshot sees, in what was read.
    pub fn graph_at(&self, at: Timestamp) -> Arc<Shown> {
        assert!(at <= self.state.seen().position.end(), "{at} was not read");
        let (_, graph) = self.graphs.range(..=at).next_back().unwrap();
        Arc::clone(graph)
    }

    /// The graph just before a commit.
    pub fn graph_before(&self, commit: Timestamp) -> Arc<Shown> {
        let (_, graph) = self.graphs.range(..commit).next_back().unwrap();
        Arc::clone(graph)
    }
}

/// Whether a mutation is counted where this partition has it: that of an edge goes to two.
fn is_said_by(partition: PartitionId, mutation: &Mutation) -> bool {
    match mutation {
        Mutation::InsertEdge { edge, .. } | Mutation::DeleteEdge { edge } => {
            ClusterSetup::default().partition_count().of_group(edge.source.group()) == partition
        }
        _ => true,
    }
}
