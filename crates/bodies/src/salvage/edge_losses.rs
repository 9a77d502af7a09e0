//! Edge losses: damage found by comparing both sides of one type, part by part.
//!
//! ```text
//! a part of the out side is lost    `edges`, if parts of the in side are lost too: between those; else nothing
//! an edge came from the in side     `edge_property`: its properties lay on the out side
//! a column doesn't verify           `edge_property`: of the edges that have no newer value
//! a part of the in side is lost     nothing: the out side has its edges
//! runs of the out side are lost     `edges`, if parts or runs of the in side are lost too; `edge_property`, if there are
//!                                   properties, which may be as they were before; else nothing
//! runs of the in side are lost      nothing
//! an end isn't there                `loose_edges`
//! both sides differ                 `edges`
//! ```

use std::collections::BTreeMap;

use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_graph::timestamp::Timestamp;

use crate::salvage::changes::Changes;
use crate::salvage::finding::LostRuns;
use crate::salvage::sides::{Part, Side, Sides};
use evergraph_storage::salvage::loss::{IdRange, Loss, LossKind, ids};

/// Groups of an edge's source and target.
type Groups = (GroupId, GroupId);

/// What was counted while both sides were compared.
#[derive(Debug, Default)]
pub struct Counts {
    /// Edges that the out side got from the in side, by group and part.
    pub added: BTreeMap<(GroupId, usize), u64>,
    /// Edges whose end isn't there.
    pub loose: BTreeMap<Groups, u64>,
    /// Edges whose sides differ, although both are known equally well.
    pub differing: BTreeMap<Groups, u64>,
}

/// Both sides of one type, compared.
#[derive(Debug)]
pub struct SideComparison<'a> {
    /// Names and groups.
    pub changes: &'a Changes,
    /// The type.
    pub edge_type: TypeId,
    /// The out side as it was found.
    pub out: &'a Sides,
    /// The in side as it was found.
    pub incoming: &'a Sides,
    /// What the comparison counted.
    pub counts: &'a Counts,
}

