//! Sides: the lists of one type and side in one group, from bodies and log.
//!
//! ```text
//! parts    group's own  known through 90     rows without a part of their own
//!          hub row 7    lost                 but for what the log says of its edges
//!          hub row 9    known through 90
//!          hub row 12   known through 70     runs beside its body are lost; but for what is newer says of its edges
//! body     all their edges together
//! ```

use std::collections::{BTreeMap, BTreeSet};

use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{Direction, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;

use crate::body::Body;
use crate::body_form::StableForm;
use crate::edge_body::EdgeBody;
use crate::edge_subject::EdgeSubject;
use crate::net::Effect;
use crate::salvage::changes::{Changes, followed_by, settle};
use crate::salvage::finding::{BodyFinding, FoundBodies, FoundBody, LostColumn, LostRuns, Partial};
use evergraph_storage::record::RecordKey;
use evergraph_storage::salvage::loss::{Damage, IdRange, ids};

/// The lists of one segment: a group's own, or a hub's.
#[derive(Debug)]
pub struct Part {
    /// The hub's row.
    pub row: Option<u16>,
    /// Through which commit its lists are known, but for what [`Part::known_of`] says of single edges; `None` if they are
    /// lost.
    pub known: Option<Timestamp>,
    /// Where its body lies, and what is wrong with it if it is lost; `None` if there never was one.
    pub damage: Option<Damage>,
    /// Columns that don't verify; how many edges have no value of that property now, if it can be named.
    pub lost: Vec<(LostColumn, Option<u64>)>,
    /// Edges with some properties known from the log, and the others lost.
    pub incomplete: u64,
    /// Runs beside its body that are lost.
    pub lost_runs: Option<LostRuns>,
    /// Of a part with something lost: the edges of which runs or commits speak that are newer.
    decided: BTreeSet<RecordKey>,
}

impl Part {
    fn new(row: Option<u16>, known: Option<Timestamp>) -> Self {
        let (damage, lost, incomplete, lost_runs) = (None, Vec::new(), 0, None);
        Self { row, known, damage, lost, incomplete, lost_runs, decided: BTreeSet::new() }
    }

    /// Through which commit it is known whether an edge is there: all of the log, `through`, if it or a run speaks of the
    /// edge after all that is lost here.
    #[must_use]
    pub fn known_of(&self, key: RecordKey, through: Timestamp) -> Option<Timestamp> {
        if self.decided.contains(&key) { Some(through) } else { self.known }
    }

    /// Whether it may lack edges, and have others that were deleted.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.known.is_none() || self.lost_runs.is_some()
    }
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
            let mut part = Part::new(row, Some(through));
            let (mut body, mut base, mut lost) = (EdgeBody::empty(), Timestamp::ZERO, Vec::new());
            let mut newer = Vec::new();
            match bodies.edges(group, subject, row) {
                BodyFinding::Nothing => {}
                BodyFinding::Lost(damage, runs) => {
                    (part.known, part.damage) = (None, Some(damage));
                    (part.lost_runs, newer) = (runs.lost, runs.newer);
                }
                BodyFinding::Some(FoundBody { partial, base: exact_at, damage, runs }) => {
                    (part.lost_runs, newer) = (runs.lost, runs.newer);
                    match misplaced(&partial.body, row, &hubs) {
                        None => {
                            // Commits between the body and the log are missing where runs are lost.
                            let is_whole = part.lost_runs.is_none();
                            part.known = Some(if is_whole { exact_at.max(through) } else { exact_at });
                            part.damage = Some(damage);
                            base = exact_at;
                            Partial { body, lost } = partial;
                        }
                        Some(problem) => {
                            (part.known, part.damage) = (None, Some(Damage { problem, ..damage }));
                        }
                    }
                }
            }
            if direction == Direction::In {
                // None are written there; should some lie there, the out side has what counts.
                body = body.with_columns(Vec::new());
            }
            let is_own = |asked: u16| match row {
                Some(hub) => asked == hub,
                None => hubs.binary_search(&asked).is_err(),
            };
            newer.retain(|net| is_own(net.key.row()));
            let nets = changes.edges(edge_type, direction, group, |row| is_own(row).then_some(base));
            let mut nets = followed_by(newer, nets);
            if part.is_in_doubt() {
                part.decided = nets.iter().map(|net| net.key).collect();
            }
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
