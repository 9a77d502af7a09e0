//! Writer: appends transactions that fit the graph through the nodes, by hand, and waits until the log has them.
//!
//! Each checks what all of them touch, so that only one that has seen the commit before commits. Of two that are sent at once one
//! is refused. So it is certain how many commit, whatever log and nodes do.

use crate::cluster::{Cluster, ClusterSetup, Node, PARTITIONS};
use crate::judge::{Judge, ROWS_OF_RANGE};
use crate::shown::Shown;
use evergraph_cluster::key_hash::graph_salt::KeyHash;
use evergraph_cluster::record::body::{NewName, RecordBody};
use evergraph_cluster::record::payload::payloads;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_graph::id::{EdgeId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::sync::Mutex;
use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Of so many writes one is sent against another transaction, which is refused.
pub const CONTENDED: usize = 4;

const KNOWS: TypeId = TypeId(0);
const WEIGHT: KeyId = KeyId(0);
/// What every transaction touches and checks.
const ANYTHING: KeyHash = KeyHash(1);
/// Edges of the graph, at most: each is read by itself.
const EDGES_MAX: usize = 150;
/// Vertices of which none is deleted.
const VERTICES_MIN: usize = 8;

pub struct Writer<'a> {
    cluster: &'a Cluster,
    judge: Mutex<Judge>,
    chance: SeededChance,
    /// Vertices that it tried to insert.
    used: BTreeSet<VertexId>,
    edges: u16,
    writes: usize,
}

impl<'a> Writer<'a> {
    /// Gives names, and takes rows of both labels in every partition.
    pub fn new(cluster: &'a Cluster, seed: u64) -> Self {
        let (judge, chance) = (Mutex::new(Judge::new()), SeededChance::new(seed));
        let writer = Self { cluster, judge, chance, used: BTreeSet::new(), edges: 0, writes: 0 };
        let names = [
            NewName::Label("Person".into()),
            NewName::Label("Post".into()),
            NewName::EdgeType("KNOWS".into()),
            NewName::Key("weight".into()),
        ];
        names.into_iter().for_each(|name| writer.push(0, RecordBody::Name { name, touches: Vec::new() }));
        writer.wait_for("names", |judge| {
            let catalogue = judge.state.tables().catalogue();
            let labels = ["Person", "Post"].iter().all(|name| catalogue.label(name).is_some());
            labels && catalogue.edge_type("KNOWS").is_some() && catalogue.key("weight").is_some()
        });
        for number in 0..2 * PARTITIONS {
            let (label, partition) = (LabelId(number % 2), PartitionId(number / 2));
            writer.push(0, RecordBody::Rows { label, partition, touches: Vec::new() });
        }
        let all = 2 * ROWS_OF_RANGE * usize::from(PARTITIONS);
        writer.wait_for("rows", |judge| judge.given.len() == all);
        writer
    }

    /// Waits until the log has something.
    fn wait_for(&self, what: &str, has_come: impl Fn(&Judge) -> bool) {
        self.cluster.wait_until(&format!("the log does not get {what}"), || {
            let mut judge = self.judge.lock();
            judge.read(&self.cluster.log);
            has_come(&judge)
        });
    }

    /// Sends a record by a node, once that has applied what the judge has read.
    fn push(&self, node: usize, body: RecordBody) {
        let (at, node) = (self.judge.lock().state.seen().position, &self.cluster.nodes[node]);
        self.cluster.wait_until("a node does not come as far as the writer", || node.applied() >= at);
        let (tells, told) = channel();
        let call = move |node: &mut Node, now: Duration| {
            tells.send(node.node().push(body, now)).expect("the writer waits");
        };
        node.thread.handle().call(call).unwrap();
        told.recv().expect("the node runs").unwrap();
    }

    /// Sends a transaction on what the log has now, now and then against another one, and waits until they are decided.
    pub fn write(&mut self) {
        self.writes += 1;
        let count = if self.writes.is_multiple_of(CONTENDED) { 2 } else { 1 };
        let (decided, graph, since) = {
            let mut judge = self.judge.lock();
            judge.read(&self.cluster.log);
            let since = judge.state.seen().position.end();
            (judge.decided(), judge.graph_at(since), since)
        };
        for _ in 0..count {
            let mutations = self.mutations(&graph);
            self.send(since, &mutations);
        }
        self.wait_for("a transaction", |judge| judge.decided() == decided + count);
    }

