//! Apply error: why a node cannot go on applying.

use crate::log_position::LogPosition;
use crate::record_id::RecordId;
use evergraph_graph::error::Error;
use evergraph_graph::id::PartitionId;
use evergraph_graph::timestamp::Timestamp;
use std::fmt;

/// Why a node cannot go on applying.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApplyError {
    /// A record committed and is not what its coordinator should have sent: its mutations cannot be read, or change the
    /// catalogue against its rules. Every node that reads them stops.
    Record {
        /// Which record.
        id: RecordId,
        /// Its commit.
        timestamp: Timestamp,
        /// What is wrong with it.
        cause: Error,
    },
    /// The store of a partition failed.
    Store {
        /// Which partition.
        partition: PartitionId,
        /// What it says.
        cause: Error,
    },
    /// A partition has less than the node's checkpoint: it is copied from another node.
    Behind {
        /// Which partition.
        partition: PartitionId,
        /// The newest message that it has installed.
        installed: LogPosition,
        /// The newest message that the node has applied.
        applied: LogPosition,
    },
    /// A partition has installed another log than this one: it is copied from another node.
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
    /// The node has stopped before, by an error.
    Stopped,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record { id, timestamp, cause } => {
                write!(f, "{id} committed at {timestamp} and cannot be applied: {cause}")
            }
            Self::Store { partition, cause } => write!(f, "partition {}: {cause}", partition.0),
            Self::Behind { partition, installed, applied } => {
                let partition = partition.0;
                write!(
                    f,
                    "partition {partition} ends at message {installed}, its node has applied {applied}: "
                )?;
                f.write_str("copy it again")
            }
            Self::OtherLog { partition, installed } => {
                let partition = partition.0;
                write!(f, "partition {partition} has another log up to message {installed}: copy it again")
            }
            Self::Kept { partition } => write!(f, "the node keeps partition {} already", partition.0),
            Self::Stopped => f.write_str("the node has stopped: start it again"),
        }
    }
}

impl std::error::Error for ApplyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Record { cause, .. } | Self::Store { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
