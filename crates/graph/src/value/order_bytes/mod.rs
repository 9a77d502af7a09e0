//! Order bytes: the stored form of indexed values, which sorts as the values do.
//!
//! ```text
//! value      class (1 byte), content, type code (1 byte, see `value_type`)
//!
//! CLASS              CONTENT
//! 08  bool           0 or 1
//! 10  numbers        see `number`: one form for the same number in every type
//! 18  char, string   UTF-8, 00 as 00 ff, then 00
//! 20  bytes          the bytes, 00 as 00 ff, then 00
//! 28  date           days (4)
//! 30  datetime       seconds (8), nanoseconds (4), offset in seconds (4)
//! 38  duration       mean length in nanoseconds + 2^95 (12), months (4), days (4)
//! 40  uuid           16
//! 48  list  50  set  the order bytes of each value, then 00
//! 58  map            the order bytes of key, value, key, value, ..., then 00
//!
//! whole      up to 63 bytes
//! long       of more bytes: the first 48, then a 128-bit hash of all; always 64 bytes
//! ```
//!
//! Integers are big-endian; the sign bit of signed ones is flipped. Comparing bytes, as `memcmp` does, is
//! comparing values by [`Ord`]: by class, by content, by type. No whole form begins another one, so that
//! an item's bytes may follow directly. Equal values have equal bytes: -0.0 is 0.0, the decimal 1.00 is 1.
//!
//! A *long* form is ordered by its first 48 bytes alone. Two different values have the same long form only if
//! the hash collides, so what an index finds by one must be compared with the item's own value. The length tells
//! the forms apart: 64 bytes are long.
//!
//! The form is part of the file format. A new type takes a class byte between two of these.

pub mod decode;
mod encode;
pub mod hash;
pub mod lengths;
mod number;
pub mod range;
pub mod value_bytes;
mod writer;
