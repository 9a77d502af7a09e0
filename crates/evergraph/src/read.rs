//! Reading by name: one item at a time, from a snapshot or a transaction.
//!
//! Programs that read much use the batch methods of [`GraphView`], with ids; these are the same
//! questions in the words of the schema.

use crate::gremlin::graph::SnapshotTarget;
use crate::gremlin::query::{Query, QuerySource};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{Freeze, GraphView, NeighborBatch, NeighborCursor, VertexCursor};

/// Rows that are read at once where everything is collected.
const BATCH: usize = 4096;

/// Reads any graph by the names of its schema. Names that do not exist return `None` or an empty
/// list.
///
/// # Errors
/// Every method may fail as the methods of [`GraphView`] do; its own section names further errors.
pub trait ReadByName: GraphView {
    /// The label of a vertex, if it exists.
    fn label_of(&self, vertex: VertexId) -> Result<Option<String>> {
        let mut labels = Vec::with_capacity(1);
        self.labels(&[vertex], &mut labels)?;
        Ok(labels[0].map(|label| self.catalogue().label_name(label).to_string()))
    }

    /// One property of a vertex.
    fn get(&self, vertex: VertexId, key: &str) -> Result<Option<Value>> {
        let Some(key) = self.names()?.key(key) else { return Ok(None) };
        let mut column = Column::new(ValueType::Any);
        self.vertex_properties(&[vertex], key, &mut column)?;
        Ok(column.get(0))
    }

    /// One property of an edge.
    fn get_edge(&self, edge: EdgeId, key: &str) -> Result<Option<Value>> {
        let Some(key) = self.names()?.key(key) else { return Ok(None) };
        let mut column = Column::new(ValueType::Any);
        self.edge_properties(&[edge], key, &mut column)?;
        Ok(column.get(0))
    }

    /// All properties of a vertex by name, in the order of their keys' numbers.
    fn properties(&self, vertex: VertexId) -> Result<Vec<(String, Value)>> {
        Ok(named(&self.catalogue(), self.vertex_property_map(vertex)?))
    }

    /// All properties of an edge by name, in the order of their keys' numbers.
    fn edge_property_list(&self, edge: EdgeId) -> Result<Vec<(String, Value)>> {
        Ok(named(&self.catalogue(), self.edge_property_map(edge)?))
    }

    /// The type of an edge.
    fn type_of(&self, edge: EdgeId) -> String {
        self.catalogue().edge_type_name(edge.edge_type).to_string()
    }

    /// The first unique key of the vertex' label for which the vertex has a value, and the value:
    /// [`ReadByName::find`] finds the vertex by them.
    fn key_of(&self, vertex: VertexId) -> Result<Option<(String, Value)>> {
        let mut labels = Vec::with_capacity(1);
        self.labels(&[vertex], &mut labels)?;
        let catalogue = self.catalogue();
        for (label, key) in catalogue.unique_keys() {
            let name = catalogue.key_name(key);
            if labels[0] == Some(label)
                && let Some(value) = self.get(vertex, &name)?
            {
                return Ok(Some((name.to_string(), value)));
            }
        }
        Ok(None)
    }

    /// A query in Gremlin on this snapshot: see [`crate::gremlin`].
    fn gremlin<'q>(&'q self, text: &'q str) -> Query<'q, SnapshotTarget<'q>>
    where
        Self: Freeze + Sized,
    {
        Query::new(SnapshotTarget::new(self, self.budget()), text)
    }

    /// The same, from text or bytecode.
    fn ask<'q>(&'q self, said: impl Into<QuerySource<'q>>) -> Query<'q, SnapshotTarget<'q>>
    where
        Self: Freeze + Sized,
    {
        Query::new(SnapshotTarget::new(self, self.budget()), said)
    }

