//! Announcement: what a reader is going to read, as questions that wait for its first read.

use crate::remote::item_reads::{
    DegreesByTypeRead, DegreesRead, EdgeMapsRead, EdgeValuesRead, EdgesRead, FactsRead, LabelsRead,
    ListsRead, VertexMapsRead, VertexValuesRead,
};
use crate::remote::remote_snapshot::RemoteSnapshot;
use evergraph_graph::id::{Direction, GroupId, TypeId, VertexId};
use evergraph_graph::next_reads::NextReads;
use std::collections::BTreeMap;

/// Entries of a list that is announced.
pub(super) const ANNOUNCED_LIST_ENTRIES: u32 = 1 << 10;

impl RemoteSnapshot {
    /// Something is going to be read, item by item.
    pub(super) fn announce_next(&self, next: NextReads<'_>) {
        match next {
            NextReads::Labels(vertices) => self.announce(&LabelsRead, vertices),
            NextReads::EdgeTypes(vertices, _) => self.announce(&FactsRead, &self.labelled_groups(vertices)),
            NextReads::EdgesOf(vertices, direction) => self.announce_edges(vertices, direction),
            NextReads::EdgesOfType(vertices, edge_type, direction) => {
                for side in direction.sides() {
                    self.announce_lists(vertices, edge_type, *side);
                }
            }
            NextReads::Degrees(vertices, Some(edge_type), direction) => {
                for side in direction.sides() {
                    self.announce(&DegreesRead { edge_type, side: *side }, vertices);
                }
            }
            NextReads::Degrees(vertices, None, direction) => {
                for side in direction.sides() {
                    self.announce(&DegreesByTypeRead(*side), vertices);
                }
            }
            NextReads::VertexProperties(vertices, key) => self.announce(&VertexValuesRead(key), vertices),
            NextReads::VertexPropertyMaps(vertices) => self.announce(&VertexMapsRead, vertices),
            NextReads::Edges(edges) => self.announce(&EdgesRead, edges),
            NextReads::EdgeProperties(edges, key) => self.announce(&EdgeValuesRead(key), edges),
            NextReads::EdgePropertyMaps(edges) => self.announce(&EdgeMapsRead, edges),
            NextReads::ItemsOfValues(index, values) => self.announce_values(index, values),
        }
    }

    /// The list of each vertex is going to be read.
    pub(super) fn announce_lists(&self, vertices: &[VertexId], edge_type: TypeId, side: Direction) {
        self.announce(&ListsRead { edge_type, side, limit: ANNOUNCED_LIST_ENTRIES }, vertices);
    }

    /// All edges of vertices are going to be read. Which types of edges their groups have is asked for at once, unless it is
    /// known.
    fn announce_edges(&self, vertices: &[VertexId], direction: Direction) {
        let own = self.groups_at_hand();
        let others = vertices.iter().copied().filter(|vertex| !own.has(vertex.group()));
        let vertices: Vec<VertexId> = others.collect();
        let groups = self.labelled_groups(&vertices);
        self.announce(&FactsRead, &groups);
        // An error is that of whoever reads.
        let Ok(facts) = self.read(&FactsRead, &groups) else { return };
        let facts: BTreeMap<GroupId, _> = groups.into_iter().zip(facts).collect();
        let mut lists: BTreeMap<(TypeId, Direction), Vec<VertexId>> = BTreeMap::new();
        for vertex in &vertices {
            let Some(facts) = facts.get(&vertex.group()) else { continue };
            for side in direction.sides() {
                for edge_type in facts.types(*side) {
                    lists.entry((edge_type, *side)).or_default().push(*vertex);
                }
            }
        }
        for ((edge_type, side), vertices) in lists {
            self.announce_lists(&vertices, edge_type, side);
        }
    }

    /// The groups of vertices that have a label, each once.
    fn labelled_groups(&self, vertices: &[VertexId]) -> Vec<GroupId> {
        let mut groups: Vec<GroupId> = vertices.iter().map(|vertex| vertex.group()).collect();
        groups.sort_unstable();
        groups.dedup();
        groups.retain(|group| self.map().group_label(*group).is_some());
        groups
    }
}
