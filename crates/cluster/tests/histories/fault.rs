//! Fault: what a coordinator or a node may do wrong. They are simulated here; bugs of the crate's own code are planted in it.

/// A fault that some history must show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Everybody does what the protocol says.
    None,
    /// A serialisable transaction lists nothing that it read.
    ReadsUnchecked,
    /// A scan lists the members that it found, and not the group.
    Phantom,
    /// A range that was read is not listed.
    RangeUnchecked,
    /// The ends of new edges are not listed.
    EndsUnchecked,
    /// The adjacency of a deleted vertex is not listed.
    AdjacencyUnchecked,
    /// Unique values that are entered are not listed.
    UniqueUnchecked,
    /// What is written is not listed.
    WritesUnchecked,
    /// A checkpoint has no state of the certifier.
    CheckpointWithoutCertifier,
    /// A client without an answer asks a node what became of its transaction, without a cancel in the log.
    NoFence,
    /// A commit is acknowledged when the log has the record.
    AckOnAppend,
    /// A record whose answer is lost is sent again under a new id.
    RetryUnderNewId,
    /// A node answers before it has applied the question's snapshot.
    ServeBeforeApplied,
    /// A node answers for snapshots below what it has merged.
    ReadBelowBase,
    /// The log is trimmed to the newest checkpoint, not to the oldest.
    TrimTooFar,
    /// A partition is copied from a node that is behind.
    CopyFromBehind,
    /// Ids of vertices are chosen by each node from what it sees.
    LocalIds,
    /// A fresh reader reads what its node has applied.
    FreshAtApplied,
    /// Messages that were read before are not compared when reading begins again.
    NoOverlap,
    /// A copied partition is taken whatever log it is of.
    CopyWithoutDigest,
    /// A question is answered whatever log its snapshot is of.
    ReadWithoutDigest,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 20] = [
        Self::ReadsUnchecked,
        Self::Phantom,
        Self::RangeUnchecked,
        Self::EndsUnchecked,
        Self::AdjacencyUnchecked,
        Self::UniqueUnchecked,
        Self::WritesUnchecked,
        Self::CheckpointWithoutCertifier,
        Self::NoFence,
        Self::AckOnAppend,
        Self::RetryUnderNewId,
        Self::ServeBeforeApplied,
        Self::ReadBelowBase,
        Self::TrimTooFar,
        Self::CopyFromBehind,
        Self::LocalIds,
        Self::FreshAtApplied,
        Self::NoOverlap,
        Self::CopyWithoutDigest,
        Self::ReadWithoutDigest,
    ];

    /// Whether only a log that loses what it acknowledged shows it.
    pub fn needs_loss(self) -> bool {
        matches!(self, Self::NoOverlap | Self::CopyWithoutDigest | Self::ReadWithoutDigest)
    }
}
