//! Operation: what a record did, and the array of a page's operations.
//!
//! ```text
//! operations   2 bits a value, value i in bits 2 (i mod 4) of byte i / 4; absent if all are inserts
//!              0 Insert   1 Delete   2 Replace   3 Set
//! ```
//!
//! Records are exact: Insert only where nothing was; Delete, Replace and Set only where something was.
//! The codes are those of the memory engine's records. Its type is not shared, since engines don't know
//! each other.

use evergraph_graph::bytes::{Decoded, Reader};

/// What a record did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecordOperation {
    /// The item was absent; now it is present, with the record's properties.
    Insert = 0,
    /// The item was present; now it is absent.
    Delete = 1,
    /// The item is still present; the record has all its properties.
    Replace = 2,
    /// The item is still present; the record changes some properties.
    Set = 3,
}

impl RecordOperation {
    /// The operation with the code in the two lowest bits of `code`.
    #[must_use]
    #[inline]
    pub const fn from_low_bits(code: u8) -> Self {
        match code & 3 {
            0 => Self::Insert,
            1 => Self::Delete,
            2 => Self::Replace,
            _ => Self::Set,
        }
    }

    /// The code in files: 0 to 3.
    #[must_use]
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The change to the number of items: +1, -1 or 0.
    #[must_use]
    #[inline]
    pub const fn difference(self) -> i64 {
        match self {
            Self::Insert => 1,
            Self::Delete => -1,
            Self::Replace | Self::Set => 0,
        }
    }
}

/// Gathers the operations of a page.
#[derive(Clone, Debug, Default)]
pub struct OperationsBuilder {
    inserts_before: usize,
    /// From the first that is no insert on, with the inserts before it.
    operations: Vec<RecordOperation>,
}

impl OperationsBuilder {
    /// Bytes of the array if `next` were added.
    #[must_use]
    #[inline]
    pub fn bytes_with(&self, next: RecordOperation) -> usize {
        if self.operations.is_empty() && next == RecordOperation::Insert {
            0
        } else {
            (self.inserts_before + self.operations.len() + 1).div_ceil(4)
        }
    }

    /// Bytes of the array if `count` inserts were added.
    #[must_use]
    pub fn bytes_with_inserts(&self, count: usize) -> usize {
        if self.operations.is_empty() { 0 } else { (self.operations.len() + count).div_ceil(4) }
    }

    /// Adds `next`.
    #[inline]
    pub fn push(&mut self, next: RecordOperation) {
        if self.operations.is_empty() {
            if next == RecordOperation::Insert {
                self.inserts_before += 1;
                return;
            }
            let before = std::mem::take(&mut self.inserts_before);
            self.operations.resize(before, RecordOperation::Insert);
        }
        self.operations.push(next);
    }

    /// Adds `count` inserts.
    pub fn push_inserts(&mut self, count: usize) {
        if self.operations.is_empty() {
            self.inserts_before += count;
        } else {
            self.operations.resize(self.operations.len() + count, RecordOperation::Insert);
        }
    }

    /// Appends the array, unless all are inserts. Says whether it did.
    pub fn put(&self, out: &mut Vec<u8>) -> bool {
        for four in self.operations.chunks(4) {
            let byte = four.iter().rev().fold(0, |byte, operation| byte << 2 | operation.code());
            out.push(byte);
        }
        !self.operations.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.inserts_before = 0;
        self.operations.clear();
    }
}

/// The operations of a page.
#[derive(Clone, Copy, Debug)]
pub struct Operations<'a> {
    /// `None`: all are inserts.
    packed: Option<&'a [u8]>,
}

impl<'a> Operations<'a> {
    /// Operations of a page without the array.
    pub const INSERTS: Self = Self { packed: None };

    /// Reads the array of `values` operations.
    ///
    /// # Errors
    /// If the page ends before.
    pub fn take(reader: &mut Reader<'a>, values: usize) -> Decoded<Self> {
        Ok(Self { packed: Some(reader.take(values.div_ceil(4))?) })
    }

    /// The operation of value `at`; an insert beyond the end.
    #[must_use]
    #[inline]
    pub fn get(&self, at: usize) -> RecordOperation {
        let byte = self.packed.and_then(|packed| packed.get(at / 4)).copied().unwrap_or(0);
        RecordOperation::from_low_bits(byte >> (2 * (at % 4)))
    }

    /// Whether the page has no other operation than inserts.
    #[must_use]
    #[inline]
    pub fn all_inserts(&self) -> bool {
        self.packed.is_none()
    }

    /// Replaces the content of `out` by the operations of `values` values; by nothing if all are inserts.
    pub fn decode_into(&self, values: usize, out: &mut Vec<RecordOperation>) {
        out.clear();
        if !self.all_inserts() {
            out.extend((0..values).map(|at| self.get(at)));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any operation; mostly inserts.
    pub(crate) fn any_operation() -> impl Strategy<Value = RecordOperation> {
        prop_oneof![9 => Just(0u8), 3 => 0u8..4].prop_map(RecordOperation::from_low_bits)
    }

    proptest! {
        #[test]
        fn operations_read_back_and_their_size_is_known(
            operations in proptest::collection::vec(any_operation(), 0..40),
        ) {
            let mut builder = OperationsBuilder::default();
            let mut size = 0;
            for operation in &operations {
                size = builder.bytes_with(*operation);
                builder.push(*operation);
            }
            let mut bytes = Vec::new();
            let has_others = builder.put(&mut bytes);
            prop_assert_eq!(bytes.len(), size);
            let read = match has_others {
                true => Operations::take(&mut Reader::new(&bytes), operations.len()).unwrap(),
                false => Operations::INSERTS,
            };
            let found: Vec<_> = (0..operations.len()).map(|at| read.get(at)).collect();
            prop_assert_eq!(&found, &operations);
            prop_assert_eq!(has_others, operations.iter().any(|one| *one != RecordOperation::Insert));
        }
    }

    #[test]
    fn many_inserts_at_once_are_the_same_as_one_by_one() {
        for (before, after) in [(0, 7), (3, 0), (5, 6)] {
            let mut one_by_one = OperationsBuilder::default();
            let mut at_once = OperationsBuilder::default();
            (0..before).for_each(|_| one_by_one.push(RecordOperation::Insert));
            at_once.push_inserts(before);
            one_by_one.push(RecordOperation::Set);
            at_once.push(RecordOperation::Set);
            (0..after).for_each(|_| one_by_one.push(RecordOperation::Insert));
            assert_eq!(at_once.bytes_with_inserts(after), (before + 1 + after).div_ceil(4));
            at_once.push_inserts(after);
            let (mut first, mut second) = (Vec::new(), Vec::new());
            assert!(one_by_one.put(&mut first) && at_once.put(&mut second));
            assert_eq!(first, second);
        }
    }
}
