//! Lengths: the bytes of whole and of long forms.

/// The most bytes of a whole form.
pub const WHOLE_BYTES_MAX: usize = 63;
/// The bytes of a long form.
pub const LONG_BYTES: usize = 64;
/// Those of them that are the value's own; a hash follows.
pub const LONG_PREFIX_BYTES: usize = 48;

// One byte more than a whole form: the length alone tells the forms apart.
const _: () = assert!(LONG_BYTES == WHOLE_BYTES_MAX + 1 && LONG_BYTES == LONG_PREFIX_BYTES + 16);
