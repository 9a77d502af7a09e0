//! Partitions: which test catches a bug of a store that has one partition of a graph, and what it says then.

use crate::catcher::Catcher;
use crate::test_names::LAYER_LOST;
use evergraph_storage::planted::Bug;

const HALVES: &str = "contract::an_edge_between_partitions_has_a_half_in_each";
const MOMENTS: &str = "contract::every_moment_from_the_horizon_on_can_be_read_whatever_was_merged";
const BESIDE_HORIZON: &str = "a_snapshot_at_a_moment_shows_it_whatever_horizon_and_merges_do";
const DUE: &str = "contract::a_checkpoint_is_due_by_the_log_that_is_older_than_the_horizon";

/// The test that catches `bug`, if only stores of partitions have it.
pub fn on_partitions(bug: Bug) -> Option<Catcher> {
    use Bug::*;
    let (tests, name, says): (_, _, &[&str]) = match bug {
        HalfEdgeLost => ("partitions", HALVES, &["the in side lies where the target is"]),
        MergeBeyondHorizon => ("partitions", MOMENTS, LAYER_LOST),
        BeginBelowHorizon | ExactlyOutsideRegistry => ("schedules_partitions", BESIDE_HORIZON, LAYER_LOST),
        HorizonNotDue => ("partitions", DUE, &["nothing would be freed"]),
        _ => return None,
    };
    Some(Catcher { tests, name, seed: None, says })
}
