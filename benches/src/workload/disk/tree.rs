//! Tree: what flushes, compactions and the budget of a store of ours did, as notes.

use crate::engine::limited::{LimitedStore, MeasuredEngine};
use crate::plan::Work;
use evergraph_disk_engine::statistics::TreeStatistics;
use evergraph_graph::byte_size::ByteSize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The most that was reserved for each purpose, and in all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BudgetPeaks(BTreeMap<String, u64>);

impl BudgetPeaks {
    /// Looks every 5 ms, until `is_done`.
    #[must_use]
    pub fn sample<E: MeasuredEngine>(store: &LimitedStore<E>, is_done: &AtomicBool) -> Self {
        let mut peaks = Self::default();
        // Acquire: with the Release of who is done.
        while !is_done.load(Ordering::Acquire) {
            let budget = store.open_store().store().budget();
            peaks.note("all", budget.used_bytes());
            budget.reservations().iter().for_each(|(name, bytes)| peaks.note(name, *bytes));
            thread::sleep(Duration::from_millis(5));
        }
        peaks
    }

    fn note(&mut self, name: &str, bytes: u64) {
        let peak = self.0.entry(name.to_owned()).or_insert(0);
        *peak = bytes.max(*peak);
    }

    /// In all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.get("all").copied().unwrap_or(0)
    }

    /// As people read it.
    #[must_use]
    pub fn text(&self) -> String {
        let text: Vec<_> =
            self.0.iter().map(|(name, bytes)| format!("{name} {}", ByteSize(*bytes))).collect();
        text.join(", ")
    }
}

/// Notes what flushes and compactions did up to now.
pub fn note_tree<E: MeasuredEngine>(work: &mut Work<'_>, store: &LimitedStore<E>, moment: &str) {
    let Some(tree) = store.open_store().store().engine().tree() else { return };
    let TreeStatistics { flushes, compactions, stalls, levels, cache, .. } = &tree;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let seconds = |time: Duration| time.as_secs_f64().max(1e-9);
    let files: Vec<String> = levels
        .iter()
        .map(|level| format!("{} ({:.0} MB)", level.files, megabytes(level.topology_bytes)))
        .collect();
    let amplification = (flushes.bytes + compactions.written_bytes) as f64 / flushes.bytes.max(1) as f64;
    let note = format!(
        "{moment}: {} flushes, {:.0} MB/s, {:.2} s; {} compactions, {:.0} MB written, {:.2} s, {:.1} ns an edge and \
         side; write amplification {amplification:.1}; {} stalls, {:.2} s, the longest {:.3} s; files by level {}; \
         pages found {}, read {}; memory graphs {}, of them kept for readers {}; direct I/O {}",
        flushes.files,
        megabytes(flushes.bytes) / seconds(flushes.flushing),
        flushes.flushing.as_secs_f64(),
        compactions.compactions,
        megabytes(compactions.written_bytes),
        compactions.compacting.as_secs_f64(),
        compactions.compacting.as_secs_f64() * 1e9 / compactions.written_records.max(1) as f64,
        stalls.stalls,
        stalls.stalled.as_secs_f64(),
        stalls.stall_max.as_secs_f64(),
        files.join(", "),
        cache.hits,
        cache.misses,
        ByteSize(tree.graph_bytes + tree.retained_bytes),
        ByteSize(tree.retained_bytes),
        tree.direct_io,
    );
    eprintln!("{note}");
    work.note(note);
}
