//! Losses: what the report says of damaged pages and of items that could not be saved.

use crate::durable::salvage::columns::LostValues;
use crate::durable::salvage::gaps::{Age, Gap, Gaps};
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::format::tree_key::{ItemKey, ListId};
use crate::stored_file::list_key;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{Direction, LabelId, TypeId, VertexId};
use evergraph_storage::salvage::known_names::KnownNames;
use evergraph_storage::salvage::loss::{Damage, IdRange, Loss, LossKind};
use std::collections::BTreeMap;

/// Items that are missing, and no gap can be named for it.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// Vertices of which nothing says what they were before they were changed.
    pub vertices: u64,
    /// Edges whose sides contradict each other, by type.
    pub contradicted: BTreeMap<TypeId, u64>,
    /// Edges of vertices that are not there, by type.
    pub loose: BTreeMap<TypeId, u64>,
    /// Edges of which nothing says what they were before they were changed, by type.
    pub half: BTreeMap<TypeId, u64>,
}

/// The report of one salvage.
pub(super) struct LossReport<'a> {
    /// Names and groups.
    pub names: &'a KnownNames,
    /// Damaged pages of topology.
    pub gaps: &'a Gaps,
    /// The first age below L0.
    pub first_level: Age,
}

impl LossReport<'_> {
    /// Everything that is damaged or missing.
    pub(super) fn losses(&self, lost: &[LostValues], harmless: Vec<Damage>, missing: &Missing) -> Vec<Loss> {
        let mut losses: Vec<Loss> = Vec::new();
        for (age, gap) in self.gaps.iter() {
            let before = losses.len();
            losses.extend(self.subjects().filter_map(|subject| self.of_gap(age, gap, subject)));
            if losses.len() == before {
                losses.push(Loss::new(LossKind::Nothing, gap.damage.problem.clone()).at(&gap.damage));
            }
        }
        losses.extend(lost.iter().map(|values| self.of_values(values)));
        let nothing = |damage: &Damage| Loss::new(LossKind::Nothing, damage.problem.clone()).at(damage);
        losses.extend(harmless.iter().map(nothing));
        if missing.vertices > 0 {
            let text = "newer records change them, and nothing says what they were";
            losses.push(Loss { count: Some(missing.vertices), ..Loss::new(LossKind::Vertices, text) });
        }
        let by_type = [
            (
                &missing.contradicted,
                LossKind::Edges,
                "one side has them, and the other one says that they are not there",
            ),
            (
                &missing.loose,
                LossKind::LooseEdges,
                "the edges are there, and a vertex at one of their ends is not",
            ),
            (
                &missing.half,
                LossKind::EdgeProperty,
                "newer records change them, and nothing says what they were",
            ),
        ];
        for (counts, kind, text) in by_type {
            losses.extend(counts.iter().map(|(edge_type, count)| Loss {
                edge_type: Some(self.names.catalogue.edge_type_name(*edge_type).to_string()),
                count: Some(*count),
                ..Loss::new(kind, text)
            }));
        }
        losses
    }

    /// Vertices, then both sides of each type.
    fn subjects(&self) -> impl Iterator<Item = Subject> + '_ {
        let types = self.names.catalogue.edge_types().map(|(edge_type, _)| edge_type);
        let sides = |edge_type| [EdgeSide::Out, EdgeSide::In].map(|side| Subject::edges(edge_type, side));
        std::iter::once(Subject::VERTICES).chain(types.flat_map(sides))
    }

    /// What a gap hides of a subject; `None` if it has nothing of it.
    fn of_gap(&self, age: Age, gap: &Gap, subject: Subject) -> Option<Loss> {
        let vertices = self.vertices_of(gap, subject)?;
        let is_alone = self.subjects().filter(|other| self.vertices_of(gap, *other).is_some()).count() == 1;
        let count_max = gap.records_max.filter(|_| is_alone);
        let text = |kept: &str| match gap.stale {
            0 => format!("{}{kept}", gap.damage.problem),
            stale => format!("{}{kept}; {stale} are as older files have them", gap.damage.problem),
        };
        let loss = |kind, kept: &str| Loss {
            label: self.label_of(vertices),
            vertices: Some(vertices),
            count_max,
            ..Loss::new(kind, text(kept)).at(&gap.damage)
        };
        let SubjectKind::Edges { edge_type, side } = subject.kind() else {
            return Some(loss(LossKind::Vertices, ""));
        };
        let direction = if side == EdgeSide::Out { Direction::Out } else { Direction::In };
        let others = self.hiding_with(age, edge_type, side);
        let has_properties = self.names.catalogue.properties_of(Owner::EdgeType(edge_type)).next().is_some();
        let loss = match (others.is_empty(), side) {
            (false, _) => Loss { others, ..loss(LossKind::Edges, "") },
            (true, EdgeSide::Out) if has_properties => {
                loss(LossKind::EdgeProperty, "; the in lists have the edges")
            }
            (true, _) => loss(LossKind::Nothing, "; the other side has the edges"),
        };
        let edge_type = Some(self.names.catalogue.edge_type_name(edge_type).to_string());
        Some(Loss { edge_type, side: Some(direction), ..loss })
    }

    /// Vertices of the gaps of the other side that may hide the same edges.
    fn hiding_with(&self, age: Age, edge_type: TypeId, side: EdgeSide) -> Vec<IdRange> {
        let other =
            Subject::edges(edge_type, if side == EdgeSide::Out { EdgeSide::In } else { EdgeSide::Out });
        let hides =
            |other_age: Age| age == other_age || (age >= self.first_level && other_age >= self.first_level);
        let gaps = self.gaps.iter().filter(|(other_age, _)| hides(*other_age));
        gaps.filter_map(|(_, gap)| self.vertices_of(gap, other)).collect()
    }

    /// The vertices of whose records of `subject` a gap may have some.
    fn vertices_of(&self, gap: &Gap, subject: Subject) -> Option<IdRange> {
        let start = list_key(ListId { subject, vertex: VertexId(0) }, ItemKey::VERTEX);
        let next = (subject.number() + 1).to_be_bytes();
        if !gap.overlaps(&start, &next) {
            return None;
        }
        let last_group = self.names.groups.values().next_back()?;
        let last = VertexId(last_group.id.first().0 + u32::from(last_group.rows.max(1)) - 1);
        let vertex_in =
            |key: &[u8], otherwise: VertexId| match key.get(4..8).filter(|_| key[..4] == start[..4]) {
                Some(bytes) => VertexId(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))),
                None => otherwise,
            };
        let first = vertex_in(&gap.from, VertexId(0));
        Some((first, vertex_in(&gap.to, last).min(last).max(first)))
    }

    /// The label of all these vertices, if they have one.
    fn label_of(&self, (first, last): IdRange) -> Option<String> {
        let groups = self.names.groups.range(first.group()..=last.group());
        let mut labels: Vec<LabelId> = groups.map(|(_, group)| group.label).collect();
        labels.dedup();
        match labels[..] {
            [label] => Some(self.names.catalogue.label_name(label).to_string()),
            _ => None,
        }
    }

    fn of_values(&self, lost: &LostValues) -> Loss {
        let kind = match lost.subject.map(Subject::kind) {
            _ if lost.records == 0 => LossKind::Nothing,
            Some(SubjectKind::Edges { .. }) => LossKind::EdgeProperty,
            _ => LossKind::VertexProperty,
        };
        let edge_type = match lost.subject.map(Subject::kind) {
            Some(SubjectKind::Edges { edge_type, .. }) => {
                Some(self.names.catalogue.edge_type_name(edge_type).to_string())
            }
            _ => None,
        };
        Loss {
            edge_type,
            property: lost.key.map(|key| self.names.catalogue.key_name(key).to_string()),
            count_max: Some(lost.records),
            ..Loss::new(kind, lost.damage.problem.clone()).at(&lost.damage)
        }
    }
}
