//! Vertex names: the property by which people know a vertex, read for many.
//!
//! Vertex numbers are the database's own business: who imported `id 4711` wants to see `4711`. A vertex is known by the
//! unique key of its label (the first one, `id` before others), by a property that was chosen, or, where its label has
//! neither, by its number.

use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// By which property the vertices of each label are known.
#[derive(Clone, Debug)]
pub struct VertexNames {
    catalogue: Arc<Catalogue>,
    by_label: BTreeMap<LabelId, KeyId>,
}

/// What people call a vertex.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VertexName {
    /// Its label.
    pub label: Arc<str>,
    /// Its key.
    pub key: VertexKey,
}

/// The key of a vertex.
#[derive(Clone, PartialEq, Debug)]
pub enum VertexKey {
    /// The value of the property.
    Value(Value),
    /// The property should be there, and isn't.
    Missing,
    /// The number of the vertex: nothing better is known of its label.
    Number(u32),
}

impl VertexNames {
    /// The unique key of each label of `catalogue`; of all labels `key`, if one is chosen.
    #[must_use]
    pub fn new(catalogue: Arc<Catalogue>, key: Option<KeyId>) -> Self {
        let labels = catalogue.labels().map(|(label, _)| label);
        let by_label = labels.filter_map(|label| Some((label, key.or_else(|| catalogue.vertex_key(label))?)));
        let by_label = by_label.collect();
        Self { catalogue, by_label }
    }

    /// The labels, edge types and properties that it knows.
    #[must_use]
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// The property by which vertices of `label` are known; `None` if it is their number.
    #[must_use]
    pub fn key(&self, label: LabelId) -> Option<KeyId> {
        self.by_label.get(&label).copied()
    }

    /// The type of a property. One without a declared type has no values yet, so that any type will do.
    #[must_use]
    pub fn value_type(&self, label: LabelId, key: KeyId) -> ValueType {
        self.catalogue.property_type(Owner::Label(label), key).unwrap_or(ValueType::Any)
    }

    /// What each of `vertices` is called, all of which are alive in `view`.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn names(&self, view: &(impl GraphView + ?Sized), vertices: &[VertexId]) -> Result<Vec<VertexName>> {
        let mut labels = Vec::with_capacity(vertices.len());
        view.labels(vertices, &mut labels)?;
        let mut by_label: BTreeMap<LabelId, Vec<usize>> = BTreeMap::new();
        for (row, label) in labels.iter().enumerate() {
            let label = label.expect("an algorithm's vertices are alive in the snapshot that it ran on");
            by_label.entry(label).or_default().push(row);
        }
        let mut names: Vec<Option<VertexName>> = vec![None; vertices.len()];
        for (label, rows) in by_label {
            let label_name = self.catalogue.label_name(label);
            let column = match self.key(label) {
                Some(key) => {
                    let asked: Vec<VertexId> = rows.iter().map(|row| vertices[*row]).collect();
                    let mut column = Column::new(self.value_type(label, key));
                    view.vertex_properties(&asked, key, &mut column)?;
                    Some(column)
                }
                None => None,
            };
            for (place, row) in rows.into_iter().enumerate() {
                let key = match &column {
                    Some(column) => column.get(place).map_or(VertexKey::Missing, VertexKey::Value),
                    None => VertexKey::Number(vertices[row].0),
                };
                names[row] = Some(VertexName { label: Arc::clone(&label_name), key });
            }
        }
        Ok(names.into_iter().map(|name| name.expect("every row has one label")).collect())
    }
}

impl VertexKey {
    /// As a whole number, if it is one.
    #[must_use]
    pub fn whole(&self) -> Option<i64> {
        match self {
            Self::Value(value) => value.as_i64(),
            Self::Missing => None,
            Self::Number(number) => Some(i64::from(*number)),
        }
    }

    /// As text, unless it is missing.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Missing => None,
            key => Some(key.to_string()),
        }
    }
}

impl fmt::Display for VertexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.label, self.key)
    }
}

impl fmt::Display for VertexKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Missing => Ok(()),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Serialize for VertexKey {
    /// Whole numbers as numbers, a missing key as null, everything else as its text.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Missing => serializer.serialize_none(),
            Self::Number(number) => serializer.serialize_u32(*number),
            Self::Value(value) => match value.as_i64() {
                Some(number) => serializer.serialize_i64(number),
                None => serializer.collect_str(value),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::{Database, IndexOptions};

    #[test]
    fn vertices_are_known_by_their_unique_key_a_chosen_one_or_their_number() {
        let database = Database::in_memory().unwrap();
        database.create_index(&IndexOptions::on_label("Person", "id").unique()).unwrap();
        let vertices = database
            .transact(|tx| {
                let ada = tx.add_vertex("Person", &[("id", 7_i64.into()), ("name", "Ada".into())])?;
                let city = tx.add_vertex("City", &[("name", "Rome".into())])?;
                Ok([city, ada, tx.add_vertex("Person", &[])?])
            })
            .unwrap();
        let snapshot = database.snapshot();
        let catalogue = snapshot.catalogue();
        let shown = |key: Option<&str>| {
            let key = key.and_then(|name| catalogue.key(name));
            let names = VertexNames::new(Arc::clone(&catalogue), key).names(&snapshot, &vertices).unwrap();
            let text: Vec<String> = names.iter().map(ToString::to_string).collect();
            (
                text.join(", "),
                serde_json::to_value(names.iter().map(|name| &name.key).collect::<Vec<_>>()).unwrap(),
            )
        };
        let number = vertices[0].0;
        let (text, keys) = shown(None);
        assert_eq!(
            (text, keys),
            (format!("City {number}, Person 7, Person "), serde_json::json!([number, 7, null]))
        );
        let (text, keys) = shown(Some("name"));
        assert_eq!(
            (&*text, keys),
            ("City Rome, Person Ada, Person ", serde_json::json!(["Rome", "Ada", null]))
        );
    }
}
