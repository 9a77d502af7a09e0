//! Frame: one commit in the log; and the batch of frames that one leader writes.
//!
//! ```text
//! OFFSET  SIZE   FIELD            (little-endian)
//!      0     4   magic
//!      4     4   payload length in bytes; the top bit marks the last frame of its batch
//!      8     8   ts               the commit's timestamp
//!     16     8   prev_ts          the timestamp of the frame before
//!     24     8   synced_through   log position before which all was synced when this was written
//!     32     4   header crc       CRC32C of the other 36 header bytes, seeded by the file's salt
//!     36     4   payload crc      CRC32C of the payload, without seed
//!     40   ...   payload
//!
//! batch = frame frame ... last frame, zeros to the next multiple of the file's unit: 4,096, or 64 (persistent memory)
//! ```
//!
//! - The *payload crc* has no salt, so that a committer computes it before the latch, whatever
//!   file the frame will lie in; the header crc covers it and has the salt.
//! - The salt makes a frame valid in its own file only: neither old bytes of the disk nor a log
//!   file that somebody stored as a property can pass for a frame.
//! - `ts > prev_ts`, except in a *seal*: an empty frame that repeats the last timestamp and says
//!   nothing but that the batch before was synced.
//! - Padding: a unit with acknowledged bytes is never written again, so no torn write reaches it.

use crc32c::{crc32c, crc32c_append};

use crate::io::write_unit::WriteUnit;
use crate::planted::{Bug, planted};

/// The size of pages with a fixed place: a log file's header, and those of `log_end`. No unit is larger.
pub const PAGE_BYTES: usize = 4096;
/// The bytes of a frame before its payload.
pub const FRAME_HEADER_BYTES: usize = 40;
/// The longest payload of one frame, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 30;

const MAGIC: u32 = 0x6d46_7645; // "EvFm"
const LAST_OF_BATCH: u32 = 1 << 31;

/// A frame's header, checked against its crc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Length of the payload in bytes.
    pub payload_bytes: u32,
    /// Whether the batch ends with this frame.
    pub last_of_batch: bool,
    /// The commit's timestamp.
    pub ts: u64,
    /// The timestamp of the frame before.
    pub prev_ts: u64,
    /// Log position before which everything was synced when the frame was written.
    pub synced_through: u64,
    /// The header's crc, which stands for the frame in the chain between files.
    pub crc: u32,
    /// The payload's crc.
    pub payload_crc: u32,
}

/// Why bytes are no frame: what should be there, and what is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameFault {
    /// What should be there.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl FrameFault {
    /// A fault of these two.
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { expected: expected.into(), found: found.into() }
    }
}

/// What a log file's header crcs start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSeed(u32);

impl FrameSeed {
    /// The seed of a file with this salt.
    #[must_use]
    pub fn new(salt: u64) -> Self {
        Self(crc32c(&salt.to_le_bytes()))
    }
}

/// The crc of a payload, to be computed before the latch. Cost: about 0.1 ns a byte.
#[must_use]
#[inline]
pub fn payload_crc(payload: &[u8]) -> u32 {
    crc32c(payload)
}