impl SideComparison<'_> {
    /// Everything that is damaged, and what of it is missing.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        let others = merged(
            parts(self.incoming)
                .filter(|(_, part)| part.is_in_doubt())
                .map(|(side, part)| side.ids(part, self.changes)),
        );
        let mut losses: Vec<Loss> = self.of_groups_without_lists().collect();
        for (side, part) in parts(self.out) {
            self.of_out_part(side, part, &others, &mut losses);
        }
        losses.extend(parts(self.incoming).flat_map(|(side, part)| self.of_in_part(side, part)));
        losses.extend(self.between(LossKind::LooseEdges, "an end of them is missing", &self.counts.loose));
        let text = "one of their sides has them and the other has not, as of the same commit";
        losses.extend(self.between(LossKind::Edges, text, &self.counts.differing));
        losses
    }

    /// The oldest commit that edges or their properties may be as of, since runs are lost; `None` if none are older than
    /// the rest.
    #[must_use]
    pub fn stale_through(&self) -> Option<Timestamp> {
        let are_in_doubt = |sides| parts(sides).any(|(_, part)| part.is_in_doubt());
        let is_out_stale = self.has_properties() || are_in_doubt(self.incoming);
        let out = known_before_lost_runs(self.out).filter(|_| is_out_stale);
        let is_in_stale = are_in_doubt(self.out);
        out.chain(known_before_lost_runs(self.incoming).filter(|_| is_in_stale)).min()
    }

    /// Groups without a list of the type on the out side, although the in side has edges.
    fn of_groups_without_lists(&self) -> impl Iterator<Item = Loss> {
        let added = self.counts.added.iter().filter(|_| self.has_properties());
        added.filter(|((group, _), _)| !self.out.contains_key(group)).map(|((group, _), count)| Loss {
            side: Some(Direction::Out),
            count_max: Some(*count),
            ..self.of(*group, LossKind::EdgeProperty, "the out side, where they lie, is too old")
        })
    }

    fn of_out_part(&self, side: &Side, part: &Part, others: &[IdRange], losses: &mut Vec<Loss>) {
        let at = part.row.map_or(0, |row| side.part(row));
        let added = self.counts.added.get(&(side.group, at)).copied().unwrap_or(0);
        let of_part = |kind, problem: &str| self.of_part(side, part, Direction::Out, kind, problem);
        if part.known.is_none() {
            let why = part.damage.as_ref().map_or("", |damage| &damage.problem);
            losses.push(if others.is_empty() {
                let text = format!("{why}; {added} edges were found on the in side");
                of_part(LossKind::Nothing, &text)
            } else {
                let text = format!("{why}; those whose in side is damaged too are missing");
                Loss { others: others.to_vec(), ..of_part(LossKind::Edges, &text) }
            });
        }
        if let Some(runs) = &part.lost_runs {
            let loss = |kind, text| of_runs(of_part(kind, ""), runs, text);
            // Properties of a part that is lost are counted below.
            let has_properties = self.has_properties() && part.known.is_some();
            if !others.is_empty() {
                let text = "those whose in side is damaged too are missing, or as they were before";
                losses.push(Loss { others: others.to_vec(), ..loss(LossKind::Edges, text) });
            }
            if has_properties {
                let text = "properties are as they were before, unless something newer sets them";
                losses.push(loss(LossKind::EdgeProperty, text));
            }
            if others.is_empty() && !has_properties {
                losses.push(loss(LossKind::Nothing, "the in side has the edges"));
            }
        }
        let without = added + part.incomplete;
        if self.has_properties() && without > 0 {
            let text = "the out side, where they lie, is damaged or too old";
            let loss = Loss { count_max: Some(without), ..of_part(LossKind::EdgeProperty, text) };
            losses.push(match &part.lost_runs {
                // Its body is whole.
                Some(runs) if part.known.is_some() => loss.at(&runs.damage),
                _ => loss,
            });
        }
        for (column, without) in &part.lost {
            let text = "its values are damaged, except newer ones from the log";
            losses.push(Loss {
                offset: Some(column.range.start),
                length: Some(column.range.end - column.range.start),
                property: column.key.map(|key| self.names().key_name(key).to_string()),
                count_max: *without,
                ..of_part(LossKind::EdgeProperty, text)
            });
        }
    }

    fn of_in_part(&self, side: &Side, part: &Part) -> impl Iterator<Item = Loss> {
        let of_part = |problem: &str| self.of_part(side, part, Direction::In, LossKind::Nothing, problem);
        let text = "what the out side has was taken from there";
        let damage = part.damage.as_ref().filter(|_| part.known.is_none());
        let lost = damage.map(|damage| of_part(&format!("{}; {text}", damage.problem)));
        let runs = part.lost_runs.as_ref().map(|runs| of_runs(of_part(""), runs, text));
        lost.into_iter().chain(runs)
    }

    fn between<'a>(
        &'a self,
        kind: LossKind,
        problem: &'a str,
        groups: &'a BTreeMap<Groups, u64>,
    ) -> impl Iterator<Item = Loss> + 'a {
        groups.iter().map(move |((from, to), count)| Loss {
            others: vec![self.ids(*to)],
            count: Some(*count),
            ..self.of(*from, kind, problem)
        })
    }

    fn of_part(&self, side: &Side, part: &Part, direction: Direction, kind: LossKind, problem: &str) -> Loss {
        let loss = Loss {
            vertices: Some(side.ids(part, self.changes)),
            side: Some(direction),
            ..self.of(side.group, kind, problem)
        };
        match &part.damage {
            Some(damage) => loss.at(damage),
            None => loss,
        }
    }

    /// A loss of edges that begin in `group`.
    fn of(&self, group: GroupId, kind: LossKind, problem: &str) -> Loss {
        let label = self.changes.names.groups.get(&group).map(|group| self.names().label_name(group.label));
        Loss {
            label: label.map(|name| name.to_string()),
            vertices: Some(self.ids(group)),
            edge_type: Some(self.names().edge_type_name(self.edge_type).to_string()),
            ..Loss::new(kind, problem)
        }
    }

    fn has_properties(&self) -> bool {
        self.names().properties_of(Owner::EdgeType(self.edge_type)).next().is_some()
    }

    fn names(&self) -> &Catalogue {
        &self.changes.names.catalogue
    }

    fn ids(&self, group: GroupId) -> IdRange {
        ids(group, self.changes.names.groups.get(&group).map_or(1, |group| group.rows))
    }
}

fn parts(sides: &Sides) -> impl Iterator<Item = (&Side, &Part)> {
    sides.values().flat_map(|side| side.parts.iter().map(move |part| (side, part)))
}

/// `loss` of runs that are lost.
fn of_runs(loss: Loss, runs: &LostRuns, text: &str) -> Loss {
    let (first, last) = runs.commits;
    let problem = format!("{}; {text}", runs.damage.problem);
    Loss { problem, commits: Some((first, Some(last))), ..loss.at(&runs.damage) }
}

/// Through which commits the parts are known that lost runs, but not their body.
fn known_before_lost_runs(sides: &Sides) -> impl Iterator<Item = Timestamp> {
    parts(sides).filter(|(_, part)| part.lost_runs.is_some()).filter_map(|(_, part)| part.known)
}

/// Ranges that touch each other as one.
fn merged(ranges: impl Iterator<Item = IdRange>) -> Vec<IdRange> {
    let mut ranges: Vec<IdRange> = ranges.collect();
    ranges.sort_unstable();
    let mut merged: Vec<IdRange> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(before) if first.0 <= before.1.0.saturating_add(1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}
