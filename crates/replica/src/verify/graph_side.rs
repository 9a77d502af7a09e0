//! Graph side: the vertices and edges that a snapshot has, as entities.

use crate::copy::row_batch::as_id;
use crate::row_note::CreatedVertex;
use crate::verify::consumer::EntityConsumer;
use crate::verify::entity::Entity;
use crate::verify::subject::{EdgeIdentityParts, EdgeSubject, VertexSubject};
use evergraph::Snapshot;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::Column;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{EdgeCursor, GraphView as _, VertexCursor};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Vertices or edges that are read at once.
const BATCH: usize = 4096;

/// A snapshot that is compared.
pub struct GraphSide<'g> {
    snapshot: &'g Snapshot,
    catalogue: Arc<Catalogue>,
    cancel: &'g CancelFlag,
}

/// Edges by the labels that they join.
pub type EdgeCounts = BTreeMap<(LabelId, LabelId), u64>;

impl<'g> GraphSide<'g> {
    /// What `snapshot` shows, until `cancel` is set.
    #[must_use]
    pub fn new(snapshot: &'g Snapshot, cancel: &'g CancelFlag) -> Self {
        Self { snapshot, catalogue: snapshot.catalogue(), cancel }
    }

    /// Hands every vertex of the subject's label to `consumer`, but for those that were created for edges.
    ///
    /// Cost: a scan of the label and of its properties.
    ///
    /// # Errors
    /// Errors of reading; `cancelled`.
    pub fn visit_vertices(
        &self,
        subject: &VertexSubject<'_>,
        consumer: &mut impl EntityConsumer,
    ) -> Result<()> {
        let Some(label) = self.catalogue.label(&subject.vertex.label) else { return Ok(()) };
        let keys = self.keys(Owner::Label(label));
        let mut cursor = VertexCursor::default();
        let mut vertices = Vec::with_capacity(BATCH);
        while !cursor.done {
            self.cancel.check()?;
            vertices.clear();
            self.snapshot.scan_vertices(Some(&[label]), &mut cursor, BATCH, &mut vertices)?;
            let columns = self.vertex_columns(&vertices, &keys)?;
            for (row, vertex) in vertices.iter().enumerate() {
                let mut key = None;
                let mut properties = Vec::with_capacity(keys.len());
                for ((name, _), column) in keys.iter().zip(&columns) {
                    let Some(value) = &column[row] else { continue };
                    if **name == *subject.vertex.key.property {
                        key = Some(value);
                    } else {
                        properties.push((&**name, Cow::Borrowed(value)));
                    }
                }
                // Without a key it is nothing that a rule makes, and shown as what it is called here.
                let called;
                let key = match key {
                    Some(key) => key,
                    None => {
                        called =
                            Value::from(format!("vertex {vertex} without {}", subject.vertex.key.property));
                        &called
                    }
                };
                if properties.is_empty() && subject.may_be_created && self.was_created(subject, key) {
                    continue;
                }
                consumer.take(Entity { identity: (as_id(key), None), ends: None, properties });
            }
        }
        Ok(())
    }

    fn was_created(&self, subject: &VertexSubject<'_>, key: &Value) -> bool {
        let created = CreatedVertex { rule: subject.vertex.rule, key: key.clone() };
        self.snapshot.note(&created.note_name()).is_some()
    }

