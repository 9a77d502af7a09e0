//! Tuning: what measurements choose otherwise than the engine does, to see what each choice is worth.
//!
//! ```text
//! T                    pick limits     how much larger each level is than the one above it
//! sorted runs in L0    pick limits     from how many on they are compacted
//!                      pacing limits   twice as many slow writers, three times as many stop them
//! filters              file writers    of new files, of all levels
//! ```
//!
//! Nothing of it is recorded: a database may be opened with other choices every time, and files of all of them lie beside
//! each other. No option of a database has it, since nobody needs to choose: the defaults are the engine's.
//!
//! Not here, since it is a part of the format: the size of a page. Offsets in a page have 16 bits, places in a file count pages,
//! and a filter's solution has the room of one.

use crate::format::filter::FilterChoice;
use crate::pacing::PacingLimits;
use crate::pick::limits::PickLimits;

/// Choices of an engine, from its opening on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// How much larger a level is than the one above it, at least 2: T.
    pub size_ratio: u64,
    /// Sorted runs in L0 from which on they are compacted, at least 1.
    pub flushed_runs: usize,
    /// Which filters new files get.
    pub filters: FilterChoice,
}

impl Default for Tuning {
    /// The engine's.
    fn default() -> Self {
        let PickLimits { size_ratio, flushed_runs, .. } = PickLimits::default();
        Self { size_ratio, flushed_runs, filters: FilterChoice::default() }
    }
}

impl Tuning {
    /// When levels are compacted, of an engine whose memory graphs are full at `graph_bytes`.
    #[must_use]
    pub fn pick_limits(&self, graph_bytes: u64) -> PickLimits {
        let limits = PickLimits::of_graphs(graph_bytes);
        PickLimits { size_ratio: self.size_ratio, flushed_runs: self.flushed_runs, ..limits }
    }

    /// When writers wait, where compactions go on in the background.
    #[must_use]
    pub fn pacing_limits(&self) -> PacingLimits {
        PacingLimits {
            runs_slow: 2 * self.flushed_runs,
            runs_max: 3 * self.flushed_runs,
            ..PacingLimits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_all_limits_are_the_engine_s() {
        let tuning = Tuning::default();
        assert_eq!(tuning.pick_limits(64 << 20), PickLimits::of_graphs(64 << 20));
        assert_eq!(tuning.pacing_limits(), PacingLimits::default());
    }

    #[test]
    fn writers_have_as_much_time_for_other_numbers_of_runs() {
        let tuning = Tuning { size_ratio: 4, flushed_runs: 2, ..Tuning::default() };
        let (pick, pacing) = (tuning.pick_limits(16 << 20), tuning.pacing_limits());
        assert_eq!((pick.size_ratio, pick.flushed_runs), (4, 2));
        assert_eq!(pick.base_bytes, PickLimits::of_graphs(16 << 20).base_bytes);
        assert_eq!((pacing.runs_slow, pacing.runs_max), (4, 6));
    }
}
