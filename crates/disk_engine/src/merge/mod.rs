//! Merge: several sorted sources of records become one, with one exact record a key.
//!
//! ```text
//! sources, newest first                 list_merge                     output, in key order
//! memory graph   v1: 7+ 9-              v1 is in two sources: merged   v1: 3+ 7+     runs of records, and
//! L0, stamps     v4: 2+ 2-              v4: 2 came and went                          where the properties
//! L1             v1: 3+ 9+              v8 is in one: passed on        v8: 1+ 5+     of each come from
//! L2             v8: 1+ 5+
//!
//! list_source    what a source shows: slices of one list's arrays      entry_merge    the same for indexes
//! list_cursor    a slice that is merged, its stamped records reduced   delete_rule    which Deletes go
//! net            what the records of one key come to                   group_counts   Inserts - Deletes a group
//! merged_run     a part of the output, gathered in run_buffer          merge_error
//! ```
//!
//! The records of one key, from the oldest to the newest, come to one:
//!
//! | so far | Insert | Delete | Replace | Set |
//! |---|---|---|---|---|
//! | nothing | Insert | Delete | Replace | Set |
//! | Insert | | nothing | Insert | Insert |
//! | Delete | Replace | | | |
//! | Replace | | Delete | Replace | Replace |
//! | Set | | Delete | Replace | Set |
//!
//! An empty cell cannot be: records are exact, so it is an error. Insert and Replace come to Insert, since nothing is
//! below: as a Replace it would be lost from the counts. The table is associative: sources may be merged in any
//! grouping, and counts of Inserts minus Deletes are sums.
//!
//! *Indexes* are merged by another rule: the later record stays. What lies below may repeat an Insert, because an
//! index is built from a scan that ends up below commits it saw.
//!
//! Nothing here knows pages or files. Sources and output are traits and slices.
//!
//! Source: LSMGraph (SIGMOD 2024), section 4.2.1, vertex-aware compaction. Differs: records say whether something
//! was below, so a merge of some levels needs no look at the others; properties are planned, not moved.

pub mod delete_rule;
pub mod entry_merge;
pub mod group_counts;
mod list_cursor;
pub mod list_merge;
pub mod list_source;
pub mod merge_error;
pub mod merged_run;
mod net;
mod run_buffer;
