//! Attaching: groups and segments that were found in files become those of a graph that is being opened. Nobody reads yet.

use crate::arena::NewBlocks;
use crate::body_store::stored_body::StoredBody;
use crate::engine::graph::MappedGraph;
use crate::engine::groups::Group;
use crate::files::segment_id::SegmentId;
use crate::group::SegmentSubject;
use crate::hub_table::hub_table_words;
use crate::reserved_records::ReservedRecords;
use crate::segment::{LiveSegment, NewerRecords};
use crate::shared_record::SharedRecord;
use crate::tail::TAIL_CAPACITY;
use crate::view::source::{VERTICES, edges};
use crate::words::LINE_WORDS;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::Ordering;
use evergraph_storage::transaction::latch::under_latch;
use std::sync::Arc;

/// A segment that was found in files.
#[derive(Debug)]
pub struct AttachedSegment {
    /// Which one.
    pub id: SegmentId,
    /// The commit at which its body is exact.
    pub base: Timestamp,
    /// The body; an empty one lies nowhere.
    pub body: Arc<StoredBody>,
    /// Edges in it, or vertices.
    pub items: usize,
    /// What is newer, by (key, stamp).
    pub records: Vec<SharedRecord>,
}

impl MappedGraph {
    /// Gives a group a segment, with its hubs, ascending by row.
    ///
    /// # Errors
    /// `limit` if there is no room in `live`; `corrupt` for a place that no body can have.
    pub fn attach(&self, group: &Group, own: AttachedSegment, hubs: Vec<AttachedSegment>) -> Result<()> {
        let subject = match (own.id.index_number(), own.id.type_and_side()) {
            (Some(number), _) => SegmentSubject(number),
            (None, None) => VERTICES,
            (None, Some((edge_type, side))) => edges(edge_type, side),
        };
        let is_of_edges = own.id.type_and_side().is_some();
        if is_of_edges {
            let edges = own.items + hubs.iter().map(|hub| hub.items).sum::<usize>();
            self.count_body_edges(edges as i64);
        }
        let place = self.bodies().insert(own.body)?;
        let segment = self.add_segment(group, subject, (own.base, place, own.items))?;
        let mut attached = Vec::with_capacity(hubs.len());
        let mut of_hubs = Vec::with_capacity(hubs.len());
        for hub in hubs {
            let row = hub.id.hub_row().expect("the section was checked: hubs have rows");
            let place = self.bodies().insert(hub.body)?;
            let line = self.arena().allocate(LINE_WORDS)?;
            let body = (hub.base, place, hub.items);
            let made = segment.hub(&self.writer().memory(), row, line, body, NewerRecords::default());
            let made = Arc::new(made);
            attached.push((row, Arc::clone(&made)));
            of_hubs.push((made, hub.records));
        }
        if !attached.is_empty() {
            let mut new = NewBlocks::new(self.arena());
            let table = new.allocate(hub_table_words(attached.len()))?;
            new.keep();
            segment.attach_hubs(&self.writer().memory(), table, attached);
        }
        if !is_of_edges {
            let newest = own.records.iter().map(|record| record.stamp.timestamp()).max();
            group.set_members_changed(newest.unwrap_or(own.base));
        }
        self.install_found(&segment, None, own.records)?;
        for (hub, records) in of_hubs {
            self.install_found(&hub, Some(&segment), records)?;
        }
        Ok(())
    }

    /// Lets the present version of a segment read its body, `from`, in the extents of `to`; unless it has another body by now.
    ///
    /// # Errors
    /// As [`MappedGraph::attach`].
    pub(crate) fn relocate(
        &self,
        segment: &LiveSegment,
        from: &StoredBody,
        to: &Arc<StoredBody>,
    ) -> Result<()> {
        let mut new = NewBlocks::beyond_limit(self.arena());
        let line = new.allocate(LINE_WORDS)?;
        let (from, to) = (from.place()?, self.bodies().insert(Arc::clone(to))?);
        let memory = self.writer().memory();
        if under_latch(self.timeline(), |_| segment.move_body(&memory, from, to, line)) {
            new.keep();
        } else {
            self.bodies().remove(to);
        }
        Ok(())
    }

    /// Installs records that were found, by key and time, on top of a segment's body; of a hub with the segment that it was taken
    /// out of. Before the graph is open to anybody.
    ///
    /// # Errors
    /// `limit` if there is no room in `live`.
    pub(crate) fn install_found(
        &self,
        segment: &Arc<LiveSegment>,
        of_group: Option<&Arc<LiveSegment>>,
        mut records: Vec<SharedRecord>,
    ) -> Result<()> {
        let Some(newest) = records.iter().map(|record| record.stamp.timestamp()).max() else { return Ok(()) };
        if records.len() <= TAIL_CAPACITY {
            // A tail is in commit order; more than fits there is sorted into a run anyway.
            records.sort_unstable_by_key(|record| (record.stamp, record.key));
        }
        // More may be in files and log than fits: what was installed before becomes bodies.
        let mut reserved = loop {
            match ReservedRecords::new(self.arena(), segment, &records) {
                Err(error) if error.kind() == ErrorKind::Limit && self.make_room()? => {}
                reserved => break reserved.map_err(|error| self.writer().naming_the_oldest(error))?,
            }
        };
        if let Some(of_group) = of_group {
            reserved = reserved.of_hub(of_group);
        }
        self.counters().records.fetch_add(records.len() as u64, Ordering::Relaxed);
        let mut appended = |segment: &Arc<LiveSegment>, waiting| self.appended(segment, waiting);
        let mut reserved = [reserved];
        under_latch(self.timeline(), |_| self.writer().commit(newest, &mut reserved, &mut appended));
        Ok(())
    }
}
