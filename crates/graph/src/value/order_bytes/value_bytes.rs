//! Value bytes: the order bytes of one value, at most 64 of them, without an allocation.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::bytes::{Decoded, Reader};
use crate::value::Value;
use crate::value::order_bytes::encode::put_value;
use crate::value::order_bytes::lengths::LONG_BYTES;
use crate::value::order_bytes::writer::Writer;

/// A value's place in an index: equal for equal values, ordered as they are while both are whole.
///
/// Of a long form only the first [`LONG_PREFIX_BYTES`](crate::value::order_bytes::lengths::LONG_PREFIX_BYTES) bytes are ordered as the values are.
#[derive(Clone, Copy)]
pub struct ValueBytes {
    // Zero behind the length.
    bytes: [u8; LONG_BYTES],
    length: u8,
}

impl ValueBytes {
    /// The order bytes of `value`.
    ///
    /// Cost: one pass over the value. Decimals and big integers beyond 64 bits cost the square of their
    /// digits' count, and decimals with a fraction or an exponent a division of as many digits.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        let mut writer = Writer::new();
        put_value(&mut writer, value);
        let (bytes, length) = writer.finish();
        Self { bytes, length: u8::try_from(length).expect("a form has at most 64 bytes") }
    }

    /// Bytes that a file or a log holds, as they are; [`ValueBytes::recover`] tells whether they are a value's.
    ///
    /// # Errors
    /// If there are none, or more than [`LONG_BYTES`].
    pub fn from_stored(stored: &[u8]) -> Decoded<Self> {
        if stored.is_empty() || stored.len() > LONG_BYTES {
            let found = stored.len();
            return Err(Reader::new(stored)
                .error(format!("1 to {LONG_BYTES} order bytes of a value expected, found {found}")));
        }
        let mut bytes = [0; LONG_BYTES];
        bytes[..stored.len()].copy_from_slice(stored);
        Ok(Self { bytes, length: stored.len() as u8 })
    }

    /// The bytes.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Whether they are a prefix and a hash: who finds an item by them compares its value.
    #[must_use]
    #[inline]
    pub const fn is_long(&self) -> bool {
        self.length as usize == LONG_BYTES
    }
}

impl PartialEq for ValueBytes {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for ValueBytes {}

impl PartialOrd for ValueBytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ValueBytes {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for ValueBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for ValueBytes {
    /// Hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
