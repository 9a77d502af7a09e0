//! Transaction part: what certification compares of a transaction, and the mutations that it installs.
//!
//! ```text
//! checks    count:varint, then hash:u64 each                         what must not have changed since S
//! ranges    count:varint, then index:u64 low:16 high:16 each         what nothing may have entered since S
//! touches   count:varint, then hash:u64 each                         what counts as changed from here on
//! entered   count:varint, then index:u64 key:16 each                 what entered ordered indexes
//! payloads  count:varint, then destination:u16 length:varint bytes   ascending destinations
//! ```
//!
//! A small transaction is one part, in its record. The isolation level is not in it: a serialisable transaction lists
//! what it read among its checks, and is decided as any other.

use crate::key_hash::graph_salt::KeyHash;
use crate::key_hash::sort_key::{EnteredKey, RangeCheck, SORT_KEY_BYTES, SortKey};
use crate::record::payload::Payload;
use evergraph_graph::bytes::{Decoded, Reader, put_varint};

/// Bytes of a hash in a record.
pub const HASH_BYTES: usize = 8;
/// Bytes of a range in a record.
pub const RANGE_BYTES: usize = HASH_BYTES + 2 * SORT_KEY_BYTES;
/// Bytes of an entered value in a record.
pub const ENTERED_BYTES: usize = HASH_BYTES + SORT_KEY_BYTES;
/// The fewest bytes of a payload in a record.
const PAYLOAD_BYTES_MIN: usize = 3;

/// A part of a transaction, or all of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TransactionPart {
    /// Hashes of subjects that must not have been touched since the snapshot.
    pub checks: Vec<KeyHash>,
    /// Ranges that no value may have entered since the snapshot.
    pub ranges: Vec<RangeCheck>,
    /// Hashes of subjects that its mutations touch.
    pub touches: Vec<KeyHash>,
    /// Values that its mutations enter into ordered indexes.
    pub entered: Vec<EnteredKey>,
    /// Its mutations, or pieces of them, one for each destination.
    pub payloads: Vec<Payload>,
}

impl TransactionPart {
    /// Appends the form in a record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_hashes(out, &self.checks);
        put_varint(out, self.ranges.len() as u64);
        for RangeCheck { index, low, high } in &self.ranges {
            out.extend_from_slice(&index.0.to_le_bytes());
            out.extend_from_slice(&low.0);
            out.extend_from_slice(&high.0);
        }
        put_hashes(out, &self.touches);
        put_varint(out, self.entered.len() as u64);
        for EnteredKey { index, key } in &self.entered {
            out.extend_from_slice(&index.0.to_le_bytes());
            out.extend_from_slice(&key.0);
        }
        put_varint(out, self.payloads.len() as u64);
        for payload in &self.payloads {
            payload.encode(out);
        }
    }

    /// Reads what [`TransactionPart::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let checks = take_hashes(reader)?;
        let ranges = take_list(reader, RANGE_BYTES, |reader| {
            let index = KeyHash(reader.u64()?);
            Ok(RangeCheck { index, low: SortKey(reader.array()?), high: SortKey(reader.array()?) })
        })?;
        let touches = take_hashes(reader)?;
        let entered = take_list(reader, ENTERED_BYTES, |reader| {
            Ok(EnteredKey { index: KeyHash(reader.u64()?), key: SortKey(reader.array()?) })
        })?;
        let mut last = None;
        let payloads = take_list(reader, PAYLOAD_BYTES_MIN, |reader| {
            let start = reader.clone();
            let payload = Payload::decode(reader)?;
            if last.is_some_and(|last| last >= payload.destination) {
                return Err(start.error("destinations in ascending order expected"));
            }
            last = Some(payload.destination);
            Ok(payload)
        })?;
        Ok(Self { checks, ranges, touches, entered, payloads })
    }

    /// Bytes that it takes in memory, about, and in a record at most.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        // Five counts and the heads of payloads: a varint has at most 10 bytes.
        let lists = HASH_BYTES * (self.checks.len() + self.touches.len())
            + RANGE_BYTES * self.ranges.len()
            + ENTERED_BYTES * self.entered.len();
        let payloads: usize = self.payloads.iter().map(|payload| 12 + payload.mutations.len()).sum();
        50 + lists + payloads
    }
}

/// Appends a list of hashes.
pub fn put_hashes(out: &mut Vec<u8>, hashes: &[KeyHash]) {
    put_varint(out, hashes.len() as u64);
    hashes.iter().for_each(|hash| out.extend_from_slice(&hash.0.to_le_bytes()));
}

/// Reads what [`put_hashes`] wrote.
///
/// # Errors
/// If there is something else.
pub fn take_hashes(reader: &mut Reader<'_>) -> Decoded<Vec<KeyHash>> {
    take_list(reader, HASH_BYTES, |reader| Ok(KeyHash(reader.u64()?)))
}

/// Reads a count, then as many items of at least `least` bytes.
fn take_list<T>(
    reader: &mut Reader<'_>,
    least: usize,
    mut take: impl FnMut(&mut Reader<'_>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    let count = reader.count(least)?;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(take(reader)?);
    }
    Ok(items)
}
