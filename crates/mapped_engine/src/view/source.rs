//! Segment source: where a view finds groups and segments.

use crate::body_store::body_table::BodySource;
use crate::body_store::stored_body::StoredBody;
use crate::files::segment_id::{INDEXES, SegmentId};
use crate::group::{SegmentSubject, SharedGroup};
use crate::live::Live;
use crate::live_snapshot::LiveSnapshot;
use crate::version::SegmentVersion;
use crate::view::layer::Layer;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use std::fmt::Debug;
use std::sync::Arc;

/// What the vertices of a group are, as a subject.
pub const VERTICES: SegmentSubject = SegmentSubject(0);

/// The subject of edges of a type, on a plain side.
#[must_use]
pub fn edges(edge_type: TypeId, side: Direction) -> SegmentSubject {
    SegmentSubject(1 + (u32::from(edge_type.0) << 1 | u32::from(side == Direction::In)))
}

/// The segment about `subject` in a group.
#[must_use]
pub fn segment_id(group: GroupId, subject: SegmentSubject) -> SegmentId {
    if group == INDEXES {
        return SegmentId::index(subject.0).expect("indexes have such numbers alone");
    }
    match type_and_side(subject) {
        None => SegmentId::vertices(group),
        Some((edge_type, side)) => SegmentId::edges(group, edge_type, side),
    }
}

/// Type and side of a subject, if it is about edges.
#[must_use]
pub fn type_and_side(subject: SegmentSubject) -> Option<(TypeId, Direction)> {
    let number = subject.0.checked_sub(1)?;
    let side = if number & 1 == 0 { Direction::Out } else { Direction::In };
    Some((TypeId((number >> 1) as u16), side))
}

/// Where segments are found.
///
/// # Errors
/// `corrupt` if what is shared, or a body, is damaged.
pub trait SegmentSource: Send + Sync + Debug {
    /// One more than the highest group.
    fn group_count(&self) -> u32;

    /// The label of a group, if it is there.
    fn label(&self, group: GroupId) -> Result<Option<LabelId>>;

    /// What the segments of a group are about, ascending.
    fn subjects(&self, group: GroupId) -> Result<Vec<SegmentSubject>>;

    /// What a snapshot sees of a segment; `None` if there was none.
    fn layer(
        &self,
        group: GroupId,
        subject: SegmentSubject,
        timestamp: Timestamp,
    ) -> Result<Option<Layer<'_>>>;

    /// The layer that `row` has to itself, if it is a hub in this one.
    fn hub<'a>(&'a self, layer: &Layer<'a>, row: u16, timestamp: Timestamp) -> Result<Option<Layer<'a>>>;

    /// The rows that are hubs in a layer, ascending.
    fn hub_rows(&self, layer: &Layer<'_>) -> Result<Vec<u16>>;
}

/// What processes share.
#[derive(Debug)]
pub struct LiveSource {
    live: Arc<Live>,
    bodies: Arc<dyn BodySource>,
}

impl LiveSource {
    /// The segments in `live`, whose bodies are in `bodies`.
    #[must_use]
    pub fn new(live: Arc<Live>, bodies: Arc<dyn BodySource>) -> Self {
        Self { live, bodies }
    }

    fn of_version(
        &self,
        segment: SegmentId,
        version: SegmentVersion,
        timestamp: Timestamp,
    ) -> Result<Option<Layer<'_>>> {
        let body = self.body(segment, &version)?;
        Ok(Some(self.layer_of(segment, body, version, timestamp)))
    }

    /// The body of a version that a snapshot needs.
    pub(crate) fn body(&self, segment: SegmentId, version: &SegmentVersion) -> Result<Arc<StoredBody>> {
        self.bodies.body(segment, version.base, version.body)
    }

    /// What a snapshot sees of a segment whose version and body are known.
    pub(crate) fn layer_of(
        &self,
        segment: SegmentId,
        body: Arc<StoredBody>,
        version: SegmentVersion,
        timestamp: Timestamp,
    ) -> Layer<'_> {
        Layer::new(segment, body, self.live.words(), version, timestamp)
    }
}

impl SegmentSource for LiveSource {
    fn group_count(&self) -> u32 {
        self.live.group_end()
    }

    fn label(&self, group: GroupId) -> Result<Option<LabelId>> {
        Ok(SharedGroup::find(&self.live, group)?.map(|group| group.label))
    }

    fn subjects(&self, group: GroupId) -> Result<Vec<SegmentSubject>> {
        let group = SharedGroup::find(&self.live, group)?;
        Ok(group.map_or_else(Vec::new, |group| group.subjects().collect()))
    }

    fn layer(
        &self,
        group: GroupId,
        subject: SegmentSubject,
        timestamp: Timestamp,
    ) -> Result<Option<Layer<'_>>> {
        match LiveSnapshot::new(&self.live, timestamp).version(group, subject)? {
            Some(version) => self.of_version(segment_id(group, subject), version, timestamp),
            None => Ok(None),
        }
    }

    fn hub<'a>(&'a self, layer: &Layer<'a>, row: u16, timestamp: Timestamp) -> Result<Option<Layer<'a>>> {
        if layer.hubs().is_none() {
            return Ok(None);
        }
        match LiveSnapshot::new(&self.live, timestamp).hub(layer.version(), row)? {
            Some(version) => self.of_version(layer.segment().hub(row), version, timestamp),
            None => Ok(None),
        }
    }

    fn hub_rows(&self, layer: &Layer<'_>) -> Result<Vec<u16>> {
        if layer.hubs().is_none() {
            return Ok(Vec::new());
        }
        LiveSnapshot::new(&self.live, Timestamp::MAX).hub_rows(layer.version())
    }
}
