//! Test names: those of tests that catch several bugs or are long, and what some of them say.

pub const POWER: &str = "crash::no_acknowledged_commit_is_lost_wherever_the_power_fails";
pub const COMMIT_LOST: &[&str] = &["was durable", "was synced", "is corrupt at byte"];
pub const MANY_FILES: &str = "files::a_log_goes_on_over_many_small_files_and_openings";
pub const POWER_WITHOUT_SYNCS: &str = "crash::without_sync_a_power_cut_loses_an_end_and_never_the_middle";
pub const FROM_CACHE: &str = "crash::what_recovery_read_from_the_cache_survives_the_next_power_cut";
pub const NEWEST_LOST: &str = "corruption::a_newest_file_that_lost_its_head_its_end_or_its_name_is_reported";
pub const BEHIND_END: &str = "files::a_log_with_something_behind_its_end_goes_on_in_a_new_file";
pub const FAILED_SYNC: &str = "faults::a_failed_write_or_sync_poisons_and_is_never_tried_again";
pub const FLIPPED_BITS: &str =
    "corruption::every_flipped_bit_before_the_seal_is_reported_and_none_gives_false_data";
pub const LOST_PAGE: &str = "corruption::a_lost_page_of_a_synced_batch_is_reported";
pub const OTHER_HISTORY: &str = "corruption::a_file_of_another_history_does_not_fit_its_successor";
pub const LEADERS: &str = "committers_that_hand_over_the_lead_are_durable_when_told_so";
pub const WITHOUT_THREADS: &str = "committers_that_hold_no_thread_are_durable_when_told_so_and_all_are_told";

pub const CLOSING: &str =
    "databases::closing_cancels_what_does_not_end_in_time_and_leaves_other_databases_alone";
pub const POWER_CUTS: &str = "crashes::power_cuts_lose_and_double_nothing_and_confirm_nothing_early";
pub const LONG_TASKS: &str = "short_tasks_go_before_long_ones_which_have_their_turn_all_the_same";
pub const FOREIGN: &str = "transport::foreign_hosts_and_origins_are_refused_with_tls_as_well";

pub const BEGINNING: &str = "nobody_frees_the_version_that_a_beginning_snapshot_finds";
pub const SHARED_TAIL: &str = "who_sees_a_shared_tails_length_sees_its_records";
pub const MERGES_BESIDE: &str = "merges_of_runs_and_bodies_beside_commits_lose_nothing";
pub const OWN_SNAPSHOT: &str =
    "a_snapshot_of_the_writing_process_reads_its_commits_beside_versions_that_are_freed";

pub const ARRAY_POWER: &str = "crash::no_power_cut_loses_or_changes_an_acknowledged_commit";
pub const ARRAY_RENAMED: &str = "failures::after_a_renaming_that_failed_either_manifest_is_whole";
pub const EXTENT_POWER: &str = "no_power_cut_harms_what_a_durable_manifest_names";
pub const EXTENT_SYNC: &str = "after_a_failed_sync_new_extents_go_elsewhere_and_old_ones_are_never_durable";
pub const EXTENT_WRITE: &str = "after_a_failed_write_its_bytes_rest_until_the_next_opening";
pub const EXTENT_GONE: &str = "bytes_are_written_again_when_the_last_who_needs_them_is_gone";
pub const EXTENT_DAMAGE: &str = "damage_is_found_at_the_first_touch_by_file_and_byte_and_spares_others";
pub const OLD_READERS: &str = "what_readers_of_a_dead_writer_may_need_is_neither_written_nor_removed";
pub const NAMES_KNOWN: &str = "a_snapshot_knows_the_names_of_its_commits";
pub const NAMES_COME: &str = "beside::commits_names_and_groups_are_seen_as_they_come";
pub const SHORT_WRITERS: &str = "beside::commits_of_writers_that_come_and_go_between_two_snapshots_are_seen";
pub const IDLE_READER: &str = "shared_files::who_has_no_snapshot_holds_nothing_back";
pub const NEXT_WRITER: &str =
    "beside::a_reader_goes_on_when_the_writer_ends_and_joins_the_next_one_by_itself";
pub const HUB_TAKEN: &str = "a_row_that_becomes_a_hub_is_read_as_before_and_its_history_goes_with_it";
pub const HUB_MERGED: &str = "a_hub_is_changed_merged_and_read_by_itself";
pub const HUB_CHANGED: &str = "who_asks_a_segment_what_changed_is_led_to_its_hub";
pub const PROPERTY_MERGE: &str =
    "a_merge_of_properties_alone_writes_the_columns_that_changed_and_shares_the_others";

