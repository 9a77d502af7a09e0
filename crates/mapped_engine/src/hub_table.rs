//! Hub table in `live`: the rows of a segment that have segments of their own, and where the present version of each lies.
//!
//! ```text
//! word 0      hubs
//! then two words for each:    row | line of its version        ascending by row
//! ```
//!
//! A version refers to a table, and each body has its own: a merge copies the one before under the latch. The line of a
//! hub's version is stored in place, in the newest table alone. Who reads an older body began before the merge, and so
//! before what its table says was replaced: its slot keeps that.
//!
//! Concurrency: as of groups (`group.rs`).

use crate::words::{LineNumber, SharedWords};
use evergraph_graph::error::Result;
use evergraph_graph::id::GROUP_SIZE;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};

/// Words of a table of so many hubs.
#[must_use]
pub fn hub_table_words(hubs: usize) -> usize {
    1 + 2 * hubs
}

/// Which word of a table has the line of the hub `number`'s version.
#[must_use]
pub fn version_word(number: usize) -> usize {
    2 + 2 * number
}

/// Stores a table of rows, ascending, and the lines of their versions.
pub fn store_hub_table(words: &[AtomicU64], hubs: &[(u16, LineNumber)]) {
    words[0].store(hubs.len() as u64, Ordering::Relaxed);
    for (cells, (row, version)) in words[1..].chunks_exact(2).zip(hubs) {
        cells[0].store((*row).into(), Ordering::Relaxed);
        cells[1].store(version.0.into(), Ordering::Relaxed);
    }
}

/// A table where it lies.
#[derive(Clone, Copy, Debug)]
pub struct SharedHubs<'a> {
    shared: &'a SharedWords,
    line: LineNumber,
    /// Two words for each hub.
    hubs: &'a [AtomicU64],
}

impl<'a> SharedHubs<'a> {
    /// The table at `line`; an empty one if there is none.
    ///
    /// # Errors
    /// `corrupt` if there can't be one.
    pub fn at(shared: &'a SharedWords, line: LineNumber) -> Result<Self> {
        if line.is_none() {
            return Ok(Self { shared, line, hubs: &[] });
        }
        let count = shared.slice(line, 1)?[0].load(Ordering::Relaxed);
        if count > u64::from(GROUP_SIZE) {
            return Err(shared.damaged(line, format_args!("a table of {count} hubs")));
        }
        let words = shared.slice(line, hub_table_words(count as usize))?;
        Ok(Self { shared, line, hubs: &words[1..] })
    }

    /// The rows, ascending.
    pub fn rows(&self) -> impl Iterator<Item = u16> + use<'a> {
        self.hubs.chunks_exact(2).map(|hub| hub[0].load(Ordering::Relaxed) as u16)
    }

    /// The line of the present version of the hub in `row`, if that is one. Cost: a binary search.
    ///
    /// # Errors
    /// `corrupt` if there can't be such a line.
    pub fn version(&self, row: u16) -> Result<Option<LineNumber>> {
        let row_at = |at: usize| self.hubs[2 * at].load(Ordering::Relaxed);
        let (mut from, mut to) = (0, self.hubs.len() / 2);
        while from < to {
            let middle = from + (to - from) / 2;
            if row_at(middle) < u64::from(row) { from = middle + 1 } else { to = middle }
        }
        if from >= self.hubs.len() / 2 || row_at(from) != u64::from(row) {
            return Ok(None);
        }
        let line = self.hubs[2 * from + 1].load(Ordering::Acquire);
        match u32::try_from(line) {
            Ok(line) if line > 0 => Ok(Some(LineNumber(line))),
            _ => Err(self.shared.damaged(self.line, format_args!("hub {row} refers to line {line}"))),
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::words::RegionSizes;

    #[test]
    fn a_table_leads_to_the_version_of_each_hub_and_damage_is_an_error() {
        let shared = SharedWords::on_heap(RegionSizes::new(10, 12).unwrap());
        let at = LineNumber(8);
        let words = shared.slice(at, hub_table_words(3)).unwrap();
        store_hub_table(words, &[(3, LineNumber(40)), (70, LineNumber(41)), (4095, LineNumber(42))]);
        words[version_word(1)].store(99, Ordering::Release);
        let table = SharedHubs::at(&shared, at).unwrap();
        assert_eq!(table.rows().collect::<Vec<_>>(), [3, 70, 4095]);
        let versions = [0, 3, 70, 71, 4095].map(|row| table.version(row).unwrap().map(|line| line.0));
        assert_eq!(versions, [None, Some(40), Some(99), None, Some(42)]);
        assert_eq!(SharedHubs::at(&shared, LineNumber::NONE).unwrap().version(3).unwrap(), None);
        for line in [0, 1 << 40] {
            words[version_word(0)].store(line, Ordering::Release);
            let error = table.version(3).unwrap_err();
            assert!(error.to_string().contains("damaged at byte 512: hub 3 refers to line"), "{error}");
        }
        words[0].store(4097, Ordering::Relaxed);
        assert!(SharedHubs::at(&shared, at).is_err());
    }
}
