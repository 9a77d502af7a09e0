//! New files: the bodies of a graph that is converted or salvaged, as array files that a manifest names.

use crate::body_store::body_writer::BodyWriter;
use crate::body_store::stored_body::{StoredBody, StoredColumns};
use crate::checkpoint::ledger::{Ledger, LedgerEntry};
use crate::engine::mapped_engine::MappedEngine;
use crate::extents::table::{ExtentOptions, Extents, Reuse};
use crate::files::segment_id::SegmentId;
use evergraph_bodies::body::Body;
use evergraph_bodies::body_sink::BodySink;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::{Manifest, StoredGroup};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::new_database::NewDatabase;
use std::sync::Arc;

/// The array files of a database that is being written.
#[derive(Debug)]
pub struct NewFiles {
    extents: Extents,
    ledger: Ledger<Arc<StoredBody>>,
}

impl NewFiles {
    /// None yet, in `directory`, which has no array files; every body is exact at `at`, and the next commit comes after it.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(directory: &Arc<dyn Directory>, at: Timestamp) -> Result<Self> {
        let options = ExtentOptions::default();
        let (extents, _) = Extents::open(Arc::clone(directory), options, [], Reuse::Allowed)?;
        Ok(Self { extents, ledger: Ledger { covered_through: at, ..Ledger::empty() } })
    }

    fn writer(&self, segment: SegmentId) -> BodyWriter<'_> {
        BodyWriter { extents: &self.extents, segment, base: self.ledger.covered_through }
    }

    fn put(&mut self, id: SegmentId, items: usize, body: StoredBody) {
        let body = body.extent().is_some().then(|| Arc::new(body));
        let entry = LedgerEntry::new((self.ledger.covered_through, items as u64), body, Vec::new());
        self.ledger.segments.insert(id, entry);
    }

    fn put_edges(&mut self, id: SegmentId, body: &EdgeBody) -> Result<()> {
        let stored = self.writer(id).edges(body, &|_, _| None, StoredColumns::new())?;
        self.put(id, body.items(), stored);
        Ok(())
    }

    /// The manifest of a database of them, which are synced, and their bytes.
    ///
    /// # Errors
    /// `corrupt` if the parts don't fit together; `limit`, `io`.
    pub fn into_manifest(self, catalogue: Catalogue, groups: Vec<StoredGroup>) -> Result<(Manifest, u64)> {
        self.extents.sync()?;
        let at = self.ledger.covered_through;
        let mut manifest = Manifest {
            covered_through: at,
            need: at,
            next_file: self.extents.next_number(),
            catalogue,
            groups,
            has_end_file: true,
            ..Manifest::empty(MappedEngine::NAME, Vec::new())
        };
        self.ledger.section(self.extents.unit()).put_into(&mut manifest)?;
        let statistics = self.extents.statistics();
        Ok((manifest, statistics.file_bytes - statistics.free_bytes))
    }

    /// Makes `database`, in whose directory they lie, a database of them. Bytes written.
    ///
    /// # Errors
    /// As [`NewFiles::into_manifest`].
    pub fn finish(
        self,
        database: NewDatabase<'_>,
        catalogue: Catalogue,
        groups: Vec<StoredGroup>,
    ) -> Result<u64> {
        let (manifest, bytes) = self.into_manifest(catalogue, groups)?;
        Ok(bytes + database.finish(&manifest)?)
    }
}

impl BodySink for NewFiles {
    fn vertices(&mut self, group: GroupId, body: &VertexBody) -> Result<()> {
        if body.items() > 0 {
            let id = SegmentId::vertices(group);
            let stored = self.writer(id).vertices(body, &|_, _| None)?;
            self.put(id, body.items(), stored);
        }
        Ok(())
    }

    fn edges(&mut self, group: GroupId, edge_type: TypeId, side: Direction, body: EdgeBody) -> Result<()> {
        if body.items() == 0 {
            return Ok(());
        }
        let id = SegmentId::edges(group, edge_type, side);
        if side == Direction::In && !body.columns().is_empty() {
            let problem = "lists of the in side without properties expected".to_owned();
            return Err(CheckpointError::Unsound { what: id.to_string(), problem }.into());
        }
        let (own, hubs) = body.split_hubs();
        self.put_edges(id, &own)?;
        hubs.iter().try_for_each(|(row, hub)| self.put_edges(id.hub(*row), hub))
    }
}
