//! Options of the mapped engine, which change no stored data.

use crate::live_head::SLOTS;
use crate::words::RegionSizes;
use evergraph_storage::durable_engine::LIVE_BYTES_MAX;

/// See the file's caption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappedOptions {
    /// A merge is due when a segment has more records than one for so many items of its body: 8. Fewer bytes are written,
    /// and more is fresh, with a smaller number.
    pub items_a_record: usize,
    /// Records that make no merge due, however small the body: 512.
    pub records_worth_a_merge: usize,
    /// Bytes that tails, runs and the properties in them may take: 4 GiB.
    pub live_bytes_max: u64,
    /// How `live` grows.
    pub region_sizes: RegionSizes,
    /// Slots for snapshots of other processes.
    pub slots: u32,
}

impl Default for MappedOptions {
    fn default() -> Self {
        Self {
            items_a_record: 8,
            records_worth_a_merge: 512,
            live_bytes_max: LIVE_BYTES_MAX,
            region_sizes: RegionSizes::STANDARD,
            slots: SLOTS,
        }
    }
}
