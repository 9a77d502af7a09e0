//! Options: how large an array begins, and how large its logs are.

use crate::ablation::Ablation;
use crate::memory::region::LINE_BYTES;
use crate::slot::VERTICES_MAX;
use evergraph_graph::error::{Error, Result};

/// Most records of a section's log: back-pointers have 11 bits. 16 KB, the largest log of the paper's figure 9.
pub const LOG_RECORDS_MAX: u32 = 1_365;

/// Most bytes of an undo slot.
pub const UNDO_BYTES_MAX: u32 = 1 << 20;

/// Sizes of a new array. Vertices and edges are estimates: the array grows beyond them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Vertices that exist from the start: ids below this number.
    pub vertices: u32,
    /// Edges that are expected, deletions included. The array begins with two slots for each of them and each vertex.
    pub edges: u64,
    /// Records of a section's log, 12 bytes each; 2 to [`LOG_RECORDS_MAX`]. The log is merged at 90 % of them.
    pub log_records: u32,
    /// Bytes of the array that are moved at a time, and of each of both undo slots; a multiple of 64, at most
    /// [`UNDO_BYTES_MAX`].
    pub undo_bytes: u32,
    /// Components of DGAP that are replaced, for measurements alone.
    pub ablation: Ablation,
}

impl Default for Options {
    /// No vertices and edges yet; logs and undo slots of 2 KB, as in the paper.
    fn default() -> Self {
        Self { vertices: 0, edges: 0, log_records: 170, undo_bytes: 2048, ablation: Ablation::NONE }
    }
}

impl Options {
    /// Checks every option.
    ///
    /// # Errors
    /// `invalid`, naming the option and what it may be.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { vertices, edges, log_records, undo_bytes, ablation: _ } = *self;
        if vertices > VERTICES_MAX {
            return Err(Error::invalid(format!(
                "option `vertices` is {vertices}; it may be at most {VERTICES_MAX}"
            )));
        }
        let edges_max = 1u64 << 40;
        if edges > edges_max {
            return Err(Error::invalid(format!("option `edges` is {edges}; it may be at most {edges_max}")));
        }
        if !(2..=LOG_RECORDS_MAX).contains(&log_records) {
            let text = format!("option `log_records` is {log_records}; it may be 2 to {LOG_RECORDS_MAX}");
            return Err(Error::invalid(text));
        }
        let is_whole = u64::from(undo_bytes).is_multiple_of(LINE_BYTES);
        if undo_bytes == 0 || undo_bytes > UNDO_BYTES_MAX || !is_whole {
            let text = format!(
                "option `undo_bytes` is {undo_bytes}; it may be a multiple of {LINE_BYTES} up to {UNDO_BYTES_MAX}"
            );
            return Err(Error::invalid(text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_what_it_may_be() {
        assert!(Options::default().check().is_ok());
        let bad = [
            (Options { vertices: VERTICES_MAX + 1, ..Options::default() }, "option `vertices`"),
            (Options { edges: 1 << 41, ..Options::default() }, "option `edges`"),
            (
                Options { log_records: 1, ..Options::default() },
                "option `log_records` is 1; it may be 2 to 1365",
            ),
            (Options { log_records: 1_366, ..Options::default() }, "option `log_records`"),
            (Options { undo_bytes: 0, ..Options::default() }, "option `undo_bytes`"),
            (Options { undo_bytes: 100, ..Options::default() }, "a multiple of 64"),
            (Options { undo_bytes: 2 << 20, ..Options::default() }, "up to 1048576"),
        ];
        for (options, says) in bad {
            let error = options.check().unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
