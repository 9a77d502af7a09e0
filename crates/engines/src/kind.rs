//! Engine kind: which storage engine a database has.
//!
//! It is chosen when a database is created, and recorded in its manifest. Opening needs no choice. The graph of a cluster has no
//! manifest of its own: its engine is known by how it is opened.

use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::error::{Error, Result};
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_memory_engine::engine::MemoryEngine;
use std::fmt;
use std::str::FromStr;

/// A storage engine. Transactions, snapshots, indexes, algorithms, queries and tools are the same with each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum EngineKind {
    /// The whole graph in memory: the fastest reads, for graphs that fit. The default.
    Memory,
    /// The graph in files, for graphs several times larger than memory. It keeps to its memory limit, which is at
    /// least 64 MiB, and by default half of what the machine or the control group has.
    Disk,
    /// The graph in mapped files, read where it lies: opens at once, however large it is. For graphs that fit in memory.
    Mapped,
    /// The partitions of the graph on the nodes of a cluster, whose shared log decides commits. No database is created with it: a
    /// node's folder is opened as `cluster:FOLDER`, by programs that are built with the feature `cluster`.
    Cluster,
}

impl EngineKind {
    /// The engines that a database can be created with.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Disk, Self::Mapped];

    /// The engine of a new database for which none is chosen.
    pub const DEFAULT: Self = Self::Memory;

    /// Its name, in manifests and for users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => MemoryEngine::NAME,
            Self::Disk => DiskEngine::NAME,
            Self::Mapped => MappedEngine::NAME,
            Self::Cluster => "cluster",
        }
    }

    /// Whether edges and properties lie in memory alone, of this process. The others have what is merged in files, and what these
    /// cost in memory is a cache, or on other nodes.
    #[must_use]
    pub const fn keeps_graph_in_memory(self) -> bool {
        matches!(self, Self::Memory)
    }

    /// The engine of that name, if a database can be created with it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = Error;

    /// # Errors
    /// `invalid` for another name.
    fn from_str(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| {
            let [memory, disk, mapped] = Self::ALL;
            Error::invalid(format!("there is no engine `{name}`: choose `{memory}`, `{disk}` or `{mapped}`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_read_by_its_name_and_the_error_lists_all() {
        for kind in EngineKind::ALL {
            assert_eq!(kind.to_string().parse::<EngineKind>().unwrap(), kind);
        }
        assert!("cluster".parse::<EngineKind>().is_err(), "no database is created with it");
        let refused = "lsm".parse::<EngineKind>().unwrap_err().to_string();
        assert_eq!(refused, "there is no engine `lsm`: choose `memory`, `disk` or `mapped`");
    }
}
