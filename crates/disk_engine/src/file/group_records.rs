//! Group records: which vertices of a group a file inserts or deletes, and how many edges it adds.
//!
//! The directory knows all of it in memory; pages are read for a reader in the past, who does not see all commits of a
//! stamped file.

use crate::cache::PageWorth;
use crate::file::file_records::FileRecords;
use crate::file::page_reader::VerifiedPage;
use crate::file::page_rounds::visit_pages;
use crate::file::visibility::Visibility;
use crate::format::file_name::PageNumber;
use crate::format::operation::RecordOperation;
use crate::format::page_index::topology::IndexedPage;
use crate::format::subject::Subject;
use crate::format::vertices::VertexPage;
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::id::{GROUP_SIZE, GroupId, VertexId};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::view::GroupBits;

impl<'f> FileRecords<'f> {
    /// The pages that may have records of a subject in a group.
    fn pages_of_group(&self, subject: Subject, group: GroupId) -> &'f [IndexedPage] {
        let (first, last) = ends_of(group);
        let (low, high) = ((first, VertexId(0)), (last, VertexId(u32::MAX)));
        self.file.topology_index.pages_between(subject, low, high)
    }

    fn visit_topology<T: Copy>(
        &self,
        units: impl IntoIterator<Item = (T, PageNumber)>,
        visit: impl FnMut(T, PageNumber, &VerifiedPage) -> CheckpointResult<()>,
    ) -> CheckpointResult<()> {
        visit_pages(&self.file.reader, &self.file.topology, PageWorth::Ordinary, units, visit)
    }

    pub(super) fn apply_vertices(&self, group: GroupId, live: &mut GroupBits) -> CheckpointResult<()> {
        let Some(row) = self.file.directory.row(Subject::VERTICES, group) else { return Ok(()) };
        if self.visibility == Visibility::Everything {
            row.rows.add_to(live);
            row.deleted.remove_from(live);
            return Ok(());
        }
        let pages = self.pages_of_group(Subject::VERTICES, group);
        let (mut records, mut settled) = (Vec::new(), None);
        self.visit_topology(pages.iter().map(|indexed| ((), indexed.page)), |(), number, page| {
            let damaged = |error: DecodeError| self.page_error(number, &error);
            let page = VertexPage::open(page.bytes()).map_err(damaged)?;
            page.decode_into(self.first_ts(), &mut records).map_err(damaged)?;
            for record in &records {
                let vertex = record.vertex;
                // Of the records of one vertex the newest one that is visible counts; it comes first.
                if vertex.group() == group && settled != Some(vertex) && self.visibility.sees(record.stamp) {
                    settled = Some(vertex);
                    set_bit(live, vertex, record.operation != RecordOperation::Delete);
                }
            }
            Ok(())
        })
    }

    /// Inserts minus Deletes in a group, of the commits that are visible.
    pub(super) fn counted_difference(&self, subject: Subject, group: GroupId) -> CheckpointResult<i64> {
        let (first, last) = ends_of(group);
        let pages = self.pages_of_group(subject, group);
        let (mut sum, mut stamps, mut records) = (0, Vec::new(), Vec::new());
        self.visit_topology(pages.iter().map(|indexed| ((), indexed.page)), |(), number, page| {
            let damaged = |error: DecodeError| self.page_error(number, &error);
            if subject == Subject::VERTICES {
                let page = VertexPage::open(page.bytes()).map_err(damaged)?;
                page.decode_into(self.first_ts(), &mut records).map_err(damaged)?;
                let visible = records.iter().filter(|record| self.visibility.sees(record.stamp));
                let own = visible.filter(|record| record.vertex.group() == group);
                sum += own.map(|record| record.operation.difference()).sum::<i64>();
                return Ok(());
            }
            let page = self.open_lists(subject, page).map_err(damaged)?;
            let values = page.find_between(first..=last).map_err(damaged)?;
            page.stamps_into(self.first_ts(), values.clone(), &mut stamps).map_err(damaged)?;
            sum += self.difference_of(&page, values, &stamps);
            Ok(())
        })?;
        Ok(sum)
    }
}

/// The first and the last vertex that a group may have.
fn ends_of(group: GroupId) -> (VertexId, VertexId) {
    (VertexId::new(group, 0), VertexId::new(group, (GROUP_SIZE - 1) as u16))
}

fn set_bit(bits: &mut GroupBits, vertex: VertexId, is_set: bool) {
    let (word, bit) = (usize::from(vertex.row() / 64), 1 << (vertex.row() % 64));
    if is_set {
        bits[word] |= bit;
    } else {
        bits[word] &= !bit;
    }
}
