//! Engine: how the command line names the engine of a new database.

use clap::ValueEnum;
use evergraph::EngineKind;

/// Where the graph of a new database is kept.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum EngineArgument {
    /// In memory; its log and its checkpoints on disk.
    Memory,
    /// On disk, within a memory limit.
    Disk,
}

impl EngineArgument {
    /// The engine.
    #[must_use]
    pub fn kind(self) -> EngineKind {
        match self {
            Self::Memory => EngineKind::Memory,
            Self::Disk => EngineKind::Disk,
        }
    }
}
