//! Changes: what the log's commits did to each vertex and edge, and to names and groups.

use std::collections::{BTreeMap, BTreeSet};

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;

use crate::segment::net::{Effect, Net};
use crate::segment::record::{Operation, RecordKey};
use evergraph_storage::checkpoint::manifest::StoredGroup;
use evergraph_storage::transaction::payload;

/// Type, source, target, discriminator.
type EdgeKey = (TypeId, u32, u32, u16);

/// Names and groups after the commits that were taken, and what those did to each item.
#[derive(Debug, Default)]
pub struct Changes {
    /// The names.
    pub catalogue: Catalogue,
    /// The groups, with the rows that were given out.
    pub groups: BTreeMap<GroupId, StoredGroup>,
    /// Commits without content: what a bulk load leaves in the log.
    pub empty: Vec<Timestamp>,
    vertices: BTreeMap<VertexId, Vec<Change>>,
    edges: BTreeMap<EdgeKey, Vec<Change>>,
    /// By type and group of the target.
    incoming: BTreeMap<(TypeId, GroupId), BTreeSet<EdgeKey>>,
}

#[derive(Debug)]
struct Change {
    timestamp: Timestamp,
    operation: Operation,
    properties: Properties,
}

impl Changes {
    /// Goes on from what a manifest says.
    #[must_use]
    pub fn new(catalogue: Catalogue, groups: &[StoredGroup]) -> Self {
        let groups = groups.iter().map(|group| (group.id, *group)).collect();
        Self { catalogue, groups, ..Self::default() }
    }

    /// Takes a commit, all of it or nothing.
    ///
    /// # Errors
    /// Why it isn't taken: it can't be read, or it doesn't fit what is known.
    pub fn take(&mut self, timestamp: Timestamp, bytes: &[u8]) -> Result<(), String> {
        let mutations = payload::decode(timestamp, bytes).map_err(|error| error.to_string())?;
        if mutations.is_empty() {
            self.empty.push(timestamp);
        }
        self.check(timestamp, &mutations)?;
        for mutation in mutations {
            let mut of_vertex = |vertex, operation, properties| {
                self.vertices.entry(vertex).or_default().push(Change { timestamp, operation, properties });
            };
            match mutation {
                // Checked, and applied to the names, above; indexes are built anew.
                Mutation::Schema(_) | Mutation::LeaveIndex(_) => {}
                Mutation::InsertVertex { vertex, label, properties } => {
                    let id = vertex.group();
                    let group = self.groups.entry(id).or_insert(StoredGroup { id, label, rows: 0 });
                    group.rows = group.rows.max(vertex.row() + 1);
                    of_vertex(vertex, Operation::Insert, properties);
                }
                Mutation::DeleteVertex { vertex } => of_vertex(vertex, Operation::Delete, Properties::EMPTY),
                Mutation::SetVertexProperties { vertex, properties } => {
                    of_vertex(vertex, Operation::Set, properties);
                }
                Mutation::InsertEdge { edge, properties } => {
                    self.of_edge(edge, timestamp, Operation::Insert, properties);
                }
                Mutation::ReplaceEdge { edge, properties } => {
                    self.of_edge(edge, timestamp, Operation::Replace, properties);
                }
                Mutation::DeleteEdge { edge } => {
                    self.of_edge(edge, timestamp, Operation::Delete, Properties::EMPTY);
                }
                Mutation::SetEdgeProperties { edge, properties } => {
                    self.of_edge(edge, timestamp, Operation::Set, properties);
                }
            }
        }
        Ok(())
    }

