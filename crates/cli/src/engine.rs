//! Engine: how the command line names the engine of a new database.

use clap::ValueEnum;
use evergraph::EngineKind;

/// Where the graph of a new database is kept.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum EngineArgument {
    /// The graph in memory; log and checkpoints on disk.
    Memory,
    /// The graph in files, below a memory limit.
    Disk,
    /// The graph in mapped files, read where it lies: opens at once.
    Mapped,
}

impl EngineArgument {
    /// The engine.
    #[must_use]
    pub fn kind(self) -> EngineKind {
        match self {
            Self::Memory => EngineKind::Memory,
            Self::Disk => EngineKind::Disk,
            Self::Mapped => EngineKind::Mapped,
        }
    }
}
