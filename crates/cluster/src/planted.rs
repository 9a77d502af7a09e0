//! Planted bugs: defects that a test can enable, to show that tests fail.
//!
//! With the feature `planted`, which tests alone turn on, `with` has one bug for as long as its work runs, on its
//! thread. `tests/histories` finds each of those of decisions; what nodes and coordinators may do wrong is planted
//! there, where they are simulated. Those of packer and reader are found by the unit tests of both, and three of them by
//! `tests/shared_log`, too; those of tables, questions and frames by unit tests; those of nodes by `tests/nodes` and
//! `tests/stores`; those of copies by unit tests; those of views by `tests/remote_views`; some of horizons and answers by
//! `tests/answers`, too; a few of each by `tests/whole_cluster`, too.
//!
//! Source: the faults of the model of the cluster's protocol.

/// A defect of hashes, of payloads, of certification, of packer and reader, of tables, of nodes, of questions and frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// An insertion or a deletion of a vertex doesn't touch the members of its group.
    MembersUntouched,
    /// An insertion or a deletion of a vertex doesn't touch the vertex.
    VertexUntouched,
    /// A new edge doesn't touch the adjacency of its ends.
    AdjacencyUntouched,
    /// A new or deleted edge doesn't touch the lists that it is in.
    ListsUntouched,
    /// A property that is set is not touched.
    PropertyUntouched,
    /// A value that enters an index touches nothing.
    EntriesUntouched,
    /// An edge is sent to the partition of its source alone.
    HalfEdge,
    /// Ranges are not compared with what entered ordered indexes.
    RangesUnchecked,
    /// A double of a record is decided again.
    DoubleDecided,
    /// Ids are forgotten a generation earlier than what was touched.
    OutcomesForgottenEarly,
    /// A transaction that began before the floor is decided by what is remembered, and not refused.
    FloorUnchecked,
    /// The older generation is not in the saved state.
    OlderGenerationNotSaved,
    /// A cancel leaves no entry for the id.
    CancelForgotten,
    /// A cancel of an id that may have been forgotten says that it was cancelled.
    LateCancelAnswered,
    /// A cancel of an id that may have been forgotten leaves an entry for it.
    LateCancelKept,
    /// What is too old leaves an entry for its id.
    TooOldKept,
    /// Records of one message are decided without each other.
    MessageBlind,
    /// What a refused transaction would have changed counts as changed.
    RefusedTouches,
    /// A transaction commits without all of its parts.
    PartsUnchecked,
    /// Parts are forgotten a generation earlier than the transaction that they belong to can come.
    PartsForgottenEarly,
    /// A transaction of an author who saw another log is decided as any other.
    OtherLogAccepted,
    /// Rows, names and indexes are given whatever their author had applied, so that a late double gives them again.
    LateRecordAccepted,
    /// The packer takes an append that the log refused for done.
    RefusedAppendDropped,
    /// A message that is sent again says what its author has applied by then, so that a late double looks new.
    ResealedOnResend,
    /// The packer sends messages however many are under way.
    InFlightUnlimited,
    /// A message that was read from the log is sent again.
    ArrivalIgnored,
    /// Reading begins behind what was applied, and nothing is compared.
    NothingReadAgain,
    /// Of messages that are read again, one may be missing.
    MissingUnnoticed,
    /// The position in the answer to an append is not compared with what was applied there.
    AnswerUncompared,
    /// What the author of a message has seen is not compared with what was applied.
    ClaimUncompared,
    /// A log that ends before what was applied is read as if it could not be reached.
    LostSuffixIgnored,
    /// The log may be trimmed by one message more than a checkpoint needs.
    NeededFromTooHigh,
    /// An append that etcd did not answer in time counts as one that will never happen.
    TimeoutRefused,
    /// A member of another cluster of etcd is used.
    OtherClusterAccepted,
    /// A message that etcd leaves out of a watch is not noticed.
    MissingVersionIgnored,
    /// What etcd gives from before the beginning of a watch is taken for messages.
    OldVersionGiven,
    /// A server of NATS that does not sync every write keeps a replica of the log.
    UnsyncedReplicaTaken,
    /// A message that NATS leaves out of a stream is not noticed.
    SequenceGapIgnored,
    /// Whoever asks for the end of the log while a barrier is under way takes that one.
    EarlierBarrierTaken,
    /// A record that the log has taken and lost is waited for, as if it could still come.
    LostRecordAwaited,
    /// A barrier that seemed lost and comes late answers nobody.
    LateBarrierForgotten,
    /// Rows that were given are given again.
    RowsGivenAgain,
    /// A new group is the lowest free one of all, whatever partition it belongs to.
    GroupOfAnotherPartition,
    /// A name that has a number gets another one.
    NameNumberedAgain,
    /// An index that was dropped and created anew becomes ready by the record of the first one.
    OtherIndexReady,
    /// An index answers once one node has filled it.
    IndexReadyOfOne,
    /// A node says that it has filled an index though a store of it has not.
    PartitionUnfilled,
    /// The record that creates an index touches nothing.
    CreationUntouched,
    /// The record that confirms that an index is unique touches nothing.
    ConfirmationUntouched,
    /// Whoever enters values does not ask for other holders of an index that is being made unique.
    UniqueUnenforced,
    /// Values place the vertices of a label that had some before it was adopted.
    AdoptedLabelPlaced,
    /// A node joins with an incarnation that it had before.
    IncarnationTwice,
    /// Records of an author count who has not joined, or whose node has joined again since.
    ZombieAccepted,
    /// A transaction may send a partition what belongs elsewhere.
    MisplacedAccepted,
    /// A transaction may be about vertices whose rows nobody was given.
    NeverGivenAccepted,
    /// A transaction may change a vertex or an edge twice.
    ChangedTwiceAccepted,
    /// What a transaction would have changed that cannot be installed counts as changed.
    MalformedTouches,
    /// A placement is changed by an author who has not seen the change before.
    StalePlaceAccepted,
    /// The last node that serves a partition may drop it.
    LastCopyDropped,
    /// A checkpoint has no groups.
    GroupsNotSaved,
    /// A checkpoint has no placement keys.
    PlacementKeysNotSaved,
    /// A label is placed by the key of a second unique index.
    PlacementKeyReplaced,
    /// Vertices that a label had before its first unique index count as placed by it.
    EarlierVerticesForgotten,
    /// A value that a vertex gets later counts as placed.
    ChangedValueUnlearned,
    /// Whoever reads does not learn that a label was scattered.
    ScatteringUnpublished,
    /// A checkpoint saves what follows from the log before its partitions.
    StateSavedFirst,
    /// A partition that is ahead of its node's checkpoint gets the same commits again.
    PartitionAheadInstalled,
    /// A partition that is ahead of its node's checkpoint, or was copied, is not compared with the log.
    PartitionUnproved,
    /// A message is published before its commits are installed.
    PublishedFirst,
    /// A partition's store notes with a commit the log through the message before.
    NoteOfMessageBefore,
    /// A checkpoint saves a partition that has not all of what its state has.
    PartitionSavedBehind,
    /// The log may be trimmed for a checkpoint that has begun and is not there yet.
    NeededFromBegun,
    /// The log may be trimmed as for what was applied when a checkpoint ends, and not when it began.
    NeededFromOfEnd,
    /// A checkpoint of a node does not sync the stores of its partitions.
    PartitionNotSynced,
    /// What a transaction changed in the catalogue is not given to the partitions.
    SchemaKeptFromPartitions,
    /// A number of starts is given before it is on disk.
    IncarnationUnsynced,
    /// A node writes before the log has accepted that it joins.
    PushedBeforeJoined,
    /// A partition without room forgets what it has not installed of a message.
    StalledRestForgotten,
    /// A checkpoint is made though a partition has not installed everything before it.
    StalledStateSaved,
    /// A partition whose store failed is read.
    FailedPartitionAnswers,
    /// A transaction does not check what it writes.
    WritesUnchecked,
    /// A serialisable transaction does not check what it has read.
    ReadsUnchecked,
    /// A serialisable transaction does not check that an index that it asked is still there.
    DroppedIndexUnchecked,
    /// A transaction does not see groups that it has opened itself.
    GroupsOfBegin,
    /// A transaction that knows the groups of a moment takes those of an earlier one.
    GroupsGoBack,
    /// Vertex ids go back after a commit, whatever came of it.
    UsedIdsGivenBack,
    /// Whoever guesses the name of a transaction may have it called off.
    SettledUnproved,
    /// Work on an answer goes on though nobody waits for it.
    ForgottenWorkGoesOn,
    /// Whoever reads does not learn of groups that the log has given a label.
    NewGroupsUnpublished,
    /// A question is answered before everything that its snapshot sees was applied.
    AnsweredTooSoon,
    /// A question is answered though versions that its snapshot sees were merged away.
    AnsweredTooLate,
    /// A question of somebody who read another log is answered.
    AnsweredOfOtherLog,
    /// An answer counts, whoever sent it.
    AnswerOfStranger,
    /// A question waits for its answer for ever.
    DeadlineIgnored,
    /// The snapshot of a question that is being answered is not in use.
    AnswerUnregistered,
    /// A reader reads a partition of its own node that has not applied its snapshot.
    OwnPartitionUnapplied,
    /// What becomes of one partition of a node closes what its readers have opened of the others.
    OthersGivenUp,
    /// A snapshot at the newest commit of a store does not begin though a newer one has come, and could be read.
    NewerCommitUnseen,
    /// A reader does not read partitions of its own node where they lie.
    OwnViewsUnread,
    /// A reader reads partitions of its own node though it begins at another moment than that of the node's tables.
    OwnViewsOfOtherLog,
    /// Pairs of an index at hand are read however many bytes they take.
    OwnPagesUnbounded,
    /// A scan at hand does not look at its limit.
    OwnScanUnlooked,
    /// Own work goes on after an error of another node.
    OwnWorkDeaf,
    /// The horizon of a node passes its own readers.
    ReadersPassed,
    /// A reader begins below what its node has told others.
    BegunBelowSaid,
    /// The horizon is what is said now, though it was higher.
    HorizonGoesBack,
    /// The horizon is beyond what its node has applied.
    HorizonUnapplied,
    /// A silent node keeps its say for ever.
    SilentNodeHolds,
    /// A heartbeat counts that is older than one that came.
    LateHeartbeatCounts,
    /// A member that has said nothing yet is not waited for.
    UnheardPassed,
    /// A member that joins again after a silence is not waited for.
    JoinedAgainPassed,
    /// The log is kept for a silent node for ever.
    SilentNodeKeepsLog,
    /// The log is trimmed though a member has not said yet what it needs of it.
    UnheardNeedsNothing,
    /// A checkpoint goes on at once without a partition that has failed.
    LostCopyNotHeld,
    /// A heartbeat of another log counts.
    OtherLogHeard,
    /// A snapshot is kept however old it is.
    SnapshotsAgeless,
    /// What was applied before a while without messages counts as applied after it.
    IdleAgesForgotten,
    /// One holder of a partition is asked, and no other.
    OneHolderAsked,
    /// A node that was silent is asked first as before.
    SilenceForgotten,
    /// A refusal ends an ask.
    RefusalFinal,
    /// A reader that has given up is asked for all the same.
    AskedAfterTheEnd,
    /// An ask goes on after its deadline.
    AskEndless,
    /// Who works on a question is waited for only shortly, once another holder finds the snapshot too old.
    WorkingHolderLeft,
    /// A message may be about any number of items.
    ItemsUnlimited,
    /// A question about a group of another partition is answered: nothing is there.
    StrangeGroupAnswered,
    /// An edge is asked of the partition of its target.
    EdgeAskedOfTarget,
    /// The next page of a list begins with the last entry of the one before.
    PageRepeated,
    /// The checksum of a frame is not compared.
    FrameUnchecked,
    /// The announced length of a frame is not compared with the limit.
    FrameLengthUnchecked,
    /// The memory of a large frame is kept until its connection ends.
    FrameMemoryKept,
    /// The count of a batch is taken for what has come.
    BatchCountUnchecked,
    /// A question of a batch reads at the snapshot of the one before.
    SnapshotTakenFromBefore,
    /// Of a batch for which the network has no room only the first frame waits on.
    BatchCut,
    /// A question that its asker has forgotten waits on.
    ForgetIgnored,
    /// One asker's questions may take all threads.
    AskerTakesAllThreads,
    /// An answer waits until its worker has nothing more to do.
    AnswersHeldBack,
    /// A worker begins a long question before it wakes the thread of its node for what it has answered.
    LongQuestionFirst,
    /// Each answer wakes the thread of its node.
    EachAnswerTold,
    /// One asker may fill the queue of questions that wait.
    AskerUnlimited,
    /// A certificate of the cluster's CA is taken for that of any node.
    CertificateNameUnchecked,
    /// A node of another cluster is let in.
    HelloClusterUnchecked,
    /// A description of a cluster is taken as it is, whatever its id says.
    DescriptionUnchecked,
    /// Keys in the folders of a new cluster can be read by others.
    KeyReadable,
    /// Errors of a node that has stopped do not say why.
    StopUnexplained,
    /// A copy that one node began is continued by another one.
    PiecesOfTwoCopies,
    /// A node gives a copy that lacks what its asker has applied.
    CopyBehind,
    /// A node that copies does not say from where on it needs the log.
    CopyTrimmed,
    /// A node that is starting gives no copies of what it has.
    StartingGivesNothing,
    /// A node that has not joined says from where on it needs the log only while it copies.
    NeedUntold,
    /// A start of a node takes the place of a process that joined while it was starting.
    YoungerFenced,
    /// What a node had applied before it started is not compared with the log, beyond its checkpoint and its partitions.
    SeenForgotten,
    /// Rows of queries take all the room of a queue, and answers none.
    RowsFillQueue,
    /// Rows of a query that come twice are taken twice.
    TravelDoubleTaken,
    /// A stage of a query ends with its last message, though one before is missing.
    TravelEndsEarly,
    /// A query that has run for long waits for a silent node no longer than one that has just begun.
    OldQueryImpatient,
    /// A query waits for a silent node as long as it had run, however long that was.
    OldQueryEndless,
    /// A query leaves a node at once that was silent when there was no other to choose.
    SilentChoiceLeftAtOnce,
    /// A node that had to be chosen, since no other has its partitions, counts as lost, and the query begins again.
    LastResortLost,
    /// Whatever a node fails by counts as its loss, and the query begins again.
    FailureTakenForLoss,
    /// The loss of a node counts as any other failure, and the query does not begin again.
    LossTakenForFailure,
    /// A node that has started again is chosen as it was before.
    StartedAgainChosen,
    /// A node is avoided until that start of it joins which has told of itself, though another machine is the node by then.
    UnjoinedStartAwaited,
    /// A worker takes each message of a stage as it comes, however little there is to do.
    RowsTakenOneByOne,
    /// A node that copies partitions counts as one that is there for queries.
    CopyTakenForLife,
    /// Of all that comes from a node heartbeats alone are signs of life for queries.
    HeartbeatsAloneHeard,
    /// Nodes are found silent though frames are left that came from them.
    LeftFramesUnheard,
    /// Nodes are not found silent as long as frames are left.
    SilencePutOffForEver,
}

