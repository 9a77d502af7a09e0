//! Stamps: the commits that the values of a page come from, in files of level 0.
//!
//! ```text
//! stamps   a varint a value: its commit's timestamp - the file's first timestamp
//! ```
//!
//! Compaction removes stamps. A reader needs them where a long-lived snapshot reads the file in place of
//! the memory graph it was written from; every other reader sees the whole file. So they are small rather
//! than fast to reach: finding one costs a pass over those before it.

use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::timestamp::Timestamp;

/// Bytes that `number` takes as a varint: 1 to 10.
#[must_use]
#[inline]
pub const fn varint_bytes(number: u64) -> usize {
    match number {
        0 => 1,
        _ => (number.ilog2() / 7 + 1) as usize,
    }
}

/// Gathers the stamps of a page.
#[derive(Clone, Debug)]
pub struct StampsBuilder {
    /// `None` in a file without stamps.
    first_ts: Option<Timestamp>,
    bytes: Vec<u8>,
}

impl StampsBuilder {
    /// Of a page in a file whose first timestamp is `first_ts`; `None` in a file without stamps.
    #[must_use]
    pub fn new(first_ts: Option<Timestamp>) -> Self {
        Self { first_ts, bytes: Vec::new() }
    }

    /// Whether the file has stamps.
    #[must_use]
    #[inline]
    pub fn has_stamps(&self) -> bool {
        self.first_ts.is_some()
    }

    /// Bytes of the array if `next` were added.
    ///
    /// # Panics
    /// If `next` is older than the file's first timestamp.
    #[must_use]
    #[inline]
    pub fn bytes_with(&self, next: Timestamp) -> usize {
        self.first_ts.map_or(0, |first| self.bytes.len() + varint_bytes(distance(first, next)))
    }

    /// Adds `next`; nothing in a file without stamps.
    ///
    /// # Panics
    /// If `next` is older than the file's first timestamp.
    #[inline]
    pub fn push(&mut self, next: Timestamp) {
        if let Some(first) = self.first_ts {
            put_varint(&mut self.bytes, distance(first, next));
        }
    }

    /// Appends the array. Says whether the file has stamps.
    pub fn put(&self, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(&self.bytes);
        self.has_stamps()
    }

    /// Forgets all stamps.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// How far `stamp` lies behind the file's first timestamp.
///
/// # Panics
/// If it is older.
#[inline]
pub(crate) fn distance(first: Timestamp, stamp: Timestamp) -> u64 {
    stamp.0.checked_sub(first.0).expect("a file's first timestamp is that of its oldest record")
}

/// The stamps of a page.
#[derive(Clone, Copy, Debug)]
pub struct Stamps<'a> {
    /// `None`: the file has no stamps.
    bytes: Option<&'a [u8]>,
    /// Where they begin in the page.
    offset: usize,
}

impl<'a> Stamps<'a> {
    /// Stamps of a page without them.
    pub const NONE: Self = Self { bytes: None, offset: 0 };

    /// Reads `values` stamps.
    ///
    /// Cost: a pass over their bytes, less than a nanosecond each.
    ///
    /// # Errors
    /// If the page ends before.
    pub fn take(reader: &mut Reader<'a>, values: usize) -> Decoded<Self> {
        let offset = reader.offset();
        let rest = reader.clone().take(reader.remaining())?;
        let length = skip(rest, values).ok_or_else(|| {
            reader.error(format!("{values} varints expected, found fewer in {} bytes", rest.len()))
        })?;
        Ok(Self { bytes: Some(reader.take(length)?), offset })
    }

    /// The stamps of a page that has nothing behind them. Cost: constant; missing ones are noticed when they are read.
    #[must_use]
    pub fn rest_of(reader: &Reader<'a>) -> Self {
        let bytes = reader.clone().take(reader.remaining()).ok();
        Self { bytes, offset: reader.offset() }
    }

