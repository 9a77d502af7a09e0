//! Buffer: frames that wait for a leader, and the disk space reserved for them.
//!
//! An append cannot fail, because its space was reserved before:
//! ```text
//! outstanding = the buffer's bytes, padded once      (they will be one batch; to units of the directory)
//!             + each reservation's frame, padded     (each may become its own batch)
//! ```
//! Invariant: outstanding fits in what is left of the active file, or all of it in the next one.
//! An append and a take never raise it beyond what they use up, so that the invariant lasts; only
//! a new reservation has to be checked.
//!
//! Concurrency: lives in one mutex. Committers lock it under the commit latch (append) and before
//! it (reserve), the leader to take everything. Nobody allocates or waits while the latch is held:
//! the capacity was made when the space was reserved.

use crate::io::write_unit::WriteUnit;
use crate::log::file::PreparedFile;
use crate::log::frame::{FRAME_HEADER_BYTES, push_frame};

/// Buffers that grew beyond this are given back after their batch was written.
const SPARE_BYTES_MAX: usize = 16 << 20;

/// Frames in commit order, and the account of space.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    unit: WriteUnit,
    last_ts: u64,
    frames_count: u64,
    frame_bytes: u64,
    /// Whether the last frame ever appended is a seal (or there is nothing to seal).
    sealed: bool,
    /// Bytes of the reserved frames that are not appended yet.
    reserved_bytes: usize,
    /// The same, each frame padded.
    reserved_padded: u64,
    /// Bytes left in the active file behind everything taken, and all that it could take.
    room: u64,
    capacity: u64,
    next: Option<PreparedFile>,
}

/// Everything that was in the buffer, and where it goes.
#[derive(Debug)]
pub struct Batch {
    /// Frames, not finished yet; empty if there was nothing.
    pub bytes: Vec<u8>,
    /// The timestamp of the last frame ever appended.
    pub last_ts: u64,
    /// The file to go over to before writing, because the active one has no room.
    pub roll_to: Option<PreparedFile>,
    /// Whether it is time to prepare the next file.
    pub next_is_due: bool,
}

impl Buffer {
    /// An empty buffer behind a log that ends with `last_ts`; no file is active yet. Files will have this unit.
    #[must_use]
    pub fn new(last_ts: u64, frame_bytes: u64, unit: WriteUnit) -> Self {
        Self {
            bytes: Vec::new(),
            unit,
            last_ts,
            frames_count: 0,
            frame_bytes,
            sealed: true,
            reserved_bytes: 0,
            reserved_padded: 0,
            room: 0,
            capacity: 0,
            next: None,
        }
    }

    /// Continues in a file with `room` bytes left of its `capacity` for batches.
    #[must_use]
    pub fn going_on(self, room: u64, capacity: u64) -> Self {
        Self { room, capacity, ..self }
    }

    /// Promises space for a frame with a payload of at most `payload_bytes`, if there is space.
    pub fn try_reserve(&mut self, payload_bytes: usize) -> bool {
        let frame = FRAME_HEADER_BYTES + payload_bytes;
        let outstanding = self.outstanding() + self.padded(frame);
        let next = self.next.as_ref().map_or(0, PreparedFile::capacity);
        if outstanding > self.room.max(next) {
            return false;
        }
        self.reserved_bytes += frame;
        self.reserved_padded += self.padded(frame);
        self.bytes.reserve(self.reserved_bytes);
        true
    }

    /// Gives back a reservation that was not used.
    pub fn release(&mut self, payload_bytes: usize) {
        let frame = FRAME_HEADER_BYTES + payload_bytes;
        self.reserved_bytes -= frame;
        self.reserved_padded -= self.padded(frame);
    }

    /// Appends a frame to space reserved for `reserved` bytes of payload; a seal if `ts` is the
    /// last timestamp again.
    pub fn append(&mut self, reserved: usize, ts: u64, payload: &[u8], payload_crc: u32) {
        self.release(reserved);
        push_frame(&mut self.bytes, ts, self.last_ts, payload, payload_crc);
        self.sealed = ts == self.last_ts;
        self.last_ts = ts;
        self.frames_count += u64::from(!self.sealed);
        self.frame_bytes += (FRAME_HEADER_BYTES + payload.len()) as u64;
    }

    /// Takes everything, and decides which file it goes to. `spare` becomes the buffer.
    pub fn take(&mut self, mut spare: Vec<u8>) -> Batch {
        let mut roll_to = None;
        let needed = self.padded(self.bytes.len());
        if needed > self.room {
            let next = self.next.take().expect("what was appended has reserved space in a prepared file");
            self.capacity = next.capacity();
            self.room = self.capacity;
            roll_to = Some(next);
        }
        assert!(needed <= self.room, "what was appended has reserved space");
        self.room -= needed;
        spare.clear();
        if spare.capacity() > SPARE_BYTES_MAX {
            spare = Vec::new();
        }
        spare.reserve(self.reserved_bytes);
        Batch {
            bytes: std::mem::replace(&mut self.bytes, spare),
            last_ts: self.last_ts,
            roll_to,
            next_is_due: self.next_is_due(),
        }
    }

    /// Hands over a prepared file; gives back the smaller one that it replaces.
    pub fn install_next(&mut self, next: PreparedFile) -> Option<PreparedFile> {
        self.next.replace(next)
    }

    /// Takes back the prepared file, unless something that was promised may need it.
    pub fn remove_next_if_free(&mut self) -> Option<PreparedFile> {
        if self.outstanding() > 0 { None } else { self.next.take() }
    }

