//! Columns: pages of kind 3, one property of vertices or of edges.
//!
//! ```text
//! FLAGS   bits 0, 5: form of positions   1: of ranks   2: long values   3: stamps   6: has a column
//!
//! positions     of the records' vertices from the first vertex on, or ranks from the rank on (`positions`)
//! stamps        a varint a record, if flagged
//! long values   if flagged: u16 count, then 12 bytes each, records ascending:
//!               record 2, page 4, offset in its body 2, length 4 (`long_values`)
//! column        if flagged: an item a record, as in bodies' files (storage's `column_form`)
//! ```
//!
//! A record is a value, a long value, or a removal: an item that the column has no value for, and that
//! isn't among the long values. Without a column all records are one of the latter two.
//!
//! An edge's rank is the number of its value among those of (file, subject): see the head of a page of
//! lists.
//!
//! Differs from the design: its "bits: which have a record" are one form of the positions, so that rare
//! and common properties are both short; items without a record take no room in the column. References
//! have an offset.
//!
//! - `column_size`: exact bytes of a column while its values come
//! - `builder`: from records to pages
//! - `page`: one record, or all of a page

pub mod builder;
pub mod column_size;
pub mod page;
