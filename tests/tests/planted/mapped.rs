//! Mapped: which test of the mapped engine catches a bug of its indexes, of its readers, of persistent memory, or one that another engine
//! can have as well, and what it says then.

use crate::catcher::Catcher;
use crate::test_names::*;
use evergraph_storage::planted::Bug;

const SAYS_SCAN: &str =
    "indexes::look_ups_say_what_a_scan_says_to_every_snapshot_beside_merges_checkpoints_and_power_cuts";
const OPENING: &str = "indexes::an_opening_builds_nothing_and_a_look_up_reads_no_property";
const DROP: &str = "indexes::an_index_that_is_dropped_answers_until_its_drop_is_readable";
const DURABLE_LINES: &str =
    "persistent_lines::each_commit_and_checkpoint_is_in_lines_that_were_written_back_and_fenced";
const BODY_AHEAD: &str = "own::commits_that_a_body_has_before_its_checkpoint_covers_them_are_there_once";
const INTERRUPTED: &str = "failures::a_checkpoint_that_is_interrupted_at_any_change_loses_nothing";
const OPENED_AMID: &str = "failures::what_is_opened_after_a_kill_amid_a_renaming_survives_the_next_power_cut";
const WAITS: &str = "a_merge_takes_what_is_readable_and_leaves_what_waits_and_what_comes_meanwhile";
const BEFORE_MERGES: &str = "a_writer_that_began_before_two_merges_learns_what_both_took";
const DURING_LOAD: &str =
    "stores::a_snapshot_that_begins_while_a_load_is_made_durable_keeps_what_that_replaced";
const EMPTY_SCAN: &str =
    "indexes::commits_from_before_a_scan_that_found_nothing_enter_nothing_when_they_are_replayed";

/// The test that catches `bug`, if the mapped engine has one.
pub fn on_mapped(bug: Bug) -> Option<Catcher> {
    use Bug::*;
    let (tests, name, says): (_, _, &[&str]) = match bug {
        ForgetInEdge => ("front", RANDOM_ON_MAPPED, &["all sides hold the same edges"]),
        LengthBeforeRecord | LengthRelaxed => ("mapped_engine/weak_orders", SHARED_TAIL, &["half a record"]),
        PublishBeforeInstall => ("schedules_store", BESIDE_COMMIT, HALF_A_COMMIT),
        MergeAtW => ("live_histories", WAITS, &["nothing is damaged"]),
        LoadForgetsR => ("mapped_database", DURING_LOAD, &["edges on one side only", "the snapshot changed"]),
        StaleResidual => ("live_histories", WAITS, &[", by the versions found first"]),
        ResidualDropped => ("schedules_live", MERGES_BESIDE, &["records are exact", "not the whole history"]),
        ManifestBeforeBodies | ExtentsNotSynced => {
            ("array_checkpoints", INTERRUPTED, &["is corrupt at byte"])
        }
        PruneBeforeManifest => ("array_checkpoints", INTERRUPTED, &["is missing: db/log-"]),
        SkipDirty => {
            ("array_checkpoints", INTERRUPTED, &["another graph is found", "in the records of one key"])
        }
        OpenedNotSynced => {
            ("array_checkpoints", OPENED_AMID, &["after the power cut: db/array-", "another graph is found"])
        }
        NeedNotSynced => ("mapped_database", BODY_AHEAD, &["was synced"]),
        NoFilter => ("mapped_database", BODY_AHEAD, &["left == right"]),
        LostDelete => ("engine_model", HUB_MERGED, &["left == right"]),
        NoHistory | LastMergesHistory => ("engine_model", BEFORE_MERGES, &["right: Yes"]),
        PartNotWritten | PartNotSummed => ("mapped_database", OPENING, &["is corrupt at byte"]),
        MergedEntriesLost => ("mapped_database", SAYS_SCAN, &[" scanned", "is_healthy"]),
        EntryDeleteLost | EntryTailSkipped => ("mapped_database", SAYS_SCAN, &[" scanned"]),
        IndexEmptiedEarly => ("mapped_database", DROP, &["an index was emptied early"]),
        LinesNotWrittenBack | LastLineNotWrittenBack | LineFenceLeftOut | GrownLengthNotSynced => {
            ("mapped_database", DURABLE_LINES, &["after a power cut"])
        }
        OwnFilesNotCompared => ("readers", SHORT_WRITERS, &["a reader misses what a short writer committed"]),
        IdleReaderKeepsLock => ("readers", IDLE_READER, &["an idle reader holds files back"]),
        EmptyScanForgotten => ("mapped_database", EMPTY_SCAN, &["is_empty()"]),
        _ => return None,
    };
    Some(Catcher { tests, name, seed: None, says })
}
