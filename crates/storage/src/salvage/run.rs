//! Run: reads a damaged database, and writes what its engine saved to a new one.

use std::sync::Arc;

use evergraph_graph::error::{Error, Result};

use crate::checkpoint::manifest::Manifest;
use crate::checkpoint::report::CheckProgress;
use crate::durable_engine::DurableEngine;
use crate::io::directory::Directory;
use crate::salvage::new_database::SalvageTarget;
use crate::salvage::salvaged::Salvaged;
use crate::salvage::source::SalvageSource;
use crate::unfinished_directory::{LOCK_NAME, is_unfinished, unfinished};

/// Reads the database in `directory`, of which not a byte is changed, and writes what verifies into
/// `target`, an empty directory. `salt` is any number; `progress` may ask to stop. Without a manifest that can be read, the
/// new database is of the engine whose files are there; if there is none, of the default engine.
///
/// Cost: log files read once, of the memory engine's files a block once for each body in it; memory for the
/// vertices, and for the edges of one type, both sides twice.
///
/// # Errors
/// `corrupt` if nothing can be named, since the manifest is damaged and the log doesn't go back to the first
/// commit; `not_found` if there is no database; `invalid` for another engine, a newer format, one partition of a
/// graph, also if its log alone shows that it is one, or a target that is taken; `busy`, `limit`, `io`, `cancelled`. What was
/// written is removed then.
pub fn salvage<E: DurableEngine>(
    directory: &dyn Directory,
    target: &Arc<dyn Directory>,
    salt: u64,
    progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    if is_unfinished(directory)? {
        return Err(unfinished(directory));
    }
    let _lock = directory.lock_unchanged(LOCK_NAME)?;
    // What stands for a manifest that can't be read is of the engine whose files are there.
    let engine = directory.list()?.iter().find_map(|name| E::engine_of_file(name)).unwrap_or(E::NEW);
    let empty = Manifest::empty(engine, E::empty_section(engine));
    let source = SalvageSource::read(directory, E::opens, E::is_file, empty)?;
    if let Some(own) = source.manifest.partition {
        let location = directory.location().display();
        let text = format!(
            "{location} has {own} of a graph, which is not salvaged: another copy of it has the same"
        );
        return Err(Error::invalid(text));
    }
    let target = SalvageTarget { directory: target, salt, is_engine_file: E::is_file };
    E::salvage(source, &target, progress)
}