impl Bug {
    /// Every bug of hashes, payloads and certification, in the order of the list.
    pub const OF_DECISIONS: [Self; 22] = [
        Self::MembersUntouched,
        Self::VertexUntouched,
        Self::AdjacencyUntouched,
        Self::ListsUntouched,
        Self::PropertyUntouched,
        Self::EntriesUntouched,
        Self::HalfEdge,
        Self::RangesUnchecked,
        Self::DoubleDecided,
        Self::OutcomesForgottenEarly,
        Self::FloorUnchecked,
        Self::OlderGenerationNotSaved,
        Self::CancelForgotten,
        Self::LateCancelAnswered,
        Self::LateCancelKept,
        Self::TooOldKept,
        Self::MessageBlind,
        Self::RefusedTouches,
        Self::PartsUnchecked,
        Self::PartsForgottenEarly,
        Self::OtherLogAccepted,
        Self::LateRecordAccepted,
    ];
}

/// Demands that a unit test finds `bug`, by an assertion that says `message`. Without the bug it passes: it is a test.
#[cfg(test)]
pub(crate) fn assert_found(bug: Bug, test: fn(), message: &str) {
    let Err(panic) = std::panic::catch_unwind(|| with(bug, test)) else {
        panic!("{bug:?} is not found");
    };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let said = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    assert!(said.contains(message), "{bug:?} is found otherwise: {said}");
}

/// Whether this thread has `bug`.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn planted(_bug: Bug) -> bool {
    false
}

#[cfg(feature = "planted")]
pub(crate) use of_thread::planted;
#[cfg(feature = "planted")]
pub use of_thread::with;

#[cfg(feature = "planted")]
mod of_thread {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Whether this thread has `bug`.
    pub(crate) fn planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }

    /// Does `work` with `bug`.
    pub fn with<T>(bug: Bug, work: impl FnOnce() -> T) -> T {
        struct Removed;
        impl Drop for Removed {
            fn drop(&mut self) {
                PLANTED.set(None);
            }
        }
        PLANTED.set(Some(bug));
        let _removed = Removed;
        work()
    }
}