/// Appends one frame; what depends on the file is left to [`finish_batch`].
///
/// The payload has at most [`PAYLOAD_BYTES_MAX`] bytes. Cost: a copy of the payload.
pub fn push_frame(batch: &mut Vec<u8>, ts: u64, prev_ts: u64, payload: &[u8], payload_crc: u32) {
    assert!(payload.len() <= PAYLOAD_BYTES_MAX, "a payload's length was checked when it was reserved");
    let mut header = [0; FRAME_HEADER_BYTES];
    header[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[8..16].copy_from_slice(&ts.to_le_bytes());
    header[16..24].copy_from_slice(&prev_ts.to_le_bytes());
    header[36..40].copy_from_slice(&payload_crc.to_le_bytes());
    batch.extend_from_slice(&header);
    batch.extend_from_slice(payload);
}

/// Completes the frames of a batch for the file they go to, and pads it to whole units of that file.
///
/// Returns the last frame's end within the batch, in bytes, and its header crc.
/// `batch` holds frames of [`push_frame`], at least one. Cost: about 10 ns a frame.
pub fn finish_batch(
    batch: &mut Vec<u8>,
    seed: FrameSeed,
    synced_through: u64,
    unit: WriteUnit,
) -> (usize, u32) {
    let end = batch.len();
    let mut start = 0;
    loop {
        let header: &mut [u8; FRAME_HEADER_BYTES] = (&mut batch[start..start + FRAME_HEADER_BYTES])
            .try_into()
            .expect("the range has the length of a header");
        let length = u32_at(header, 4);
        let next = start + FRAME_HEADER_BYTES + length as usize;
        assert!(next <= end, "a batch consists of whole frames");
        if next == end {
            header[4..8].copy_from_slice(&(length | LAST_OF_BATCH).to_le_bytes());
        }
        header[24..32].copy_from_slice(&synced_through.to_le_bytes());
        let crc = header_crc(header, seed);
        header[32..36].copy_from_slice(&crc.to_le_bytes());
        if next == end {
            if planted(Bug::UnpaddedBatch) {
                return (end, crc);
            }
            batch.resize(unit.round_up(end as u64) as usize, 0);
            return (end, crc);
        }
        start = next;
    }
}

/// Reads a frame's header, checking magic and crc.
///
/// # Errors
/// What should be there and what is, if these are not the bytes of a header in this file.
pub fn parse_header(bytes: &[u8; FRAME_HEADER_BYTES], seed: FrameSeed) -> Result<FrameHeader, FrameFault> {
    let magic = u32_at(bytes, 0);
    if magic != MAGIC {
        return Err(FrameFault::new(format!("a frame ({MAGIC:#010x})"), format!("{magic:#010x}")));
    }
    let (found, expected) = (u32_at(bytes, 32), header_crc(bytes, seed));
    if found != expected && !planted(Bug::NoHeaderChecksum) {
        return Err(FrameFault::new(format!("frame header crc {expected:#010x}"), format!("{found:#010x}")));
    }
    let length = u32_at(bytes, 4);
    Ok(FrameHeader {
        payload_bytes: length & !LAST_OF_BATCH,
        last_of_batch: length & LAST_OF_BATCH != 0,
        ts: u64_at(bytes, 8),
        prev_ts: u64_at(bytes, 16),
        synced_through: u64_at(bytes, 24),
        crc: found,
        payload_crc: u32_at(bytes, 36),
    })
}

impl FrameHeader {
    /// Whether the frame is a seal: no commit, only the news that the batch before was synced.
    #[must_use]
    #[inline]
    pub fn is_seal(&self) -> bool {
        self.ts == self.prev_ts && self.payload_bytes == 0
    }

    /// Checks that the frame follows the one with timestamp `last_ts`.
    ///
    /// # Errors
    /// The two timestamps, if frames are missing between or out of order.
    pub fn check_follows(&self, last_ts: u64) -> Result<(), FrameFault> {
        if self.prev_ts != last_ts {
            let found = format!("commit {} after commit {}", self.ts, self.prev_ts);
            return Err(FrameFault::new(format!("a frame that follows commit {last_ts}"), found));
        }
        if self.ts > self.prev_ts || self.is_seal() {
            return Ok(());
        }
        Err(FrameFault::new(format!("a timestamp above {last_ts}"), format!("timestamp {}", self.ts)))
    }

    /// Checks the payload against its crc.
    ///
    /// # Errors
    /// Both crcs, if they differ.
    pub fn check_payload(&self, payload: &[u8]) -> Result<(), FrameFault> {
        let found = payload_crc(payload);
        if found == self.payload_crc || planted(Bug::NoChecksum) {
            return Ok(());
        }
        Err(FrameFault::new(format!("payload crc {:#010x}", self.payload_crc), format!("{found:#010x}")))
    }
}

fn header_crc(header: &[u8; FRAME_HEADER_BYTES], seed: FrameSeed) -> u32 {
    crc32c_append(crc32c_append(seed.0, &header[..32]), &header[36..])
}

/// The four bytes at `offset` of a header, little end first.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes were taken"))
}

