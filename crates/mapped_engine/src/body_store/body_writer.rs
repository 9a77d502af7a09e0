//! Body writer: bodies of the heap, and their columns, as extents.

use crate::body_store::column_table::{ColumnEntry, empty_table, put_table};
use crate::body_store::extent_bytes::ExtentBytes;
use crate::body_store::stored_body::{CheckedArrays, StoredBody, StoredColumns};
use crate::body_store::stored_column::StoredColumn;
use crate::entries::entry_body::{EntryStarts, length_byte};
use crate::extents::header::{ExtentHeader, ExtentKind};
use crate::extents::table::Extents;
use crate::files::segment_id::SegmentId;
use evergraph_bodies::body::Body;
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::body_ref::edges::ListLayout;
use evergraph_bodies::body_ref::vertices::VertexBodyRef;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::column::PackedColumn;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::column_form::put_column;
use evergraph_storage::checkpoint::error::CheckpointError;
use std::sync::Arc;

/// Finds the stored form of a column that is as it was, if it is.
pub type KeptColumn<'a> = &'a dyn Fn(KeyId, &Arc<PackedColumn>) -> Option<Arc<StoredColumn>>;

/// Writes a body of one segment, exact at a base.
#[derive(Clone, Copy, Debug)]
pub struct BodyWriter<'a> {
    /// Where it goes.
    pub extents: &'a Extents,
    /// The segment.
    pub segment: SegmentId,
    /// The base.
    pub base: Timestamp,
}

impl BodyWriter<'_> {
    /// Writes lists and the columns that are not `kept`.
    ///
    /// Cost: a look at every list, to check it; a copy in memory of the lists, and of one column at a time; and for each extent a
    /// write for each of its parts ([`Extents::write`]).
    ///
    /// # Errors
    /// `limit` on a full disk, and what the system says; `corrupt` for a body that is not sound, which is an error of ours.
    pub fn edges(&self, body: &EdgeBody, kept: KeptColumn<'_>, more: StoredColumns) -> Result<StoredBody> {
        body.check().map_err(|problem| self.unsound(&problem))?;
        if body.items() == 0 {
            return Ok(StoredBody::empty());
        }
        let mut payload = Vec::new();
        body.lists().put(&mut payload);
        let layout = ListLayout::of(&body.lists());
        let highest = body.neighbors().iter().max().copied();
        let checked = CheckedArrays::Edges { bytes: payload.len(), layout, highest };
        self.write(payload, checked, body.columns(), kept, more)
    }

    /// The same of vertices.
    ///
    /// # Errors
    /// As [`BodyWriter::edges`].
    pub fn vertices(&self, body: &VertexBody, kept: KeptColumn<'_>) -> Result<StoredBody> {
        body.check().map_err(|problem| self.unsound(&problem))?;
        if body.items() == 0 && body.columns().is_empty() {
            return Ok(StoredBody::empty());
        }
        let mut payload = Vec::new();
        VertexBodyRef::new(body.live()).put(&mut payload);
        let checked = CheckedArrays::Vertices { bytes: payload.len() };
        self.write(payload, checked, body.columns(), kept, Vec::new())
    }

    /// The same of the entries of an index, `entries_max` at most, which `walk` gives twice: to find their starts, and to write
    /// them. And how many there are.
    ///
    /// Cost: two walks, and a write for each part of the extent. In memory are the starts: [`EntryStarts::memory_bytes`] of
    /// `entries_max`, which is the caller's to reserve.
    ///
    /// # Errors
    /// `limit` on a full disk, and what the system says; `corrupt` if an entry cannot be read, or if the second walk gives others
    /// than the first.
    pub fn entries<'e, W>(
        &self,
        entries_max: u64,
        walk: impl Fn() -> Result<W>,
    ) -> Result<(StoredBody, usize)>
    where
        W: Iterator<Item = std::result::Result<&'e [u8], String>>,
    {
        let damaged = |problem: String| {
            Error::new(ErrorKind::Corrupt, format!("{} cannot be read: {problem}", self.segment))
        };
        let mut starts = EntryStarts::new(entries_max);
        for entry in walk()? {
            starts.push(entry.map_err(damaged)?);
        }
        let (count, arrays_bytes) = (starts.count(), starts.arrays_bytes());
        if count == 0 {
            return Ok((StoredBody::empty(), 0));
        }
        let table = empty_table(arrays_bytes);
        let payload_bytes = arrays_bytes + table.len() as u64;
        let header = self.header(ExtentKind::IndexBody);
        // Starts lie before the entries, which are never in memory together: so there are two walks. Both give the same: the
        // caller holds the body that they read, whose extent nobody writes meanwhile, and what changes it is memory of its own.
        // If its bytes change all the same, other lengths are refused here, and who merges verifies the body once more.
        let written = self.extents.write_in_pieces(header, payload_bytes, |writer| {
            writer.put(&starts.finish())?;
            for entry in walk().map_err(CheckpointError::Refused)? {
                let entry = entry.map_err(damaged).map_err(CheckpointError::Refused)?;
                writer.put(&[length_byte(entry)])?;
                writer.put(entry)?;
            }
            writer.put(&table)
        });
        let extent = written.map_err(|error| match error {
            CheckpointError::Unsound { problem, .. } => self.unsound(&problem),
            error => error.into(),
        })?;
        let checked = CheckedArrays::Entries { bytes: arrays_bytes as usize };
        Ok((StoredBody::written(extent, Vec::new(), checked), count as usize))
    }

    fn write(
        &self,
        mut payload: Vec<u8>,
        checked: CheckedArrays,
        columns: &[(KeyId, Arc<PackedColumn>)],
        kept: KeptColumn<'_>,
        more: StoredColumns,
    ) -> Result<StoredBody> {
        let mut stored = more;
        for (key, column) in columns {
            let column = match kept(*key, column) {
                Some(kept) => kept,
                None => Arc::new(self.column(column)?),
            };
            stored.push((*key, column));
        }
        stored.sort_by_key(|column| column.0);
        let entry = |(key, column): &(KeyId, Arc<StoredColumn>)| ColumnEntry {
            key: *key,
            base: column.base(),
            place: column.extent().place(),
        };
        let entries: Vec<ColumnEntry> = stored.iter().map(entry).collect();
        put_table(&mut payload, &entries).map_err(|problem| Error::new(ErrorKind::Limit, problem))?;
        let extent = self.extents.write(self.header(ExtentKind::Body), &payload)?;
        Ok(StoredBody::written(extent, stored, checked))
    }

    fn column(&self, column: &PackedColumn) -> Result<StoredColumn> {
        let mut payload = Vec::new();
        put_column(&mut payload, column);
        let extent = self.extents.write(self.header(ExtentKind::Column), &payload)?;
        Ok(StoredColumn::new(ExtentBytes::Own(extent), self.base))
    }

    fn header(&self, kind: ExtentKind) -> ExtentHeader {
        ExtentHeader { kind, segment: self.segment.number(), base: self.base }
    }

    fn unsound(&self, problem: &str) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!("a body of {} was built wrong: {problem}; please report this", self.segment),
        )
    }
}
