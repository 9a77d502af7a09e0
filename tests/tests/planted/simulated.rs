//! Simulated: which history of the simulation meets which bug, and what it says then.

use crate::catcher::Catcher;
use evergraph_storage::planted::Bug;

const SIMULATION: &str = "no_power_cut_and_no_fault_breaks_a_promise";
const SIMULATION_OF_MAPPED: &str = "no_power_cut_and_no_fault_breaks_a_promise_of_the_mapped_engine";
const ACKNOWLEDGED_LOST: &[&str] = &[" was acknowledged, and "];
const BODIES_LOST: &[&str] = &["simulated.db/bodies-"];
const EXTENTS_LOST: &[&str] = &["simulated.db/array-"];
/// Records of vertices, or those of edges on one side or on both; or between two that are there.
const RECORDS_LOST: &[&str] =
    &["the state is not that of commit", "front/model.rs", "in the records of one key"];

/// From this seed on a history has a disk of persistent memory.
const LINES_FROM_SEED: u64 = 1 << 40;

/// The histories of the mapped engine that meet a bug, in pages and in lines.
const ON_MAPPED: &[(Bug, u64, &[&str])] = &[
    (Bug::SkipDirty, 22, RECORDS_LOST),
    (Bug::SkipDirty, LINES_FROM_SEED + 30, RECORDS_LOST),
    (Bug::ExtentsNotSynced, 22, EXTENTS_LOST),
    (Bug::ExtentsNotSynced, LINES_FROM_SEED + 30, EXTENTS_LOST),
];

/// The history of the simulation that meets `bug`, of those that it finds.
pub fn simulated(bug: Bug) -> Option<Catcher> {
    use Bug::*;
    let (seed, says): (_, &[&str]) = match bug {
        SkipSync | AcknowledgeBeforeSync => (1, ACKNOWLEDGED_LOST),
        DurableBeforeWrite => (15, ACKNOWLEDGED_LOST),
        SyncTriedAgain => (5012, &["expected a frame (0x6d467645), found 0x00000000"]),
        NotPoisoned => (15, &["a store whose log failed goes on"]),
        FailedSyncForgotten => (19, &["a store whose log failed goes on"]),
        // The log goes on at the next page, where an unpadded one does not look for it.
        UnpaddedBatch => (1, &["is corrupt at byte 4562"]),
        LinkBeforeSync => (4, &["expected a frame (0x6d467645), found 0x00000000"]),
        UnchainedFile => (2, &["expected a frame that follows commit 0"]),
        FileNameNotSynced => (1, &["is missing: log_end says that it was taken into use"]),
        NoHeaderChecksum => (309, &["is the newest commit, which nobody made"]),
        NoChecksum => (9, &["the state is not that of commit"]),
        HalfFrame => (9, &["in the log cannot be read"]),
        SyncedThroughIgnored => (1, ACKNOWLEDGED_LOST),
        TornEndOverwritten => (27, &["the state is not that of commit"]),
        RecoveredNotSynced => (12, ACKNOWLEDGED_LOST),

        ManifestBeforeBodies | BodiesNotSynced => (1, BODIES_LOST),
        RenameNotSynced | PruneBeforeManifest => (1, &["log file simulated.db/log-0000"]),
        OpenedNotSynced => (20, &["the state is not that of commit"]),
        NeedNotSynced => (4, &["was synced"]),
        // Another number of edges than the model has.
        SkipDirty => (1, &["front/model.rs"]),
        NoFilter => (4, &["records are exact"]),
        IdsForgotten => (1, &["is a new id"]),
        NotesNotStored => (2, &["the state is not that of commit"]),
        NoteApart => (2, &[" follows "]),
        _ => return None,
    };
    Some(Catcher { tests: "simulation", name: SIMULATION, seed: Some(seed), says })
}

/// The histories of the simulation on the mapped engine that meet `bug`, of those that it finds.
pub fn simulated_on_mapped(bug: Bug) -> impl Iterator<Item = Catcher> {
    let of_bug = ON_MAPPED.iter().filter(move |entry| entry.0 == bug);
    of_bug.map(|&(_, seed, says)| Catcher {
        tests: "simulation",
        name: SIMULATION_OF_MAPPED,
        seed: Some(seed),
        says,
    })
}
