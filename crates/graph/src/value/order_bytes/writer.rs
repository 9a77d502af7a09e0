//! Writer: takes order bytes one after the other, keeps the first 64, and hashes them all once there are more.
//!
//! So a value of a megabyte is encoded without a copy of it, and one of a few bytes without a hash.

use crate::value::order_bytes::hash::SipHash128;
use crate::value::order_bytes::lengths::{LONG_BYTES, LONG_PREFIX_BYTES};

/// Order bytes on their way into a whole or a long form.
#[derive(Debug)]
pub(super) struct Writer {
    first: [u8; LONG_BYTES],
    /// How many of `first` are written.
    length: usize,
    /// Of all bytes, once `first` is full.
    hash: Option<SipHash128>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { first: [0; LONG_BYTES], length: 0, hash: None }
    }

    pub(super) fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(LONG_BYTES - self.length));
        self.first[self.length..self.length + head.len()].copy_from_slice(head);
        self.length += head.len();
        if self.length == LONG_BYTES {
            let hash = self.hash.get_or_insert_with(|| {
                let mut hash = SipHash128::new();
                hash.update(&self.first);
                hash
            });
            hash.update(rest);
        }
    }

    /// The first bytes, at most 64 of them.
    pub(super) fn first(&self) -> &[u8] {
        &self.first[..self.length]
    }

    /// The whole or long form, and its length.
    pub(super) fn finish(mut self) -> ([u8; LONG_BYTES], usize) {
        if let Some(hash) = self.hash {
            self.first[LONG_PREFIX_BYTES..].copy_from_slice(&hash.finish());
        }
        (self.first, self.length)
    }
}
