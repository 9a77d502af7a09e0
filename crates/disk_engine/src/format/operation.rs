//! Operation: what a record did.
//!
//! Records are exact: Insert only where nothing was; Delete, Replace and Set only where something was.

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
