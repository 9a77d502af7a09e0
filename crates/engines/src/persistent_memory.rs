//! Persistent memory: whether a database lies in it, and the directory whose files are written by stores.
//!
//! ```text
//!                 a new database          one that is there
//! as created      of files                of stores, if its extents lie as close as only stores can write them
//! required        of stores               of stores                      refused on a file system without MAP_SYNC
//! emulated        of stores               of stores                      on any file system
//! ```
//!
//! Stores are for the mapped engine: it alone reads the files where they lie.

use crate::engine::AnyEngine;
use crate::kind::EngineKind;
use crate::reader::engine_of;
use evergraph_graph::error::{Error, Result};
use evergraph_mapped_engine::extents::array_file::file_number;
use evergraph_mapped_engine::files::section::Section;
use evergraph_storage::checkpoint::manifest::{FILE_NAME, Manifest};
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::io::dax::{DaxDirectory, Emulation};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::write_unit::WriteUnit;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Whether a database lies in persistent memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum PersistentMemory {
    /// As it was created; a new one lies in files, wherever they are. The default.
    #[default]
    AsCreated,
    /// It does, and its files are written by stores. A file system that does not accept `MAP_SYNC` is refused.
    Required,
    /// As if it did, on any file system: for tests and measurements of DRAM. A power cut loses what the system has not
    /// written yet.
    Emulated,
}

impl PersistentMemory {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::AsCreated, Self::Required, Self::Emulated];

    /// Its name, for users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsCreated => "as-created",
            Self::Required => "required",
            Self::Emulated => "emulated",
        }
    }

    /// Refuses what it does not go with.
    ///
    /// # Errors
    /// `invalid` if persistent memory is asked for with another engine than the mapped one.
    pub fn check_engine(self, engine: EngineKind) -> Result<()> {
        if self == Self::AsCreated || engine == EngineKind::Mapped {
            return Ok(());
        }
        let mapped = EngineKind::Mapped;
        Err(Error::invalid(format!(
            "persistent memory is `{}`, which goes with the engine `{mapped}` only, and this database has `{engine}`: create it \
             with `{mapped}`, convert it, or leave the setting out",
            self.name()
        )))
    }
}

impl fmt::Display for PersistentMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PersistentMemory {
    type Err = Error;

    /// # Errors
    /// `invalid` for another name.
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|memory| memory.name() == name).ok_or_else(|| {
            let [as_created, required, emulated] = Self::ALL;
            let text =
                format!("persistent memory `{name}`: expected `{as_created}`, `{required}` or `{emulated}`");
            Error::invalid(text)
        })
    }
}

/// `directory`, for files as `memory` says.
///
/// Cost: where the mapped engine has files, its manifest is read once more; if they are written by stores, a small file without a name.
///
/// # Errors
/// `invalid` as of [`PersistentMemory::check_engine`], of a database that is there; `io`, naming MAP_SYNC, if stores are needed and the
/// file system is none of persistent memory, or the processor has no instruction for it.
pub fn placed(directory: DiskDirectory, memory: PersistentMemory) -> Result<Arc<dyn Directory>> {
    let emulation = match memory {
        PersistentMemory::AsCreated if is_written_by_stores(&directory) => Emulation::Refused,
        PersistentMemory::AsCreated => return Ok(Arc::new(directory)),
        PersistentMemory::Required => Emulation::Refused,
        PersistentMemory::Emulated => Emulation::Demanded,
    };
    if directory.exists(FILE_NAME)? {
        memory.check_engine(engine_of(&directory)?)?;
    }
    Ok(Arc::new(DaxDirectory::of(directory, emulation)?))
}

/// Whether only stores can write the files of the database in `directory`. What can't be read is told by whoever opens it.
#[must_use]
pub fn is_written_by_stores(directory: &DiskDirectory) -> bool {
    let has_arrays = directory.list().is_ok_and(|names| names.iter().any(|name| file_number(name).is_some()));
    let manifest = has_arrays.then(|| Manifest::read(directory, AnyEngine::opens).ok()).flatten();
    manifest.is_some_and(|manifest| {
        manifest.engine == EngineKind::Mapped.name()
            && Section::unit_of(&manifest).is_some_and(|unit| unit.bytes() < WriteUnit::PAGE.bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn a_choice_is_read_by_its_name_and_the_error_lists_all() {
        for memory in PersistentMemory::ALL {
            assert_eq!(memory.to_string().parse::<PersistentMemory>().unwrap(), memory);
        }
        let error = "pmem".parse::<PersistentMemory>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("`as-created`, `required` or `emulated`"), "{error}");
    }

    #[test]
    fn persistent_memory_goes_with_the_mapped_engine_alone() {
        for engine in EngineKind::ALL {
            for memory in PersistentMemory::ALL {
                let fits = memory == PersistentMemory::AsCreated || engine == EngineKind::Mapped;
                assert_eq!(memory.check_engine(engine).is_ok(), fits, "{memory} {engine}");
            }
        }
    }
}
