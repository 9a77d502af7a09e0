//! Known names: catalogue, groups and notes of a damaged database, from its manifest on through the commits of its log.

use std::collections::BTreeMap;

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{GroupId, LabelId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::Notes;
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::manifest::{Manifest, StoredGroup};
use crate::transaction::payload;

/// Names and groups after the commits that were taken.
#[derive(Debug, Default)]
pub struct KnownNames {
    /// The names.
    pub catalogue: Catalogue,
    /// The groups, with the rows that were given out.
    pub groups: BTreeMap<GroupId, StoredGroup>,
    /// The notes: not saved, but told of.
    pub notes: Notes,
    /// Commits without content: what a bulk load leaves in the log.
    pub empty: Vec<Timestamp>,
}

impl KnownNames {
    /// What a manifest says.
    #[must_use]
    pub fn new(manifest: &Manifest) -> Self {
        let groups = manifest.groups.iter().map(|group| (group.id, *group)).collect();
        let (catalogue, notes) = (manifest.catalogue.clone(), manifest.notes.clone().unwrap_or_default());
        Self { catalogue, groups, notes, empty: Vec::new() }
    }

    /// Takes the names and groups of a commit, and gives its mutations; all of it or nothing.
    ///
    /// # Errors
    /// Why it isn't taken: it can't be read, or it doesn't fit what is known.
    pub fn take(&mut self, timestamp: Timestamp, bytes: &[u8]) -> Result<Vec<Mutation>, String> {
        let mutations = payload::decode(timestamp, bytes).map_err(|error| error.to_string())?;
        if mutations.is_empty() {
            self.empty.push(timestamp);
        }
        self.check(timestamp, &mutations)?;
        for mutation in &mutations {
            if let Mutation::InsertVertex { vertex, label, .. } = mutation {
                let id = vertex.group();
                let group = self.groups.entry(id).or_insert(StoredGroup { id, label: *label, rows: 0 });
                group.rows = group.rows.max(vertex.row() + 1);
            }
            if let Mutation::Note(change) = mutation {
                self.notes.apply(change);
            }
        }
        Ok(mutations)
    }

    /// Checks that every vertex has a group of its label and every edge a type, and learns the names.
    fn check(&mut self, timestamp: Timestamp, mutations: &[Mutation]) -> Result<(), String> {
        let misfit = |what: String| Err(format!("commit {timestamp} {what}"));
        let mut catalogue = None;
        for mutation in mutations {
            if let Mutation::Schema(change) = mutation {
                let changed = catalogue.get_or_insert_with(|| self.catalogue.clone());
                if let Err(error) = changed.replay(change) {
                    return misfit(format!("changes the schema: {error}"));
                }
            }
        }
        let names = catalogue.as_ref().unwrap_or(&self.catalogue);
        let mut new_groups: BTreeMap<GroupId, LabelId> = BTreeMap::new();
        for mutation in mutations {
            let label_of = |vertex: VertexId| {
                let known = self.groups.get(&vertex.group()).map(|group| group.label);
                known.or_else(|| new_groups.get(&vertex.group()).copied())
            };
            match mutation {
                Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => {}
                Mutation::InsertVertex { vertex, label, .. } => {
                    if !names.has_label(*label) || label_of(*vertex).is_some_and(|known| known != *label) {
                        return misfit(format!("adds {vertex} with a label that isn't its group's"));
                    }
                    new_groups.insert(vertex.group(), *label);
                }
                Mutation::DeleteVertex { vertex } | Mutation::SetVertexProperties { vertex, .. } => {
                    if label_of(*vertex).is_none() {
                        return misfit(format!("changes {vertex}, whose label is unknown"));
                    }
                }
                Mutation::InsertEdge { edge, .. }
                | Mutation::ReplaceEdge { edge, .. }
                | Mutation::DeleteEdge { edge }
                | Mutation::SetEdgeProperties { edge, .. } => {
                    let ends = [edge.source, edge.target];
                    let is_known = names.edge_type_definition(edge.edge_type).is_some();
                    if !is_known || ends.iter().any(|end| label_of(*end).is_none()) {
                        return misfit(format!("changes {edge}, whose type or ends are unknown"));
                    }
                }
            }
        }
        if let Some(catalogue) = catalogue {
            self.catalogue = catalogue;
        }
        Ok(())
    }
}
