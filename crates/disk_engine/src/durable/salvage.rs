//! Salvage: saves what verifies of a damaged database. Not there yet: it is refused, and nothing is written.

use evergraph_graph::error::{Error, Result};
use evergraph_storage::checkpoint::report::CheckProgress;
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;

/// As `DurableEngine::salvage`.
///
/// # Errors
/// `invalid`, always.
pub fn salvage(
    source: SalvageSource<'_>,
    _target: &SalvageTarget<'_>,
    _progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    Err(Error::invalid(format!(
        "{}: this version can't salvage a database of the disk engine; restore a backup",
        source.directory.location().display()
    )))
}