    /// The vertex of `label` whose unique `key` is `value`.
    ///
    /// # Errors
    /// `invalid` if the label has no unique index on the key; errors of reading.
    fn find(&self, label: &str, key: &str, value: impl Into<Value>) -> Result<Option<VertexId>> {
        let catalogue = self.names()?;
        let (Some(label), Some(key)) = (catalogue.label(label), catalogue.key(key)) else { return Ok(None) };
        let mut found = Vec::with_capacity(1);
        self.look_up(label, key, &[value.into()], &mut found)?;
        Ok(found[0])
    }

    /// The vertices of `label` whose `key` is `value`, ascending.
    ///
    /// # Errors
    /// `invalid` if the label has no index on the key; errors of reading.
    fn find_all(&self, label: &str, key: &str, value: impl Into<Value>) -> Result<Vec<VertexId>> {
        let catalogue = self.names()?;
        let (Some(label), Some(key)) = (catalogue.label(label), catalogue.key(key)) else {
            return Ok(Vec::new());
        };
        let value = [value.into()];
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        while !cursor.done {
            self.look_up_vertices(label, key, &value, &mut cursor, BATCH, &mut found)?;
        }
        Ok(found.items)
    }

    /// The first `limit` vertices of `label` whose `key` lies in `range`, in its order, with their values.
    ///
    /// # Errors
    /// `invalid` if the label has no ordered index on the key; errors of reading.
    fn range(
        &self,
        label: &str,
        key: &str,
        range: &ValueRange,
        limit: usize,
    ) -> Result<Vec<(Value, VertexId)>> {
        let catalogue = self.names()?;
        let (Some(label), Some(key)) = (catalogue.label(label), catalogue.key(key)) else {
            return Ok(Vec::new());
        };
        first(limit, |cursor, limit, found| self.range_vertices(label, key, range, cursor, limit, found))
    }

    /// The first `limit` vertices of `label` whose text `key` begins with `prefix`, in the order of their
    /// texts.
    ///
    /// # Errors
    /// As [`ReadByName::range`].
    fn prefix(&self, label: &str, key: &str, prefix: &str, limit: usize) -> Result<Vec<(Value, VertexId)>> {
        self.range(label, key, &ValueRange::prefix(prefix), limit)
    }

    /// The edges of a type whose `key` is `value`, ascending.
    ///
    /// # Errors
    /// `invalid` if the type has no index on the key; errors of reading.
    fn edges_with(&self, edge_type: &str, key: &str, value: impl Into<Value>) -> Result<Vec<EdgeId>> {
        let catalogue = self.names()?;
        let (Some(edge_type), Some(key)) = (catalogue.edge_type(edge_type), catalogue.key(key)) else {
            return Ok(Vec::new());
        };
        let value = [value.into()];
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        while !cursor.done {
            self.look_up_edges(edge_type, key, &value, &mut cursor, BATCH, &mut found)?;
        }
        Ok(found.items)
    }

    /// The first `limit` edges of a type whose `key` lies in `range`, in its order, with their values.
    ///
    /// # Errors
    /// `invalid` if the type has no ordered index on the key; errors of reading.
    fn edges_in_range(
        &self,
        edge_type: &str,
        key: &str,
        range: &ValueRange,
        limit: usize,
    ) -> Result<Vec<(Value, EdgeId)>> {
        let catalogue = self.names()?;
        let (Some(edge_type), Some(key)) = (catalogue.edge_type(edge_type), catalogue.key(key)) else {
            return Ok(Vec::new());
        };
        first(limit, |cursor, limit, found| self.range_edges(edge_type, key, range, cursor, limit, found))
    }

    /// The newest `limit` edges of a type from a vertex: those whose `key` lies in `range`, the greatest value first,
    /// with their values. Edges without a value are left out.
    ///
    /// Cost: proportional to the result, if the type was declared newest-first
    /// ([`Transaction::declare_newest_first`](crate::transaction::Transaction::declare_newest_first)); otherwise
    /// all edges of the type from the vertex are read and sorted. See [`GraphView::newest`].
    fn newest_edges(
        &self,
        vertex: VertexId,
        edge_type: &str,
        key: &str,
        range: &ValueRange,
        limit: usize,
    ) -> Result<Vec<(Value, EdgeId)>> {
        let catalogue = self.names()?;
        let (Some(edge_type), Some(key)) = (catalogue.edge_type(edge_type), catalogue.key(key)) else {
            return Ok(Vec::new());
        };
        let asked = NewestEdges::new(vertex, edge_type, key).within(range.clone());
        let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
        GraphView::newest(self, &asked, &mut cursor, limit, &mut found)?;
        Ok(found.values.into_iter().zip(found.items).collect())
    }

