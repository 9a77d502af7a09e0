//! Scope: the labels and edge types that an export writes.

use crate::export::options::ExportOptions;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{LabelId, TypeId};

/// The labels and types to write, by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportScope {
    /// Labels, ascending.
    pub labels: Vec<LabelId>,
    /// Edge types, ascending.
    pub types: Vec<TypeId>,
}

impl ExportScope {
    /// What `options` name; all of it where they name nothing.
    ///
    /// # Errors
    /// `not_found` for a name that the graph doesn't have, with those that it has.
    pub fn new(catalogue: &Catalogue, options: &ExportOptions) -> Result<Self> {
        let labels: Vec<_> = catalogue.labels().map(|(id, name)| (id, name.as_ref())).collect();
        let types: Vec<_> = catalogue.edge_types().map(|(id, found)| (id, found.name.as_ref())).collect();
        Ok(Self {
            labels: chosen("label", &options.labels, &labels)?,
            types: chosen("edge type", &options.types, &types)?,
        })
    }

    /// Whether vertices of `label` are written.
    #[must_use]
    pub fn has_label(&self, label: LabelId) -> bool {
        self.labels.binary_search(&label).is_ok()
    }
}

fn chosen<T: Copy + Ord>(what: &str, names: &[String], known: &[(T, &str)]) -> Result<Vec<T>> {
    let find = |name: &String| {
        known.iter().find(|(_, known)| known == name).map(|(id, _)| *id).ok_or_else(|| {
            let known: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
            let text = format!("no {what} is called {name:?}; there are: {}", known.join(", "));
            Error::new(ErrorKind::NotFound, text)
        })
    };
    let mut ids: Vec<T> = match names {
        [] => known.iter().map(|(id, _)| *id).collect(),
        names => names.iter().map(find).collect::<Result<_>>()?,
    };
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
