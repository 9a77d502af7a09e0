//! Packed: which test of the packed array catches which of its bugs, and what it says then.

use crate::catcher::Catcher;
use evergraph_storage::planted::Bug;

const CHANGES: &str = "a_power_cut_leaves_the_graph_as_before_a_change_or_as_after_it";
const REPLACED: &str = "a_power_cut_while_the_array_is_replaced_leaves_the_old_one_or_the_new_one";
const FIGURE_3: &str = "dgap::an_edge_goes_into_its_gap_and_edges_whose_place_is_taken_into_the_log_linked";
const FIGURE_4: &str = "dgap::a_power_cut_after_each_store_of_a_move_leaves_every_edge_once";
const ROOM_MADE: &str =
    "writers_who_find_their_section_full_at_once_go_on_in_the_room_that_one_of_them_makes";
const LISTS: &str = "model::a_packed_graph_is_what_plain_lists_are_and_its_views_stay";

const AFTER_CUT: &[&str] = &[
    "after a power cut the graph is neither as before nor as after",
    "after a power cut it does not open",
    "what was recovered does not open again",
    "what was recovered and went on is there after a second power cut",
];
const LOST: &[&str] = &["a power cut lost or doubled an edge", "after a power cut it does not open"];

/// The test that catches `bug`, if it is one of the packed array.
pub fn on_packed(bug: Bug) -> Option<Catcher> {
    use Bug::*;
    let (tests, name, says): (_, _, &[&str]) = match bug {
        PackedZeroIsGap => ("packed/graph", LISTS, &["behind a gap", "left == right"]),
        PackedLogUnlinked | PackedLogEndsAtZero | PackedLogOneShort => {
            ("packed/graph", FIGURE_3, &["left == right"])
        }
        PackedNoPlan
        | PackedPlanNotFenced
        | PackedNoUndo
        | PackedUndoUnread
        | PackedOneUndoSlot
        | PackedUndoPlaceAfter
        | PackedUndoNotWrittenBack
        | PackedFirstSlotNotBackedUp
        | PackedBackupNotFenced
        | PackedLogsClearedEarly
        | PackedNoUndoAfterReopening => ("packed/graph", FIGURE_4, LOST),
        PackedInsertNotWrittenBack | PackedRecordTorn | PackedEmptiedLogNotWrittenBack => {
            ("power_cuts", CHANGES, AFTER_CUT)
        }
        PackedCleanFlagStays => ("power_cuts", CHANGES, &["regions that nothing names are freed"]),
        PackedResizeLeavesLock => ("schedules_writers", ROOM_MADE, &["deadlock!"]),
        PackedFreedBeforeNaming | PackedNamedBeforeFence => ("power_cuts", REPLACED, AFTER_CUT),
        _ => return None,
    };
    Some(Catcher { tests, name, seed: None, says })
}
