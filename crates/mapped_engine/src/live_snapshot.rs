//! Live snapshot: what another process reads of `live` at one commit.
//!
//! ```text
//! group -> version; while its base is newer than S: older; then its body, and the records <= S of its runs and tail
//! ```
//!
//! Nothing here takes a lock or stores anything; the slot (`claimed_slots.rs`) keeps what is read.

use crate::group::{SegmentSubject, SharedGroup};
use crate::hub_table::SharedHubs;
use crate::live::Live;
use crate::shared_record::SharedRecord;
use crate::version::SegmentVersion;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::RecordKey;
use std::ops::RangeInclusive;

/// The graph of one commit in `live`, for as long as somebody keeps its slot.
#[derive(Clone, Copy, Debug)]
pub struct LiveSnapshot<'a> {
    live: &'a Live,
    timestamp: Timestamp,
}

impl<'a> LiveSnapshot<'a> {
    /// The state at `timestamp`, which is that of an open slot, or of a snapshot of the process that writes.
    #[must_use]
    pub fn new(live: &'a Live, timestamp: Timestamp) -> Self {
        Self { live, timestamp }
    }

    /// What it sees.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The label of a group, if it is there.
    ///
    /// # Errors
    /// `corrupt` if something in `live` leads nowhere.
    pub fn label(&self, group: GroupId) -> Result<Option<LabelId>> {
        Ok(SharedGroup::find(self.live, group)?.map(|group| group.label))
    }

    /// The version of a segment that it reads; `None` if there was no such segment. It may be kept for as long as the
    /// snapshot: what it refers to stays.
    ///
    /// # Errors
    /// As [`LiveSnapshot::label`].
    pub fn version(&self, group: GroupId, subject: SegmentSubject) -> Result<Option<SegmentVersion>> {
        let Some(group) = SharedGroup::find(self.live, group)? else { return Ok(None) };
        let Some(line) = group.version(subject)? else { return Ok(None) };
        SegmentVersion::visible(self.live.words(), line, self.timestamp)
    }

    /// The version of the segment that `row` has to itself, if it is a hub in `version`, one of [`LiveSnapshot::version`].
    ///
    /// # Errors
    /// As [`LiveSnapshot::label`].
    pub fn hub(&self, version: &SegmentVersion, row: u16) -> Result<Option<SegmentVersion>> {
        let shared = self.live.words();
        let Some(line) = SharedHubs::at(shared, version.hubs)?.version(row)? else { return Ok(None) };
        let hub = SegmentVersion::visible(shared, line, self.timestamp)?;
        // A hub begins with the body that it was taken out of.
        hub.map_or_else(
            || Err(shared.damaged(line, format_args!("no version of hub {row}"))),
            |hub| Ok(Some(hub)),
        )
    }

    /// The rows that are hubs in `version`, ascending.
    ///
    /// # Errors
    /// As [`LiveSnapshot::label`].
    pub fn hub_rows(&self, version: &SegmentVersion) -> Result<Vec<u16>> {
        Ok(SharedHubs::at(self.live.words(), version.hubs)?.rows().collect())
    }

    /// The records of `keys` in a version of [`LiveSnapshot::version`], which change its body; by (key, stamp).
    ///
    /// # Errors
    /// As [`LiveSnapshot::label`].
    pub fn records(
        &self,
        version: &SegmentVersion,
        keys: &RangeInclusive<RecordKey>,
    ) -> Result<Vec<SharedRecord>> {
        version.records(self.live.words(), keys, self.timestamp)
    }
}
