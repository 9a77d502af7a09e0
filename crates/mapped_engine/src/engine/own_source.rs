//! Own source: where snapshots of the process that writes find segments: in its heap; in `live` what is older, and hubs.

use crate::engine::groups::{GroupTable, segment_about};
use crate::group::SegmentSubject;
use crate::view::layer::Layer;
use crate::view::source::{LiveSource, SegmentSource, segment_id};
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;

/// The segments of the process that writes.
#[derive(Debug)]
pub struct OwnSource {
    groups: Arc<GroupTable>,
    shared: LiveSource,
}

impl OwnSource {
    /// Those of `groups`, which `shared` has as well.
    #[must_use]
    pub fn new(groups: Arc<GroupTable>, shared: LiveSource) -> Self {
        Self { groups, shared }
    }
}

impl SegmentSource for OwnSource {
    fn group_count(&self) -> u32 {
        self.shared.group_count()
    }

    fn label(&self, group: GroupId) -> Result<Option<LabelId>> {
        Ok(self.groups.get(group).map(|group| group.label))
    }

    fn subjects(&self, group: GroupId) -> Result<Vec<SegmentSubject>> {
        self.shared.subjects(group)
    }

    fn layer(
        &self,
        group: GroupId,
        subject: SegmentSubject,
        timestamp: Timestamp,
    ) -> Result<Option<Layer<'_>>> {
        let Some(own) = self.groups.get(group) else { return Ok(None) };
        let segments = own.segments();
        let Some(segment) = segment_about(&segments, subject) else { return Ok(None) };
        let id = segment_id(group, subject);
        match segment.present(timestamp) {
            Some(present) => {
                let body = present.body(|version| self.shared.body(id, version))?;
                Ok(Some(self.shared.layer_of(id, body, *present.version(), timestamp)))
            }
            None => self.shared.layer(group, subject, timestamp),
        }
    }

    fn hub<'a>(&'a self, layer: &Layer<'a>, row: u16, timestamp: Timestamp) -> Result<Option<Layer<'a>>> {
        self.shared.hub(layer, row, timestamp)
    }

    fn hub_rows(&self, layer: &Layer<'_>) -> Result<Vec<u16>> {
        self.shared.hub_rows(layer)
    }
}
