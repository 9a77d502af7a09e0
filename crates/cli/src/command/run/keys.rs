//! Keys: by which property the vertices in scope are named, and how one is found by it.
//!
//! Who imported `id 4711` wants to see and say `4711`: the rules of names are those of [`VertexNames`], with the property that
//! `--key` chooses.

use crate::command::run::names;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_report::vertex_names::VertexNames;
use std::sync::Arc;

/// By which property the vertices of each label in scope are known.
#[derive(Debug)]
pub struct Keys {
    names: VertexNames,
    /// By number, each once.
    labels: Vec<LabelId>,
}

/// Of which kind all keys in scope are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// Whole numbers of at most 64 bits: properties, or numbers of vertices.
    Whole,
    /// Anything else, as text.
    Text,
}

/// Finds the vertex of a label that has a value of a unique key, if there is one.
pub type LookUp<'a> = dyn FnMut(LabelId, KeyId, &Value) -> Result<Option<VertexId>> + 'a;

impl Keys {
    /// The keys of `labels`, or of all labels of `catalogue`; that called `key`, if one is named.
    ///
    /// # Errors
    /// `not_found` if no property is called `key`.
    pub fn new(catalogue: Arc<Catalogue>, labels: Option<&[LabelId]>, key: Option<&str>) -> Result<Self> {
        let mut labels: Vec<LabelId> =
            labels.map_or_else(|| catalogue.labels().map(|(label, _)| label).collect(), <[LabelId]>::to_vec);
        labels.sort_unstable();
        labels.dedup();
        let named = key.map(|name| names::key(&catalogue, name)).transpose()?;
        Ok(Self { names: VertexNames::new(catalogue, named), labels })
    }

    /// What vertices are called.
    #[must_use]
    pub fn names(&self) -> &VertexNames {
        &self.names
    }

    /// Whether vertices of more than one label are in scope, so that a key alone may name two.
    #[must_use]
    pub fn need_label(&self) -> bool {
        self.labels.len() > 1
    }

    /// Whether a label is in scope.
    #[must_use]
    pub fn has_label(&self, label: LabelId) -> bool {
        self.labels.binary_search(&label).is_ok()
    }

    /// Of which kind all keys are, by the declared types of the properties.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        let whole = |label: &LabelId| {
            self.names.key(*label).is_none_or(|key| {
                let value_type = self.names.value_type(*label, key);
                matches!(value_type, ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64)
            })
        };
        if self.labels.iter().all(whole) { KeyKind::Whole } else { KeyKind::Text }
    }

    /// The vertex whose unique key is written `text`, as `--option` has it.
    ///
    /// # Errors
    /// `not_found` if there is none; `invalid` if several labels have one, or no label in scope has a
    /// unique index on its key; those of `look_up`.
    pub fn find(&self, look_up: &mut LookUp<'_>, option: &str, text: &str) -> Result<VertexId> {
        let catalogue = self.names.catalogue();
        let mut asked = Vec::new();
        let mut found = Vec::new();
        for &label in &self.labels {
            let Some(key) =
                self.names.key(label).filter(|key| catalogue.is_unique(Owner::Label(label), *key))
            else {
                continue;
            };
            let value_type = self.names.value_type(label, key);
            asked.push(format!("{}.{} ({value_type})", catalogue.label_name(label), catalogue.key_name(key)));
            // A text that is no value of the type is nobody's key.
            let Ok(value) = Value::parse(text, value_type) else { continue };
            found.extend(look_up(label, key, &value)?.map(|vertex| (vertex, label)));
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
                let labels: Vec<_> = found.iter().map(|(_, label)| catalogue.label_name(*label)).collect();
                Err(Error::invalid(format!(
                    "--{option} {text:?}: vertices of {} labels have this key ({}): choose one with --label, \
                     or give the vertex's number with --{option}-vertex",
                    labels.len(),
                    labels.join(", ")
                )))
            }
        }
    }
}
