//! `ReceiveBuffer`: bytes of the server as they come, cut into messages.
//!
//! ```text
//! letter (1)  length (4, of itself and the body)  body
//! ```
//!
//! It grows with what was received, never with a length that was announced.

use std::ops::Range;

use crate::wire::error::WireError;

/// What one call of the system reads at most, at first.
const READ_BYTES: usize = 64 << 10;
/// Letter and length.
const HEADER_BYTES: usize = 5;

/// Bytes that were received and not read yet.
#[derive(Debug)]
pub struct ReceiveBuffer {
    bytes: Vec<u8>,
    /// The part of `bytes` that was received and not taken.
    unread: Range<usize>,
}

/// A whole message in a [`ReceiveBuffer`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The message's letter.
    pub letter: u8,
    body: Range<usize>,
}

impl Default for ReceiveBuffer {
    fn default() -> Self {
        Self { bytes: vec![0; READ_BYTES], unread: 0..0 }
    }
}

impl ReceiveBuffer {
    /// Where bytes are to be received; never empty. [`ReceiveBuffer::filled`] says how many came.
    pub fn space(&mut self) -> &mut [u8] {
        if self.unread.is_empty() {
            self.unread = 0..0;
            // What one long message took is given back.
            if self.bytes.len() > 16 * READ_BYTES {
                self.bytes.truncate(READ_BYTES);
                self.bytes.shrink_to_fit();
            }
        }
        if self.unread.end == self.bytes.len() {
            if self.unread.start >= self.bytes.len() / 2 {
                self.bytes.copy_within(self.unread.clone(), 0);
                self.unread = 0..self.unread.len();
            } else {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
        }
        &mut self.bytes[self.unread.end..]
    }

    /// `count` bytes were received at the front of [`ReceiveBuffer::space`].
    ///
    /// # Panics
    /// If there was no space for so many.
    pub fn filled(&mut self, count: usize) {
        assert!(count <= self.bytes.len() - self.unread.end, "more bytes than there was space for");
        self.unread.end += count;
    }

    /// Appends `bytes`, which were received elsewhere.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            self.filled(count);
            bytes = &bytes[count..];
        }
    }

    /// Takes the next message, if it is here whole. Its body may be read until more is received.
    ///
    /// # Errors
    /// [`WireError::TooLong`], [`WireError::Malformed`]. What follows cannot be read.
    pub fn take(&mut self, length_max: impl Fn(u8) -> usize) -> Result<Option<Frame>, WireError> {
        let Some(header) = self.bytes[self.unread.clone()].first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let [letter, length @ ..] = *header;
        let length = u64::from(u32::from_be_bytes(length));
        let Some(body_length) = length.checked_sub(4) else {
            let error = evergraph_graph::bytes::DecodeError {
                offset: 1,
                expected: format!("a length of 4 bytes or more expected, found {length}"),
            };
            return Err(WireError::Malformed { letter: char::from(letter), error });
        };
        let length_max = length_max(letter);
        match usize::try_from(body_length).ok().filter(|length| *length <= length_max) {
            None => Err(WireError::TooLong { letter: char::from(letter), length, length_max }),
            Some(body_length) if self.unread.len() - HEADER_BYTES < body_length => Ok(None),
            Some(body_length) => {
                let begin = self.unread.start + HEADER_BYTES;
                self.unread.start = begin + body_length;
                Ok(Some(Frame { letter, body: begin..self.unread.start }))
            }
        }
    }

    /// The body of a message that was taken since bytes were last received.
    #[must_use]
    #[inline]
    pub fn body(&self, frame: &Frame) -> &[u8] {
        &self.bytes[frame.body.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_out_wherever_the_bytes_were_split() {
        let input = [&b"D\0\0\0\x07abcZ\0\0\0\x04d\0\x01\x11\x74"[..], &vec![7; 70_000]].concat();
        for step in [1, 2, 3, 7, 65_536, input.len()] {
            let (mut buffer, mut found) = (ReceiveBuffer::default(), Vec::new());
            for part in input.chunks(step) {
                buffer.push(part);
                while let Some(frame) = buffer.take(|_| 100_000).unwrap() {
                    found.push((frame.letter, buffer.body(&frame).len()));
                }
            }
            assert_eq!(found, [(b'D', 3), (b'Z', 0), (b'd', 70_000)]);
        }
    }

    #[test]
    fn a_length_is_checked_before_memory_is_taken() {
        let mut buffer = ReceiveBuffer::default();
        buffer.push(b"d\xff\xff\xff\xff");
        let error = buffer.take(|_| 1 << 30).unwrap_err();
        assert!(matches!(error, WireError::TooLong { length: 0xffff_ffff, .. }), "{error}");
        let mut buffer = ReceiveBuffer::default();
        buffer.push(b"d\x3f\0\0\0");
        assert_eq!(buffer.take(|_| 1 << 30), Ok(None));
        assert_eq!(buffer.bytes.len(), READ_BYTES);
        let mut buffer = ReceiveBuffer::default();
        buffer.push(b"d\0\0\0\x03");
        assert!(matches!(buffer.take(|_| 10), Err(WireError::Malformed { .. })));
    }

    #[test]
    fn the_space_of_a_long_message_is_given_back() {
        let mut buffer = ReceiveBuffer::default();
        buffer.push(&[&b"d\0\x20\0\x04"[..], &vec![0; 2 << 20]].concat());
        assert!(buffer.take(|_| 4 << 20).unwrap().is_some());
        assert_eq!(buffer.space().len(), READ_BYTES);
    }
}
