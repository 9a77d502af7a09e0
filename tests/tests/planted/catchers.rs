//! Catchers: which test catches which bug, and what it says then.
//!
//! A bug that is new has no catcher, and this file doesn't compile. Of several tests that fail, the one
//! stands here whose subject the bug is, or the fastest; a test of each other engine that can have the bug;
//! and histories of the simulation, on the memory and on the mapped engine, if they meet the bug as well. Which
//! histories these are changes with the simulation: `EVERGRAPH_PLANTED=skip-sync EVERGRAPH_SIM_SHRINK_SECONDS=0 make crash
//! ENGINE=memory IMAGES=20000 SEED=1` looks for another one; on the mapped engine `ENGINE=mapped WAYS=81`, in lines from
//! `SEED=1099511627777` on.

use crate::catcher::Catcher;
use crate::disk::on_disk;
use crate::simulated::{simulated, simulated_on_mapped};
use crate::test_names::*;
use crate::{mapped::on_mapped, packed::on_packed, partitions::on_partitions};
use evergraph_storage::planted::Bug;

/// The tests that catch `bug`, one to six.
pub fn catchers(bug: Bug) -> impl Iterator<Item = Catcher> {
    let tests = [by_itself(bug), on_disk(bug), on_packed(bug), on_mapped(bug), simulated(bug)];
    tests.into_iter().flatten().chain(on_partitions(bug)).chain(simulated_on_mapped(bug))
}

const NOTES: &str = "notes::notes_are_there_again_whenever_the_power_is_cut";

