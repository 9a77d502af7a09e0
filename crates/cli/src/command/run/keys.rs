//! Keys: the property by which people know a vertex, read for many, and looked up for one.
//!
//! Vertex numbers are the database's own business: who imported `id 4711` wants to see and say `4711`.
//! A vertex is known by the unique key of its label (the first one indexed, `id` before others), by the
//! property that `--key` names, or, where its label has neither, by its number.

use crate::command::run::names;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// By which property the vertices of each label in scope are known.
#[derive(Debug)]
pub struct Keys {
    catalogue: Arc<Catalogue>,
    labels: Vec<LabelId>,
    by_label: BTreeMap<LabelId, KeyId>,
}

/// What people call a vertex.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Name {
    /// Its label.
    pub label: Arc<str>,
    /// Its key.
    pub key: Key,
}

/// The key of a vertex.
#[derive(Clone, PartialEq, Debug)]
pub enum Key {
    /// The value of the property.
    Value(Value),
    /// The property should be there, and isn't.
    Missing,
    /// The number of the vertex: nothing better is known of its label.
    Number(u32),
}

/// Of which kind all keys in scope are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// Whole numbers of at most 64 bits: properties, or numbers of vertices.
    Whole,
    /// Anything else, as text.
    Text,
}

impl Key {
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

impl Keys {
    /// The keys of `labels`, or of all labels of `catalogue`; that called `key`, if one is named.
    ///
    /// # Errors
    /// `not_found` if no property is called `key`.
    pub fn new(catalogue: Arc<Catalogue>, labels: Option<&[LabelId]>, key: Option<&str>) -> Result<Self> {
        let labels =
            labels.map_or_else(|| catalogue.labels().map(|(label, _)| label).collect(), <[LabelId]>::to_vec);
        let named = key.map(|name| names::key(&catalogue, name)).transpose()?;
        let by_label = labels
            .iter()
            .filter_map(|label| Some((*label, named.or_else(|| catalogue.vertex_key(*label))?)))
            .collect();
        Ok(Self { catalogue, labels, by_label })
    }

    /// Whether vertices of more than one label are in scope, so that a key alone may name two.
    #[must_use]
    pub fn need_label(&self) -> bool {
        self.labels.len() > 1
    }

    /// Of which kind all keys are, by the declared types of the properties.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        let whole = |label: &LabelId| {
            self.by_label.get(label).is_none_or(|key| {
                let value_type = self.value_type(*label, *key);
                matches!(value_type, ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64)
            })
        };
        if self.labels.iter().all(whole) { KeyKind::Whole } else { KeyKind::Text }
    }

    /// What each of `vertices` is called, all of which are alive in `view`.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn names(&self, view: &impl GraphView, vertices: &[VertexId]) -> Result<Vec<Name>> {
        let mut labels = Vec::with_capacity(vertices.len());
        view.labels(vertices, &mut labels)?;
        let mut by_label: BTreeMap<LabelId, Vec<usize>> = BTreeMap::new();
        for (row, label) in labels.iter().enumerate() {
            let label = label.expect("an algorithm's vertices are alive in the snapshot that it ran on");
            by_label.entry(label).or_default().push(row);
        }
        let mut names: Vec<Option<Name>> = vec![None; vertices.len()];
        for (label, rows) in by_label {
            let label_name = self.catalogue.label_name(label);
            let column = match self.by_label.get(&label) {
                Some(key) => {
                    let asked: Vec<VertexId> = rows.iter().map(|row| vertices[*row]).collect();
                    let mut column = Column::new(self.value_type(label, *key));
                    view.vertex_properties(&asked, *key, &mut column)?;
                    Some(column)
                }
                None => None,
            };
            for (place, row) in rows.into_iter().enumerate() {
                let key = match &column {
                    Some(column) => column.get(place).map_or(Key::Missing, Key::Value),
                    None => Key::Number(vertices[row].0),
                };
                names[row] = Some(Name { label: Arc::clone(&label_name), key });
            }
        }
        Ok(names.into_iter().map(|name| name.expect("every row has one label")).collect())
    }

    /// The vertex whose unique key is written `text`, as `--option` has it.
    ///
    /// # Errors
    /// `not_found` if there is none; `invalid` if several labels have one, or no label in scope has a
    /// unique index on its key.
    pub fn find(&self, view: &impl GraphView, option: &str, text: &str) -> Result<VertexId> {
        let mut asked = Vec::new();
        let mut found = Vec::new();
        for (&label, &key) in &self.by_label {
            if !self.catalogue.is_unique(Owner::Label(label), key) {
                continue;
            }
            let value_type = self.value_type(label, key);
            asked.push(format!(
                "{}.{} ({value_type})",
                self.catalogue.label_name(label),
                self.catalogue.key_name(key)
            ));
            // A text that is no value of the type is nobody's key.
            let Ok(value) = Value::parse(text, value_type) else { continue };
            let mut vertices = Vec::with_capacity(1);
            view.look_up(label, key, &[value], &mut vertices)?;
            found.extend(vertices.into_iter().flatten().map(|vertex| (vertex, label)));
        }
        match found[..] {
            [(vertex, _)] => Ok(vertex),
            [] if asked.is_empty() => Err(Error::invalid(format!(
                "--{option}: no label in scope has a unique index on its key, so keys can't be looked up; \
                 give the vertex's number with --{option}-vertex"
            ))),
            [] => Err(Error::new(
                ErrorKind::NotFound,
                format!("--{option} {text:?}: no vertex has this key; searched {}", asked.join(", ")),
            )),
            _ => {
                let labels: Vec<_> =
                    found.iter().map(|(_, label)| self.catalogue.label_name(*label)).collect();
                Err(Error::invalid(format!(
                    "--{option} {text:?}: vertices of {} labels have this key ({}): choose one with --label, \
                     or give the vertex's number with --{option}-vertex",
                    labels.len(),
                    labels.join(", ")
                )))
            }
        }
    }

    /// Properties without a declared type have no values yet, so that any type will do.
    fn value_type(&self, label: LabelId, key: KeyId) -> ValueType {
        self.catalogue.property_type(Owner::Label(label), key).unwrap_or(ValueType::Any)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Missing => Ok(()),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Serialize for Key {
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
