//! Sides: the lists of one type and side in one group, from bodies and log.
//!
//! ```text
//! parts    group's own  known through 90     rows without a part of their own
//!          hub row 7    lost                 but for what the log says of its edges
//!          hub row 9    known through 90
//! body     all their edges together
//! ```

use std::collections::BTreeMap;

use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{Direction, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;

use crate::body::Body;
use crate::body_form::StableForm;
use crate::edge_body::EdgeBody;
use crate::edge_subject::EdgeSubject;
use crate::net::Effect;
use crate::salvage::changes::{Changes, settle};
use crate::salvage::finding::{BodyFinding, FoundBodies};
use crate::salvage::finding::{LostColumn, Partial};
use evergraph_storage::salvage::loss::{Damage, IdRange, ids};

/// The lists of one segment: a group's own, or a hub's.
#[derive(Debug)]
pub struct Part {
    /// The hub's row.
    pub row: Option<u16>,
    /// Through which commit its lists are known; `None` if they are lost.
    pub known: Option<Timestamp>,
    /// Where its body lies, and what is wrong with it if it is lost; `None` if there never was one.
    pub damage: Option<Damage>,
    /// Columns that don't verify; how many edges have no value of that property now, if it can be named.
    pub lost: Vec<(LostColumn, Option<u64>)>,
    /// Edges with some properties known from the log, and the others lost.
    pub incomplete: u64,
}

/// The sides of one type and direction, by group.
pub type Sides = BTreeMap<GroupId, Side>;

/// The lists of one type and side in one group.
#[derive(Debug)]
pub struct Side {
    /// The group.
    pub group: GroupId,
    /// The group's own part, then hubs, ascending.
    pub parts: Vec<Part>,
    /// The edges of all parts.
    pub body: EdgeBody,
}

impl Side {
    /// Reads all parts and puts the log on them.
    #[must_use]
    pub fn gather(
        bodies: &dyn FoundBodies,
        changes: &Changes,
        group: GroupId,
        edge_type: TypeId,
        direction: Direction,
        through: Timestamp,
    ) -> Self {
        let subject = EdgeSubject::new(edge_type, direction);
        let hubs = bodies.hubs(group, subject);
        let keys = changes.names.catalogue.properties_of(Owner::EdgeType(edge_type));
        let keys: Vec<KeyId> = keys.map(|(key, _)| key).collect();
        let mut side = Self { group, parts: Vec::new(), body: EdgeBody::empty() };
        for row in [None].into_iter().chain(hubs.iter().copied().map(Some)) {
            let found = bodies.edges(group, subject, row);
            let (mut body, base, mut part, lost) = match found {
                BodyFinding::Nothing => {
                    (EdgeBody::empty(), Timestamp::ZERO, part(row, Some(through), None), Vec::new())
                }
                BodyFinding::Lost(damage) => {
                    (EdgeBody::empty(), Timestamp::ZERO, part(row, None, Some(damage)), Vec::new())
                }
                BodyFinding::Some(Partial { body, lost }, base, damage) => match misplaced(&body, row, &hubs)
                {
                    None => (body, base, part(row, Some(base.max(through)), Some(damage)), lost),
                    Some(problem) => {
                        let damage = Damage { problem, ..damage };
                        (EdgeBody::empty(), Timestamp::ZERO, part(row, None, Some(damage)), Vec::new())
                    }
                },
            };
            if direction == Direction::In {
                // None are written there; should some lie there, the out side has what counts.
                body = body.with_columns(Vec::new());
            }
            let is_own = |asked: u16| match row {
                Some(hub) => asked == hub,
                None => hubs.binary_search(&asked).is_err(),
            };
            let mut nets = changes.edges(edge_type, direction, group, |row| is_own(row).then_some(base));
            for net in &mut nets {
                let is_complete = |changes: &Properties| keys.iter().all(|key| changes.get(*key).is_some());
                let is_whole = matches!(&net.effect, Effect::Changed(changes) if is_complete(changes));
                part.incomplete += u64::from(settle(net, body.find(net.key).is_some()) && !is_whole);
            }
            // On the in side a new value says nothing but that the edge is there.
            nets.retain(|net| net.effect != Effect::Changed(Properties::EMPTY));
            let body = if nets.is_empty() { body } else { body.merged(&nets) };
            part.lost =
                lost.into_iter().map(|column| (column.clone(), without_value(&body, &column))).collect();
            side.body = match side.body.items() {
                0 => body,
                _ => side.body.united(&body),
            };
            side.parts.push(part);
        }
        side
    }

    /// The part that a row belongs to.
    #[must_use]
    pub fn part(&self, row: u16) -> usize {
        match self.parts[1..].binary_search_by_key(&Some(row), |part| part.row) {
            Ok(at) => at + 1,
            Err(_) => 0,
        }
    }

    /// The vertices of a part; the group's own one may lack some in between.
    #[must_use]
    pub fn ids(&self, part: &Part, changes: &Changes) -> IdRange {
        match part.row {
            Some(row) => (VertexId::new(self.group, row), VertexId::new(self.group, row)),
            None => ids(self.group, changes.names.groups.get(&self.group).map_or(1, |group| group.rows)),
        }
    }
}

fn part(row: Option<u16>, known: Option<Timestamp>, damage: Option<Damage>) -> Part {
    Part { row, known, damage, lost: Vec::new(), incomplete: 0 }
}

/// How many edges of `body` have no value of the property of a lost column; `None` if it can't be named.
fn without_value(body: &EdgeBody, lost: &LostColumn) -> Option<u64> {
    let column = body.column(lost.key?);
    let has_none = |at: &usize| column.is_none_or(|column| column.get(*at).is_none());
    Some((0..body.items()).filter(has_none).count() as u64)
}

/// What is wrong with a body that has edges of rows that aren't its own.
fn misplaced(body: &EdgeBody, row: Option<u16>, hubs: &[u16]) -> Option<String> {
    let is_own = match row {
        Some(row) => body.range(row).len() == body.items(),
        None => hubs.iter().all(|hub| body.range(*hub).is_empty()),
    };
    (!is_own).then(|| "edges of its own rows expected, found others".to_owned())
}
