//! Model, for tests: a graph as plain maps, and the rules of conflicts written down a second time,
//! from what a transaction changed in effect rather than from its buffer.

use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use std::collections::{BTreeMap, BTreeSet};

pub type Values = BTreeMap<KeyId, Value>;

/// A graph.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Model {
    pub vertices: BTreeMap<VertexId, (LabelId, Values)>,
    pub edges: BTreeMap<EdgeId, Values>,
}

/// What a transaction saw first, what it sees now, and which stored items it wrote to.
#[derive(Clone, Default, Debug)]
pub struct ModelTransaction {
    pub base: Model,
    pub now: Model,
    set_vertices: BTreeSet<(VertexId, KeyId)>,
    set_edges: BTreeSet<(EdgeId, KeyId)>,
    replaced: BTreeSet<EdgeId>,
    /// Edges whose discriminator may change.
    added: BTreeSet<EdgeId>,
}

/// What a commit changed, as others are checked against it.
#[derive(Clone, Default, Debug)]
pub struct Effects {
    vertices_deleted: BTreeSet<VertexId>,
    vertices_set: BTreeSet<(VertexId, KeyId)>,
    edges_added: BTreeSet<EdgeId>,
    edges_replaced: BTreeSet<EdgeId>,
    edges_deleted: BTreeSet<EdgeId>,
    edges_set: BTreeSet<(EdgeId, KeyId)>,
    /// Values that a vertex newly has.
    values_entered: BTreeSet<(KeyId, Value)>,
}

impl Effects {
    /// With the names that added edges got at commit.
    pub fn renamed(mut self, renamed: &[(EdgeId, EdgeId)]) -> Self {
        for (from, _) in renamed {
            assert!(self.edges_added.remove(from), "only added edges are renamed");
        }
        self.edges_added.extend(renamed.iter().map(|(_, to)| *to));
        self
    }
}

fn assign(values: &mut Values, key: KeyId, value: Option<Value>) {
    match value {
        Some(value) => values.insert(key, value),
        None => values.remove(&key),
    };
}

impl ModelTransaction {
    pub fn begin(base: &Model) -> Self {
        Self { base: base.clone(), now: base.clone(), ..Self::default() }
    }

    pub fn holder(&self, label: LabelId, key: KeyId, value: &Value) -> Option<VertexId> {
        let mut holders = self
            .now
            .vertices
            .iter()
            .filter(|(_, (of, values))| *of == label && values.get(&key) == Some(value));
        holders.next().map(|(vertex, _)| *vertex)
    }

    pub fn add_vertex(&mut self, vertex: VertexId, label: LabelId, values: Values) {
        assert!(self.now.vertices.insert(vertex, (label, values)).is_none(), "{vertex} is a new id");
        assert!(!self.base.vertices.contains_key(&vertex), "{vertex} was not there before");
    }

    pub fn set_vertex(&mut self, vertex: VertexId, key: KeyId, value: Option<Value>) {
        assign(&mut self.now.vertices.get_mut(&vertex).unwrap().1, key, value);
        self.set_vertices.insert((vertex, key));
    }

    pub fn delete_vertex(&mut self, vertex: VertexId) {
        self.now.vertices.remove(&vertex).unwrap();
        self.now.edges.retain(|edge, _| edge.source != vertex && edge.target != vertex);
    }

    pub fn add_edge(&mut self, edge: EdgeId, values: Values, renamable: bool) {
        assert!(self.now.edges.insert(edge, values).is_none(), "{edge} is a new name");
        if renamable {
            assert!(!self.base.edges.contains_key(&edge), "{edge} has a name that nobody had");
            self.added.insert(edge);
        } else {
            self.replaced.insert(edge);
        }
    }

    pub fn put_edge(&mut self, edge: EdgeId, values: Values) {
        self.now.edges.insert(edge, values);
        self.replaced.insert(edge);
        self.added.remove(&edge);
    }

    pub fn delete_edge(&mut self, edge: EdgeId) {
        self.now.edges.remove(&edge).unwrap();
        self.added.remove(&edge);
    }

    pub fn set_edge(&mut self, edge: EdgeId, key: KeyId, value: Option<Value>) {
        assign(self.now.edges.get_mut(&edge).unwrap(), key, value);
        self.set_edges.insert((edge, key));
    }

