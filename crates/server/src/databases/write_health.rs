//! Write health: whether an open database takes commits, and whether its checkpoints succeed.

use evergraph::Database;

/// Whether an open database takes commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteHealth {
    /// It does.
    Writable,
    /// A write or a sync of the log failed: nothing more is committed until it is opened again.
    LogFailed,
    /// A bulk load could not be made durable, or a thread of its own panicked: the same.
    StoreFailed,
    /// The cluster's node in this process has stopped: the same.
    NodeStopped,
}

impl WriteHealth {
    /// That of `database`.
    ///
    /// Cost: the lock of commits, which a large one holds while it is installed: not for a network thread.
    #[must_use]
    pub fn of(database: &Database) -> Self {
        if database.store().own_log().is_ok_and(|log| log.is_poisoned()) {
            return Self::LogFailed;
        }
        if database.check_node().is_err() {
            return Self::NodeStopped;
        }
        match database.store().timeline().latch().poisoned {
            Some(_) => Self::StoreFailed,
            None => Self::Writable,
        }
    }

    /// Whether it takes no commits.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        self != Self::Writable
    }

    /// Why it takes no commits, without names of files or databases.
    #[must_use]
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Writable => None,
            Self::LogFailed => Some(
                "a write to the disk failed: a database is read-only until it is opened again, and its log says which file",
            ),
            Self::StoreFailed => Some(
                "a load could not be made durable, or a thread of a database failed: it is read-only until it is opened again",
            ),
            Self::NodeStopped => Some(
                "the cluster's node of this server has stopped: its log says why, and it serves again when it is started again",
            ),
        }
    }
}

/// Whether the last checkpoint that `database` made by itself failed. It is tried again, and until one succeeds the log grows.
#[must_use]
pub fn has_failed_checkpoint(database: &Database) -> bool {
    database.checkpoint_state().failure.is_some()
}
