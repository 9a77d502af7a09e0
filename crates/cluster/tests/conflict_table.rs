//! Conflict table: whatever the memory engine reports as changed, the hashes report, too, for all pairs of a key of the
//! front and a mutation.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_cluster::key_hash::conflict_table::{checked, touched};
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::key_hash::subject::Subject;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::engine::{ChangedSince, Engine, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const SALT: GraphSalt = GraphSalt([7; 16]);
const GROUPS: [u32; 2] = [0, 1];
const TYPES: [TypeId; 2] = [TypeId(0), TypeId(1)];
const KEYS: [KeyId; 2] = [KeyId(0), KeyId(1)];

fn vertex(group: u32, row: u16) -> VertexId {
    VertexId::new(GroupId(group), row)
}

fn edge(source: VertexId, edge_type: TypeId, target: VertexId, discriminator: u16) -> EdgeId {
    EdgeId { source, edge_type, target, discriminator }
}

fn properties(key: KeyId) -> Properties {
    Properties::new(vec![(key, Some(Value::I64(1)))])
}

/// Vertices that every graph begins with: two in each group.
fn vertices() -> Vec<VertexId> {
    GROUPS.iter().flat_map(|group| [vertex(*group, 0), vertex(*group, 1)]).collect()
}

/// Edges that every graph begins with.
fn edges() -> Vec<EdgeId> {
    let ends = [(vertex(0, 0), vertex(0, 1)), (vertex(0, 0), vertex(1, 0)), (vertex(1, 0), vertex(0, 0))];
    TYPES
        .iter()
        .flat_map(|edge_type| ends.map(|(source, target)| edge(source, *edge_type, target, 0)))
        .collect()
}

/// A mutation of each kind in several places; each stands alone after the graph's beginning.
fn mutations() -> Vec<Vec<Mutation>> {
    let mut all = Vec::new();
    for group in GROUPS {
        let fresh = vertex(group, 2);
        all.push(vec![Mutation::InsertVertex {
            vertex: fresh,
            label: LabelId(0),
            properties: properties(KEYS[0]),
        }]);
    }
    // Without edges.
    all.push(vec![Mutation::DeleteVertex { vertex: vertex(1, 1) }]);
    for vertex in vertices() {
        for key in KEYS {
            all.push(vec![Mutation::SetVertexProperties { vertex, properties: properties(key) }]);
        }
    }
    for there in edges() {
        all.push(vec![Mutation::DeleteEdge { edge: there }]);
        all.push(vec![Mutation::ReplaceEdge { edge: there, properties: properties(KEYS[1]) }]);
        for key in KEYS {
            all.push(vec![Mutation::SetEdgeProperties { edge: there, properties: properties(key) }]);
        }
        let parallel = EdgeId { discriminator: 1, ..there };
        all.push(vec![Mutation::InsertEdge { edge: parallel, properties: Properties::EMPTY }]);
    }
    let own = edge(vertex(0, 1), TYPES[0], vertex(0, 1), 0);
    all.push(vec![Mutation::InsertEdge { edge: own, properties: properties(KEYS[0]) }]);
    // A vertex goes with all of its edges.
    let goes = vertex(0, 0);
    let of_it = edges().into_iter().filter(|edge| edge.source == goes || edge.target == goes);
    let mut deleted: Vec<_> = of_it.map(|edge| Mutation::DeleteEdge { edge }).collect();
    deleted.push(Mutation::DeleteVertex { vertex: goes });
    all.push(deleted);
    all
}

/// Keys of each kind, of everything that is there before or after.
fn keys() -> Vec<Key> {
    let sides = [Direction::Out, Direction::In];
    let mut all = Vec::new();
    let vertices = vertices().into_iter().chain(GROUPS.map(|group| vertex(group, 2))).collect::<Vec<_>>();
    for vertex in &vertices {
        all.extend([Key::Vertex(*vertex), Key::VertexRecord(*vertex), Key::Adjacency(*vertex)]);
        all.extend(KEYS.map(|key| Key::VertexProperty(*vertex, key)));
        for edge_type in TYPES {
            all.extend(sides.map(|side| Key::List(*vertex, edge_type, side)));
            all.extend(KEYS.map(|key| Key::ListProperty(*vertex, edge_type, key)));
            all.extend(vertices.iter().map(|target| Key::Between(*vertex, edge_type, *target)));
            for target in &vertices {
                for discriminator in 0..2 {
                    let edge = edge(*vertex, edge_type, *target, discriminator);
                    all.extend([Key::Edge(edge), Key::EdgeMember(edge)]);
                    all.extend(KEYS.map(|key| Key::EdgeProperty(edge, key)));
                }
            }
        }
    }
    for group in GROUPS.map(GroupId) {
        all.extend([Key::Members(group), Key::Vertices(group)]);
        all.extend(TYPES.iter().flat_map(|of| sides.map(|side| Key::Edges(group, *of, side))));
    }
    all
}

/// A graph in memory, after its beginning.
struct Graph {
    timeline: Arc<Timeline>,
    engine: MemoryEngine,
}

impl Graph {
    fn new() -> Self {
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        let engine = MemoryEngine::new(Arc::clone(&timeline));
        GROUPS.iter().for_each(|group| engine.open_group(GroupId(*group), LabelId(0)));
        let graph = Self { timeline, engine };
        let inserted = vertices().into_iter().map(|vertex| Mutation::InsertVertex {
            vertex,
            label: LabelId(0),
            properties: Properties::EMPTY,
        });
        let joined =
            edges().into_iter().map(|edge| Mutation::InsertEdge { edge, properties: Properties::EMPTY });
        graph.commit(&inserted.chain(joined).collect::<Vec<_>>());
        graph
    }

    /// Commits `mutations`; the snapshot before.
    fn commit(&self, mutations: &[Mutation]) -> Timestamp {
        let prepared = self.engine.prepare(mutations, &IndexChanges::NONE, Duration::ZERO).unwrap();
        let mut latch = self.timeline.latch();
        let before = self.timeline.published();
        let displaced = self.engine.append(before.next(), prepared);
        self.timeline.publish(before.next(), &mut latch);
        drop(latch);
        drop(displaced);
        before
    }
}

fn changes_properties_only(mutation: &Mutation) -> bool {
    matches!(mutation, Mutation::SetEdgeProperties { .. } | Mutation::ReplaceEdge { .. })
}

#[test]
fn whatever_an_engine_reports_as_changed_the_hashes_report() {
    let mut changed_count = 0;
    for mutations in mutations() {
        let graph = Graph::new();
        let before = graph.commit(&mutations);
        let mut touches = BTreeSet::new();
        let mut note = |subject: Subject| {
            touches.insert(subject.hash(SALT));
        };
        mutations.iter().for_each(|mutation| touched(mutation, SALT, &mut note));
        for key in keys() {
            let mut is_reported = false;
            checked(&key, |subject| is_reported |= touches.contains(&subject.hash(SALT)));
            let is_changed = graph.engine.newer(&key, before) != ChangedSince::No;
            // An engine may count these: whoever deletes a vertex checks each of its edges as well.
            let is_allowed =
                matches!(key, Key::Adjacency(_)) && mutations.iter().any(changes_properties_only);
            assert!(is_reported || !is_changed || is_allowed, "{key:?} was changed by {mutations:?}");
            // Nor anything else, which would be a conflict without a cause.
            assert!(is_changed || !is_reported, "{key:?} was not changed by {mutations:?}");
            changed_count += usize::from(is_changed);
        }
    }
    let pairs = keys().len() * mutations().len();
    assert!(changed_count > 200, "{changed_count} of {pairs} pairs are conflicts");
}
