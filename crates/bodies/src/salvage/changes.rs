//! Changes: what the log's commits did to each vertex and edge, and to names and groups.

use std::collections::{BTreeMap, BTreeSet};

use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;

use crate::net::{Effect, Net};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::record::{Operation, RecordKey};
use evergraph_storage::salvage::known_names::KnownNames;

/// Type, source, target, discriminator.
type EdgeKey = (TypeId, u32, u32, u16);

/// Names and groups after the commits that were taken, and what those did to each item.
#[derive(Debug, Default)]
pub struct Changes {
    /// Names and groups.
    pub names: KnownNames,
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
    pub fn new(manifest: &Manifest) -> Self {
        Self { names: KnownNames::new(manifest), ..Self::default() }
    }

    /// Takes a commit, all of it or nothing.
    ///
    /// # Errors
    /// Why it isn't taken: it can't be read, or it doesn't fit what is known.
    pub fn take(&mut self, timestamp: Timestamp, bytes: &[u8]) -> Result<(), String> {
        for mutation in self.names.take(timestamp, bytes)? {
            let mut of_vertex = |vertex, operation, properties| {
                self.vertices.entry(vertex).or_default().push(Change { timestamp, operation, properties });
            };
            match mutation {
                // The names have it; indexes are built anew, and notes are not saved.
                Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => {}
                Mutation::InsertVertex { vertex, properties, .. } => {
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
        let properties = change.properties.clone();
        let later = match change.operation {
            Operation::Insert | Operation::Replace => Effect::Present(properties),
            Operation::Delete => Effect::Absent,
            Operation::Set => Effect::Changed(properties),
        };
        Some(composed(before, later))
    })
}

/// What `later` comes to after `before`, between which changes may be missing.
fn composed(before: Option<Effect>, later: Effect) -> Effect {
    match (before, later) {
        (Some(Effect::Present(all)), Effect::Changed(changes)) => {
            Effect::Present(all.followed_by(&changes).without_removals())
        }
        (Some(Effect::Changed(earlier)), Effect::Changed(changes)) => {
            Effect::Changed(earlier.followed_by(&changes))
        }
        // Nothing before it counts. What sets properties of something deleted says at least that it is there.
        (_, later) => later,
    }
}

/// What `earlier` nets come to, followed by `later` ones. All ascend by key, one each.
#[must_use]
pub fn followed_by(mut earlier: Vec<Net>, later: Vec<Net>) -> Vec<Net> {
    if earlier.is_empty() {
        return later;
    }
    earlier.extend(later);
    // The sort is stable: of one key the earlier net comes first.
    earlier.sort_by_key(|net| net.key);
    earlier.dedup_by(|later, earlier| {
        let is_same = later.key == earlier.key;
        if is_same {
            earlier.effect = composed(Some(earlier.effect.clone()), later.effect.clone());
        }
        is_same
    });
    earlier
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

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::KeyId;
    use evergraph_graph::value::Value;

    fn properties(list: &[(u16, Option<i64>)]) -> Properties {
        list.iter().map(|(key, value)| (KeyId(*key), value.map(Value::I64))).collect()
    }

    #[test]
    fn nets_of_runs_are_followed_by_those_of_the_log_key_by_key() {
        let nets = |list: &[(u64, Effect)]| -> Vec<Net> {
            list.iter().map(|(key, effect)| net(RecordKey(*key), effect.clone())).collect()
        };
        let (both, second) = (properties(&[(1, Some(1)), (2, Some(2))]), properties(&[(2, None)]));
        let run = nets(&[
            (1, Effect::Present(both.clone())),
            (2, Effect::Changed(both.clone())),
            (4, Effect::Absent),
            (5, Effect::Present(both.clone())),
            (7, Effect::Absent),
        ]);
        let log = nets(&[
            (1, Effect::Changed(second.clone())),
            (2, Effect::Changed(second.clone())),
            (3, Effect::Absent),
            (4, Effect::Changed(second.clone())),
            (5, Effect::Absent),
            (8, Effect::Present(second.clone())),
        ]);
        let expected = nets(&[
            (1, Effect::Present(properties(&[(1, Some(1))]))),
            (2, Effect::Changed(properties(&[(1, Some(1)), (2, None)]))),
            (3, Effect::Absent),
            (4, Effect::Changed(second.clone())),
            (5, Effect::Absent),
            (7, Effect::Absent),
            (8, Effect::Present(second)),
        ]);
        assert_eq!(followed_by(run.clone(), log.clone()), expected);
        assert_eq!(followed_by(Vec::new(), log.clone()), log);
        assert_eq!(followed_by(run.clone(), Vec::new()), run);
    }
}