    /// Hands every edge of type `edge_type` to the consumer of its subject, one of `subjects`; `None` for one that is not
    /// wanted. How many there are of no subject, by the labels that they join.
    ///
    /// Cost: a scan of the type's edges, their properties, and the keys of their ends.
    ///
    /// # Errors
    /// Errors of reading; `cancelled`.
    pub fn visit_edges<K: EntityConsumer>(
        &self,
        edge_type: &str,
        subjects: &mut [(&EdgeSubject<'_>, Option<K>)],
    ) -> Result<EdgeCounts> {
        let mut others = EdgeCounts::new();
        let Some(type_id) = self.catalogue.edge_type(edge_type) else { return Ok(others) };
        let label = |name: &str| self.catalogue.label(name);
        let places: HashMap<(LabelId, LabelId), usize> = subjects
            .iter()
            .enumerate()
            .filter_map(|(at, (subject, _))| {
                Some(((label(subject.source.start.label)?, label(subject.source.end.label)?), at))
            })
            .collect();
        let keys = self.keys(Owner::EdgeType(type_id));
        let mut cursor = EdgeCursor::default();
        let mut edges = Vec::with_capacity(BATCH);
        while !cursor.done {
            self.cancel.check()?;
            edges.clear();
            self.snapshot.scan_edges(Some(&[type_id]), &mut cursor, BATCH, &mut edges)?;
            let ends: Vec<VertexId> =
                edges.iter().map(|edge| edge.source).chain(edges.iter().map(|edge| edge.target)).collect();
            let mut labels = Vec::with_capacity(ends.len());
            self.snapshot.labels(&ends, &mut labels)?;
            let (starts, ends) = labels.split_at(edges.len());
            let mut by_subject: BTreeMap<usize, Vec<EdgeId>> = BTreeMap::new();
            for ((edge, start), end) in edges.iter().zip(starts).zip(ends) {
                let (Some(start), Some(end)) = (start, end) else { continue };
                match places.get(&(*start, *end)) {
                    Some(at) if subjects[*at].1.is_some() => by_subject.entry(*at).or_default().push(*edge),
                    Some(_) => {}
                    None => *others.entry((*start, *end)).or_default() += 1,
                }
            }
            for (at, edges) in by_subject {
                let (subject, consumer) = &mut subjects[at];
                if let Some(consumer) = consumer {
                    self.take_edges(subject, &edges, &keys, consumer)?;
                }
            }
        }
        Ok(others)
    }

    fn take_edges(
        &self,
        subject: &EdgeSubject<'_>,
        edges: &[EdgeId],
        keys: &[(Arc<str>, KeyId)],
        consumer: &mut impl EntityConsumer,
    ) -> Result<()> {
        let of_ends = [
            (edges.iter().map(|edge| edge.source).collect::<Vec<_>>(), subject.source.start),
            (edges.iter().map(|edge| edge.target).collect(), subject.source.end),
        ];
        let mut ends = Vec::with_capacity(2);
        for (vertices, end) in of_ends {
            let key = self.catalogue.key(&end.key.property).map(|key| (Arc::from(&*end.key.property), key));
            let columns = self.vertex_columns(&vertices, key.as_slice())?;
            let column = columns.into_iter().next().unwrap_or_else(|| vec![None; vertices.len()]);
            let named = column.into_iter().zip(&vertices).map(|(key, vertex)| {
                key.unwrap_or_else(|| Value::from(format!("vertex {vertex} without {}", end.key.property)))
            });
            ends.push(named.collect::<Vec<Value>>());
        }
        let mut columns = Vec::with_capacity(keys.len());
        for (_, key) in keys {
            let mut column = Column::new(ValueType::Any);
            self.snapshot.edge_properties(edges, *key, &mut column)?;
            columns.push(column);
        }
        let key_name = subject.source.key().map(|key| &*key.property);
        for (row, edge) in edges.iter().enumerate() {
            let (start, end) = (&ends[0][row], &ends[1][row]);
            let (mut key, mut properties) = (None, Vec::with_capacity(keys.len()));
            for ((name, _), column) in keys.iter().zip(&columns) {
                let Some(value) = column.get(row) else { continue };
                if Some(&**name) == key_name {
                    key = Some(value);
                } else {
                    properties.push((&**name, Cow::Owned(value)));
                }
            }
            let identity = match subject.identity() {
                EdgeIdentityParts::Start => (as_id(start), None),
                EdgeIdentityParts::End => (as_id(end), None),
                EdgeIdentityParts::Both => (as_id(start), Some(as_id(end))),
                EdgeIdentityParts::Key => {
                    let key = key.unwrap_or_else(|| Value::from(format!("edge {edge} without its key")));
                    (Cow::Owned(as_id(&key).into_owned()), None)
                }
            };
            consumer.take(Entity { identity, ends: Some([as_id(start), as_id(end)]), properties });
        }
        Ok(())
    }

    /// Vertices and edges of labels and types that no rule makes: a sentence each. `edges` are those of types that rules do
    /// make, between labels that they don't.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn unmapped(
        &self,
        labels: &[&str],
        types: &[&str],
        edges: &[(String, EdgeCounts)],
    ) -> Result<Vec<String>> {
        let statistics = self.snapshot.statistics()?;
        let mut sentences = Vec::new();
        for (label, count) in statistics.vertices.iter().filter(|(_, count)| *count > 0) {
            let name = self.catalogue.label_name(*label);
            if !labels.contains(&&*name) {
                sentences.push(format!(
                    "{} of label {name}, which no rule makes",
                    counted(*count, "vertex", "vertices")
                ));
            }
        }
        for (edge_type, count) in statistics.edges.iter().filter(|(_, count)| *count > 0) {
            let name = self.catalogue.edge_type_name(*edge_type);
            if !types.contains(&&*name) {
                sentences.push(format!(
                    "{} of type {name}, which no rule makes",
                    counted(*count, "edge", "edges")
                ));
            }
        }
        for (edge_type, counts) in edges {
            for ((start, end), count) in counts {
                let [start, end] = [start, end].map(|label| self.catalogue.label_name(*label));
                let edges = counted(*count, "edge", "edges");
                sentences
                    .push(format!("{edges} of type {edge_type} from {start} to {end}, which no rule makes"));
            }
        }
        Ok(sentences)
    }

    /// The keys that properties of `owner` have, by name.
    fn keys(&self, owner: Owner) -> Vec<(Arc<str>, KeyId)> {
        let keys = self.catalogue.properties_of(owner).filter(|(key, _)| !self.catalogue.is_meta_key(*key));
        let mut keys: Vec<_> = keys.map(|(key, _)| (self.catalogue.key_name(key), key)).collect();
        keys.sort();
        keys
    }

    /// The values of each key, for each vertex.
    fn vertex_columns(
        &self,
        vertices: &[VertexId],
        keys: &[(Arc<str>, KeyId)],
    ) -> Result<Vec<Vec<Option<Value>>>> {
        let mut columns = Vec::with_capacity(keys.len());
        for (_, key) in keys {
            let mut column = Column::new(ValueType::Any);
            self.snapshot.vertex_properties(vertices, *key, &mut column)?;
            columns.push((0..vertices.len()).map(|row| column.get(row)).collect());
        }
        Ok(columns)
    }
}
