//! Build: the segments that a bulk load creates and changes, until they are installed.

use crate::group::{Group, GroupTable};
use crate::load::bodies::{Builder, BuiltBodies};
use crate::load::extend::{ChangedVertices, Extension, install};
use crate::segment::version::Version;
use crate::segments::Segments;
use crate::view::MemoryView;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::durable_engine::{LoadPlan, OnLoadProgress};
use std::sync::Arc;

/// What a load displaced; freed outside the latch.
#[derive(Debug, Default)]
pub struct DisplacedByLoad {
    /// Of segments of edges.
    pub edges: Vec<Arc<Version<EdgeBody>>>,
    /// Of segments of vertices.
    pub vertices: Vec<Arc<Version<VertexBody>>>,
}

/// A load that is built, and not installed yet.
#[derive(Debug)]
pub struct BuiltLoad {
    /// New groups, ascending.
    groups: Vec<Arc<Group>>,
    /// What becomes of segments that are there.
    extensions: Vec<Extension>,
    /// What becomes of vertices that are there.
    changed: Vec<ChangedVertices>,
    /// Its new groups, and of groups that are there the new out edges of indexed types: for index checks.
    staged: GroupTable,
}

impl BuiltLoad {
    /// Builds a load into `segments`.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new(segments: &Segments, plan: &LoadPlan<'_>, progress: &mut OnLoadProgress<'_>) -> Result<Self> {
        let BuiltBodies { groups, extensions, changed, added } =
            Builder { plan, segments }.build(progress)?;
        let groups: Vec<Arc<Group>> = groups.into_iter().map(Arc::new).collect();
        // Into the table alone: segments that attach them also list what they keep, once each.
        let staged = GroupTable::default();
        for group in groups.iter().cloned().chain(added.into_iter().map(Arc::new)) {
            staged.insert(group);
        }
        Ok(Self { groups, extensions, changed, staged })
    }

    /// What index checks read.
    #[must_use]
    pub fn view(&self, timestamp: Timestamp) -> MemoryView<'_> {
        MemoryView::new(&self.staged, timestamp)
    }

    /// Makes it real. Under the latch, before its timestamp is published; what was displaced is to be dropped
    /// after it.
    #[must_use]
    pub fn install(&self, segments: &Segments, timestamp: Timestamp) -> DisplacedByLoad {
        self.groups.iter().for_each(|group| segments.attach(Arc::clone(group)));
        let edges = install(segments, timestamp, &self.extensions);
        let vertices = self.changed.iter().map(|changed| changed.install(segments)).collect();
        DisplacedByLoad { edges, vertices }
    }
}
