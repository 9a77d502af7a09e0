//! Run form: the records of a segment as they lie in a batch.
//!
//! ```text
//! OFFSET  SIZE  FIELD    (little-endian)
//!      0     4  records  N
//!      4     4  bytes    of all properties, P
//!      8   8 N  keys     row:16 | neighbour:32 | discriminator:16, ascending by (key, stamp); of an entry of an index its first
//!                        8 bytes, ascending by (key, stamp, entry)
//!          8 N  stamps   timestamp:62 | operation:2
//!          4 N  ends     only if P > 0: where the properties of each end; then zeros to 8
//!            P  bytes    properties as in the log, or entries of an index; then zeros to 8
//! ```

use crate::entries::entry::{ENTRY_BYTES_MAX, key_of};
use crate::files::segment_id::SegmentId;
use crate::shared_record::{SharedRecord, first_inexact};
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::{RecordKey, Stamp};

/// The bytes of a run of these records, sorted by (key, stamp).
///
/// # Errors
/// `limit` if there are 2^32 of them, or so many bytes of properties.
pub fn encode_run(records: &[SharedRecord]) -> Result<Vec<u8>> {
    debug_assert!(records.is_sorted_by(|a, b| a < b));
    let properties: usize = records.iter().map(|record| record.properties.len()).sum();
    let (Ok(count), Ok(properties_bytes)) = (u32::try_from(records.len()), u32::try_from(properties)) else {
        let count = records.len();
        let text = format!(
            "{count} records with {properties} bytes of properties in a segment: commit less at once"
        );
        return Err(Error::new(ErrorKind::Limit, text));
    };
    let mut out = Vec::with_capacity(16 + 20 * records.len() + properties);
    out.extend([count, properties_bytes].into_iter().flat_map(u32::to_le_bytes));
    out.extend(records.iter().flat_map(|record| record.key.0.to_le_bytes()));
    out.extend(records.iter().flat_map(|record| record.stamp.0.to_le_bytes()));
    if properties > 0 {
        let ends = records.iter().scan(0, |end, record| {
            *end += record.properties.len() as u32;
            Some(*end)
        });
        out.extend(ends.flat_map(u32::to_le_bytes));
        out.resize(out.len().next_multiple_of(8), 0);
        records.iter().for_each(|record| out.extend_from_slice(&record.properties));
        out.resize(out.len().next_multiple_of(8), 0);
    }
    Ok(out)
}

/// Reads the records of a run. Cost: a copy, and an allocation for each that has properties.
///
/// # Errors
/// If lengths, order or padding aren't those of a run.
pub fn decode_run(bytes: &[u8]) -> Decoded<Vec<SharedRecord>> {
    let mut reader = Reader::new(bytes);
    let (count, properties_bytes) = (reader.u32()? as usize, reader.u32()? as usize);
    let (keys, stamps) = (reader.take(count.saturating_mul(8))?, reader.take(count.saturating_mul(8))?);
    let mut records = Vec::with_capacity(count);
    for (key, stamp) in keys.as_chunks().0.iter().zip(stamps.as_chunks().0) {
        let (key, stamp) = (RecordKey(u64::from_le_bytes(*key)), Stamp(u64::from_le_bytes(*stamp)));
        records.push(SharedRecord { key, stamp, properties: Vec::new() });
    }
    if properties_bytes > 0 {
        let ends = reader.take(count.saturating_mul(4))?.as_chunks::<4>().0;
        take_zeros(&mut reader)?;
        let start = reader.clone();
        let properties = reader.take(properties_bytes)?;
        take_zeros(&mut reader)?;
        let mut from = 0;
        for (record, end) in records.iter_mut().zip(ends) {
            let end = u32::from_le_bytes(*end) as usize;
            let own = properties.get(from..end);
            record.properties = own.ok_or_else(|| start.error("ends that ascend expected"))?.to_vec();
            from = end;
        }
        if from != properties_bytes {
            let text = format!("properties that end at {properties_bytes} expected, found {from}");
            return Err(start.error(text));
        }
    }
    if !reader.is_empty() {
        return Err(reader.error(format!("the end expected, found {} more bytes", reader.remaining())));
    }
    if !records.is_sorted_by(|a, b| a < b) {
        return Err(reader.error("records in ascending order, none twice, expected"));
    }
    Ok(records)
}

fn take_zeros(reader: &mut Reader<'_>) -> Decoded<()> {
    let start = reader.clone();
    let zeros = reader.take(reader.offset().next_multiple_of(8) - reader.offset())?;
    if zeros.iter().any(|byte| *byte != 0) {
        return Err(start.error("zeros expected"));
    }
    Ok(())
}

