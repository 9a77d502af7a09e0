//! Column table: which columns a body has and where they lie, behind its arrays.
//!
//! ```text
//! arrays | zeros to 8 | entries | trailer
//!
//! ENTRY    OFFSET  SIZE   FIELD            TRAILER  OFFSET  SIZE   FIELD       (little-endian)
//!               0     2   property key                   0     8   bytes of the arrays
//!               2     6   zero                           8     4   columns
//!               8     8   base                          12     4   zero
//!              16     8   place, packed
//!              24     8   payload bytes
//! ```
//!
//! A process that finds a body in `live` finds its columns here; who opens the database has both from the manifest.

use crate::extents::blockwise_payload::{BlockwisePayload, PayloadDamage};
use crate::extents::header::ExtentPlace;
use evergraph_graph::id::KeyId;
use evergraph_graph::timestamp::Timestamp;

const ENTRY_BYTES: usize = 32;
const TRAILER_BYTES: usize = 16;

/// A column of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnEntry {
    /// The property.
    pub key: KeyId,
    /// The base of the merge that wrote it.
    pub base: Timestamp,
    /// Where it lies.
    pub place: ExtentPlace,
}

/// Completes a payload that has the arrays of a body. Keys ascend.
///
/// # Errors
/// If a place cannot be packed.
pub fn put_table(payload: &mut Vec<u8>, columns: &[ColumnEntry]) -> Result<(), String> {
    let arrays = payload.len() as u64;
    payload.resize(payload.len().next_multiple_of(8), 0);
    for column in columns {
        let place = column.place.packed();
        let place = place.ok_or_else(|| format!("array file {} has too high a number", column.place.file))?;
        payload.extend_from_slice(&u64::from(column.key.0).to_le_bytes());
        for word in [column.base.0, place, column.place.payload_bytes] {
            payload.extend_from_slice(&word.to_le_bytes());
        }
    }
    payload.extend_from_slice(&arrays.to_le_bytes());
    payload.extend_from_slice(&(columns.len() as u64).to_le_bytes());
    Ok(())
}

/// What [`put_table`] appends to arrays of so many bytes if there are no columns.
#[must_use]
pub fn empty_table(arrays_bytes: u64) -> Vec<u8> {
    let zeros = arrays_bytes.next_multiple_of(8) - arrays_bytes;
    let mut table = vec![0; zeros as usize];
    table.extend_from_slice(&arrays_bytes.to_le_bytes());
    table.extend_from_slice(&0_u64.to_le_bytes());
    table
}

/// The arrays of a body, and its columns.
///
/// # Errors
/// What should be there, and what is.
pub fn take_table(payload: &[u8]) -> Result<(&[u8], Vec<ColumnEntry>), String> {
    let taken = table_behind(BlockwisePayload::verified(payload));
    let (arrays_bytes, columns) = taken.map_err(|damage| damage.to_string())?;
    Ok((&payload[..arrays_bytes], columns))
}

/// As [`take_table`], with the number of the arrays' bytes in their place: none of them is touched, except where they share a block
/// with the table.
///
/// # Errors
/// As [`take_table`]; [`PayloadDamage::Checksum`] of a block in which the table lies.
pub fn table_behind(payload: BlockwisePayload<'_>) -> Result<(usize, Vec<ColumnEntry>), PayloadDamage> {
    let words =
        |bytes: &[u8]| bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>();
    let end = payload.length();
    let front = end.saturating_sub(TRAILER_BYTES);
    let trailer = words(payload.get(front..end)?.unwrap_or_default());
    let [arrays, columns] = trailer[..] else {
        let problem = format!("a body with {TRAILER_BYTES} bytes at its end expected, found {end}");
        return Err(problem.into());
    };
    let table = usize::try_from(columns).ok().and_then(|columns| columns.checked_mul(ENTRY_BYTES));
    let begin = table.and_then(|table| front.checked_sub(table));
    let fits = |begin: &usize| arrays.checked_next_multiple_of(8) == Some(*begin as u64);
    let Some(begin) = begin.filter(fits) else {
        let problem = format!("{arrays} bytes of arrays and {columns} columns do not fit into {end} bytes");
        return Err(problem.into());
    };
    // They lie before `begin`.
    let arrays_bytes = arrays as usize;
    let zeros = payload.get(arrays_bytes..begin)?.unwrap_or_default();
    if zeros.iter().any(|byte| *byte != 0) {
        return Err("zeros behind the arrays of a body expected".to_owned().into());
    }
    let entries = payload.get(begin..front)?.unwrap_or_default();
    let entries = entries.chunks_exact(ENTRY_BYTES).map(|entry| {
        let [key, base, place, bytes] = words(entry)[..] else { unreachable!("an entry has four words") };
        let key = u16::try_from(key).map_err(|_| format!("a property key expected, found {key}"))?;
        let place = ExtentPlace::unpacked(place, bytes);
        Ok(ColumnEntry { key: KeyId(key), base: Timestamp(base), place })
    });
    let columns = entries.collect::<Result<Vec<_>, String>>()?;
    if !columns.is_sorted_by(|a, b| a.key < b.key) {
        return Err("columns in ascending order of their keys expected".to_owned().into());
    }
    Ok((arrays_bytes, columns))
}

/// The same body with its columns elsewhere.
///
/// # Errors
/// As [`take_table`] and [`put_table`].
pub fn with_places(payload: &[u8], columns: &[ColumnEntry]) -> Result<Vec<u8>, String> {
    let mut moved = take_table(payload)?.0.to_vec();
    put_table(&mut moved, columns)?;
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = ColumnEntry> {
        (any::<u16>(), any::<u64>(), 0u64..1 << 24, 0u64..1 << 40, any::<u64>()).prop_map(
            |(key, base, file, line, payload_bytes)| ColumnEntry {
                key: KeyId(key),
                base: Timestamp(base),
                place: ExtentPlace { file, offset: line * 64, payload_bytes },
            },
        )
    }

    proptest! {
        #[test]
        fn a_table_is_read_as_it_was_written_and_no_cut_is_one(
            arrays in proptest::collection::vec(any::<u8>(), 0..40),
            mut columns in proptest::collection::vec(entry(), 0..5),
            damage in any::<proptest::sample::Index>(),
        ) {
            columns.sort_by_key(|column| column.key);
            columns.dedup_by_key(|column| column.key);
            let mut payload = arrays.clone();
            put_table(&mut payload, &columns).unwrap();
            prop_assert_eq!(take_table(&payload).unwrap(), (&arrays[..], columns.clone()));
            let mut bare = arrays.clone();
            put_table(&mut bare, &[]).unwrap();
            prop_assert_eq!(&[&arrays[..], &empty_table(arrays.len() as u64)].concat(), &bare);
            prop_assert_eq!(with_places(&payload, &[]).unwrap(), bare);
            // Sound or refused.
            let at = damage.index(payload.len());
            payload[at] ^= 0x55;
            let _ = take_table(&payload);
            let _ = take_table(&payload[..at]);
        }
    }

    #[test]
    fn what_cannot_be_packed_is_refused() {
        let place = ExtentPlace { file: 1 << 24, offset: 0, payload_bytes: 1 };
        let entry = ColumnEntry { key: KeyId(1), base: Timestamp(1), place };
        assert!(put_table(&mut Vec::new(), &[entry]).unwrap_err().contains("16777216"));
    }
}
