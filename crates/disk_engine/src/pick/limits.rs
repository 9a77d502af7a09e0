//! Limits: when levels are compacted, and how much one compaction takes.

/// Runs of L0 that one compaction takes at most: each takes a megabyte.
pub const FLUSHED_RUNS_MAX: usize = 16;

/// When levels are compacted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PickLimits {
    /// Sorted runs in L0 from which on they are compacted: fewer are read faster, more are written less often.
    pub flushed_runs: usize,
    /// Bytes of L0 that one compaction takes, unless its first file has more.
    pub flushed_bytes_max: u64,
    /// How much larger a level is than the one above it: T.
    pub size_ratio: u64,
    /// The size of the base level at most, and of any level at least: about what one compaction of L0 brings.
    pub base_bytes: u64,
}

/// The least size of a base level.
const BASE_BYTES_MIN: u64 = 8 << 20;

impl PickLimits {
    /// The limits of an engine whose memory graphs are full at `graph_bytes`. Four of their files take about a half of that:
    /// so long is the base level, and what comes is merged with about as much as it is itself.
    #[must_use]
    pub fn of_graphs(graph_bytes: u64) -> Self {
        let default = Self::default();
        let base_bytes = (graph_bytes / 2).clamp(BASE_BYTES_MIN, default.base_bytes);
        Self { base_bytes, ..default }
    }
}

impl Default for PickLimits {
    /// Four sorted runs of L0, at most 1 GiB of them, T = 10, a base level of 256 MiB: four flushes of 64 MiB.
    fn default() -> Self {
        Self { flushed_runs: 4, flushed_bytes_max: 1 << 30, size_ratio: 10, base_bytes: 256 << 20 }
    }
}
