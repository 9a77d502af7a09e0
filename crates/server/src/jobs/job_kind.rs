//! `JobKind`: what a job does.

/// What a job does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum JobKind {
    /// Copies a database.
    Backup,
    /// Verifies the graph of a snapshot.
    Check,
    /// Writes a checkpoint.
    Checkpoint,
    /// Builds an index.
    CreateIndex,
    /// Writes a database as files that others read.
    Export,
    /// Adds what is in files.
    Import,
}

impl JobKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Backup, Self::Check, Self::Checkpoint, Self::CreateIndex, Self::Export, Self::Import];

    /// Its name in requests, answers, metrics and the audit log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Check => "check",
            Self::Checkpoint => "checkpoint",
            Self::CreateIndex => "createIndex",
            Self::Export => "export",
            Self::Import => "import",
        }
    }

    /// Whether it changes the graph or its indexes: one of these at a time runs in a database, since others would fail.
    #[must_use]
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::CreateIndex | Self::Import)
    }
}
