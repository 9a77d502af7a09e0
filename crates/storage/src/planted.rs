//! Planted bugs: defects that a test build can enable, to show that every check can fail.
//!
//! ```text
//! here              each bug: its name and what is wrong
//! where it is       `if planted(Bug::SkipSync)`: one short branch, beside the line that is right; in the server, the client and the replica as well
//! catchers.rs       which test catches it (`tests/tests/planted`); `make planted-bugs` demands it
//! ```
//!
//! With the feature `planted`, which tests of storage and of the engines turn on and nothing else, the
//! environment variable `EVERGRAPH_PLANTED` names the one bug that the process has. Without the feature
//! `planted()` is a constant, and the branches are no code.
//!
//! Source: core-protocol section 11, whose model caught ten of them before there was code. It is mutation
//! testing (DeMillo, Lipton, Sayward, IEEE Computer 11(4), 1978) with mutants chosen by hand.

/// Makes the enum, and with the feature the table of names and descriptions, from one list.
macro_rules! bugs {
    ($($(#[doc = $says:literal])+ $bug:ident = $name:literal;)+) => {
        /// A defect that a test build can have.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Bug {
            $($(#[doc = $says])+ $bug,)+
        }

        #[cfg(feature = "planted")]
        impl Bug {
            /// Every bug, in the order of the list.
            pub const ALL: &[Bug] = &[$(Bug::$bug),+];

            /// What `EVERGRAPH_PLANTED` calls it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Bug::$bug => $name,)+
                }
            }

            /// What is wrong, in one sentence.
            #[must_use]
            pub fn says(self) -> &'static str {
                match self {
                    $(Bug::$bug => concat!($($says),+).trim_ascii_start(),)+
                }
            }
        }
    };
}