/// The test whose subject is what `bug` breaks; of what takes a long story there is none.
fn by_itself(bug: Bug) -> Option<Catcher> {
    use Bug::*;
    let (tests, name, says): (_, _, &[&str]) = match bug {
        SkipSync => ("log", POWER, COMMIT_LOST),
        AcknowledgeBeforeSync => ("schedules_log", LEADERS, &["durable 0, seen 0"]),
        CallbackBeforeSync => ("schedules_log", WITHOUT_THREADS, &["four were durable"]),
        DurableBeforeWrite => ("schedules_log", LEADERS, &["EndsBefore"]),
        TwoLeaders => ("schedules_log", LEADERS, &[", own commit "]),
        NobodyWoken => ("schedules_log", LEADERS, &["deadlock!"]),
        SyncTriedAgain => ("log", FAILED_SYNC, &["`Result::unwrap_err()` on an `Ok` value"]),
        FailedSyncForgotten | NotPoisoned => ("log", FAILED_SYNC, &["log.is_poisoned()"]),
        // The disk of the other tests harms nothing beside what is written.
        UnpaddedBatch => return None,
        LinkBeforeSync => ("log", POWER_WITHOUT_SYNCS, &["is corrupt at byte"]),
        UnchainedFile => ("log", MANY_FILES, &["a frame that follows commit 0"]),
        AnyPredecessor => ("log", OTHER_HISTORY, &["`Result::unwrap_err()` on an `Ok` value"]),
        FileNameNotSynced => ("log", POWER, &["is missing: db/log-"]),
        NoHeaderChecksum => ("log", FLIPPED_BITS, &["file.ends_with(name) && found as usize <= offset"]),
        NoChecksum => ("log", FLIPPED_BITS, &["the payload of commit"]),
        HalfFrame => ("log", POWER, &["the payload of commit"]),
        SyncedThroughIgnored => ("log", LOST_PAGE, &["`Result::unwrap_err()` on an `Ok` value"]),
        EndFileIgnored => ("log", NEWEST_LOST, &["removed"]),
        EndBeforeSync => ("log", POWER_WITHOUT_SYNCS, &["is corrupt at byte", "was synced", "is missing"]),
        TornEndOverwritten => ("log", BEHIND_END, &["left == right"]),
        RecoveredNotSynced => ("log", FROM_CACHE, &["left == right"]),

        ManifestBeforeBodies | BodiesNotSynced => ("checkpoint", CHECKPOINT_POWER, &["bodies-"]),
        RenameNotSynced => ("checkpoint", HISTORIES, &["is missing: db/log-"]),
        // A kill, an opening and a power cut, each at its moment.
        OpenedNotSynced => return None,
        PruneBeforeManifest => ("checkpoint", CHECKPOINT_POWER, &["is missing: db/log-"]),
        NeedNotSynced => ("checkpoint", HISTORIES, &["was synced"]),
        SkipDirty => ("checkpoint", HISTORIES, &["seed ", "records are exact"]),
        NoFilter => ("checkpoint", HISTORIES, &["left == right"]),
        IdsForgotten => ("front", POWER_AT_FRONT, &["v0 is new"]),
        NotesNotStored | NoteApart => ("front", NOTES, &["not in the manifest", "a commit of their own"]),

        ExtentsNotSynced => ("extents_crash", EXTENT_POWER, &["is corrupt at byte"]),
        FailedArraySyncForgotten => ("extents", EXTENT_SYNC, &["is written no more"]),
        LostExtentReused => ("extents", EXTENT_WRITE, &["the bytes of a failed write rest"]),
        ExtentFreedWhileHeld => ("extents", EXTENT_GONE, &["are in use"]),
        ExtentUnverified => ("extents", EXTENT_DAMAGE, &["damage is noticed"]),
        NamedExtentsNotHeld => ("array_checkpoints", ARRAY_POWER, &["is corrupt at byte"]),
        ReusedUnderCheckpoint => ("array_checkpoints", ARRAY_RENAMED, &["Corrupt"]),
        OldReadersOverwritten => ("extents", OLD_READERS, &["are written while they are read"]),

        ForgetInEdge => ("front", RANDOM, &["all sides hold the same edges"]),
        LengthBeforeRecord => ("schedules_engine", TAIL, &["the view moved", "is not its prefix"]),
        LengthRelaxed => {
            ("memory_engine/weak_orders", "who_sees_a_tails_length_sees_its_records", &["half a record"])
        }
        MergeAtW => ("schedules_engine", BEGIN, LAYER_LOST),
        LoadForgetsR => ("front", "loads::a_load_into_data_is_the_data_and_every_row", LAYER_LOST),
        LostDelete | ResidualDropped => ("schedules_engine", BEGIN, STATE_LOST),
        StaleResidual => ("schedules_engine", TWO_MERGES, STATE_LOST),
        NoHistory | LastMergesHistory => ("schedules_engine", SLOW_WRITER, CONFLICT_LOST),
        AlwaysPrune => ("schedules_engine", BEGIN, LAYER_LOST),
        StaleOrder => (
            "front",
            NEWEST,
            &[
                "assertion `left == right` failed",
                "index out of bounds",
                "edges without a value have no place",
                ", not Some(",
            ],
        ),
        TwoMerges => ("schedules_engine", TWO_MERGES, STATE_LOST),

        BeginOutsideRegistry => ("schedules_engine", BEGIN, LAYER_LOST),
        PublishBeforeInstall => ("schedules_commit", BESIDE_COMMIT, HALF_A_COMMIT),
        PublishRelaxed => {
            ("memory_engine/weak_orders", "who_begins_at_a_commit_sees_its_records", &["misses a commit"])
        }
        FrameBeforeInstall => ("schedules_commit", BESIDE_DURABLE_COMMIT, HALF_A_COMMIT),
        LostUpdate => ("schedules_commit", "no_step_of_a_counter_is_lost", &["a step is lost"]),
        UniqueNotChecked => ("schedules_commit", "one_of_two_gets_a_unique_value", &["has 2 holders"]),
        ReadsNotChecked => ("front", READS_CONFLICT, &["Property(0) beside Write(Set(0, 3))"]),
        ReadsCheckedEarly => ("schedules_commit", SERIALISABLE, &["each read what the other overwrote"]),
        Phantom => ("front", READS_CONFLICT, &["Vertices(false) beside Insert(false, 0)"]),
        LookUpsNotChecked => ("front", READS_CONFLICT, &["Holder(3) beside Insert(true, 12)"]),
        NewestNotNoted => ("front", READS_CONFLICT, &["Newest(0, 0) beside Write(Put(0, 1, 3))"]),
        RefusedBeginUntold => (
            "memory_engine/shared_log",
            "a_session_that_could_not_begin_says_so_before_it_reads_anything",
            &["a refused begin passes"],
        ),
        FirstHashesOnly => (
            "memory_engine/shared_log",
            "builds::values_that_are_there_twice_are_found_however_little_memory_there_is",
            &["all duplicates are found"],
        ),

        IndexAfterPublish => ("schedules_commit", INDEX_BESIDE_COMMIT, &["the index doesn't find"]),
        RemovalNotCalledOff => ("schedules_indexes", INDEX, &["nothing stale is left", "row "]),
        RemovalTooEarly => ("schedules_commit", INDEX_BESIDE_COMMIT, &["the index doesn't find"]),
        BuildHoldsNothing => ("schedules_indexes", INDEX, &["nothing stale is left", "row "]),

        SubjectUsedTwice => ("durable", SUBJECT, &["another index has other entries"]),
        IndexServesEarly => ("durable", BUILT_AGAIN, &["the files that it pinned have no entries"]),

        // Of the packed array: `packed.rs`.
        PackedZeroIsGap
        | PackedInsertNotWrittenBack
        | PackedLogUnlinked
        | PackedLogEndsAtZero
        | PackedLogOneShort
        | PackedRecordTorn
        | PackedNoPlan
        | PackedPlanNotFenced
        | PackedNoUndo
        | PackedUndoUnread
        | PackedOneUndoSlot
        | PackedUndoPlaceAfter
        | PackedUndoNotWrittenBack
        | PackedFirstSlotNotBackedUp
        | PackedBackupNotFenced
        | PackedEmptiedLogNotWrittenBack
        | PackedLogsClearedEarly
        | PackedFreedBeforeNaming
        | PackedNamedBeforeFence
        | PackedCleanFlagStays
        | PackedNoUndoAfterReopening
        | PackedResizeLeavesLock => return None,
        // Of indexes in mapped files, of extents in parts, of persistent memory, and of readers without a writer: `mapped.rs`.
        MergedEntriesLost | EntryDeleteLost | EntryTailSkipped => return None,
        IndexEmptiedEarly | EmptyScanForgotten | PartNotWritten | PartNotSummed => return None,
        OwnFilesNotCompared | IdleReaderKeepsLock => return None,
        // Of partitions: `partitions.rs`.
        HalfEdgeLost | MergeBeyondHorizon | BeginBelowHorizon => return None,
        ExactlyOutsideRegistry | HorizonNotDue => return None,
        LinesNotWrittenBack | LastLineNotWrittenBack | LineFenceLeftOut => return None,
        GrownLengthNotSynced => return None,

        DeleteDroppedEarly => ("merged_runs", DELETE_ABOVE, &["an older file still has the edge"]),
        BuildingDeleteDropped => ("merged_runs", BUILDING, &["the scan will put the entry below"]),
        IndexEntryCancelled => ("merged_runs", ENTRY_STAYS, &["the scan below may have seen the insert"]),
        ReplaceKeptAsInsert => ("merged_runs", REPLACE, &["the edge is counted below"]),

        StampsIgnored => ("durable", COMPACTED, &["left == right"]),
        PageWithoutSeed => ("cached_pages", ELSEWHERE, &["a page of elsewhere has another checksum"]),
        RankOffByOne => ("written_files", READ_BACK, &["properties without a record"]),
        CacheNotShrunk => ("cached_pages", FULL_CACHE, &["the cache gives way"]),
        FlushBeforeSync => ("schedules_tree", BESIDE_SWAP, &["a set has commit"]),
        SwappedApart => ("schedules_tree", BESIDE_SWAP, &["a snapshot sees its prefix, each commit once"]),
        PinOutsideRegistry => ("schedules_tree", BESIDE_SWAP, &["a set has commit"]),
        FreedWithoutFloor => ("schedules_tree", BESIDE_FREEING, &[" since "]),
        InputsRemovedEarly => ("durable", COMPACTED, &["what a manifest names stays"]),
        AreasMeet => (
            "compactions_at_once",
            "compactions_under_way_share_nothing_and_may_be_installed_in_any_order",
            &["an input of two", "the outputs fit", "left: {"],
        ),
        RemovedNotKept => (
            "few_handles",
            "files_beyond_the_handles_are_read_and_removed_ones_too",
            &["the file is missing"],
        ),
        LoadSeenEarly => (
            "front",
            "loads::a_load_into_data_on_the_disk_engine_is_the_data_and_every_row",
            &["seen before it is durable", "a snapshot from before"],
        ),

        SlotFenceLeftOut
        | ScanFenceLeftOut
        | SnapshotBeforeEra
        | ReadableBeforeRegistering
        | SlotNotRegistering
        | RegisteringOverlooked
        | EraIgnored => {
            ("mapped_engine/weak_orders", BEGINNING, &["a version that a snapshot reads was freed"])
        }
        RaisedUnannounced | RaiseFenceLeftOut => (
            "mapped_engine/weak_orders",
            "a_slot_that_is_raised_keeps_what_its_snapshots_read",
            &["a version that a snapshot reads was freed"],
        ),
        HubHistoryLost => ("engine_model", HUB_TAKEN, &["since"]),
        HubChangeUntold => ("engine_model", HUB_CHANGED, &["since"]),
        ReplacedBodyFreed => ("engine_model", HUB_MERGED, &["has no body", "a body goes once"]),
        ChangedColumnKept => ("engine_model", PROPERTY_MERGE, &["I64(-99)"]),
        NamesReadOnce => {
            ("readers", NAMES_COME, &["a reader lacks names of its commits", "there is no index on"])
        }
        NewWriterOverlooked => ("readers", NEXT_WRITER, &["what the next writer commits"]),
        AnyReaderJoined => ("readers", NEXT_WRITER, &["a new writer overwrites what an older reader sees"]),
        ReadableBeforeNames => ("schedules_names", NAMES_KNOWN, &["a snapshot lacks names of its commits"]),
        ReadableBeforeRecords => (
            "schedules_live",
            "a_reader_beside_a_commit_sees_all_of_it_or_nothing",
            &["reads something else than its commits"],
        ),
        PresentAfterEra => ("schedules_live", OWN_SNAPSHOT, &["nothing is damaged", "than its commits"]),
        DeadSlotKept => (
            "live_readers",
            "a_process_that_is_gone_holds_nothing_back_after_a_second",
            &["a process that is gone holds something back"],
        ),
        StoppedReaderEvicted => (
            "live_readers",
            "a_process_that_is_stopped_keeps_what_it_reads",
            &["evicted while its lock is held"],
        ),

        RequestsBeforeLogin => (
            "security",
            "logins::nothing_of_a_client_runs_before_it_has_logged_in",
            &["nothing runs before a log-in"],
        ),
        AnyPassword => (
            "security",
            "logins::a_wrong_password_is_refused_and_the_third_ends_the_connection",
            &["a wrong password is refused"],
        ),
        UnknownUsersAnsweredFast => (
            "security",
            "logins::unknown_users_take_as_long_as_wrong_passwords",
            &["the time tells which users there are"],
        ),
        LoginsUnlimited => (
            "security",
            "logins::a_flood_of_wrong_log_ins_delays_no_query_and_is_soon_refused",
            &["attempts are limited"],
        ),
        LoginOutlivesUser => (
            "security",
            "logins::a_user_who_is_removed_or_has_a_new_password_is_disconnected",
            &["the connection of a removed user ends"],
        ),
        RoleOnAnyDatabase => (
            "security",
            "roles::a_role_allows_what_it_says_on_its_database_and_nothing_elsewhere",
            &["nobody on social"],
        ),
        ReadersWrite => (
            "security",
            "roles::a_readers_query_that_writes_is_refused_before_it_runs",
            &["a reader's write is refused"],
        ),
        CommitsUnchecked => (
            "security",
            "roles::a_role_that_changes_holds_for_connections_and_transactions_that_are_open",
            &["a commit is refused when the role is gone"],
        ),
        AnyHost => ("security", FOREIGN, &["a foreign Host is refused"]),
        AnyOrigin => ("security", FOREIGN, &["a foreign Origin is refused"]),
        PlainBeyondLoopback => (
            "security",
            "transport::other_machines_connect_only_with_users_and_tls",
            &["it is refused beyond loopback"],
        ),
        AnyClientCertificate => (
            "security",
            "transport::with_mutual_tls_a_client_needs_a_certificate_of_the_right_root_that_holds",
            &["a client's certificate is demanded"],
        ),
        EndlessHandshakes => (
            "security",
            "transport::slow_handshakes_end_in_time_and_hold_nobody_up",
            &["a slow handshake is ended"],
        ),
        ControlCharactersLogged => (
            "security",
            "audit::log_ins_refusals_sessions_and_roles_are_written_without_passwords_and_values",
            &["control characters are escaped in the audit log"],
        ),
        AnyRoleOnEveryDatabase => (
            "security",
            "databases::nobody_has_a_role_on_a_database_that_is_created_later_but_administrators_of_all",
            &["a lesser role on every database"],
        ),
        UnknownDatabasesTold => (
            "security",
            "databases::without_a_role_an_answer_is_the_same_whether_there_is_such_a_database_or_not",
            &["answers tell which databases there are"],
        ),
        GuessesTellNames => (
            "security",
            "databases::guesses_and_lists_name_only_databases_on_which_the_user_has_a_role",
            &["guesses tell names"],
        ),
        SessionsChangeDatabase => {
            ("websocket", "databases::a_session_belongs_to_one_database", &["a session has one database"])
        }
        ClosedInUse => (
            "websocket",
            "databases::closing_waits_for_requests_that_end_in_time",
            &["a database is closed when nobody uses it"],
        ),
        SessionsOutliveDatabase => ("websocket", CLOSING, &["a transaction ends with its database"]),
        RootLinksFollowed => (
            "websocket",
            "databases::strange_names_and_links_reach_nothing_outside_of_the_root",
            &["links and paths are refused"],
        ),
        SharesBeyondLimit => (
            "websocket",
            "databases::memory_is_limited_for_each_database_and_for_all",
            &["a database whose memory does not fit is refused"],
        ),
        GetsWrite => ("http", "queries::a_get_reads_and_never_writes", &["a GET does not write"]),
        BodiesBeforeLogin => (
            "http",
            "logins::nothing_of_a_request_by_http_is_read_before_its_client_has_logged_in",
            &["it is answered before the body comes"],
        ),
        EndlessBodies => {
            ("http", "hostile::long_bodies_are_refused_before_they_are_read", &["a long body is refused"])
        }
        QueriesOutliveClients => (
            "http",
            "queries::the_query_of_a_client_that_is_gone_is_cancelled",
            &["the query of a client that is gone ends"],
        ),
        GoneClientsUnnoticed => (
            "websocket",
            "sessions::a_client_that_is_gone_leaves_no_transaction_and_its_session_is_free",
            &["the session of a client that is gone is free"],
        ),
        FullPipelinesUnwatched => (
            "websocket",
            "leavers::a_client_that_leaves_with_as_many_requests_as_it_may_have_is_noticed",
            &["a client that leaves is noticed, however many requests it has"],
        ),
        MessagesUncounted => (
            "websocket",
            "hostile::messages_that_are_being_received_have_a_limit_together",
            &["messages have a limit together"],
        ),
        EndlessMessages => (
            "websocket",
            "hostile::a_message_that_does_not_end_ends_the_connection",
            &["a message without an end ends the connection"],
        ),
        EndlessIdleConnections => (
            "http",
            "connections::an_idle_connection_is_ended_and_one_whose_query_runs_is_not",
            &["an idle connection is ended"],
        ),
        AdminRolesUnchecked => (
            "admin",
            "routes::every_route_is_refused_without_a_log_in_and_without_its_role",
            &["a route is refused without its role"],
        ),
        QueriesOfOthersTold => (
            "admin",
            "queries::queries_are_seen_and_cancelled_by_their_user_and_administrators_alone",
            &["others do not see a query"],
        ),
        ChangesUnrecorded => {
            ("admin", "routes::every_change_has_a_record_in_the_audit_log", &["a change has a record"])
        }
        JobsOutliveCancel => (
            "admin",
            "job_stops::a_job_that_is_cancelled_leaves_nothing_with_the_memory_engine",
            &["a job that is cancelled stops"],
        ),
        JobsOutliveRoles => (
            "admin",
            "job_stops::a_job_ends_with_the_role_and_with_the_log_in_of_its_user",
            &["a job ends with what its user may do"],
        ),
        JobsOfOthersTold => (
            "admin",
            "jobs::jobs_and_uploads_are_those_of_administrators_of_their_database",
            &["others see no job"],
        ),
        JobPathsUnchecked | JobLinksFollowed => (
            "admin",
            "job_files::paths_of_jobs_do_not_leave_their_folders_and_links_are_not_followed",
            &["no path leaves its folder"],
        ),
        CommitsWithinLoads => (
            "admin",
            "job_stops::while_an_import_is_built_reads_go_on_and_commits_are_refused_as_busy",
            // A commit that was let in shows itself, or breaks the import.
            &["commits are refused while an import is built", "an import that no commit disturbs is done"],
        ),
        UploadsUnlimited => (
            "admin",
            "job_files::uploads_together_have_a_limit_whether_their_length_is_told_or_not",
            &["uploads have a limit"],
        ),
        JobFilesUncounted => (
            "admin",
            "job_files::files_to_be_fetched_have_the_limit_of_uploads_until_they_are_removed",
            &["files to be fetched have a limit"],
        ),
        JobQueueUnshared => (
            "admin",
            "job_stops::the_jobs_of_a_database_do_not_take_all_places_of_the_queue",
            &["the jobs of a database have a limit of their own"],
        ),
        DownloadsOutliveRoles => (
            "admin",
            "job_files::a_download_is_broken_off_when_its_user_may_not_read_it_any_more",
            &["a download ends with what its user may read"],
        ),
        DownloadsUncounted => (
            "admin",
            "job_files::a_download_is_a_request_of_its_user_until_it_is_sent",
            &["a download counts until it is sent"],
        ),
        SpoolNotSwept => (
            "admin",
            "job_files::what_another_server_left_in_its_spool_is_removed_at_the_start",
            &["the spool is swept at the start"],
        ),

        LostCommitsRetried => (
            "client",
            "lost_connections::a_commit_whose_answer_is_lost_is_never_tried_again",
            &["a lost commit has an unknown outcome", "a lost commit is not tried again"],
        ),
        MessagesUnlimited => (
            "client",
            "hostile::a_message_above_the_limit_is_an_error",
            &["a message above the limit is refused"],
        ),
        LoginsRepeated => (
            "client",
            "hostile::a_password_is_sent_once_and_only_to_who_asks_for_a_log_in",
            &["the password is sent once"],
        ),
        AnswersWithoutEnd => (
            "client",
            "hostile::frames_without_end_last_no_longer_than_the_query_may",
            &["the query ends with its time"],
        ),
        BulksUnchecked => (
            "client",
            "hostile::a_result_that_is_said_to_occur_often_takes_bounded_memory_and_time",
            &["results that are gathered have a limit"],
        ),
        WarningsUnlimited => {
            ("client", "hostile::warnings_without_end_take_bounded_memory", &["warnings have a limit"])
        }
        InterruptedJobsGoOn => (
            "client",
            "jobs::a_job_is_cancelled_on_the_server_with_whoever_follows_it",
            &["an interrupted job is cancelled on the server"],
        ),
        DownloadsLeaveFolders => (
            "program",
            "remote_files::a_download_that_breaks_off_leaves_nothing",
            &["a download that breaks off leaves nothing"],
        ),
        ConfirmBeforeSync => ("follow", POWER_CUTS, &["was confirmed, and", "somebody else read from it"]),
        ConfirmInTransaction => ("follow", POWER_CUTS, &["was confirmed, and", "somebody else read from it"]),
        StreamAbortOfEverything => (
            "transactions",
            "rolling_back_to_a_savepoint_keeps_the_rest_of_its_transaction",
            &["the rest of the transaction is"],
        ),
        SlowQueriesKeepValues => (
            "security",
            "logs::slow_queries_are_logged_without_values",
            &["no value is in a record of a slow query"],
        ),
        CachedLoginsAnyPassword => (
            "security",
            "logins::log_ins_that_are_cached_take_no_time",
            &["a wrong password is refused, whoever is remembered"],
        ),
        WaitingUnlimited => (
            "security",
            "logins::requests_that_wait_for_a_log_in_are_limited_by_their_bytes",
            &["what is above the bound is refused"],
        ),
        EndlessLogins => (
            "security",
            "limits::idle_clients_are_disconnected_and_those_whose_query_runs_are_not",
            &["who is asked to log in has so much time, whatever is sent meanwhile"],
        ),

        QuotasUnlimited => (
            "security",
            "limits::a_user_has_so_many_connections_and_requests_at_once",
            &["a user has so many connections at once"],
        ),
        OldTransactionsStay => (
            "websocket",
            "sessions::a_transaction_ends_in_time_however_often_it_is_used",
            &["a transaction ends in time"],
        ),
        PrivateFilesOpen => (
            "security",
            "transport::keys_and_certificates_that_cannot_be_used_are_refused_by_name",
            &["a key that others can read is refused"],
        ),
        SessionsUnlimited => (
            "websocket",
            "sessions::a_connection_has_so_many_sessions_at_once",
            &["a connection has so many sessions at once"],
        ),
        EndlessCredentials => (
            "security",
            "logins::names_and_passwords_that_no_user_can_have_are_refused_at_once",
            &["what no user can have is refused at once"],
        ),
        EndlessErrors => (
            "websocket",
            "hostile::an_error_repeats_no_more_of_a_request_than_a_few_lines",
            &["an error has a length"],
        ),
        SessionsShared => (
            "websocket",
            "sessions::a_client_that_is_gone_leaves_no_transaction_and_its_session_is_free",
            &["it belongs to another connection"],
        ),
        LostSessionsGoOn => (
            "websocket",
            "sessions::a_transaction_that_was_lost_with_its_connection_does_not_go_on_in_another_one",
            &["a lost transaction does not go on"],
        ),
        BrokenTransactionsGoOn => (
            "websocket",
            "sessions::after_a_failed_write_only_a_rollback_works",
            &["a transaction does not go on after a failed write"],
        ),
        IdleTransactionsStay => (
            "websocket",
            "sessions::an_idle_transaction_is_rolled_back_and_its_rest_is_not_committed",
            &["an idle transaction is rolled back"],
        ),
        ReadRequestsUncounted => (
            "websocket",
            "hostile::requests_that_are_not_answered_are_counted_as_they_are_decoded",
            &["decoded requests have a limit together"],
        ),
        UnreadAnswersUnlimited => (
            "websocket",
            "hostile::requests_are_read_no_further_while_their_client_reads_no_answers",
            &["who reads no answers is read no further"],
        ),
        VanishedClientsStay => (
            "websocket",
            "hostile::the_system_asks_after_a_minute_whether_a_silent_client_is_still_there",
            &["a silent client is asked whether it is still there"],
        ),
        FullDisksUntold => (
            "http",
            "observation::a_full_disk_is_told_until_a_commit_finds_room_and_the_server_stays_ready",
            &["a full disk is told"],
        ),
        KeptAnswersUncounted => (
            "http",
            "answer_limits::answers_that_are_kept_count_below_the_memory_limit_of_their_database",
            &["a kept answer leaves no room for another one"],
        ),
        ResultsUnlimited => (
            "http",
            "answer_limits::an_answer_in_any_format_ends_at_the_limits_of_results_and_bytes",
            &["an answer ends at its limit"],
        ),
        OwnersTakeNoTurns => (
            "scheduler",
            "owners_take_turns_whoever_has_many_tasks",
            &["an owner of many tasks delays others by one"],
        ),
        LongTasksUnknown => {
            ("scheduler", LONG_TASKS, &["short tasks go before one that has used up a slice"])
        }
        LongTasksStarve => ("scheduler", LONG_TASKS, &["a long task has its turn after some short ones"]),
    };
    Some(Catcher { tests, name, seed: None, says })
}
