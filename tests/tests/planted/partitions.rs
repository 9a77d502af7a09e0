//! Partitions: which test catches a bug of a store that has one partition of a graph, and what it says then.

use crate::catcher::Catcher;
use crate::test_names::LAYER_LOST;
use evergraph_storage::planted::Bug;

const HALVES: &str = "contract::an_edge_between_partitions_has_a_half_in_each";
const MOMENTS: &str = "contract::every_moment_from_the_horizon_on_can_be_read_whatever_was_merged";

/// The test that catches `bug`, if only stores of partitions have it.
pub fn on_partitions(bug: Bug) -> Option<Catcher> {
    use Bug::*;
    let (tests, name, says): (_, _, &[&str]) = match bug {
        HalfEdgeLost => ("partitions", HALVES, &["the in side lies where the target is"]),
        MergeBeyondHorizon => ("partitions", MOMENTS, LAYER_LOST),
        BeginBelowHorizon => ("partitions", MOMENTS, &["`Result::unwrap_err()` on an `Ok` value"]),
        _ => return None,
    };
    Some(Catcher { tests, name, seed: None, says })
}
