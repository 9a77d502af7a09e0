//! Graph names: the labels, edge types and properties of a graph, in which misspelt names are looked for.

use crate::command::run::names::unknown;
use evergraph::OwnerName;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, Result};
use evergraph_report::schema::{LabelEntry, Property, SchemaReport, TypeEntry};
use serde::Serialize;

/// The labels, edge types and properties of a graph.
#[derive(Debug)]
pub struct GraphNames {
    labels: Vec<OwnerNames>,
    edge_types: Vec<OwnerNames>,
    newest_first: Vec<NewestFirst>,
}

/// An edge type, and the property that it is newest-first by.
#[derive(Clone, Debug, Serialize)]
pub struct NewestFirst {
    /// The edge type.
    #[serde(rename = "type")]
    pub edge_type: String,
    /// The property.
    pub key: String,
}

/// A label or an edge type, and its properties.
#[derive(Debug)]
struct OwnerNames {
    name: String,
    keys: Vec<String>,
}

impl GraphNames {
    /// Those of `catalogue`.
    #[must_use]
    pub fn of_catalogue(catalogue: &Catalogue) -> Self {
        let owner = |name: &str, owner| OwnerNames {
            name: name.to_owned(),
            keys: catalogue
                .properties_of(owner)
                .map(|(key, _)| catalogue.key_name(key).to_string())
                .collect(),
        };
        let newest_first = catalogue.edge_types().filter_map(|(id, kind)| {
            let key = catalogue.newest_first(id)?;
            let (edge_type, key) = (kind.name.to_string(), catalogue.key_name(key).to_string());
            Some(NewestFirst { edge_type, key })
        });
        Self {
            labels: catalogue.labels().map(|(id, name)| owner(name, Owner::Label(id))).collect(),
            edge_types: catalogue
                .edge_types()
                .map(|(id, kind)| owner(&kind.name, Owner::EdgeType(id)))
                .collect(),
            newest_first: newest_first.collect(),
        }
    }

    /// Those of a schema that a server sent.
    #[must_use]
    pub fn of_schema(schema: SchemaReport) -> Self {
        let keys = |properties: Vec<Property>| properties.into_iter().map(|property| property.key).collect();
        let mut newest_first = Vec::new();
        let edge_types = schema.edge_types.into_iter().map(|entry: TypeEntry| {
            let edge_type = entry.edge_type;
            if let Some(key) = entry.newest_first {
                newest_first.push(NewestFirst { edge_type: edge_type.clone(), key });
            }
            OwnerNames { name: edge_type, keys: keys(entry.properties) }
        });
        let edge_types = edge_types.collect();
        let label = |entry: LabelEntry| OwnerNames { name: entry.label, keys: keys(entry.properties) };
        Self { labels: schema.labels.into_iter().map(label).collect(), edge_types, newest_first }
    }

    /// The labels.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        self.labels.iter().map(|owner| owner.name.clone()).collect()
    }

    /// The edge types.
    #[must_use]
    pub fn edge_types(&self) -> Vec<String> {
        self.edge_types.iter().map(|owner| owner.name.clone()).collect()
    }

    /// The edge types that are newest-first.
    #[must_use]
    pub fn newest_first(&self) -> &[NewestFirst] {
        &self.newest_first
    }

    /// Refuses names that the graph doesn't have: once in the catalogue, a misspelt one stays for good.
    /// `hint` says what helps beside another name.
    ///
    /// # Errors
    /// `not_found`, with the names that there are.
    pub fn refuse_unknown(&self, owner: OwnerName<'_>, key: &str, hint: &str) -> Result<()> {
        let with = |error: Error, more: &str| Error::new(error.kind(), format!("{error}{more}"));
        let (what, name, owners) = match owner {
            OwnerName::Label(name) => ("label", name, &self.labels),
            OwnerName::EdgeType(name) => ("edge type", name, &self.edge_types),
        };
        let Some(found) = owners.iter().find(|owner| owner.name == name) else {
            let error = unknown(what, name, name, owners.iter().map(|owner| &*owner.name));
            let is_type = what == "label" && self.edge_types.iter().any(|owner| owner.name == name);
            let flag = format!("; {name} is an edge type: --edge {name}");
            return Err(with(error, if is_type { &flag } else { hint }));
        };
        // Without a key the index itself says what is wrong.
        if key.is_empty() || found.keys.iter().any(|known| known == key) {
            return Ok(());
        }
        let property = format!("{owner}.{key}");
        Err(with(unknown("property", &property, key, found.keys.iter().map(String::as_str)), hint))
    }
}