    /// Whether the page has stamps.
    #[must_use]
    #[inline]
    pub fn is_some(&self) -> bool {
        self.bytes.is_some()
    }

    /// Replaces the content of `out` by the stamps of values `from` to `from + count`; by nothing if
    /// there are none.
    ///
    /// # Errors
    /// If a stamp is no varint in its shortest form, or its timestamp is above 64 bits.
    pub fn decode_into(
        &self,
        first_ts: Timestamp,
        from: usize,
        count: usize,
        out: &mut Vec<Timestamp>,
    ) -> Decoded<()> {
        out.clear();
        let Some(bytes) = self.bytes else { return Ok(()) };
        let start = skip(bytes, from).unwrap_or(bytes.len());
        let mut reader = Reader::new(&bytes[start..]);
        for _ in 0..count {
            let place = reader.clone();
            let stamp = reader.varint().and_then(|distance| {
                let ts = first_ts.0.checked_add(distance);
                ts.ok_or_else(|| place.error("a timestamp of at most 64 bits expected"))
            });
            out.push(Timestamp(stamp.map_err(|mut error| {
                error.offset += self.offset + start;
                error
            })?));
        }
        Ok(())
    }
}

/// Bytes of the first `count` varints of `bytes`; `None` if there are fewer.
fn skip(bytes: &[u8], count: usize) -> Option<usize> {
    let mut left = count;
    let (chunks, _) = bytes.as_chunks::<32>();
    let mut at = 0;
    for chunk in chunks {
        let ends = chunk.iter().map(|byte| usize::from(byte >> 7 ^ 1)).sum::<usize>();
        if ends >= left {
            break;
        }
        left -= ends;
        at += chunk.len();
    }
    while left > 0 {
        left -= usize::from(bytes.get(at)? >> 7 ^ 1);
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_stretch_of_stamps_reads_back(
            first in 0u64..1 << 40,
            distances in proptest::collection::vec(
                (0u32..63, any::<u64>()).prop_map(|(shift, number)| number >> 1 >> shift), 0..100,
            ),
            picked in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let stamps: Vec<_> = distances.iter().map(|distance| Timestamp(first + distance)).collect();
            let mut builder = StampsBuilder::new(Some(Timestamp(first)));
            let mut size = 0;
            for stamp in &stamps {
                size = builder.bytes_with(*stamp);
                builder.push(*stamp);
            }
            let mut bytes = vec![7; 5];
            prop_assert!(builder.put(&mut bytes));
            prop_assert_eq!(bytes.len(), 5 + size);
            bytes.extend([0; 40]);
            let mut reader = Reader::new(&bytes);
            reader.take(5).unwrap();
            let read = Stamps::take(&mut reader, stamps.len()).unwrap();
            prop_assert_eq!(reader.offset(), 5 + size);
            let (from, to) = (picked.0.index(stamps.len() + 1), picked.1.index(stamps.len() + 1));
            let (from, to) = (from.min(to), from.max(to));
            let mut found = Vec::new();
            read.decode_into(Timestamp(first), from, to - from, &mut found).unwrap();
            prop_assert_eq!(&found[..], &stamps[from..to]);
        }
    }

    #[test]
    fn stamps_that_are_cut_off_or_too_great_are_refused() {
        assert!(Stamps::take(&mut Reader::new(&[1, 0x80, 0x80]), 2).is_err());
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::MAX);
        let stamps = Stamps::take(&mut Reader::new(&bytes), 1).unwrap();
        let mut out = Vec::new();
        assert!(stamps.decode_into(Timestamp(1), 0, 1, &mut out).is_err());
        assert!(stamps.decode_into(Timestamp(0), 0, 1, &mut out).is_ok());
    }

    #[test]
    fn a_varint_takes_as_many_bytes_as_it_is_said_to() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, number);
                assert_eq!(bytes.len(), varint_bytes(number), "{number}");
            }
        }
    }
}
