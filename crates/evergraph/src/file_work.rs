//! File work: what needs the files of a database in the process that writes them, and what is said where it cannot be done.

use std::fmt;

/// Work on a database in one directory of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileWork {
    /// A bulk load, of an import too.
    Load,
    /// The database becomes one that follows a source.
    Ownership,
    /// The open store is asked for, for any work.
    OpenStore,
    /// A checkpoint.
    Checkpoint,
    /// A backup.
    Backup,
    /// A check of the graph.
    Check,
    /// A conversion to another engine.
    Conversion,
}

impl FileWork {
    /// Whether it changes the graph, or who may change it.
    #[must_use]
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Load | Self::Ownership | Self::OpenStore)
    }

    /// What is said of it where the graph lies on the nodes of a cluster: that it is not done, and what to do.
    #[must_use]
    pub const fn refusal_in_cluster(self) -> &'static str {
        match self {
            Self::Load => "the graph of a cluster takes no bulk load: add vertices and edges in transactions",
            Self::Ownership => {
                "the graph of a cluster cannot follow a source: let a database of its own follow it"
            }
            Self::OpenStore => {
                "the files of a cluster's graph belong to its nodes, which work on them by themselves"
            }
            Self::Checkpoint => "each node of a cluster makes the checkpoints of its partitions by itself",
            Self::Backup => "a cluster's graph cannot be backed up by a node: export it",
            Self::Check => {
                "a cluster's graph cannot be checked by a node: import an export of it, and check that"
            }
            Self::Conversion => {
                "a cluster's graph cannot be converted: import an export of it with another engine"
            }
        }
    }
}

impl fmt::Display for FileWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "a load",
            Self::Ownership => "an owner",
            Self::OpenStore => "work on its files",
            Self::Checkpoint => "a checkpoint",
            Self::Backup => "a backup",
            Self::Check => "a check",
            Self::Conversion => "a conversion",
        })
    }
}