    /// Whether a quarter of the active file is used and no next one is prepared. Not before, so
    /// that a small graph keeps a small log.
    #[must_use]
    pub fn next_is_due(&self) -> bool {
        self.next.is_none() && self.capacity > 0 && self.room <= self.capacity / 4 * 3
    }

    /// The capacity that a next file needs for a frame with this payload, whatever is outstanding.
    #[must_use]
    pub fn needed_capacity(&self, payload_bytes: usize) -> u64 {
        self.outstanding() + self.padded(FRAME_HEADER_BYTES + payload_bytes)
    }

    /// The timestamp of the last frame ever appended.
    #[must_use]
    pub fn last_ts(&self) -> u64 {
        self.last_ts
    }

    /// Bytes of frames that wait for a leader.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no frame waits for a leader.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the last frame is a seal, or none was appended.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Frames of commits appended since opening.
    #[must_use]
    pub fn frames_count(&self) -> u64 {
        self.frames_count
    }

    /// Bytes of frames appended since opening, and replayed before, headers included.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        self.frame_bytes
    }

    /// The size of the prepared file, in bytes; 0 if there is none.
    #[must_use]
    pub fn next_file_bytes(&self) -> u64 {
        self.next.as_ref().map_or(0, |next| next.file_bytes)
    }

    fn outstanding(&self) -> u64 {
        self.padded(self.bytes.len()) + self.reserved_padded
    }

    fn padded(&self, bytes: usize) -> u64 {
        self.unit.round_up(bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::io::directory::Directory;
    use crate::io::memory::MemoryDirectory;
    use crate::log::file::file_name;
    use crate::log::frame::{PAGE_BYTES, payload_crc};

    fn prepared(number: u64, pages: u64) -> PreparedFile {
        let file = MemoryDirectory::new("db").create(&file_name(number)).unwrap();
        let file_bytes = (pages + 1) * PAGE_BYTES as u64;
        PreparedFile { file: Arc::clone(&file), number, salt: 0, file_bytes }
    }

    #[test]
    fn nothing_is_promised_without_a_file() {
        let mut buffer = Buffer::new(0, 0, WriteUnit::PAGE);
        assert!(!buffer.try_reserve(0));
        buffer.install_next(prepared(1, 2));
        assert!(buffer.try_reserve(0) && buffer.try_reserve(100) && !buffer.try_reserve(0));
        buffer.release(100);
        assert!(buffer.try_reserve(PAGE_BYTES - FRAME_HEADER_BYTES), "exactly a page");
        buffer.release(PAGE_BYTES - FRAME_HEADER_BYTES);
        assert!(!buffer.try_reserve(PAGE_BYTES - FRAME_HEADER_BYTES + 1), "a byte more");
    }

    #[test]
    fn a_line_of_a_frame_is_reserved_where_lines_are_the_unit() {
        let mut buffer = Buffer::new(0, 0, WriteUnit::LINE);
        buffer.install_next(prepared(1, 1));
        let fits = (0..).take_while(|_| buffer.try_reserve(64 - FRAME_HEADER_BYTES)).count();
        assert_eq!(fits, PAGE_BYTES / 64);
        assert_eq!(buffer.needed_capacity(64 - FRAME_HEADER_BYTES + 1), 4096 + 128);
    }

    #[test]
    fn appended_frames_share_their_padding() {
        let mut buffer = Buffer::new(0, 0, WriteUnit::PAGE);
        buffer.install_next(prepared(1, 2));
        for ts in 1..=10 {
            assert!(buffer.try_reserve(100), "commit {ts}");
            buffer.append(100, ts, &[1; 100], payload_crc(&[1; 100]));
        }
        let batch = buffer.take(Vec::new());
        assert_eq!((batch.bytes.len(), batch.last_ts), (1400, 10));
        assert_eq!(batch.roll_to.map(|file| file.number), Some(1));
        assert!(buffer.next_is_due(), "half of the file is used");
    }

    proptest! {
        /// Reservations, uses and leaders in any order: a take always has room.
        #[test]
        fn what_was_reserved_always_fits(steps in prop::collection::vec((0_u8..4, 0_usize..20_000), 1..200)) {
            let mut buffer = Buffer::new(0, 0, WriteUnit::PAGE);
            let (mut reserved, mut ts, mut number) = (Vec::new(), 0, 0);
            for (step, size) in steps {
                match step {
                    0 => {
                        if !buffer.try_reserve(size) {
                            number += 1;
                            let pages = buffer.needed_capacity(size).div_ceil(PAGE_BYTES as u64);
                            buffer.install_next(prepared(number, pages.max(6)));
                            prop_assert!(buffer.try_reserve(size));
                        }
                        reserved.push(size);
                    }
                    1 if !reserved.is_empty() => {
                        let most = reserved.swap_remove(size % reserved.len());
                        let payload = vec![0; most / 2];
                        let capacity = buffer.bytes.capacity();
                        ts += 1;
                        buffer.append(most, ts, &payload, payload_crc(&payload));
                        prop_assert_eq!(buffer.bytes.capacity(), capacity, "an append allocates nothing");
                    }
                    2 if !reserved.is_empty() => {
                        let most = reserved.swap_remove(size % reserved.len());
                        buffer.release(most);
                    }
                    _ => {
                        let batch = buffer.take(Vec::new());
                        prop_assert_eq!(batch.last_ts, ts);
                    }
                }
            }
        }
    }
}