    fn of_edge(&mut self, edge: EdgeId, timestamp: Timestamp, operation: Operation, properties: Properties) {
        let key = (edge.edge_type, edge.source.0, edge.target.0, edge.discriminator);
        self.incoming.entry((edge.edge_type, edge.target.group())).or_default().insert(key);
        self.edges.entry(key).or_default().push(Change { timestamp, operation, properties });
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
                Mutation::Schema(_) | Mutation::LeaveIndex(_) => {}
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

    /// What commits after `after` came to for the vertices of `group`, ascending.
    #[must_use]
    pub fn vertices(&self, group: GroupId, after: Timestamp) -> Vec<Net> {
        let all = VertexId::new(group, 0)..=VertexId::new(group, GROUP_SIZE as u16 - 1);
        let changed = self.vertices.range(all);
        let net = |(vertex, list): (&VertexId, &Vec<Change>)| {
            Some(net(RecordKey::vertex(vertex.row()), effect(list, after)?))
        };
        changed.filter_map(net).collect()
    }

    /// The groups where edges of `edge_type` changed on `side`.
    #[must_use]
    pub fn edge_groups(&self, edge_type: TypeId, side: Direction) -> BTreeSet<GroupId> {
        if side == Direction::In {
            let all = (edge_type, GroupId(0))..=(edge_type, GroupId(u32::MAX));
            return self.incoming.range(all).map(|((_, group), _)| *group).collect();
        }
        let of_type = self.edges.range((edge_type, 0, 0, 0)..=(edge_type, u32::MAX, u32::MAX, u16::MAX));
        of_type.map(|((_, source, ..), _)| VertexId(*source).group()).collect()
    }

    /// What commits came to for the edges of `group`, of one type and side, ascending; on the in side without
    /// properties. `after` says of a row after which commit, or that it isn't asked for.
    #[must_use]
    pub fn edges(
        &self,
        edge_type: TypeId,
        side: Direction,
        group: GroupId,
        after: impl Fn(u16) -> Option<Timestamp>,
    ) -> Vec<Net> {
        let mut nets = Vec::new();
        let mut put = |own: u32, other: u32, discriminator: u16, list: &[Change]| {
            let row = VertexId(own).row();
            let found = after(row).and_then(|after| effect(list, after));
            nets.extend(found.map(|effect| net(RecordKey::edge(row, other, discriminator), effect)));
        };
        if side == Direction::In {
            for key in self.incoming.get(&(edge_type, group)).into_iter().flatten() {
                put(key.2, key.1, key.3, &self.edges[key]);
            }
            nets.iter_mut().for_each(|net| drop_properties(&mut net.effect));
            nets.sort_unstable_by_key(|net| net.key);
        } else {
            let last = VertexId::new(group, GROUP_SIZE as u16 - 1).0;
            let all = (edge_type, group.first().0, 0, 0)..=(edge_type, last, u32::MAX, u16::MAX);
            self.edges.range(all).for_each(|(key, list)| put(key.1, key.2, key.3, list));
        }
        nets
    }
}

fn net(key: RecordKey, effect: Effect) -> Net {
    Net { key, effect, difference: 0 }
}

/// Leaves whether an edge is there, as the in side keeps it.
fn drop_properties(effect: &mut Effect) {
    match effect {
        Effect::Absent => {}
        Effect::Present(properties) | Effect::Changed(properties) => *properties = Properties::EMPTY,
    }
}

/// What the changes after `after` come to.
fn effect(changes: &[Change], after: Timestamp) -> Option<Effect> {
    let later = changes.iter().filter(|change| change.timestamp > after);
    later.fold(None, |before, change| {
        Some(match (change.operation, before) {
            (Operation::Insert | Operation::Replace, _) => Effect::Present(change.properties.clone()),
            (Operation::Delete, _) => Effect::Absent,
            (Operation::Set, Some(Effect::Present(all))) => {
                Effect::Present(all.followed_by(&change.properties).without_removals())
            }
            (Operation::Set, Some(Effect::Changed(changes))) => {
                Effect::Changed(changes.followed_by(&change.properties))
            }
            // A log that sets what it deleted says at least that it is there.
            (Operation::Set, None | Some(Effect::Absent)) => Effect::Changed(change.properties.clone()),
        })
    })
}

/// The net of an edge of which nothing is there to be changed: it is there, with what was set at least.
/// Whether it was such a one.
pub fn settle(net: &mut Net, is_there: bool) -> bool {
    match &net.effect {
        Effect::Changed(changes) if !is_there => {
            net.effect = Effect::Present(changes.without_removals());
            true
        }
        _ => false,
    }
}