pub const CHECKPOINT_POWER: &str = "crash::a_crash_at_any_operation_loses_nothing_in_mode_sync";
pub const HISTORIES: &str = "histories::every_history_recovers_to_one_of_its_states_without_syncs";
pub const POWER_AT_FRONT: &str =
    "rules::what_was_acknowledged_is_there_after_a_power_cut_with_its_index_names_and_ids";

pub const RANDOM: &str =
    "random_transactions::random_transactions_on_the_memory_engine_do_what_the_model_does";
pub const RANDOM_ON_MAPPED: &str =
    "random_transactions::random_transactions_on_the_mapped_engine_do_what_the_model_does";
pub const NEWEST: &str = "newest::the_newest_come_first";
pub const READS_CONFLICT: &str =
    "serializable::a_read_conflicts_with_what_its_answer_depends_on_and_with_nothing_else";

pub const SUBJECT: &str = "indexes::an_index_that_is_built_again_has_nothing_of_the_one_before";
pub const BUILT_AGAIN: &str =
    "indexes::a_snapshot_from_before_an_index_was_built_again_is_answered_without_it";

pub const BEGIN: &str = "a_merge_beside_a_begin_leaves_the_reader_its_layer";
pub const TAIL: &str = "a_tail_that_fills_and_becomes_a_run_shows_each_reader_its_prefix";
pub const SLOW_WRITER: &str = "a_writer_slower_than_two_merges_meets_its_rival";
pub const TWO_MERGES: &str = "two_merges_of_one_segment_lose_nothing";
pub const LAYER_LOST: &[&str] = &["an open snapshot finds a layer with base <= S"];
pub const STATE_LOST: &[&str] =
    &["the present is not the whole history", "is not its prefix of the history", INEXACT];
pub const CONFLICT_LOST: &[&str] = &["a lost update", INEXACT];
pub const INEXACT: &str = "an insert of what is there, or a delete of what isn't";

pub const BESIDE_COMMIT: &str = "who_begins_beside_a_commit_sees_all_of_it_or_nothing";
pub const BESIDE_DURABLE_COMMIT: &str = "who_begins_beside_a_commit_sees_all_of_it_or_nothing_in_mode_sync";
pub const HALF_A_COMMIT: &[&str] = &["half a commit is seen", "shows another commit than its newest"];
pub const SERIALISABLE: &str = "of_two_serialisable_transactions_one_was_first";
pub const INDEX_BESIDE_COMMIT: &str = "an_index_finds_what_a_snapshot_shows";
pub const INDEX: &str = "who_reads_what_an_index_serves_finds_every_holder_in_priority_schedules";

pub const COMPACTED: &str =
    "compaction::what_is_compacted_reads_as_before_and_inputs_go_with_the_next_manifest";
pub const OPENED: &str =
    "compaction::what_is_opened_after_a_kill_amid_a_checkpoint_survives_the_next_power_cut";
pub const DISK_POWER: &str = "crash::a_crash_at_any_operation_loses_nothing_in_mode_sync";
pub const UNSYNCED_POWER: &str = "crash::a_crash_at_any_operation_loses_no_synced_commit_without_syncs";
pub const GROWING: &str = "a_reader_sees_its_prefix_while_a_list_grows_and_gets_links";
pub const COUNT: &str = "who_sees_a_count_sees_its_records_and_their_payloads";
pub const BESIDE_SWAP: &str = "a_snapshot_that_begins_beside_a_swap_sees_its_prefix";
pub const BESIDE_FREEING: &str = "a_conflict_check_beside_swaps_and_freed_graphs_denies_nothing";
pub const ELSEWHERE: &str = "a_page_of_another_place_or_another_file_is_damage";
pub const FULL_CACHE: &str = "a_full_cache_gives_its_memory_to_whoever_reserves";
pub const READ_BACK: &str = "records::records_with_stamps_come_back_from_their_file";

pub const DELETE_ABOVE: &str = "lists::a_delete_above_older_files_stays";
pub const BUILDING: &str = "entries::a_delete_of_an_index_that_is_being_built_stays";
pub const ENTRY_STAYS: &str = "entries::an_insert_and_a_delete_of_an_entry_stay_a_delete";
pub const REPLACE: &str = "lists::a_delete_and_the_insert_after_it_are_a_replace";
