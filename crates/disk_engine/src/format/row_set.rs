//! Row set: which of the 4,096 rows of a vertex group, a bit each where they are many.
//!
//! ```text
//! count (varint), then
//!     up to 255       of each row its distance behind the row before, less one (varint); of the first, the row
//!     256 to 4,095    64 words of 8 bytes, little-endian: row r is bit r % 64 of word r / 64
//!     4,096           nothing
//! ```
//!
//! Each set has one form, in memory as in the file.

use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::GROUP_SIZE;
use evergraph_storage::view::GroupBits;

/// Rows from which bits take less than numbers.
const BITS_ROWS_MIN: usize = 256;
/// Rows of a group.
const GROUP_ROWS: usize = GROUP_SIZE as usize;

/// Rows of one vertex group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowSet(Form);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Form {
    /// Ascending.
    Few(Box<[u16]>),
    Many(Box<GroupBits>),
    All,
}

impl Default for RowSet {
    fn default() -> Self {
        Self(Form::Few(Box::default()))
    }
}

impl RowSet {
    /// The rows whose bits are set. Cost: a look at 512 bytes, and memory for the rows.
    #[must_use]
    pub fn of_bits(bits: &GroupBits) -> Self {
        let count = bits.iter().map(|word| word.count_ones() as usize).sum();
        Self(match count {
            GROUP_ROWS => Form::All,
            BITS_ROWS_MIN.. => Form::Many(Box::new(*bits)),
            _ => Form::Few(rows_of(bits).collect()),
        })
    }

    /// Whether the row is among them. Cost: a few loads.
    #[must_use]
    #[inline]
    pub fn contains(&self, row: u16) -> bool {
        match &self.0 {
            Form::Few(rows) => rows.binary_search(&row).is_ok(),
            Form::Many(bits) => has_bit(bits, row),
            Form::All => true,
        }
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Form::Few(rows) if rows.is_empty())
    }

    /// Sets the bits of the rows.
    pub fn add_to(&self, bits: &mut GroupBits) {
        match &self.0 {
            Form::Few(rows) => rows.iter().for_each(|row| bits[word_of(*row)] |= bit_of(*row)),
            Form::Many(own) => bits.iter_mut().zip(own.iter()).for_each(|(word, own)| *word |= own),
            Form::All => bits.fill(u64::MAX),
        }
    }

    /// Clears the bits of the rows.
    pub fn remove_from(&self, bits: &mut GroupBits) {
        match &self.0 {
            Form::Few(rows) => rows.iter().for_each(|row| bits[word_of(*row)] &= !bit_of(*row)),
            Form::Many(own) => bits.iter_mut().zip(own.iter()).for_each(|(word, own)| *word &= !own),
            Form::All => bits.fill(0),
        }
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Few(rows) => size_of_val(&**rows),
            Form::Many(bits) => size_of_val(&**bits),
            Form::All => 0,
        }
    }

    /// Appends the set.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Form::Few(rows) => {
                put_varint(out, rows.len() as u64);
                let mut next = 0;
                for row in rows {
                    put_varint(out, u64::from(row - next));
                    next = row + 1;
                }
            }
            Form::Many(bits) => {
                put_varint(out, bits.iter().map(|word| u64::from(word.count_ones())).sum());
                bits.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
            }
            Form::All => put_varint(out, GROUP_ROWS as u64),
        }
    }

    /// Reads a set. Memory: at most twice the bytes.
    ///
    /// # Errors
    /// If the bytes are no set in its one form.
    pub(super) fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        let count = reader.at_most(GROUP_ROWS as u64)? as usize;
        if count == GROUP_ROWS {
            return Ok(Self(Form::All));
        }
        if count >= BITS_ROWS_MIN {
            let mut bits: GroupBits = [0; 64];
            for word in &mut bits {
                *word = reader.u64()?;
            }
            let found = bits.iter().map(|word| word.count_ones() as usize).sum::<usize>();
            if found != count {
                return Err(start.error(format!("{count} rows of a group expected, found {found}")));
            }
            return Ok(Self(Form::Many(Box::new(bits))));
        }
        let (mut rows, mut next) = (Vec::with_capacity(count.min(reader.remaining())), 0_u16);
        for _ in 0..count {
            let Some(most) = (GROUP_ROWS as u16 - 1).checked_sub(next) else {
                return Err(start.error("rows of one group expected"));
            };
            let row = next + reader.at_most(u64::from(most))? as u16;
            rows.push(row);
            next = row + 1;
        }
        Ok(Self(Form::Few(rows.into())))
    }
}

/// The rows whose bits are set, ascending.
fn rows_of(bits: &GroupBits) -> impl Iterator<Item = u16> + '_ {
    (0..GROUP_ROWS as u16).filter(|row| has_bit(bits, *row))
}

#[inline]
const fn word_of(row: u16) -> usize {
    row as usize / 64
}

#[inline]
const fn bit_of(row: u16) -> u64 {
    1 << (row % 64)
}

/// Whether the bit of a row is set.
#[inline]
pub(crate) const fn has_bit(bits: &GroupBits, row: u16) -> bool {
    bits[word_of(row)] & bit_of(row) != 0
}

/// Sets the bit of a row.
#[inline]
pub(crate) const fn set_bit(bits: &mut GroupBits, row: u16) {
    bits[word_of(row)] |= bit_of(row);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Sets of all three forms.
    pub(crate) fn any_rows() -> impl Strategy<Value = BTreeSet<u16>> {
        let about = |count| proptest::collection::btree_set(0..4096_u16, count);
        prop_oneof![
            4 => about(0..9),
            1 => about(250..270),
            1 => about(0..9).prop_map(|missing| (0..4096).filter(|row| !missing.contains(row)).collect()),
            1 => (0..4096_u16).prop_map(|end| (0..end).collect()),
        ]
    }

    pub(crate) fn row_set(rows: &BTreeSet<u16>) -> RowSet {
        let mut bits = [0; 64];
        rows.iter().for_each(|row| set_bit(&mut bits, *row));
        RowSet::of_bits(&bits)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_set_has_its_rows_and_reads_back(rows in any_rows(), other in any_rows()) {
            let set = row_set(&rows);
            prop_assert!((0..4096).all(|row| set.contains(row) == rows.contains(&row)));
            prop_assert_eq!(set.is_empty(), rows.is_empty());
            let mut bits = [0; 64];
            set.add_to(&mut bits);
            prop_assert_eq!(rows_of(&bits).collect::<BTreeSet<_>>(), rows.clone());
            row_set(&other).remove_from(&mut bits);
            prop_assert_eq!(rows_of(&bits).collect::<BTreeSet<_>>(), &rows - &other);
            let mut bytes = Vec::new();
            set.put(&mut bytes);
            prop_assert!(set.heap_bytes() <= 2 * bytes.len());
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(RowSet::take(&mut reader), Ok(set));
            prop_assert!(reader.is_empty());
        }
    }

    #[test]
    fn rows_behind_the_group_and_wrong_counts_are_refused() {
        let taken = |bytes: &[u8]| RowSet::take(&mut Reader::new(bytes));
        let mut bytes = Vec::new();
        put_varint(&mut bytes, 2);
        put_varint(&mut bytes, 4095);
        put_varint(&mut bytes, 0);
        assert!(taken(&bytes).is_err(), "row 4096");
        bytes.clear();
        put_varint(&mut bytes, 300);
        bytes.extend_from_slice(&[0xff; 512]);
        assert!(taken(&bytes).is_err(), "4,096 bits for 300 rows");
        bytes.clear();
        put_varint(&mut bytes, 4097);
        assert!(taken(&bytes).is_err());
    }
}