    /// Whether it changes anything (or sets something to what it was, which counts).
    pub fn effects(&self, unique: (LabelId, KeyId)) -> Effects {
        let (base, now) = (&self.base, &self.now);
        let stays = |edge: &EdgeId| base.edges.contains_key(edge) && now.edges.contains_key(edge);
        let (label, key) = unique;
        let value_of = |model: &Model, vertex: &VertexId| {
            let (of, values) = model.vertices.get(vertex)?;
            values.get(&key).filter(|_| *of == label).cloned()
        };
        let entered = now.vertices.keys().filter(|vertex| value_of(now, vertex) != value_of(base, vertex));
        Effects {
            vertices_deleted: base
                .vertices
                .keys()
                .filter(|id| !now.vertices.contains_key(id))
                .copied()
                .collect(),
            vertices_set: {
                let stay = |id: &VertexId| base.vertices.contains_key(id) && now.vertices.contains_key(id);
                self.set_vertices.iter().filter(|(id, _)| stay(id)).copied().collect()
            },
            edges_added: now.edges.keys().filter(|id| !base.edges.contains_key(id)).copied().collect(),
            edges_replaced: self.replaced.iter().filter(|id| stays(id)).copied().collect(),
            edges_deleted: base.edges.keys().filter(|id| !now.edges.contains_key(id)).copied().collect(),
            edges_set: {
                let kept = |id: &EdgeId| stays(id) && !self.replaced.contains(id);
                self.set_edges.iter().filter(|(id, _)| kept(id)).copied().collect()
            },
            values_entered: entered.filter_map(|id| Some((key, value_of(now, id)?))).collect(),
        }
    }

    /// Whether `mine` must not be committed after `other`, which it didn't see.
    pub fn conflicts(&self, mine: &Effects, other: &Effects) -> bool {
        let written = |edge: &EdgeId| {
            let sets = [&other.edges_added, &other.edges_replaced, &other.edges_deleted];
            sets.iter().any(|set| set.contains(edge)) || other.edges_set.iter().any(|(set, _)| set == edge)
        };
        let at = |edge: &EdgeId, vertex: &VertexId| edge.source == *vertex || edge.target == *vertex;
        let set = mine.vertices_set.iter().any(|(vertex, key)| {
            other.vertices_set.contains(&(*vertex, *key)) || other.vertices_deleted.contains(vertex)
        });
        let ends = mine.edges_added.iter().any(|edge| {
            other.vertices_deleted.contains(&edge.source) || other.vertices_deleted.contains(&edge.target)
        });
        let fixed = mine.edges_added.iter().any(|edge| !self.added.contains(edge) && written(edge));
        let replaced = mine.edges_replaced.iter().any(written);
        let deleted = mine.edges_deleted.iter().any(written);
        let edge_set = mine.edges_set.iter().any(|(edge, key)| {
            let gone = other.edges_deleted.contains(edge) || other.edges_replaced.contains(edge);
            gone || other.edges_set.contains(&(*edge, *key))
        });
        let vertex_gone = mine.vertices_deleted.iter().any(|vertex| {
            other.vertices_deleted.contains(vertex)
                || other.vertices_set.iter().any(|(set, _)| set == vertex)
                || other.edges_added.iter().chain(&other.edges_deleted).any(|edge| at(edge, vertex))
        });
        let entered = mine.values_entered.iter().any(|value| other.values_entered.contains(value));
        set || ends || fixed || replaced || deleted || edge_set || vertex_gone || entered
    }

    /// The newest graph with this transaction's changes, some of its edges renamed.
    pub fn merge_into(&self, head: &Model, effects: &Effects, renamed: &[(EdgeId, EdgeId)]) -> Model {
        let mut next = head.clone();
        for (vertex, stored) in &self.now.vertices {
            if !self.base.vertices.contains_key(vertex) {
                next.vertices.insert(*vertex, stored.clone());
            }
        }
        for (vertex, key) in &effects.vertices_set {
            assign(
                &mut next.vertices.get_mut(vertex).unwrap().1,
                *key,
                self.now.vertices[vertex].1.get(key).cloned(),
            );
        }
        for edge in &effects.edges_added {
            let name = renamed.iter().find(|(from, _)| from == edge).map_or(*edge, |(_, to)| *to);
            assert!(!head.edges.contains_key(&name), "{name} is free");
            next.edges.insert(name, self.now.edges[edge].clone());
        }
        for edge in &effects.edges_replaced {
            next.edges.insert(*edge, self.now.edges[edge].clone());
        }
        for (edge, key) in &effects.edges_set {
            assign(next.edges.get_mut(edge).unwrap(), *key, self.now.edges[edge].get(key).cloned());
        }
        for edge in &effects.edges_deleted {
            next.edges.remove(edge);
        }
        for vertex in &effects.vertices_deleted {
            next.vertices.remove(vertex);
        }
        next
    }
}

