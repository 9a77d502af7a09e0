//! Writer: appends transactions that fit the graph through the nodes, by hand, one after the other.
//!
//! Each checks what all of them touch, so that only one that has seen the commit before commits.

use crate::cluster::{Cluster, Node, PARTITIONS, partitions, pause};
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
use evergraph_graph::value::Value;
use std::collections::BTreeSet;
use std::time::Duration;

const KNOWS: TypeId = TypeId(0);
const WEIGHT: KeyId = KeyId(0);
/// What every transaction touches and checks.
const ANYTHING: KeyHash = KeyHash(1);
/// Edges of the graph, at most: each is read by itself.
const EDGES_MAX: usize = 150;

pub struct Writer<'a> {
    cluster: &'a Cluster,
    pub judge: Judge,
    chance: SeededChance,
    /// Vertices that it tried to insert.
    used: BTreeSet<VertexId>,
    edges: u16,
}

impl<'a> Writer<'a> {
    /// Gives names, and takes rows of both labels in every partition.
    pub fn new(cluster: &'a Cluster, seed: u64) -> Self {
        let (chance, used) = (SeededChance::new(seed), BTreeSet::new());
        let mut writer = Self { cluster, judge: Judge::new(), chance, used, edges: 0 };
        let names = [
            NewName::Label("Person".into()),
            NewName::Label("Post".into()),
            NewName::EdgeType("KNOWS".into()),
            NewName::Key("weight".into()),
        ];
        names.into_iter().for_each(|name| writer.push(0, RecordBody::Name { name, touches: Vec::new() }));
        writer.read_until(|judge| {
            let catalogue = judge.state.tables().catalogue();
            let labels = ["Person", "Post"].iter().all(|name| catalogue.label(name).is_some());
            labels && catalogue.edge_type("KNOWS").is_some() && catalogue.key("weight").is_some()
        });
        for number in 0..2 * PARTITIONS {
            let (label, partition) = (LabelId(number % 2), PartitionId(number / 2));
            writer.push(0, RecordBody::Rows { label, partition, touches: Vec::new() });
        }
        writer.read_until(|judge| judge.given.len() == 2 * ROWS_OF_RANGE * usize::from(PARTITIONS));
        writer
    }

    /// Reads the log until it has something.
    fn read_until(&mut self, has_come: impl Fn(&Judge) -> bool) {
        while !has_come(&self.judge) {
            self.cluster.check();
            pause(Duration::from_millis(1));
            self.judge.read(&self.cluster.log);
        }
    }

    /// Sends a record by a node, unless that has applied less than the judge.
    fn push(&self, node: usize, body: RecordBody) {
        let at = self.judge.state.seen().position;
        let call = move |node: &mut Node, now: Duration| {
            if node.node().applier().state().seen().position >= at {
                node.node().push(body, now).unwrap();
            }
        };
        self.cluster.nodes[node].thread.handle().call(call).unwrap();
    }

    /// Sends a transaction on what the log has now.
    pub fn write(&mut self) {
        self.judge.read(&self.cluster.log);
        let position = self.judge.state.seen().position;
        let graph = self.judge.graph_at(position.end());
        let mutations = self.mutations(&graph);
        if mutations.is_empty() {
            return;
        }
        let payloads = payloads(&mutations, partitions()).unwrap();
        let (checks, touches) = (vec![ANYTHING], vec![ANYTHING]);
        let last = TransactionPart { checks, touches, payloads, ..TransactionPart::default() };
        let node = self.chance.below(self.cluster.nodes.len() as u64) as usize;
        self.push(node, RecordBody::Transaction { since: position.end(), parts: 0, last });
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
                (0..=2, ..) => {
                    let Some(vertex) = self.pick(self.judge.given.clone().iter()) else { continue };
                    if self.used.insert(vertex) {
                        let label = self.judge.state.tables().groups().label(vertex.group()).unwrap();
                        mutations.push(Mutation::InsertVertex { vertex, label, properties });
                    }
                }
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
                (7, Some(vertex), ..) if vertices.insert(vertex) => {
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

    fn pick<'i, T: Copy + 'i>(&mut self, from: impl ExactSizeIterator<Item = &'i T>) -> Option<T> {
        let at = self.chance.below(from.len().max(1) as u64) as usize;
        from.copied().nth(at)
    }
}