/// Whether these may be the stored records of a segment whose base and whose checkpoint's C are known.
///
/// # Errors
/// The first rule that is broken.
pub fn check_records(
    id: SegmentId,
    (base, through): (Timestamp, Timestamp),
    records: &[SharedRecord],
) -> std::result::Result<(), String> {
    let stamps = || records.iter().map(|record| (record.key, record.stamp));
    if id.index_number().is_none() && !stamps().is_sorted_by(|a, b| a < b) {
        return Err("records of one key at different times expected".to_owned());
    }
    // An index has records of entries, which may have the same key.
    if id.index_number().is_none()
        && let Some((_, problem)) = first_inexact(stamps())
    {
        return Err(problem);
    }
    let is_in = matches!(id.type_and_side(), Some((_, Direction::In)));
    for SharedRecord { key, stamp, properties } in records {
        let at = stamp.timestamp();
        if at <= base || at > through {
            return Err(format!("records newer than {base} and up to {through} expected, found one of {at}"));
        }
        if id.index_number().is_some() {
            if properties.is_empty() || properties.len() > ENTRY_BYTES_MAX || key_of(properties) != *key {
                return Err(format!(
                    "an entry with key {:#x} expected, found {} bytes",
                    key.0,
                    properties.len()
                ));
            }
            continue;
        }
        if u32::from(key.row()) >= GROUP_SIZE || id.hub_row().is_some_and(|row| row != key.row()) {
            return Err(format!("a record of row {}, which is not the segment's", key.row()));
        }
        if id.type_and_side().is_none() && *key != RecordKey::vertex(key.row()) {
            return Err(format!("a record of a vertex expected, found key {:#x}", key.0));
        }
        if is_in && !properties.is_empty() {
            return Err("records of the in side without properties expected".to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{GroupId, TypeId};
    use evergraph_storage::record::Operation;
    use proptest::prelude::*;

    fn record(key: RecordKey, timestamp: u64, properties: &[u8]) -> SharedRecord {
        let stamp = Stamp::new(Timestamp(timestamp), Operation::Insert);
        SharedRecord { key, stamp, properties: properties.to_vec() }
    }

    proptest! {
        #[test]
        fn records_read_back_and_no_damage_makes_a_panic(
            records in proptest::collection::btree_set(
                (0u64..30, 1u64..9, proptest::collection::vec(any::<u8>(), 0..12)), 0..30),
            bare in any::<bool>(),
            (at, flip) in (any::<prop::sample::Index>(), 1u8..),
        ) {
            let mut records: Vec<_> = records
                .into_iter()
                .map(|(key, ts, bytes)| record(RecordKey(key), ts, if bare { &[] } else { &bytes }))
                .collect();
            records.dedup_by_key(|record| (record.key, record.stamp));
            let mut bytes = encode_run(&records).unwrap();
            prop_assert_eq!(bytes.len() % 8, 0);
            prop_assert_eq!(decode_run(&bytes).unwrap(), records.clone());
            for cut in [1, 8] {
                if let Some(length) = bytes.len().checked_sub(cut).filter(|length| *length >= 8) {
                    prop_assert!(decode_run(&bytes[..length]).is_err());
                }
            }
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            if let Ok(found) = decode_run(&bytes) {
                // Checksums are elsewhere: a run with other keys is a run.
                prop_assert_eq!(encode_run(&found).unwrap(), bytes);
            }
        }
    }

    #[test]
    fn records_that_are_not_the_segments_are_told() {
        let edges = |side| SegmentId::edges(GroupId(3), TypeId(1), side);
        let check = |segment, key, timestamp, properties: &[u8]| {
            let records = [record(key, timestamp, properties)];
            check_records(segment, (Timestamp(4), Timestamp(9)), &records)
        };
        let (vertices, key) = (SegmentId::vertices(GroupId(3)), RecordKey::edge(7, 1, 0));
        for timestamp in 5..=9 {
            assert_eq!(check(edges(Direction::Out), key, timestamp, b"p"), Ok(()));
        }
        for (segment, key, timestamp, text) in [
            (edges(Direction::Out), key, 4, "newer than 4 and up to 9 expected, found one of 4"),
            (edges(Direction::Out), key, 10, "found one of 10"),
            (edges(Direction::Out), RecordKey::edge(4096, 1, 0), 5, "row 4096"),
            (edges(Direction::Out).hub(6), key, 5, "row 7, which is not the segment's"),
            (vertices, key, 5, "a record of a vertex expected"),
            (edges(Direction::In), key, 5, "in side without properties"),
        ] {
            let problem = check(segment, key, timestamp, b"p").unwrap_err();
            assert!(problem.contains(text), "{problem}");
        }
        assert_eq!(check(edges(Direction::In), key, 5, b""), Ok(()));
        assert_eq!(check(vertices, RecordKey::vertex(7), 5, b"p"), Ok(()));
    }

    /// Merged into one effect, such records made a panic.
    #[test]
    fn records_that_do_not_follow_from_each_other_are_told() {
        let of_key = |at: u64, operation| {
            let stamp = Stamp::new(Timestamp(at), operation);
            SharedRecord { key: RecordKey::vertex(7), stamp, properties: Vec::new() }
        };
        let check = |segment, operations: [Operation; 2]| {
            let records = [of_key(5, operations[0]), of_key(6, operations[1])];
            check_records(segment, (Timestamp(4), Timestamp(9)), &records)
        };
        let vertices = SegmentId::vertices(GroupId(3));
        assert_eq!(check(vertices, [Operation::Set, Operation::Delete]), Ok(()));
        assert_eq!(check(vertices, [Operation::Delete, Operation::Insert]), Ok(()));
        for operations in [[Operation::Delete, Operation::Set], [Operation::Replace, Operation::Insert]] {
            let problem = check(vertices, operations).unwrap_err();
            let [before, after] = operations;
            assert!(problem.contains(&format!("{after:?} follows {before:?}")), "{problem}");
        }
    }
}
