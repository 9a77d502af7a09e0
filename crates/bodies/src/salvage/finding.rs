//! Finding: what is there of the bodies of a damaged database, however an engine stores them.

use crate::edge_body::EdgeBody;
use crate::edge_subject::EdgeSubject;
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

/// What is there of one segment's body.
pub enum BodyFinding<B> {
    /// Nothing was ever stored: it was empty.
    Nothing,
    /// What verifies, exact at a commit, and where it lies.
    Some(Partial<B>, Timestamp, Damage),
    /// Something was stored, and nothing of it verifies.
    Lost(Damage),
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
