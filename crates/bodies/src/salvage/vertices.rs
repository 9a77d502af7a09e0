//! Vertices: which are alive, with which properties, from bodies and log.

use std::collections::BTreeMap;

use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;

use crate::body::Body;
use crate::net::Effect;
use crate::salvage::changes::Changes;
use crate::salvage::finding::Partial;
use crate::salvage::finding::{BodyFinding, FoundBodies};
use crate::vertex_body::VertexBody;
use evergraph_storage::checkpoint::report::{CheckProgress, tell};
use evergraph_storage::salvage::loss::{Damage, Loss, LossKind, ids};

/// The vertices of every group.
#[derive(Debug, Default)]
pub struct Vertices {
    /// What lives, by group.
    pub bodies: BTreeMap<GroupId, VertexBody>,
    /// Through which commit a group is known; those that aren't here are lost but for what the log says.
    known: BTreeMap<GroupId, Timestamp>,
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
        let mut vertices = Self::default();
        let count = changes.names.groups.len() as u64;
        for (at, group) in changes.names.groups.values().enumerate() {
            tell(progress, "vertices, by group", at as u64, count)?;
            let found = bodies.vertices(group.id);
            let (partial, base, damage) = match found {
                BodyFinding::Nothing => (None, Timestamp::ZERO, None),
                BodyFinding::Some(partial, base, damage) => (Some(partial), base, Some(damage)),
                BodyFinding::Lost(damage) => {
                    let mut loss = Loss::new(LossKind::Vertices, damage.problem.clone()).at(&damage);
                    loss.label = Some(changes.names.catalogue.label_name(group.label).to_string());
                    loss.vertices = Some(ids(group.id, group.rows));
                    let (body, _) = vertices.put(group.id, VertexBody::empty(), changes, Timestamp::ZERO);
                    let count_max = u64::from(group.rows) - body.items() as u64;
                    if count_max == 0 {
                        loss.kind = LossKind::Nothing;
                    }
                    loss.count_max = Some(count_max);
                    losses.push(loss);
                    continue;
                }
            };
            vertices.known.insert(group.id, base.max(through));
            let Partial { body, lost } =
                partial.unwrap_or(Partial { body: VertexBody::empty(), lost: Vec::new() });
            let (body, unknown) = vertices.put(group.id, body, changes, base);
            if unknown > 0 {
                losses.push(Loss {
                    label: Some(changes.names.catalogue.label_name(group.label).to_string()),
                    vertices: Some(ids(group.id, group.rows)),
                    count: Some(unknown),
                    ..Loss::new(LossKind::Vertices, "the log changes some of them, and the others are lost")
                });
            }
            for column in lost {
                let Some(Damage { file, .. }) = &damage else { continue };
                let mut loss = Loss::new(
                    LossKind::VertexProperty,
                    "its values are damaged, except newer ones from the log",
                );
                loss.file = Some(file.clone());
                loss.offset = Some(column.range.start);
                loss.length = Some(column.range.end - column.range.start);
                loss.label = Some(changes.names.catalogue.label_name(group.label).to_string());
                loss.vertices = Some(ids(group.id, group.rows));
                loss.property = column.key.map(|key| changes.names.catalogue.key_name(key).to_string());
                loss.count_max = column.key.map(|key| {
                    let has = |row: &u16| body.is_alive(*row) && body.property(*row, key).is_none();
                    (0..group.rows).filter(has).count() as u64
                });
                losses.push(loss);
            }
        }
        Ok(vertices)
    }

    /// The body of `group` with the changes after `base` on it; and how many vertices were left out, since the
    /// log changes them and nothing says what they were: half of one isn't brought back.
    fn put(
        &mut self,
        group: GroupId,
        body: VertexBody,
        changes: &Changes,
        base: Timestamp,
    ) -> (&VertexBody, u64) {
        let mut nets = changes.vertices(group, base);
        let count = nets.len();
        nets.retain(|net| !matches!(net.effect, Effect::Changed(_)) || body.is_alive(net.key.row()));
        let unknown = (count - nets.len()) as u64;
        let body = if nets.is_empty() { body } else { body.merged(&nets) };
        self.bodies.insert(group, body);
        (&self.bodies[&group], unknown)
    }

    /// Whether `vertex` lives, as far as is known.
    #[must_use]
    pub fn is_alive(&self, vertex: VertexId) -> bool {
        self.bodies.get(&vertex.group()).is_some_and(|body| body.is_alive(vertex.row()))
    }

    /// Through which commit it is known who lives in `group`; `None` if that is lost.
    #[must_use]
    pub fn known(&self, group: GroupId) -> Option<Timestamp> {
        self.known.get(&group).copied()
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
