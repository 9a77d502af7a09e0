//! Vertices: which are alive, with which properties, from bodies and log.

use std::collections::{BTreeMap, BTreeSet};

use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;

use crate::body::Body;
use crate::net::{Effect, Net};
use crate::salvage::changes::{Changes, followed_by};
use crate::salvage::finding::{BodyFinding, FoundBodies, FoundBody, FoundRuns, LostRuns};
use crate::vertex_body::VertexBody;
use evergraph_storage::checkpoint::report::{CheckProgress, tell};
use evergraph_storage::salvage::loss::{Loss, LossKind, ids};

/// The vertices of every group.
#[derive(Debug, Default)]
pub struct Vertices {
    /// What lives, by group.
    pub bodies: BTreeMap<GroupId, VertexBody>,
    /// The oldest commit that a group is as of, since runs are lost.
    pub stale_through: Option<Timestamp>,
    /// Through which commit a group is known; those that aren't here are lost but for what is newer.
    known: BTreeMap<GroupId, Timestamp>,
    /// Of groups with something lost: the vertices of which runs or commits speak that are newer.
    decided: BTreeSet<VertexId>,
    /// The last commit of the log.
    through: Timestamp,
}

impl Vertices {
    /// Puts bodies and log together; what is missing goes to `losses`.
    ///
    /// # Errors
    /// `cancelled`.
    pub fn gather(
        bodies: &dyn FoundBodies,
        changes: &Changes,
        through: Timestamp,
        losses: &mut Vec<Loss>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Self> {
        let mut vertices = Self { through, ..Self::default() };
        let count = changes.names.groups.len() as u64;
        for (at, group) in changes.names.groups.values().enumerate() {
            tell(progress, "vertices, by group", at as u64, count)?;
            let of_group = |kind, problem: &str| Loss {
                label: Some(changes.names.catalogue.label_name(group.label).to_string()),
                vertices: Some(ids(group.id, group.rows)),
                ..Loss::new(kind, problem)
            };
            let of_runs = |kind, runs: &LostRuns| {
                let (first, last) = runs.commits;
                let problem = format!("{}; what is newer is saved", runs.damage.problem);
                Loss { commits: Some((first, Some(last))), ..of_group(kind, &problem).at(&runs.damage) }
            };
            let (mut columns, mut file) = (Vec::new(), None);
            let (body, base, runs) = match bodies.vertices(group.id) {
                BodyFinding::Nothing => (VertexBody::empty(), Timestamp::ZERO, FoundRuns::default()),
                BodyFinding::Some(FoundBody { partial, base, damage, runs }) => {
                    (columns, file) = (partial.lost, Some(damage.file));
                    (partial.body, base, runs)
                }
                BodyFinding::Lost(damage, FoundRuns { lost, newer }) => {
                    let nets = followed_by(newer, changes.vertices(group.id, Timestamp::ZERO));
                    let (body, _) = vertices.put(group.id, VertexBody::empty(), nets);
                    let count_max = u64::from(group.rows).saturating_sub(body.items() as u64);
                    let kind = if count_max == 0 { LossKind::Nothing } else { LossKind::Vertices };
                    let loss = of_group(kind, &damage.problem).at(&damage);
                    losses.push(Loss { count_max: Some(count_max), ..loss });
                    losses.extend(lost.map(|runs| of_runs(kind, &runs)));
                    continue;
                }
            };
            if let Some(lost) = &runs.lost {
                // Commits between the body and the log are missing.
                vertices.known.insert(group.id, base);
                vertices.stale_through = vertices.stale_through.into_iter().chain([base]).min();
                losses.push(of_runs(LossKind::Vertices, lost));
            } else {
                vertices.known.insert(group.id, base.max(through));
            }
            let nets = followed_by(runs.newer, changes.vertices(group.id, base));
            let (body, unknown) = vertices.put(group.id, body, nets);
            if unknown > 0 {
                let text = "newer records or the log change some of them, and the others are lost";
                losses.push(Loss { count: Some(unknown), ..of_group(LossKind::Vertices, text) });
            }
            for column in columns {
                let text = "its values are damaged, except newer ones from the log";
                losses.push(Loss {
                    file: file.clone(),
                    offset: Some(column.range.start),
                    length: Some(column.range.end - column.range.start),
                    property: column.key.map(|key| changes.names.catalogue.key_name(key).to_string()),
                    count_max: column.key.map(|key| {
                        let has_none = |row: &u16| body.is_alive(*row) && body.property(*row, key).is_none();
                        (0..group.rows).filter(has_none).count() as u64
                    }),
                    ..of_group(LossKind::VertexProperty, text)
                });
            }
        }
        Ok(vertices)
    }

    /// The body of `group` with `nets` on it, which are newer; and how many vertices were left out, since nets
    /// change them and nothing says what they were: half of one isn't brought back.
    fn put(&mut self, group: GroupId, body: VertexBody, mut nets: Vec<Net>) -> (&VertexBody, u64) {
        let count = nets.len();
        nets.retain(|net| !matches!(net.effect, Effect::Changed(_)) || body.is_alive(net.key.row()));
        let unknown = (count - nets.len()) as u64;
        if self.known.get(&group).is_none_or(|known| *known < self.through) {
            self.decided.extend(nets.iter().map(|net| VertexId::new(group, net.key.row())));
        }
        let body = if nets.is_empty() { body } else { body.merged(&nets) };
        self.bodies.insert(group, body);
        (&self.bodies[&group], unknown)
    }

    /// Whether `vertex` lives, as far as is known.
    #[must_use]
    pub fn is_alive(&self, vertex: VertexId) -> bool {
        self.bodies.get(&vertex.group()).is_some_and(|body| body.is_alive(vertex.row()))
    }

    /// Through which commit it is known whether `vertex` lives; `None` if that is lost.
    #[must_use]
    pub fn known(&self, vertex: VertexId) -> Option<Timestamp> {
        if self.decided.contains(&vertex) {
            return Some(self.through);
        }
        self.known.get(&vertex.group()).copied()
    }

    /// How many live.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.bodies.values().map(|body| body.items() as u64).sum()
    }

    /// Each value of a property, over all vertices with the label of `owner`.
    pub fn for_each_value(&self, changes: &Changes, owner: Owner, key: KeyId, visit: &mut dyn FnMut(Value)) {
        for (group, body) in &self.bodies {
            if Owner::Label(changes.names.groups[group].label) == owner
                && let Some(column) = body.column(key)
            {
                (0..column.len()).filter_map(|row| column.get(row)).for_each(&mut *visit);
            }
        }
    }
}
