//! Restored log: a node is killed before a checkpoint has what it had applied, and the log is restored from an older copy.
//!
//! ```text
//! applied      1 ... 6 checkpoint ... 12, noted     killed: partitions have 6, and the log has 8, or 8 and others behind it
//! next start   from 6: the log must have what was noted, and does not
//! ```

use crate::fuse::Fuse;
use crate::script::Script;
use crate::{barrier, checkpointed};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log::memory::OpenStreams;
use evergraph_cluster::log::reader::{LogChange, ReadError};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::node_error::NodeError;
use evergraph_cluster::planted::{Bug, with};

/// What the next start finds on the log that lost four messages, to which others have appended so many.
fn started(noted: Option<usize>, appended: u64) -> Result<LogPosition, NodeError> {
    let script = Script::new(3, 12);
    let (mut machine, mut node) = checkpointed(&script);
    for (number, bytes) in (7..).zip(&script.messages[6..]) {
        machine.append(bytes);
        machine.read_all(&mut node).unwrap();
        if noted == Some(number) {
            machine.note(&node);
        }
    }
    machine.cut_power();
    machine.log.lose_suffix(4, OpenStreams::BreakOff);
    (1..=appended).for_each(|number| machine.append(&barrier(number, &SeenLog::START)));
    let mut node = machine.start(&Fuse::new(None)).unwrap();
    machine.read_all(&mut node)?;
    Ok(node.applier().state().seen().position)
}

#[test]
fn a_node_that_was_killed_before_a_checkpoint_does_not_take_an_older_log_for_its_own() {
    for (appended, expected) in [
        (0, LogChange::Shorter { end: LogPosition(8) }),
        (3, LogChange::Shorter { end: LogPosition(11) }),
        (6, LogChange::Replaced),
    ] {
        match started(Some(12), appended) {
            Err(NodeError::Read(ReadError::LogChanged { position: LogPosition(12), change })) => {
                assert_eq!(change, expected, "{appended} appended");
            }
            other => panic!("{appended} appended: {other:?}"),
        }
        // What was noted is in the older log: what was applied behind it nobody knows.
        assert_eq!(started(Some(8), appended).unwrap(), LogPosition(8 + appended));
        let forgotten = with(Bug::SeenForgotten, || started(Some(12), appended));
        assert_eq!(forgotten.unwrap(), LogPosition(8 + appended), "something else finds it");
    }
}