/// Everything that a view shows, by every way of asking, `limit` rows at a time.
pub fn dump<G: GraphView>(view: &G, limit: usize) -> Model {
    let mut model = Model::default();
    let mut ids = Vec::new();
    let mut cursor = VertexCursor::default();
    while !cursor.done {
        let before = ids.len();
        view.scan_vertices(None, &mut cursor, limit, &mut ids).unwrap();
        assert!(ids.len() - before <= limit && (cursor.done || ids.len() - before == limit));
    }
    assert!(ids.is_sorted_by(|a, b| a < b), "a scan ascends");
    let mut labels = Vec::new();
    view.labels(&ids, &mut labels).unwrap();
    for (vertex, label) in ids.iter().zip(&labels) {
        let values = view.vertex_property_map(*vertex).unwrap().into_iter().collect();
        model.vertices.insert(*vertex, (label.expect("scanned vertices are alive"), values));
    }
    for direction in [Direction::Out, Direction::In, Direction::Both] {
        let rows = expand(view, &ids, None, direction, limit);
        for (row, neighbor, edge) in &rows {
            let (here, there) = (ids[*row as usize], *neighbor);
            let outward = (edge.source, edge.target) == (here, there);
            let inward = (edge.target, edge.source) == (here, there);
            assert!(
                if direction == Direction::Out { outward } else { outward || inward },
                "{edge} at {here}"
            );
        }
        let edges: BTreeSet<EdgeId> = rows.iter().map(|(.., edge)| *edge).collect();
        let count = if direction == Direction::Both { 2 * edges.len() } else { edges.len() };
        assert_eq!(rows.len(), count, "each edge is seen once a side");
        if direction == Direction::Out {
            let values = |edge| view.edge_property_map(edge).unwrap().into_iter().collect();
            model.edges = edges.into_iter().map(|edge| (edge, values(edge))).collect();
        } else {
            assert!(edges.iter().eq(model.edges.keys()), "all sides hold the same edges");
        }
        let mut degrees = Vec::new();
        view.degrees(&ids, None, direction, &mut degrees).unwrap();
        let mut counted = vec![0_u64; ids.len()];
        rows.iter().for_each(|(at, ..)| counted[*at as usize] += 1);
        assert_eq!(counted, degrees, "as many edges as the degree says");
    }
    check_counts(view, &ids, &model, limit);
    model
}

type Row = (u32, VertexId, EdgeId);

fn expand<G: GraphView>(
    view: &G,
    ids: &[VertexId],
    types: Option<&[TypeId]>,
    direction: Direction,
    limit: usize,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !cursor.done {
        batch.clear();
        view.neighbors(ids, types, direction, &mut cursor, limit, &mut batch).unwrap();
        assert!(batch.len() <= limit && (cursor.done || batch.len() == limit));
        rows.extend((0..batch.len()).map(|at| (batch.rows[at], batch.neighbors[at], batch.edges[at])));
    }
    let order = |row: &Row| {
        let side = row.2.source != ids[row.0 as usize];
        (row.0, side, row.2.edge_type, row.1, row.2.discriminator)
    };
    // Self loops belong to both sides, so their order on the in side can't be told from the row.
    let plain: Vec<_> = rows.iter().filter(|row| row.2.source != row.2.target).map(order).collect();
    assert!(plain.is_sorted(), "by row, side, type, neighbour, discriminator");
    rows
}

fn check_counts<G: GraphView>(view: &G, ids: &[VertexId], model: &Model, limit: usize) {
    let statistics = view.statistics().unwrap();
    assert_eq!(statistics.vertices.iter().map(|(_, count)| count).sum::<u64>(), model.vertices.len() as u64);
    assert_eq!(statistics.edges.iter().map(|(_, count)| count).sum::<u64>(), model.edges.len() as u64);
    let mut found = Vec::new();
    let edges: Vec<EdgeId> = model.edges.keys().copied().collect();
    view.has_edges(&edges, &mut found).unwrap();
    assert!(found.iter().all(|found| *found), "every listed edge is found");
    for (edge_type, count) in statistics.edges {
        let rows = expand(view, ids, Some(&[edge_type]), Direction::Out, limit);
        assert_eq!(rows.len() as u64, count);
        let pairs: Vec<_> = edges
            .iter()
            .filter(|edge| edge.edge_type == edge_type)
            .map(|edge| (edge.source, edge.target))
            .collect();
        let mut counts = Vec::new();
        view.count_edges_between(&pairs, edge_type, &mut counts).unwrap();
        let mut wanted: BTreeMap<(VertexId, VertexId), u32> = BTreeMap::new();
        pairs.iter().for_each(|pair| *wanted.entry(*pair).or_default() += 1);
        assert!(pairs.iter().map(|pair| wanted[pair]).eq(counts), "as many between two as are listed");
    }
}
