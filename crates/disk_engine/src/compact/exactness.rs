//! Exactness: whether the records of all files together say, of each item, that it came, changed and went in turn.
//!
//! A merge that keeps nothing: what is left of each key must be an Insert. It finds what sums of both sides cannot, a
//! record that is wrong on both of them in the same way.

use crate::compact::chain::{ListChain, chains_of};
use crate::compact::job::merge_failed;
use crate::file::csr_file::CsrFile;
use crate::file::page_scan::ScanWindow;
use crate::format::operation::RecordOperation;
use crate::merge::delete_rule::{Below, DeleteRule};
use crate::merge::list_merge::ListMerge;
use crate::merge::list_source::ListKey;
use crate::merge::merged_run::MergedRun;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::sync::Arc;

/// Of each file a quarter of a megabyte is read at once, so that many take little memory.
const WINDOW: ScanWindow = ScanWindow { read_pages: 16, reads_ahead: 1 };
/// Runs between two questions whether to go on.
const RUNS_BETWEEN_QUESTIONS: u64 = 256;

/// Merges `files`, all of a database, newest first, and compares nothing else. Indexes are left out.
///
/// Cost: as a compaction of all of them that writes nothing: every page of vertices and lists is read once, 10 to 100 ns
/// a record; some 2 MB a file of L0 and a level.
///
/// # Errors
/// [`CheckpointError::Corrupt`](evergraph_storage::checkpoint::error::CheckpointError::Corrupt), naming one of the
/// files, for records that contradict each other, and for damage; what `go_on` and the system say.
pub fn check_exactness(
    files: &[Arc<CsrFile>],
    go_on: &mut dyn FnMut() -> CheckpointResult<()>,
) -> CheckpointResult<()> {
    let until = files.iter().map(|file| file.stored().last_ts).max().unwrap_or(Timestamp::ZERO);
    let chains = chains_of(files).into_iter().map(|files| ListChain::new(files, WINDOW));
    let deletes = DeleteRule::new(Below::OlderRecords, []);
    let mut merge = ListMerge::new(chains.collect::<CheckpointResult<Vec<_>>>()?, until, deletes);
    for runs in 0_u64.. {
        if runs.is_multiple_of(RUNS_BETWEEN_QUESTIONS) {
            go_on()?;
        }
        if let Err(error) = merge.advance() {
            let file = |source: usize| Arc::clone(merge.sources()[source].file());
            return Err(merge_failed(error, file));
        }
        let Some(run) = merge.run() else { break };
        let is_wrong = |operation: &RecordOperation| *operation != RecordOperation::Insert;
        if let Some(at) = run.operations.iter().position(is_wrong) {
            let ListKey { subject, vertex } = run.list;
            let (operation, neighbor) = (run.operations[at], run.neighbors[at]);
            let file = merge.sources()[source_of(&run, at)].file();
            let problem =
                format!("{subject} of {vertex}: {operation:?} of {neighbor}, which nothing inserted");
            return Err(file.contradiction(problem));
        }
    }
    Ok(())
}

/// The source that a record of a run comes from.
fn source_of(run: &MergedRun<'_>, record: usize) -> usize {
    let mut before = 0;
    let found = run.property_runs.iter().find(|part| {
        before += part.count;
        before > record
    });
    found.map_or(0, |part| part.first.source)
}
