//! Apply error: why a node cannot install what was decided in one of its partitions.
//!
//! None of these stops the node: what follows from the log is decided whatever its partitions say, and the other partitions go
//! on.

use crate::log_position::LogPosition;
use evergraph_graph::error::Error;
use evergraph_graph::id::PartitionId;
use std::fmt;

/// Why a partition of a node cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApplyError {
    /// The store of the partition failed, and it is not a lack of room.
    Store {
        /// Which partition.
        partition: PartitionId,
        /// What it says.
        cause: Error,
    },
    /// The partition has less than the node has applied: its node copies it from another one when it starts.
    Behind {
        /// Which partition.
        partition: PartitionId,
        /// The newest message that it has installed.
        installed: LogPosition,
        /// The newest message that the node has applied.
        applied: LogPosition,
    },
    /// The partition has installed another log than this one: its node copies it from another one when it starts.
    OtherLog {
        /// Which partition.
        partition: PartitionId,
        /// The newest message that it has installed.
        installed: LogPosition,
    },
    /// The node keeps the partition already.
    Kept {
        /// Which partition.
        partition: PartitionId,
    },
}

/// What becomes of it.
const COPIED: &str = "it is copied from another node when this one starts";

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store { partition, cause } => {
                let partition = partition.0;
                write!(
                    f,
                    "partition {partition}: {cause}; start the node again, which opens it, or copies it from another one"
                )
            }
            Self::Behind { partition, installed, applied } => {
                let partition = partition.0;
                write!(
                    f,
                    "partition {partition} ends at message {installed}, its node has applied {applied}: "
                )?;
                f.write_str(COPIED)
            }
            Self::OtherLog { partition, installed } => {
                let partition = partition.0;
                write!(f, "partition {partition} has another log up to message {installed}: {COPIED}")
            }
            Self::Kept { partition } => write!(f, "the node keeps partition {} already", partition.0),
        }
    }
}

impl std::error::Error for ApplyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
