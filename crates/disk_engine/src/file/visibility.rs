//! Visibility: which records of a file a reader sees.

use crate::format::file_head::FileStamps;
use crate::stored_file::StoredFile;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};

/// Which records of a file are visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Visibility {
    /// None: all are newer than the reader.
    Nothing,
    /// All: stamps, if there are any, need not be read.
    Everything,
    /// Those with stamps through this one.
    Through(Timestamp),
}

impl Visibility {
    pub(super) fn of(stored: &StoredFile, until: Timestamp) -> Self {
        match stored.stamps {
            FileStamps::Stamped if !stored.first_ts.visible_at(until) => Self::Nothing,
            FileStamps::Stamped if planted(Bug::StampsIgnored) => Self::Everything,
            FileStamps::Stamped if !stored.last_ts.visible_at(until) => Self::Through(until),
            // A bulk load's, in a set that an older snapshot pinned; all other files without stamps are older (rule D1).
            FileStamps::Unstamped if planted(Bug::LoadSeenEarly) => Self::Everything,
            FileStamps::Unstamped if !stored.last_ts.visible_at(until) => Self::Nothing,
            FileStamps::Stamped | FileStamps::Unstamped => Self::Everything,
        }
    }

    /// Whether a record with this stamp is visible. Where everything is, any stamp does.
    #[inline]
    pub(super) fn sees(self, stamp: Timestamp) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Through(until) => stamp.visible_at(until),
        }
    }
}
