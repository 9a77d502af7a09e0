//! Contract: what a checkpoint asks of the engine's segments, whatever they are made of in memory.

use crate::extents::stored_extent::StoredExtent;
use crate::extents::table::Extents;
use crate::files::section::NamedIndexes;
use crate::files::segment_id::SegmentId;
use crate::shared_record::SharedRecord;
use evergraph_graph::id::{GroupId, KeyId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::timeline::clock::Timeline;

/// A body that is not empty, with its columns. Whoever has a clone of it keeps their extents.
pub trait CheckpointBody: Clone + Send + Sync + 'static {
    /// The body's extent, then those of its columns with their keys, ascending.
    fn parts(&self) -> impl Iterator<Item = (Option<KeyId>, &StoredExtent)>;

    /// The same body, with those parts in other extents that can never become durable where they are.
    ///
    /// # Errors
    /// `Corrupt` if one of them isn't any more what was written; those of writing extents.
    fn rewritten(&self, extents: &Extents) -> CheckpointResult<Self>;
}

/// One version of a segment: what belongs together of it. Its records may become more, all of them newer than every
/// commit that was published before it was looked at.
pub trait CheckpointVersion {
    /// Its segment, as [`CheckpointSegments`] knows it.
    type Segment;
    /// Its body.
    type Body: CheckpointBody;

    /// Which segment.
    fn id(&self) -> SegmentId;

    /// The commit at which the body is exact. Bases only grow, one body each.
    fn base(&self) -> Timestamp;

    /// Edges in the body, or vertices.
    fn items(&self) -> u64;

    /// The body; `None` if it is empty.
    fn body(&self) -> Option<&Self::Body>;

    /// The timestamp of its newest record, or a later one. Cheap.
    fn newest(&self) -> Timestamp;

    /// Whether its records are so many that they belong into a body. Cheap.
    fn is_merge_due(&self) -> bool;

    /// The segments of its hubs.
    fn hubs(&self) -> Vec<Self::Segment>;

    /// The records that are newer than the base and `after`, and not newer than `through`; by (key, stamp).
    ///
    /// # Errors
    /// `corrupt` if memory that processes share was damaged.
    fn records(&self, after: Timestamp, through: Timestamp) -> CheckpointResult<Vec<SharedRecord>>;
}

/// What a merge did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeStep {
    /// The segment has another base.
    Done,
    /// None of its records is readable, and waiting for this call's sake does not change that.
    Nothing,
    /// Another thread merges it.
    Busy,
}

/// The segments of a graph.
pub trait CheckpointSegments {
    /// A segment.
    type Segment;
    /// A version of one.
    type Version<'a>: CheckpointVersion<Segment = Self::Segment>
    where
        Self: 'a;

    /// Time.
    fn timeline(&self) -> &Timeline;

    /// Every group that there is, ascending, and that of indexes if there are any. Under the latch.
    fn groups(&self) -> Vec<GroupId>;

    /// The indexes that are ready. Under the latch; what became one, or is none any more, since their segments were looked at is
    /// left out of the manifest.
    fn indexes(&self) -> NamedIndexes {
        NamedIndexes::default()
    }

    /// The segments of a group, ascending, without hubs.
    fn segments(&self, group: GroupId) -> Vec<Self::Segment>;

    /// The present version of a segment.
    ///
    /// # Errors
    /// `corrupt` if its body is not where its version says.
    fn version<'a>(&'a self, segment: &Self::Segment) -> CheckpointResult<Self::Version<'a>>;

    /// Lets the present version of a segment read its body, `from`, where it was written again; unless it has another one by now.
    ///
    /// # Errors
    /// As [`CheckpointSegments::merge`].
    fn move_body<'a>(
        &'a self,
        segment: &Self::Segment,
        from: &<Self::Version<'a> as CheckpointVersion>::Body,
        to: &<Self::Version<'a> as CheckpointVersion>::Body,
    ) -> CheckpointResult<()>;

    /// Merges what is readable of a segment into a body.
    ///
    /// # Errors
    /// Those of writing extents; `limit`, `corrupt`.
    fn merge(&self, segment: &Self::Segment) -> CheckpointResult<MergeStep>;
}
