//! Delete rule: when a merge may leave a Delete out.
//!
//! A Delete hides what older files have of its key. It goes when there are none, with one exception: while
//! an index is built, the entries of its scan are still to come, and will lie below everything.

use crate::format::subject::Subject;
use evergraph_storage::planted::{Bug, planted};
use std::collections::BTreeSet;

/// What lies below the sources of a merge, for the keys that it merges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Below {
    /// No file has older records.
    Nothing,
    /// Some file may have older records.
    OlderRecords,
}

/// Which Deletes a merge leaves out.
#[derive(Clone, Debug)]
pub struct DeleteRule {
    below: Below,
    building: BTreeSet<Subject>,
}

impl DeleteRule {
    /// The rule for a merge above `below`, while the indexes of the subjects `building` are being built.
    #[must_use]
    pub fn new(below: Below, building: impl IntoIterator<Item = Subject>) -> Self {
        Self { below, building: building.into_iter().collect() }
    }

    /// Whether Deletes of `subject` are left out.
    #[must_use]
    pub fn drops(&self, subject: Subject) -> bool {
        let is_lowest = self.below == Below::Nothing || planted(Bug::DeleteDroppedEarly);
        let is_building = self.building.contains(&subject) && !planted(Bug::BuildingDeleteDropped);
        is_lowest && !is_building
    }
}