    /// The edges of a vertex over `types` (all if empty), with the vertex at the other end.
    ///
    /// # Errors
    /// `not_found` for a type that doesn't exist; errors of reading.
    fn edges(
        &self,
        vertex: VertexId,
        direction: Direction,
        types: &[&str],
    ) -> Result<Vec<(EdgeId, VertexId)>> {
        let types = type_ids(&*self.names()?, types)?;
        let mut cursor = NeighborCursor::default();
        let (mut batch, mut found) = (NeighborBatch::default(), Vec::new());
        while !cursor.done {
            batch.clear();
            GraphView::neighbors(
                self,
                &[vertex],
                types.as_deref(),
                direction,
                &mut cursor,
                BATCH,
                &mut batch,
            )?;
            found.extend(batch.edges.iter().copied().zip(batch.neighbors.iter().copied()));
        }
        Ok(found)
    }

    /// The vertices of `label`, ascending; of every label if `None`.
    fn vertices(&self, label: Option<&str>) -> Result<Vec<VertexId>> {
        let names = self.names()?;
        let labels: Option<Vec<LabelId>> = label.map(|name| names.label(name).into_iter().collect());
        let (mut cursor, mut found) = (VertexCursor::default(), Vec::new());
        while !cursor.done {
            self.scan_vertices(labels.as_deref(), &mut cursor, BATCH, &mut found)?;
        }
        Ok(found)
    }
}

impl<V: GraphView + ?Sized> ReadByName for V {}

/// Up to `limit` results of `ask`, which returns them batch by batch.
fn first<T>(
    limit: usize,
    mut ask: impl FnMut(&mut RangeCursor<T>, usize, &mut OrderedMatches<T>) -> Result<()>,
) -> Result<Vec<(Value, T)>> {
    let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
    while !cursor.done && found.items.len() < limit {
        ask(&mut cursor, BATCH.min(limit - found.items.len()), &mut found)?;
    }
    Ok(found.values.into_iter().zip(found.items).collect())
}

fn named(catalogue: &Catalogue, properties: Vec<(KeyId, Value)>) -> Vec<(String, Value)> {
    properties.into_iter().map(|(key, value)| (catalogue.key_name(key).to_string(), value)).collect()
}

