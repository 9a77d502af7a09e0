//! Page index: for each page of a file the key that it begins with, 16 bytes a page, kept in memory while
//! the file is open.
//!
//! ```text
//! topology   lists, vertices, filters of edges   subject 4, first vertex 4, first neighbour 4,
//!                                                values 2, kind 1, flags 1
//!            entries, filters of values          subject 4, separator: offset 4, value bytes 2, item bytes 2,
//!                                                values 2, kind 1, flags 1
//!            behind all pages' records           separators: value bytes, order bytes of the item
//! columns    columns, long values                subject 4, first vertex or rank 8, property key 2,
//!                                                kind 1, flags 1
//! ```
//!
//! Record n is that of page n. Lists, vertices and entries ascend by what they begin with, and so do
//! filters, and so do columns; pages of filters and of long values may stand anywhere among the others.
//!
//! Flags are those of the page: by `begins inside a list` a search knows whether it must look at the page
//! before.
//!
//! Differs from the design: the kind has one byte and the flags the other.

pub mod columns;
pub mod filters;
pub mod topology;
