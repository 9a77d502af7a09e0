//! Schema: labels, edge types, properties and indexes, with counts.

use crate::degrees::{Degrees, Distribution};
use crate::index::{IndexEntry, list};
use evergraph::Database;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::view::{GraphView, Statistics as Counts};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// What the graph is made of.
#[derive(Debug, Deserialize, Serialize)]
pub struct SchemaReport {
    /// By label.
    pub labels: Vec<LabelEntry>,
    /// By edge type, without degrees.
    pub edge_types: Vec<TypeEntry>,
    /// The indexes.
    pub indexes: Vec<IndexEntry>,
}

impl SchemaReport {
    /// What `database` is made of now. Cost: a look at each segment.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn new(database: &Database) -> Result<Self> {
        let indexes = list(database)?;
        let snapshot = database.snapshot();
        let (catalogue, counts) = (snapshot.catalogue(), snapshot.statistics()?);
        let (labels, edge_types) = (labels(&catalogue, &counts), edge_types(&catalogue, &counts, Vec::new()));
        Ok(Self { labels, edge_types, indexes })
    }

    /// All vertices and all edges.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let vertices = self.labels.iter().map(|entry| entry.vertices).sum();
        (vertices, self.edge_types.iter().map(|entry| entry.edges).sum())
    }
}

/// What is known of a label.
#[derive(Debug, Deserialize, Serialize)]
pub struct LabelEntry {
    /// Its name.
    pub label: String,
    /// Its vertices.
    pub vertices: u64,
    /// Their properties.
    pub properties: Vec<Property>,
}

/// What is known of an edge type.
#[derive(Debug, Deserialize, Serialize)]
pub struct TypeEntry {
    /// Its name.
    #[serde(rename = "type")]
    pub edge_type: String,
    /// Its edges.
    pub edges: u64,
    /// What they have joined.
    pub joins: Vec<Join>,
    /// The property that it is newest-first by.
    pub newest_first: Option<String>,
    /// Their properties.
    pub properties: Vec<Property>,
    /// How they are spread over vertices, if that was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degrees: Option<SideDegrees>,
}

/// Labels that an edge has joined, now or before.
#[derive(Debug, Deserialize, Serialize)]
pub struct Join {
    /// Where it began.
    pub source_label: String,
    /// Where it ended.
    pub target_label: String,
}

/// A property of a label or a type.
#[derive(Debug, Deserialize, Serialize)]
pub struct Property {
    /// Its name.
    pub key: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub value_type: String,
    /// Whether no two vertices have the same value.
    pub unique: bool,
}

/// How edges are spread, on both sides; `null` where no vertex may have any.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct SideDegrees {
    /// Over the vertices that they leave.
    pub out: Option<Distribution>,
    /// Over the vertices that they reach.
    pub r#in: Option<Distribution>,
}

/// What is known of each label.
#[must_use]
pub fn labels(catalogue: &Catalogue, counts: &Counts) -> Vec<LabelEntry> {
    let vertices: HashMap<_, u64> = counts.vertices.iter().copied().collect();
    let entry = |(id, name): (_, &Arc<str>)| LabelEntry {
        label: name.to_string(),
        vertices: vertices.get(&id).copied().unwrap_or(0),
        properties: properties(catalogue, Owner::Label(id)),
    };
    catalogue.labels().map(entry).collect()
}

/// What is known of each edge type; degrees of those that are in `degrees`.
#[must_use]
pub fn edge_types(catalogue: &Catalogue, counts: &Counts, degrees: Vec<Degrees>) -> Vec<TypeEntry> {
    let edges: HashMap<_, u64> = counts.edges.iter().copied().collect();
    let mut degrees: HashMap<_, Degrees> =
        degrees.into_iter().map(|degrees| (degrees.edge_type, degrees)).collect();
    let join = |(source, target)| Join {
        source_label: catalogue.label_name(source).to_string(),
        target_label: catalogue.label_name(target).to_string(),
    };
    catalogue
        .edge_types()
        .map(|(id, definition)| TypeEntry {
            edge_type: definition.name.to_string(),
            edges: edges.get(&id).copied().unwrap_or(0),
            joins: catalogue.joins(id).map(join).collect(),
            newest_first: catalogue.newest_first(id).map(|key| catalogue.key_name(key).to_string()),
            properties: properties(catalogue, Owner::EdgeType(id)),
            degrees: degrees.remove(&id).map(|degrees| SideDegrees { out: degrees.out, r#in: degrees.r#in }),
        })
        .collect()
}

fn properties(catalogue: &Catalogue, owner: Owner) -> Vec<Property> {
    catalogue
        .properties_of(owner)
        .map(|(key, value_type)| Property {
            key: catalogue.key_name(key).to_string(),
            value_type: value_type.to_string(),
            unique: catalogue.is_unique(owner, key),
        })
        .collect()
}
