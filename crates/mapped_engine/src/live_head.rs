//! Live head: the first line of `live`, by which a process knows whether, and how, it can read the rest.
//!
//! ```text
//! WORD      HOLDS
//!    0      "evg live"
//!    1      format: 4
//!    2, 3   id of the opening: random, another one whenever a process opens the database
//!    4      pid of the process that writes:32 | which start of the machine:32
//!    5      state, which changes: live.rs
//!    6      regions of the file: log2 of the words of the first:32 | of the largest:32
//!    7      slots
//! ```
//!
//! The magic, where the state is, and the state of a closed `live` are the same in every format: a process that opens the database
//! closes what one of another format left, so that its readers look for the next (live_file.rs).
//!
//! What a process left before the machine was started again may not be what it stored, since nothing here is synced, and another
//! process can have its pid by now: so the start of the machine stands beside the pid.

use crate::words::{LINE_WORDS, LineNumber, RegionSizes};
use evergraph_graph::error::{DamagedSharedState, Error, ErrorKind, Result};
use evergraph_storage::io::random::{Random as _, SplitMix64};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// "evg live", little-endian. The same in every format.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"evg live");
/// The form that this page describes.
const FORMAT: u64 = 4;

/// The word of line 0 that has the state. The same in every format.
pub(crate) const STATE_WORD: usize = 5;
/// The state of a `live` in which nothing more is written. The same in every format.
pub(crate) const CLOSED: u64 = 3;
/// The line of the first claims.
pub(crate) const CLAIMS_LINE: u32 = 8;
/// The line of the bytes that are retained for the first claims.
pub(crate) const RETAINED_LINE: u32 = 16;
/// The line of the first slots: byte 4,096.
pub(crate) const SLOTS_LINE: u32 = 64;
/// Words of the directory of groups: whole lines, the last for the group of indexes.
pub const GROUP_PAGES: usize = 1032;
/// Slots of a database, unless a test wants fewer.
pub const SLOTS: u32 = 1024;
/// Slots that one process has: those of its file `reader-<n>`.
pub const SLOTS_PER_PROCESS: u32 = 16;

/// What line 0 says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiveHead {
    /// The opening of the database that it belongs to.
    pub opening: u128,
    /// The process that writes the database.
    pub process: u32,
    /// How large the regions of the file are.
    pub sizes: RegionSizes,
    /// How many slots there are.
    pub slots: u32,
}

impl LiveHead {
    /// Of an opening of a database by this process.
    ///
    /// # Errors
    /// What the system says when it is asked for random bytes.
    pub fn of_opening(sizes: RegionSizes, slots: u32) -> Result<Self> {
        let failed = |source| Error::new(ErrorKind::Io, "ask the system for random bytes").because(source);
        let mut random = SplitMix64::from_system().map_err(failed)?;
        let opening = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        Ok(Self { opening, process: std::process::id(), sizes, slots })
    }

    /// Reads line 0 of the file at `path`, the state apart: who joins needs the sizes before anything can be mapped.
    ///
    /// # Errors
    /// `corrupt` if it isn't a `live` file, or contradicts itself; `invalid` if its format is another one; `busy` if the machine
    /// was started since.
    pub fn decode(words: [u64; LINE_WORDS], path: &Path) -> Result<Self> {
        let path = path.display();
        let corrupt = |what: String| {
            let text = format!("{path}: {what}; {DamagedSharedState}");
            Err(Error::new(ErrorKind::Corrupt, text).because(DamagedSharedState))
        };
        if words[0] != MAGIC {
            let found = words[0];
            return corrupt(format!(
                "no file that processes share: begins with {found:#018x}, not {MAGIC:#018x}"
            ));
        }
        if words[1] != FORMAT {
            let found = words[1];
            let text = format!(
                "{path} has format {found}, this version of Evergraph reads {FORMAT}: read with the version that writes"
            );
            return Err(Error::invalid(text));
        }
        let opening = u128::from(words[2]) | u128::from(words[3]) << 64;
        let (process, start) = (words[4] as u32, (words[4] >> 32) as u32);
        if !may_be_same_start(start, machine_start()) {
            let text = format!(
                "{path} was left by process {process} before this machine was started again: open the database for writing"
            );
            return Err(Error::new(ErrorKind::Busy, text));
        }
        let (first, largest) = (words[6] as u32, (words[6] >> 32) as u32);
        let Ok(sizes) = RegionSizes::new(first, largest) else {
            return corrupt(format!("there are no regions of 2^{first} to 2^{largest} words"));
        };
        let slots = u32::try_from(words[7])
            .ok()
            .filter(|slots| *slots > 0 && *slots <= SLOTS && slots.is_multiple_of(SLOTS_PER_PROCESS));
        let Some(slots) = slots else {
            return corrupt(format!("{} slots, 16 to {SLOTS} are possible", words[7]));
        };
        let head = Self { opening, process, sizes, slots };
        if u64::from(head.first_block().0) * LINE_WORDS as u64 > 1 << first {
            return corrupt(format!("{slots} slots do not fit into a region of 2^{first} words"));
        }
        Ok(head)
    }

    /// Line 0 with `state`.
    pub(crate) fn encode(&self, state: u64) -> [u64; LINE_WORDS] {
        let (first, largest) = self.sizes.exponents();
        let (low, high) = (self.opening as u64, (self.opening >> 64) as u64);
        let sizes = u64::from(first) | u64::from(largest) << 32;
        let process = u64::from(self.process) | u64::from(machine_start()) << 32;
        [MAGIC, FORMAT, low, high, process, state, sizes, self.slots.into()]
    }

    /// The line of the directory of groups.
    #[must_use]
    pub fn group_directory(&self) -> LineNumber {
        LineNumber(SLOTS_LINE + self.slots / 2)
    }

    /// The first line that blocks may have.
    #[must_use]
    pub fn first_block(&self) -> LineNumber {
        LineNumber(self.group_directory().0 + (GROUP_PAGES / LINE_WORDS) as u32)
    }
}

/// A number that changes when the machine is started; zero where the system has none.
fn machine_start() -> u32 {
    static START: OnceLock<u32> = OnceLock::new();
    *START.get_or_init(|| {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits = id.bytes().filter_map(|digit| char::from(digit).to_digit(16));
        digits.fold(0_u32, |start, digit| start.rotate_left(4) ^ digit)
    })
}

/// Whether two processes may run since the same start of the machine, by what each knows of it: a container may hide it.
fn may_be_same_start(one: u32, other: u32) -> bool {
    one == other || one == 0 || other == 0
}

/// The error of a reader of a `live` that is not the database's any more.
pub(crate) fn made_anew(path: &Path) -> Error {
    let text = format!("{}: another process opened the database meanwhile; try again", path.display());
    Error::new(ErrorKind::Busy, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_starts_that_both_know_can_differ() {
        assert!(may_be_same_start(5, 5) && may_be_same_start(0, 5) && may_be_same_start(5, 0));
        assert!(!may_be_same_start(5, 6));
    }
}