/// The numbers of edge types; `None`, meaning all, for an empty list.
pub(crate) fn type_ids(catalogue: &Catalogue, names: &[&str]) -> Result<Option<Vec<TypeId>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let id = |name: &&str| {
        let known = catalogue.edge_type(name);
        known.ok_or_else(|| {
            let types: Vec<&str> = catalogue.edge_types().map(|(_, kind)| &*kind.name).collect();
            let text = format!("no edge type is called `{name}`; there are: {}", types.join(", "));
            Error::new(ErrorKind::NotFound, text)
        })
    };
    names.iter().map(id).collect::<Result<Vec<_>>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::index::IndexOptions;
    use evergraph_storage::indexing::OwnerName;
    use std::ops::Bound;

    fn years(from: i64, to: i64) -> ValueRange {
        ValueRange::new(Bound::Included(from.into()), Bound::Excluded(to.into()))
    }

    #[test]
    fn vertices_and_edges_are_found_by_value_range_and_prefix_also_by_who_just_wrote_them() {
        let db = Database::in_memory().unwrap();
        db.create_index(&IndexOptions::on_label("Person", "name").ordered()).unwrap();
        db.create_index(&IndexOptions::on_label("Person", "born")).unwrap();
        db.create_index(&IndexOptions::on_edges("KNOWS", "since").ordered()).unwrap();
        let mut tx = db.begin();
        let people =
            [("Ada", 1815), ("Adele", 1988), ("Bob", 1815), ("Charles", 1791)].map(|(name, born)| {
                tx.add_vertex("Person", &[("name", name.into()), ("born", born.into())]).unwrap()
            });
        let edge = tx.add_edge(people[0], "KNOWS", people[3], &[("since", 1833i64.into())]).unwrap();
        let check = |view: &dyn Fn() -> [Vec<VertexId>; 3], edges: Vec<EdgeId>| {
            let [born, begins, down] = view();
            assert_eq!((born, begins), (vec![people[0], people[2]], vec![people[0], people[1]]));
            assert_eq!(down, [people[3], people[2]]);
            assert_eq!(edges, [edge]);
        };
        fn ask(view: &impl GraphView) -> [Vec<VertexId>; 3] {
            let items = |found: Vec<(Value, VertexId)>| found.into_iter().map(|entry| entry.1).collect();
            let down = ValueRange::ALL.descending();
            [
                view.find_all("Person", "born", 1815i64).unwrap(),
                items(view.prefix("Person", "name", "Ad", 9).unwrap()),
                items(view.range("Person", "name", &down, 2).unwrap()),
            ]
        }
        let of_range = |view: &dyn GraphView| {
            let found = view.edges_in_range("KNOWS", "since", &years(1830, 1840), 9).unwrap();
            found.into_iter().map(|entry| entry.1).collect()
        };
        check(&|| ask(tx.by_id_ref()), of_range(tx.by_id_ref()));
        tx.commit().unwrap();
        let snapshot = db.snapshot();
        check(&|| ask(&snapshot), of_range(&snapshot));
        assert_eq!(snapshot.edges_with("KNOWS", "since", 1833).unwrap(), [edge]);
        assert_eq!(snapshot.find_all("Person", "nobody knows", 1).unwrap(), []);
        assert!(snapshot.range("Person", "born", &ValueRange::ALL, 1).is_err(), "a hash has no order");
        let listed = db.indexes();
        assert_eq!(listed.iter().map(|index| index.entries).collect::<Vec<_>>(), [4, 4, 1]);
        db.drop_index(OwnerName::EdgeType("KNOWS"), "since", None).unwrap();
        assert_eq!(snapshot.edges_with("KNOWS", "since", 1833).unwrap(), [edge], "it keeps its answers");
    }

    #[test]
    fn a_number_of_another_width_finds_what_has_the_property_s_own() {
        let db = Database::in_memory().unwrap();
        db.create_index(&IndexOptions::on_label("Person", "born")).unwrap();
        db.create_unique_index("Person", "number").unwrap();
        db.create_index(&IndexOptions::on_edges("KNOWS", "weight")).unwrap();
        let mut tx = db.begin();
        let properties = [("born", Value::I16(1815)), ("number", Value::I32(7))];
        let ada = tx.add_vertex("Person", &properties).unwrap();
        let edge = tx.add_edge(ada, "KNOWS", ada, &[("weight", Value::F64(2.0))]).unwrap();
        fn check(view: &(impl GraphView + ?Sized), ada: VertexId, edge: EdgeId) {
            assert_eq!(view.find("Person", "number", 7_i64).unwrap(), Some(ada));
            assert_eq!(view.find_all("Person", "born", 1815_i64).unwrap(), [ada]);
            assert_eq!(view.edges_with("KNOWS", "weight", 2_i64).unwrap(), [edge]);
            assert_eq!(view.find_all("Person", "born", 70_000_i64).unwrap(), []);
        }
        check(tx.by_id_ref(), ada, edge);
        tx.commit().unwrap();
        check(&db.snapshot(), ada, edge);
        // As code has it that is given a view, and not which.
        let view: &dyn GraphView = &db.snapshot();
        check(view, ada, edge);
    }
}
