//! Entries: pages of kind 4, the values of an index and the items that have them.
//!
//! ```text
//! FLAGS   bit 1: items are edges   3: stamps   4: begins inside the records of one entry
//!
//! restarts   u16 for every 16 entries: where the first of them begins in the page
//! entry      shared   varint   value bytes that are those of the entry before; 0 in a restart
//!            rest     varint   4 x the number of other value bytes + operation (`operation`)
//!            value    bytes    the other value bytes
//!            item     4 or 12  order bytes (`graph::index_entry`), big-endian: a vertex 4; an edge: source 4,
//!                              type 2, target 4, discriminator 2
//!            stamp    varint   timestamp - the file's first, if flagged
//! ```
//!
//! Entries ascend by value bytes, then by item. Value bytes keep the order of values and have at most
//! [`VALUE_BYTES_MAX`](entry::VALUE_BYTES_MAX) bytes. In a file with stamps an entry may have several
//! records, the newest first.
//!
//! Differs from the design: the operation stands in the length of the rest, so that it takes no byte of
//! its own. An edge has its type, though one index has edges of one type: items have one form everywhere, and
//! 12 bytes with or without it.
//!
//! - `entry`: records, and the shortest bytes between two entries
//! - `builder`: from records to pages
//! - `page`: from a value on, or all of a page
//! - `visible_entry`: what a read finds

pub mod builder;
pub mod entry;
pub mod page;
pub mod visible_entry;