/// The eight bytes at `offset` of a header, little end first.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes were taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_at(batch: &[u8], offset: usize) -> &[u8; FRAME_HEADER_BYTES] {
        batch[offset..offset + FRAME_HEADER_BYTES].try_into().unwrap()
    }

    fn batch_of(payloads: &[&[u8]], salt: u64) -> (Vec<u8>, usize, u32) {
        let mut batch = Vec::new();
        for (index, payload) in payloads.iter().enumerate() {
            let ts = index as u64 + 1;
            push_frame(&mut batch, ts, ts - 1, payload, payload_crc(payload));
        }
        let (end, crc) = finish_batch(&mut batch, FrameSeed::new(salt), 8192, WriteUnit::PAGE);
        (batch, end, crc)
    }

    #[test]
    fn frames_are_read_back_as_they_were_written() {
        let (batch, end, crc) = batch_of(&[b"first", b"", b"third one"], 7);
        assert_eq!(batch.len(), PAGE_BYTES);
        assert!(batch[end..].iter().all(|&byte| byte == 0));
        let mut offset = 0;
        for (ts, payload) in [(1, &b"first"[..]), (2, b""), (3, b"third one")] {
            let header = parse_header(header_at(&batch, offset), FrameSeed::new(7)).unwrap();
            header.check_follows(ts - 1).unwrap();
            assert!(!header.is_seal(), "an empty commit is no seal");
            assert_eq!((header.ts, header.synced_through), (ts, 8192));
            assert_eq!(header.last_of_batch, ts == 3);
            let start = offset + FRAME_HEADER_BYTES;
            offset = start + header.payload_bytes as usize;
            header.check_payload(&batch[start..offset]).unwrap();
            assert_eq!(&batch[start..offset], payload);
            if ts == 3 {
                assert_eq!((offset, header.crc), (end, crc));
            }
        }
    }

    #[test]
    fn a_batch_is_padded_to_the_unit_of_its_file() {
        for (payload, padded) in [(0, 64), (24, 64), (25, 128), (4096, 4160)] {
            let mut batch = Vec::new();
            push_frame(&mut batch, 1, 0, &vec![7; payload], 0);
            let (end, _) = finish_batch(&mut batch, FrameSeed::new(7), 0, WriteUnit::LINE);
            assert_eq!((end, batch.len()), (FRAME_HEADER_BYTES + payload, padded));
            assert!(batch[end..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn every_flipped_bit_of_a_frame_is_noticed() {
        let payload = b"payload";
        let (batch, end, _) = batch_of(&[payload], 7);
        for bit in 0..end * 8 {
            let mut flipped = batch.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let noticed = match parse_header(header_at(&flipped, 0), FrameSeed::new(7)) {
                Ok(header) => header.check_payload(&flipped[FRAME_HEADER_BYTES..end]).is_err(),
                Err(_) => true,
            };
            assert!(noticed, "bit {bit}");
        }
    }

    #[test]
    fn a_frame_of_another_file_is_none() {
        let (batch, ..) = batch_of(&[b"payload"], 7);
        assert!(parse_header(header_at(&batch, 0), FrameSeed::new(8)).is_err());
        let fault = parse_header(&[0; FRAME_HEADER_BYTES], FrameSeed::new(0)).unwrap_err();
        assert_eq!(fault.found, "0x00000000");
    }

    #[test]
    fn only_a_seal_may_repeat_a_timestamp() {
        let header = |ts, prev_ts, payload: &[u8]| {
            let mut batch = Vec::new();
            push_frame(&mut batch, ts, prev_ts, payload, payload_crc(payload));
            finish_batch(&mut batch, FrameSeed::new(0), 0, WriteUnit::LINE);
            parse_header(header_at(&batch, 0), FrameSeed::new(0)).unwrap()
        };
        assert!(header(5, 5, b"").is_seal());
        assert!(header(5, 5, b"").check_follows(5).is_ok());
        assert!(header(5, 5, b"x").check_follows(5).is_err());
        assert!(header(4, 5, b"").check_follows(5).is_err());
        assert!(header(9, 6, b"x").check_follows(5).is_err(), "a hole before the frame");
        assert!(header(9, 5, b"x").check_follows(5).is_ok(), "timestamps need not be dense");
    }
}