bugs! {
    // The log.

    /// The leader writes its batch and doesn't sync it.
    SkipSync = "skip-sync";
    /// A commit is acknowledged before it is synced.
    AcknowledgeBeforeSync = "acknowledge-before-sync";
    /// A commit that holds no thread is called back before it is synced.
    CallbackBeforeSync = "callback-before-sync";
    /// D is stored before the batch is written.
    DurableBeforeWrite = "durable-before-write";
    /// A leader gives its place back before it stores D, so that two of them store it.
    TwoLeaders = "two-leaders";
    /// A leader that ends wakes nobody to lead the next batch.
    NobodyWoken = "nobody-woken";
    /// A sync that failed is tried again, and its second answer believed.
    SyncTriedAgain = "sync-tried-again";
    /// After a failed write or sync the log goes on reserving space for commits.
    NotPoisoned = "not-poisoned";
    /// After the failed sync of a batch the log goes on with the next one, as if nothing had happened.
    FailedSyncForgotten = "failed-sync-forgotten";
    /// A batch is not padded: the next one writes into a page with acknowledged bytes.
    UnpaddedBatch = "unpadded-batch";
    /// The old log file isn't synced before the next one's header names it.
    LinkBeforeSync = "link-before-sync";
    /// A new log file names no predecessor.
    UnchainedFile = "unchained-file";
    /// The end of a log file isn't compared with the cut that its successor names.
    AnyPredecessor = "any-predecessor";
    /// The directory isn't synced when a new log file was made in it.
    FileNameNotSynced = "file-name-not-synced";
    /// A frame's header isn't compared with its checksum.
    NoHeaderChecksum = "no-header-checksum";
    /// A frame's payload isn't compared with its checksum.
    NoChecksum = "no-checksum";
    /// Of a frame whose payload is torn, half is replayed.
    HalfFrame = "half-frame";
    /// A bad frame counts as a torn end, whatever later frames say of what was synced.
    SyncedThroughIgnored = "synced-through-ignored";
    /// What `log_end` says of the log is not compared with its files.
    EndFileIgnored = "end-file-ignored";
    /// `log_end` says where the log ends before that is synced.
    EndBeforeSync = "end-before-sync";
    /// A recovered log goes on in its newest file, whatever a crash left behind its end.
    TornEndOverwritten = "torn-end-overwritten";
    /// The last file isn't synced before a recovered log goes on.
    RecoveredNotSynced = "recovered-not-synced";

    // Checkpoints and recovery.

    /// The manifest is renamed into place before the bodies' file is finished.
    ManifestBeforeBodies = "manifest-before-bodies";
    /// Neither the bodies' file nor its name is synced before the manifest is written.
    BodiesNotSynced = "bodies-not-synced";
    /// The directory isn't synced after the manifest's renaming.
    RenameNotSynced = "rename-not-synced";
    /// Opening doesn't sync the directory before it removes what the manifest doesn't name.
    OpenedNotSynced = "opened-not-synced";
    /// Log files go before the manifest is durable.
    PruneBeforeManifest = "prune-before-manifest";
    /// The manifest names bodies beyond what the log was synced through.
    NeedNotSynced = "need-not-synced";
    /// A segment with records up to C is written as its body is.
    SkipDirty = "skip-dirty";
    /// Replay puts commits onto bodies that hold them.
    NoFilter = "no-filter";
    /// Replay doesn't count the vertex ids that it meets as given out.
    IdsForgotten = "ids-forgotten";
    /// A checkpoint's manifest has no notes.
    NotesNotStored = "notes-not-stored";

    // Array files: the mapped engine.

    /// A sync of array files says that all is durable, and syncs nothing.
    ExtentsNotSynced = "extents-not-synced";
    /// After the failed sync of an array file its extents count as durable when a later one succeeds.
    FailedArraySyncForgotten = "failed-array-sync-forgotten";
    /// The bytes of a failed write are written again at once.
    LostExtentReused = "lost-extent-reused";
    /// An extent is free although somebody holds it.
    ExtentFreedWhileHeld = "extent-freed-while-held";
    /// An extent isn't compared with its checksums when it is touched first.
    ExtentUnverified = "extent-unverified";
    /// What readers of an earlier writer may need is written again.
    OldReadersOverwritten = "old-readers-overwritten";
    /// What a manifest names is free when the live version drops it.
    NamedExtentsNotHeld = "named-extents-not-held";
    /// What the manifest before names is free when a checkpoint is about to replace it.
    ReusedUnderCheckpoint = "reused-under-checkpoint";
    /// Of an extent that is written in parts, only the first part is written.
    PartNotWritten = "part-not-written";
    /// Of an extent that is written in parts, only the bytes of the last part are in the checksums.
    PartNotSummed = "part-not-summed";

    // Segments: tail, run, body, history.

    /// An edge isn't entered at its target.
    ForgetInEdge = "forget-in-edge";
    /// The tail's length is stored before the record.
    LengthBeforeRecord = "length-before-record";
    /// The tail's length is stored Relaxed.
    LengthRelaxed = "length-relaxed";
    /// A merge takes what is published, durable or not, and keeps nothing for who begins at R.
    MergeAtW = "merge-at-w";
    /// A bulk load keeps no layer for who begins at R, before the load is durable.
    LoadForgetsR = "load-forgets-r";
    /// A merge leaves out deletions.
    LostDelete = "lost-delete";
    /// A merge drops the records that are newer than its base.
    ResidualDropped = "residual-dropped";
    /// A merge keeps the records that there were when it began, and none that came meanwhile.
    StaleResidual = "stale-residual";
    /// A merge keeps no history for writers.
    NoHistory = "no-history";
    /// A merge keeps its own records for writers, and none of earlier merges.
    LastMergesHistory = "last-merges-history";
    /// A merge carries the order of a list along as if nothing in it had changed.
    StaleOrder = "stale-order";
    /// A merge keeps no layer for open snapshots.
    AlwaysPrune = "always-prune";
    /// Two merges of one segment, and neither looks whether the other came first.
    TwoMerges = "two-merges";

    // Commit and snapshots.

    /// A snapshot's timestamp is loaded before the registry is locked.
    BeginOutsideRegistry = "begin-outside-registry";
    /// W is stored before the commit's records are installed.
    PublishBeforeInstall = "publish-before-install";
    /// W is stored Relaxed.
    PublishRelaxed = "publish-relaxed";
    /// The frame goes to the log before its records are installed, and R doesn't stop at W.
    FrameBeforeInstall = "frame-before-install";
    /// Nobody looks whether what is written was changed meanwhile.
    LostUpdate = "lost-update";
    /// Whether a unique value is taken is looked at before the latch only.
    UniqueNotChecked = "unique-not-checked";
    /// A serialisable transaction's reads aren't looked at when it commits.
    ReadsNotChecked = "reads-not-checked";
    /// They are looked at before the latch only.
    ReadsCheckedEarly = "reads-checked-early";
    /// The notes of a commit follow it in a commit of their own.
    NoteApart = "note-apart";
    /// A scan of vertices doesn't note who was there.
    Phantom = "phantom";
    /// Look-ups in indexes aren't noted.
    LookUpsNotChecked = "look-ups-not-checked";
    /// A read of a vertex' newest edges notes its list, and not the property that orders it.
    NewestNotNoted = "newest-not-noted";
    /// A session that could not begin says so in its reads only.
    RefusedBeginUntold = "refused-begin-untold";
    /// A search for duplicates ends with the first part of all hashes that memory has room for.
    FirstHashesOnly = "first-hashes-only";

    // Partitions.

    /// A store of some groups has no in side of an edge whose source lies elsewhere.
    HalfEdgeLost = "half-edge-lost";
    /// A merge takes what is readable, whatever moment a snapshot may begin at.
    MergeBeyondHorizon = "merge-beyond-horizon";
    /// A snapshot begins at a moment that merges may have gone beyond.
    BeginBelowHorizon = "begin-below-horizon";
    /// A snapshot at a moment looks at the horizon before the registry is locked.
    ExactlyOutsideRegistry = "exactly-outside-registry";
    /// A checkpoint is due by all of the log, though it covers only what is older than the horizon.
    HorizonNotDue = "horizon-not-due";

    // Indexes.

    /// Entries are made after the commit is published.
    IndexAfterPublish = "index-after-publish";
    /// A queued removal is done though its pair came back.
    RemovalNotCalledOff = "removal-not-called-off";
    /// Removals don't wait for open snapshots.
    RemovalTooEarly = "removal-too-early";
    /// An index that is being built does its removals at once.
    BuildHoldsNothing = "build-holds-nothing";
    /// An index gets the subject of one that was dropped.
    SubjectUsedTwice = "subject-used-twice";
    /// An index that the engine keeps answers snapshots from before it was built.
    IndexServesEarly = "index-serves-early";

    // The packed array.

    /// An edge to vertex 0 looks like a gap.
    PackedZeroIsGap = "packed-zero-is-gap";
    /// The line of an inserted edge isn't written back.
    PackedInsertNotWrittenBack = "packed-insert-not-written-back";
    /// Recovery counts the records of a log, but links none to its vertex.
    PackedLogUnlinked = "packed-log-unlinked";
    /// A log ends at the first record with a field that is zero.
    PackedLogEndsAtZero = "packed-log-ends-at-zero";
    /// Recovery finds one record fewer than a log has.
    PackedLogOneShort = "packed-log-one-short";
    /// The two lines of a record are written back at once, so that the second alone may be durable.
    PackedRecordTorn = "packed-record-torn";
    /// A rebalance stores no plan.
    PackedNoPlan = "packed-no-plan";
    /// A plan is active before it is fenced.
    PackedPlanNotFenced = "packed-plan-not-fenced";
    /// A rebalance backs nothing up.
    PackedNoUndo = "packed-no-undo";
    /// Recovery reads no undo slot.
    PackedUndoUnread = "packed-undo-unread";
    /// There is one undo slot.
    PackedOneUndoSlot = "packed-one-undo-slot";
    /// There is one undo slot, whose place is stored after its content and not covered by its checksum.
    PackedUndoPlaceAfter = "packed-undo-place-after";
    /// The content of a backup isn't written back.
    PackedUndoNotWrittenBack = "packed-undo-not-written-back";
    /// The first word that a chunk overwrites isn't backed up.
    PackedFirstSlotNotBackedUp = "packed-first-slot-not-backed-up";
    /// A chunk is moved before its backup is fenced.
    PackedBackupNotFenced = "packed-backup-not-fenced";
    /// That a log was emptied isn't written back.
    PackedEmptiedLogNotWrittenBack = "packed-emptied-log-not-written-back";
    /// Logs are emptied before a plan says that their records are moved.
    PackedLogsClearedEarly = "packed-logs-cleared-early";
    /// The array is freed before the larger one is named.
    PackedFreedBeforeNaming = "packed-freed-before-naming";
    /// The larger array is named before it is fenced.
    PackedNamedBeforeFence = "packed-named-before-fence";
    /// The root still says that the graph was shut down when it is open again.
    PackedCleanFlagStays = "packed-clean-flag-stays";
    /// A rebalance backs nothing up in a graph that was shut down and opened again.
    PackedNoUndoAfterReopening = "packed-no-undo-after-reopening";
    /// The lock of a section stays locked if somebody else made room in it meanwhile.
    PackedResizeLeavesLock = "packed-resize-leaves-lock";

    // Merges of the disk engine.

    /// A merge drops a Delete though older files lie below.
    DeleteDroppedEarly = "delete-dropped-early";
    /// A merge drops a Delete of an index that is being built.
    BuildingDeleteDropped = "building-delete-dropped";
    /// In an index an Insert and the Delete after it cancel.
    IndexEntryCancelled = "index-entry-cancelled";
    /// A Delete and the Insert after it come to an Insert.
    ReplaceKeptAsInsert = "replace-kept-as-insert";

    // Files, generations and memory of the disk engine.

    /// A stamped file shows all of its records, whatever the reader's timestamp.
    StampsIgnored = "stamps-ignored";
    /// A page's checksum doesn't say to which place it belongs.
    PageWithoutSeed = "page-without-seed";
    /// The properties of an edge are written at the next edge's rank.
    RankOffByOne = "rank-off-by-one";
    /// The page cache gives nothing back to whoever reserves memory.
    CacheNotShrunk = "cache-not-shrunk";
    /// A generation goes into the set before the log is synced through it.
    FlushBeforeSync = "flush-before-sync";
    /// A flushed generation is taken out before its file is in the set.
    SwappedApart = "swapped-apart";
    /// What a snapshot reads is pinned when the registry is unlocked again.
    PinOutsideRegistry = "pin-outside-registry";
    /// The memory of graphs is freed, and conflict checks don't know that it is gone.
    FreedWithoutFloor = "freed-without-floor";
    /// The inputs of a compaction are removed before a manifest without them is durable.
    InputsRemovedEarly = "inputs-removed-early";
    /// Compactions that are under way at once may have levels and keys in common.
    AreasMeet = "areas-meet";
    /// A file whose name goes while a snapshot reads it is not kept open.
    RemovedNotKept = "removed-not-kept";
    /// Snapshots from before a bulk load read its files.
    LoadSeenEarly = "load-seen-early";

    // Security of the server.

    /// Requests run before anybody has logged in.
    RequestsBeforeLogin = "requests-before-login";
    /// Any password is that of the user.
    AnyPassword = "any-password";
    /// The log-in of an unknown user is refused without the work that a wrong password takes.
    UnknownUsersAnsweredFast = "unknown-users-answered-fast";
    /// Log-ins that failed are not counted.
    LoginsUnlimited = "logins-unlimited";
    /// A connection goes on when its user was removed or has another password.
    LoginOutlivesUser = "login-outlives-user";
    /// A role on one database holds for all.
    RoleOnAnyDatabase = "role-on-any-database";
    /// A query that writes is run for a reader.
    ReadersWrite = "readers-write";
    /// A commit doesn't look at the role again.
    CommitsUnchecked = "commits-unchecked";
    /// The header Host may name any machine.
    AnyHost = "any-host";
    /// Pages of any site may connect.
    AnyOrigin = "any-origin";
    /// Other machines connect without users or TLS.
    PlainBeyondLoopback = "plain-beyond-loopback";
    /// Clients need no certificate, whatever the options say.
    AnyClientCertificate = "any-client-certificate";
    /// A connection may take any time to become a WebSocket.
    EndlessHandshakes = "endless-handshakes";
    /// Control characters stand in the audit log as they come.
    ControlCharactersLogged = "control-characters-logged";
    /// Any role can be given on every database.
    AnyRoleOnEveryDatabase = "any-role-on-every-database";
    /// Whoever has no role learns whether there is a database of a name.
    UnknownDatabasesTold = "unknown-databases-told";
    /// Guesses and lists name databases on which the user has no role.
    GuessesTellNames = "guesses-tell-names";
    /// A session may go on in another database.
    SessionsChangeDatabase = "sessions-change-database";
    /// A database is closed while requests use it.
    ClosedInUse = "closed-in-use";
    /// Transactions of sessions stay open when their database is closed.
    SessionsOutliveDatabase = "sessions-outlive-database";
    /// Symbolic links below the root are databases.
    RootLinksFollowed = "root-links-followed";
    /// Databases are opened whether their memory fits or not.
    SharesBeyondLimit = "shares-beyond-limit";
    /// A slow query is logged as its client wrote it.
    SlowQueriesKeepValues = "slow-queries-keep-values";
    /// Any password is right for a user whose log-in is remembered.
    CachedLoginsAnyPassword = "cached-logins-any-password";
    /// Requests that wait for a log-in have no limit.
    WaitingUnlimited = "waiting-unlimited";
    /// A client that was asked to log in may take any time, as long as it sends something.
    EndlessLogins = "endless-logins";

    // Sessions and limits of the server.

    /// A user may have any number of connections and requests.
    QuotasUnlimited = "quotas-unlimited";
    /// A transaction stays open for as long as its client uses it.
    OldTransactionsStay = "old-transactions-stay";
    /// Other users of the machine may read keys and the users file.
    PrivateFilesOpen = "private-files-open";
    /// A connection may open any number of sessions.
    SessionsUnlimited = "sessions-unlimited";
    /// Names and passwords of any length wait to be verified, and are remembered.
    EndlessCredentials = "endless-credentials";
    /// An error repeats as much of a request as its client likes.
    EndlessErrors = "endless-errors";
    /// A session may be used by another connection than its own.
    SessionsShared = "sessions-shared";
    /// A session goes on in another connection as if its transaction had not been rolled back.
    LostSessionsGoOn = "lost-sessions-go-on";
    /// A transaction goes on after a write in it failed.
    BrokenTransactionsGoOn = "broken-transactions-go-on";
    /// An idle transaction stays open.
    IdleTransactionsStay = "idle-transactions-stay";
    /// Decoded requests are not counted.
    ReadRequestsUncounted = "read-requests-uncounted";
    /// Requests are read whether their client reads answers or not.
    UnreadAnswersUnlimited = "unread-answers-unlimited";
    /// A client whose machine is gone keeps its connection.
    VanishedClientsStay = "vanished-clients-stay";
    /// Nobody is told that a disk is full.
    FullDisksUntold = "full-disks-untold";
    /// Results that are kept until they can be sent take nothing of their database's memory.
    KeptAnswersUncounted = "kept-answers-uncounted";
    /// An answer may have any number of results, and be of any length.
    ResultsUnlimited = "results-unlimited";
    /// Tasks have their turn in the order in which they came, whoever they belong to.
    OwnersTakeNoTurns = "owners-take-no-turns";
    /// Long tasks are not told from short ones.
    LongTasksUnknown = "long-tasks-unknown";
    /// Long tasks wait until there is no short one.
    LongTasksStarve = "long-tasks-starve";

    // The server's HTTP.

    /// A query that writes runs by GET as well.
    GetsWrite = "gets-write";
    /// The body of a request is read before its client has logged in.
    BodiesBeforeLogin = "bodies-before-login";
    /// The body of a request may be of any length.
    EndlessBodies = "endless-bodies";
    /// The query of a client that is gone runs on.
    QueriesOutliveClients = "queries-outlive-clients";
    /// What a WebSocket left behind runs on, and its transactions stay open.
    GoneClientsUnnoticed = "gone-clients-unnoticed";
    /// A client that leaves with as many requests as it may have is not noticed.
    FullPipelinesUnwatched = "full-pipelines-unwatched";
    /// Messages that WebSockets receive have no limit together.
    MessagesUncounted = "messages-uncounted";
    /// A message of a WebSocket may take any time to arrive.
    EndlessMessages = "endless-messages";
    /// A connection that is kept alive may be idle for ever.
    EndlessIdleConnections = "endless-idle-connections";
    /// Requests to administer are answered whatever role their user has.
    AdminRolesUnchecked = "admin-roles-unchecked";
    /// Changes by HTTP have no record in the audit log.
    ChangesUnrecorded = "changes-unrecorded";
    /// Everybody sees and cancels the queries of others.
    QueriesOfOthersTold = "queries-of-others-told";
    /// A job goes on though it was cancelled.
    JobsOutliveCancel = "jobs-outlive-cancel";
    /// A job goes on when its user may not administer its database any more.
    JobsOutliveRoles = "jobs-outlive-roles";
    /// Everybody sees jobs and uploads, and ends them.
    JobsOfOthersTold = "jobs-of-others-told";
    /// A path of a job may lead out of its folder.
    JobPathsUnchecked = "job-paths-unchecked";
    /// Symbolic links in the folders of jobs are followed.
    JobLinksFollowed = "job-links-followed";
    /// Commits go on while a bulk load is built.
    CommitsWithinLoads = "commits-within-loads";
    /// Uploads may take all of the disk.
    UploadsUnlimited = "uploads-unlimited";
    /// Files of jobs to be fetched may take all of the disk.
    JobFilesUncounted = "job-files-uncounted";
    /// Jobs of one database may take all places of the queue.
    JobQueueUnshared = "job-queue-unshared";
    /// A download goes on when its user may not read the file any more.
    DownloadsOutliveRoles = "downloads-outlive-roles";
    /// A download is no request of its user once it has begun.
    DownloadsUncounted = "downloads-uncounted";
    /// What a server that was killed left in its spool stays.
    SpoolNotSwept = "spool-not-swept";

    // Client.

    /// A client tries a commit again whose answer was lost.
    LostCommitsRetried = "lost-commits-retried";
    /// A client reads messages of any size.
    MessagesUnlimited = "messages-unlimited";
    /// A client sends its password as often as it is asked for one.
    LoginsRepeated = "logins-repeated";
    /// What a query sends without end holds its client for longer than its time.
    AnswersWithoutEnd = "answers-without-end";
    /// A client gathers a result as often as its server says that it occurs.
    BulksUnchecked = "bulks-unchecked";
    /// A client keeps any number of warnings.
    WarningsUnlimited = "warnings-unlimited";
    /// A job that its client interrupts goes on on the server.
    InterruptedJobsGoOn = "interrupted-jobs-go-on";
    /// A download, or an export, that breaks off leaves its temporary folder behind.
    DownloadsLeaveFolders = "downloads-leave-folders";

    // What processes share: the mapped engine.

    /// A reader's begin has no fence between its state and what it loads.
    SlotFenceLeftOut = "slot-fence-left-out";
    /// The writer's scan has no fence before it looks at slots.
    ScanFenceLeftOut = "scan-fence-left-out";
    /// A reader loads its snapshot before the era.
    SnapshotBeforeEra = "snapshot-before-era";
    /// A reader loads its snapshot before it registers.
    ReadableBeforeRegistering = "readable-before-registering";
    /// A slot is active or free, and nothing says that it is being taken.
    SlotNotRegistering = "slot-not-registering";
    /// A further snapshot in a slot isn't announced before it loads R.
    RaisedUnannounced = "raised-unannounced";
    /// A further snapshot in a slot has no fence between its state and the load of R.
    RaiseFenceLeftOut = "raise-fence-left-out";
    /// A scan takes a slot that is registering for a free one.
    RegisteringOverlooked = "registering-overlooked";
    /// A replaced version is kept for those snapshots alone that nothing newer is exact for.
    EraIgnored = "era-ignored";
    /// A row that becomes a hub of mapped segments leaves its history behind.
    HubHistoryLost = "hub-history-lost";
    /// A segment isn't told that its hub got records.
    HubChangeUntold = "hub-change-untold";
    /// A merge of a mapped segment frees the body that it replaces at once.
    ReplacedBodyFreed = "replaced-body-freed";
    /// A merge keeps a stored column although a record changes it.
    ChangedColumnKept = "changed-column-kept";
    /// A merge of an index in mapped files leaves out what its body had.
    MergedEntriesLost = "merged-entries-lost";
    /// A merge of an index in mapped files leaves out deletions.
    EntryDeleteLost = "entry-delete-lost";
    /// A look-up in an index in mapped files doesn't look into the tail.
    EntryTailSkipped = "entry-tail-skipped";
    /// An index in mapped files is emptied before its drop is readable.
    IndexEmptiedEarly = "index-emptied-early";
    /// A scan that found nothing leaves an index in mapped files without a base.
    EmptyScanForgotten = "empty-scan-forgotten";
    /// R is stored before the commit's records are installed.
    ReadableBeforeRecords = "readable-before-records";
    /// The writing process' own snapshots find a version only when the era of the one before has ended.
    PresentAfterEra = "present-after-era";
    /// R is stored before the names that its commits added.
    ReadableBeforeNames = "readable-before-names";
    /// A process that reads keeps the names that it read first.
    NamesReadOnce = "names-read-once";
    /// A process that reads does not look for the next process that writes.
    NewWriterOverlooked = "new-writer-overlooked";
    /// A process that reads by itself does not look whether the files have changed.
    OwnFilesNotCompared = "own-files-not-compared";
    /// A process that reads by itself keeps its lock when its last snapshot has ended.
    IdleReaderKeepsLock = "idle-reader-keeps-lock";
    /// Whoever opens the database takes every process that reads for one that has joined it.
    AnyReaderJoined = "any-reader-joined";
    /// The slots of a process that is gone are kept for ever.
    DeadSlotKept = "dead-slot-kept";
    /// A slot that holds something back for a second is cleared, whether its process lives or not.
    StoppedReaderEvicted = "stopped-reader-evicted";

    // Persistent memory.

    /// What is stored in a file of persistent memory is not written back.
    LinesNotWrittenBack = "lines-not-written-back";
    /// Of the lines that are stored in a file of persistent memory the last is not written back.
    LastLineNotWrittenBack = "last-line-not-written-back";
    /// Nobody waits for the lines that are written back to a file of persistent memory.
    LineFenceLeftOut = "line-fence-left-out";
    /// A sync of a file of persistent memory that grew leaves its length to the file system.
    GrownLengthNotSynced = "grown-length-not-synced";

    // Replica.

    /// The source is told the end of a commit that is not synced.
    ConfirmBeforeSync = "confirm-before-sync";
    /// The source is told a position inside of a transaction that is being read.
    ConfirmInTransaction = "confirm-in-transaction";
    /// A savepoint that is rolled back drops all of its streamed transaction.
    StreamAbortOfEverything = "stream-abort-of-everything";
}

/// Whether this process has `bug`.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn planted(_bug: Bug) -> bool {
    false
}

/// Whether this process has `bug`.
///
/// Ends the process with status 2 if the variable names no bug: a test must not pass, or fail, by that.
#[cfg(feature = "planted")]
pub fn planted(bug: Bug) -> bool {
    use std::io::Write;
    static NAMED: std::sync::OnceLock<Option<Bug>> = std::sync::OnceLock::new();
    let read = || {
        let name = std::env::var(VARIABLE).ok()?;
        let found = Bug::ALL.iter().copied().find(|bug| bug.name() == name);
        Some(found.unwrap_or_else(|| {
            let line = |bug: &Bug| format!("  {:<24} {}\n", bug.name(), bug.says());
            let known: String = Bug::ALL.iter().map(line).collect();
            // Not by a macro, whose output a test would keep to itself.
            let _ = write!(std::io::stderr(), "{VARIABLE}={name} names no planted bug; there are:\n{known}");
            std::process::exit(2)
        }))
    };
    *NAMED.get_or_init(read) == Some(bug)
}

/// The environment variable that names the bug.
#[cfg(feature = "planted")]
pub const VARIABLE: &str = "EVERGRAPH_PLANTED";
