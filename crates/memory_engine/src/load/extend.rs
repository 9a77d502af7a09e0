//! Extend: adds a load's edges to vertices that the database already has, and changes these vertices' properties.
//!
//! ```text
//! settle    each segment that gets edges, or has vertices that change, is merged until its body is all there is, exact at W
//! build     its body and the new edges or changes in one, off the latch; rows that outgrow it become hubs
//! install   under the latch, over the body that older snapshots go on reading
//! ```
//!
//! Between settling and installing nothing changes: the gate keeps commits out, and a merge without
//! records does nothing.

use crate::group::Group;
use crate::segment::version::{Hub, Layer, Segment, Version};
use crate::segments::Segments;
use evergraph_bodies::body::Body;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::load::sorter::LoadTarget;
use evergraph_bodies::net::{Effect, Net};
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GroupId, VertexId};
use evergraph_graph::load::VertexChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::RecordKey;
use std::sync::Arc;

/// What becomes of one segment that is there.
#[derive(Debug)]
pub struct Extension {
    segment: Arc<Segment<EdgeBody>>,
    /// `None` if only hubs of the segment change.
    layer: Option<Layer<EdgeBody>>,
}

impl LoadTarget for Segments {
    type Present = Arc<EdgeBody>;

    fn has_group(&self, group: GroupId) -> bool {
        self.groups().get(group).is_some()
    }

    fn settle(&self, group: GroupId, subject: EdgeSubject) -> Result<()> {
        let segment = self.groups().get(group).and_then(|group| group.edge_segment(subject));
        let Some(segment) = segment else { return Ok(()) };
        Segments::settle(self, &segment);
        let hubs = Arc::clone(&segment.load().layer.hubs);
        hubs.iter().for_each(|hub| Segments::settle(self, &hub.segment));
        Ok(())
    }

    fn present(&self, subject: EdgeSubject, vertex: VertexId) -> Result<Option<Arc<EdgeBody>>> {
        let group = self.groups().get(vertex.group());
        let Some(segment) = group.and_then(|group| group.edge_segment(subject)) else { return Ok(None) };
        let version = segment.load();
        Ok(Some(match version.layer.hub(vertex.row()) {
            Some(hub) => Arc::clone(&hub.load().layer.body),
            None => Arc::clone(&version.layer.body),
        }))
    }
}

/// Adds to `extensions` what `added`, which is not empty, makes of the settled segment of `subject` in
/// `group`, exact at `base`.
///
/// # Errors
/// `limit` beyond 2^32 - 1 edges in one body.
pub fn extend(
    group: &Group,
    subject: EdgeSubject,
    added: &EdgeBody,
    base: Timestamp,
    extensions: &mut Vec<Extension>,
) -> Result<()> {
    let segment = group.edge_segment_or_new(subject);
    let before = segment.load_full().layer.clone();
    let mut of_hubs = Vec::new();
    if !before.hubs.is_empty() {
        added.for_each_row(|row, range| {
            if before.hub(row).is_some() {
                of_hubs.push((row, range));
            }
        });
    }
    let rest;
    let (added, of_hubs) = if of_hubs.is_empty() {
        (added, Vec::new())
    } else {
        let (own, of_hubs) = added.split(of_hubs);
        rest = own;
        (&rest, of_hubs)
    };
    for (row, added) in of_hubs {
        let segment = Arc::clone(before.hub(row).expect("looked up above"));
        let body = united(&segment.load().layer.body, &added)?;
        extensions.push(Extension { segment, layer: Some(Layer::of_body(base, body, Arc::from([]))) });
    }
    let layer = if added.items() == 0 {
        None
    } else {
        let (body, new_hubs) = united(&before.body, added)?.split_hubs();
        let new_hubs = new_hubs
            .into_iter()
            .map(|(row, body)| Hub { row, segment: Arc::new(Segment::of_load(base, body)) });
        let mut hubs: Vec<Hub<EdgeBody>> = before.hubs.iter().cloned().chain(new_hubs).collect();
        hubs.sort_unstable_by_key(|hub| hub.row);
        Some(Layer::of_body(base, body, hubs.into()))
    };
    extensions.push(Extension { segment, layer });
    Ok(())
}

/// Vertices of one group that a load changes.
#[derive(Debug)]
pub struct ChangedVertices {
    segment: Arc<Segment<VertexBody>>,
    layer: Layer<VertexBody>,
}

/// What `changes`, of vertices of one group that are there, make of its segment, exact at `base`; settles it first. At least
/// one, ascending by vertex, one entry each.
pub fn change(segments: &Segments, changes: &[VertexChange], base: Timestamp) -> ChangedVertices {
    let group = segments.groups().get(changes[0].vertex.group()).expect("its vertices are there");
    let segment = Arc::clone(&group.vertices);
    segments.settle(&segment);
    let net = |change: &VertexChange| Net {
        key: RecordKey::vertex(change.vertex.row()),
        effect: Effect::Changed(change.properties.clone()),
        difference: 0,
    };
    let nets: Vec<Net> = changes.iter().map(net).collect();
    let body = segment.load().layer.body.merged(&nets);
    ChangedVertices { segment, layer: Layer::of_body(base, body, Arc::from([])) }
}

impl ChangedVertices {
    /// Makes it real: see [`install`].
    #[must_use]
    pub fn install(&self, segments: &Segments) -> Arc<Version<VertexBody>> {
        segments.change_over(&self.segment, self.layer.clone())
    }
}

/// Both bodies in one; bodies count their edges in 32 bits.
fn united(before: &EdgeBody, added: &EdgeBody) -> Result<EdgeBody> {
    check_count(before.items() as u64 + added.items() as u64)?;
    Ok(before.united(added))
}

fn check_count(edges: u64) -> Result<()> {
    if u32::try_from(edges).is_ok() {
        return Ok(());
    }
    let text =
        format!("{edges} edges of one type at one group of 4,096 vertices or one hub; at most 2^32 - 1 fit");
    Err(Error::new(ErrorKind::Limit, text))
}

/// Makes extensions real. Under the latch, before their timestamp is published; what was displaced is
/// to be dropped after it.
#[must_use]
pub fn install(
    segments: &Segments,
    timestamp: Timestamp,
    extensions: &[Extension],
) -> Vec<Arc<Version<EdgeBody>>> {
    let mut displaced = Vec::with_capacity(extensions.len());
    for Extension { segment, layer } in extensions {
        match layer {
            Some(layer) => displaced.push(segments.load_over(segment, layer.clone())),
            None => segment.hub_changed(timestamp),
        }
    }
    displaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_a_body_cannot_count_are_refused() {
        assert!(check_count(u64::from(u32::MAX)).is_ok());
        assert_eq!(check_count(1 << 32).unwrap_err().kind(), ErrorKind::Limit);
    }
}
