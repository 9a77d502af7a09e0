//! Disk: which tests of the disk engine catch bugs that others can have as well.

use crate::catcher::Catcher;
use crate::test_names::*;
use evergraph_storage::planted::Bug;

/// The test of the disk engine that catches a bug that others can have as well.
pub fn on_disk(bug: Bug) -> Option<Catcher> {
    use Bug::*;
    let (tests, name, says): (_, _, &[&str]) = match bug {
        ForgetInEdge => ("durable", COMPACTED, &["both sides have the same edges"]),
        LengthBeforeRecord => ("schedules_memory_graph", GROWING, &["is not its prefix", "misses a"]),
        LengthRelaxed => {
            ("disk_engine/weak_orders", COUNT, &["half a record", "a payload of another record"])
        }
        OpenedNotSynced => ("durable", OPENED, &["the file is missing, and the manifest names it"]),
        PruneBeforeManifest => ("durable", DISK_POWER, &["is missing: db/log-"]),
        NeedNotSynced => ("durable", UNSYNCED_POWER, &["was synced"]),
        BeginOutsideRegistry => ("schedules_tree", BESIDE_SWAP, &["a set has commit"]),
        _ => return None,
    };
    Some(Catcher { tests, name, seed: None, says })
}