    fn send(&mut self, since: Timestamp, mutations: &[Mutation]) {
        let payloads = payloads(mutations, ClusterSetup::default().partition_count()).unwrap();
        let (checks, touches) = (vec![ANYTHING], vec![ANYTHING]);
        let last = TransactionPart { checks, touches, payloads, ..TransactionPart::default() };
        let node = self.chance.below(self.cluster.nodes.len() as u64) as usize;
        self.push(node, RecordBody::Transaction { since, parts: 0, last });
    }

    /// Changes of `graph`, of each vertex and edge one.
    fn mutations(&mut self, graph: &Shown) -> Vec<Mutation> {
        let (mut mutations, mut vertices, mut edges) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let mut deleted_vertices = BTreeSet::new();
        for _ in 0..=self.chance.below(4) {
            let weight = Value::I64(self.chance.below(9) as i64);
            let properties = Properties::new(vec![(WEIGHT, Some(weight))]);
            let (vertex, end) = (self.pick(graph.vertices.keys()), self.pick(graph.vertices.keys()));
            let edge = self.pick(graph.out.keys()).filter(|edge| !edges.contains(edge));
            match (self.chance.below(8), vertex, end, edge) {
                (0..=2, ..) => mutations.extend(self.insertion(properties)),
                (3, Some(vertex), ..) if vertices.insert(vertex) => {
                    mutations.push(Mutation::SetVertexProperties { vertex, properties });
                }
                (4 | 5, Some(source), Some(target), _) if graph.out.len() < EDGES_MAX => {
                    if [source, target].iter().any(|end| deleted_vertices.contains(end)) {
                        continue;
                    }
                    // Neither end is deleted later on.
                    vertices.extend([source, target]);
                    self.edges += 1;
                    let edge = EdgeId { source, edge_type: KNOWS, target, discriminator: self.edges };
                    mutations.push(Mutation::InsertEdge { edge, properties });
                }
                (6, .., Some(edge)) => {
                    edges.insert(edge);
                    mutations.push(Mutation::SetEdgeProperties { edge, properties });
                }
                (7, .., Some(edge)) if self.chance.happens(OneIn(2)) => {
                    edges.insert(edge);
                    mutations.push(Mutation::DeleteEdge { edge });
                }
                (7, Some(vertex), ..) if graph.vertices.len() > VERTICES_MIN && vertices.insert(vertex) => {
                    let of_vertex = |edge: &&EdgeId| edge.source == vertex || edge.target == vertex;
                    let deleted: Vec<EdgeId> = graph.into.iter().filter(of_vertex).copied().collect();
                    if deleted.iter().all(|edge| !edges.contains(edge)) {
                        edges.extend(deleted.iter().copied());
                        deleted_vertices.insert(vertex);
                        let deleted = deleted.into_iter().map(|edge| Mutation::DeleteEdge { edge });
                        mutations.extend(deleted.chain([Mutation::DeleteVertex { vertex }]));
                    }
                }
                _ => {}
            }
        }
        mutations
    }

    /// A vertex that was never tried; `None` if there is none left to try.
    fn insertion(&mut self, properties: Properties) -> Option<Mutation> {
        let judge = self.judge.lock();
        let left: Vec<_> = judge.given.iter().filter(|vertex| !self.used.contains(vertex)).copied().collect();
        if left.is_empty() {
            return None;
        }
        let vertex = left[self.chance.below(left.len() as u64) as usize];
        let label = judge.state.tables().groups().label(vertex.group()).unwrap();
        self.used.insert(vertex);
        Some(Mutation::InsertVertex { vertex, label, properties })
    }

    fn pick<'i, T: Copy + 'i>(&mut self, from: impl ExactSizeIterator<Item = &'i T>) -> Option<T> {
        let at = self.chance.below(from.len().max(1) as u64) as usize;
        from.copied().nth(at)
    }
}
