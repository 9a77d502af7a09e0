//! Runs: a kernel on the lists of one store: time, bytes read, and the answer.

use crate::engine::limited::{LimitedStore, MeasuredEngine};
use crate::process::{MemoryPeak, bytes_read};
use crate::workload::disk::graph::WEIGHT;
use crate::workload::disk::kernel::{Answer, Kernel};
use evergraph_algorithms::control::Control;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::topology::{Projection, Topology};
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::snapshot::handle::Snapshot;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What a run took.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Taken {
    /// Seconds until lists could be read.
    pub freezing: f64,
    /// Seconds of the kernel.
    pub running: f64,
    /// Bytes that came from the disk, in both.
    pub bytes_read: f64,
    /// Bytes that the process had at most, beyond what it had before.
    pub memory_bytes: u64,
}

impl Taken {
    /// Seconds of both.
    #[must_use]
    pub fn total(self) -> f64 {
        self.freezing + self.running
    }
}

/// Runs `kernel` on a new snapshot of a store of ours, for `time_max` at most.
///
/// # Errors
/// `limit` if the state doesn't fit; `cancelled` when the time is over; what the engine says.
pub fn run<E: MeasuredEngine>(
    store: &LimitedStore<E>,
    kernel: Kernel,
    source: VertexId,
    time_max: Duration,
) -> Result<(Taken, Answer)>
where
    Snapshot<E>: Freeze + GraphView,
{
    let snapshot = store.open_store().store().snapshot();
    let key = snapshot.catalogue().key(WEIGHT);
    let key = key.ok_or_else(|| Error::new(ErrorKind::NotFound, "the graph has no weights"))?;
    let (read, peak) = (bytes_read(), MemoryPeak::begin());
    let began = Instant::now();
    let lists = snapshot.freeze(&kernel.projection(key))?;
    let freezing = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let control = Control::new(snapshot.budget()).with_cancel(&deadline(time_max));
    let answer = kernel.run(&lists, source, &control)?;
    let running = began.elapsed().as_secs_f64();
    let memory_bytes = peak.bytes();
    Ok((Taken { freezing, running, bytes_read: (bytes_read() - read) as f64, memory_bytes }, answer))
}

/// Runs `kernel` on the lists of others that `open` opens; its own state has a budget of what it takes.
///
/// # Errors
/// As [`run`].
pub fn run_on_peer<T: Topology>(
    open: impl FnOnce(&Projection) -> Result<T>,
    kernel: Kernel,
    source: VertexId,
    time_max: Duration,
) -> Result<(Taken, Answer)> {
    let (read, peak) = (bytes_read(), MemoryPeak::begin());
    let began = Instant::now();
    // The key says only that there are weights.
    let lists = open(&kernel.projection(KeyId(0)))?;
    let freezing = began.elapsed().as_secs_f64();
    let budget = MemoryBudget::new(u64::MAX);
    let began = Instant::now();
    let control = Control::new(&budget).with_cancel(&deadline(time_max));
    let answer = kernel.run_on_peer(&lists, source, &control)?;
    let answer =
        answer.ok_or_else(|| Error::new(ErrorKind::Limit, "this kernel has no run on others' lists"))?;
    let running = began.elapsed().as_secs_f64();
    let memory_bytes = peak.bytes();
    Ok((Taken { freezing, running, bytes_read: (bytes_read() - read) as f64, memory_bytes }, answer))
}

fn deadline(time_max: Duration) -> CancelFlag {
    CancelFlag::default().until(Instant::now() + time_max)
}
