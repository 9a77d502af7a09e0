//! Finding: what is there of the bodies of a damaged database, however an engine stores them.
//!
//! ```text
//! stored    body 0..90   run 91..93   run ?            run 97..99   log 100..
//! found     body, exact at 93         lost: 94 to 96   newer
//! ```

use crate::edge_body::EdgeBody;
use crate::edge_subject::EdgeSubject;
use crate::net::Net;
use crate::vertex_body::VertexBody;
use evergraph_graph::id::{GroupId, KeyId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::salvage::loss::Damage;
use std::collections::BTreeSet;
use std::ops::Range;

/// A column that doesn't verify; or, if it can't be named, all from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostColumn {
    /// The property.
    pub key: Option<KeyId>,
    /// Its bytes in the file.
    pub range: Range<u64>,
}

/// A body without the columns that don't verify.
#[derive(Clone, Debug, PartialEq)]
pub struct Partial<B> {
    /// What verifies.
    pub body: B,
    /// What doesn't.
    pub lost: Vec<LostColumn>,
}

/// What is there of one segment.
pub enum BodyFinding<B> {
    /// Nothing was ever stored: it was empty.
    Nothing,
    /// A body.
    Some(FoundBody<B>),
    /// A body was stored, and nothing of it verifies: where it lies, and the runs beside it.
    Lost(Damage, FoundRuns),
}

/// A body, and the runs beside it.
pub struct FoundBody<B> {
    /// What verifies, with the records of all runs before the first damaged one.
    pub partial: Partial<B>,
    /// The commit at which it is exact.
    pub base: Timestamp,
    /// Where it lies.
    pub damage: Damage,
    /// The runs from the first damaged one on.
    pub runs: FoundRuns,
}

/// Runs of records that are stored beside a body and are not part of what was found of it. An engine that stores bodies
/// alone has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundRuns {
    /// Runs that don't verify.
    pub lost: Option<LostRuns>,
    /// What the runs behind those come to, ascending by key: they are newer than all that is lost, and the log follows.
    pub newer: Vec<Net>,
}

/// Runs that don't verify. What else is found of their segment is older, or newer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRuns {
    /// The first and the last commit that can have a record in them.
    pub commits: (Timestamp, Timestamp),
    /// Where the first of them lies, and what is wrong.
    pub damage: Damage,
}

/// The bodies of a database that may be damaged.
pub trait FoundBodies {
    /// The body of a group's vertices.
    fn vertices(&self, group: GroupId) -> BodyFinding<VertexBody>;

    /// The body of a group's edges, or of a hub's.
    fn edges(&self, group: GroupId, subject: EdgeSubject, hub: Option<u16>) -> BodyFinding<EdgeBody>;

    /// The groups with a body of `subject`.
    fn groups(&self, subject: EdgeSubject) -> BTreeSet<GroupId>;

    /// The rows of `group` that have a body of their own, ascending.
    fn hubs(&self, group: GroupId, subject: EdgeSubject) -> Vec<u16>;
}
