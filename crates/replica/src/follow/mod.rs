//! Follow: a database that follows a source, from its first copy on: begins, goes on, reconnects, pauses, stops.
//!
//! ```text
//! Replica ──begin──> publication, slot, copy                     new
//!    │    ──resume──> notes                                      follows already
//!    ├── Follower    connect ──> Session ──> connect ...         one thread: applies
//!    ├── Watcher     status file, slot, catalogue                one thread
//!    └── Progress    what both know, for status and metrics
//! ```
//!
//! # Invariants
//! - P1: the note of a position is in the commit of the rows that bring the graph there.
//! - P2: what the source was told <= the newest durable note <= what is applied: every commit before it is here whole. A streamed
//!   transaction that is open commits behind it, and comes again from its beginning.
//! - P3: commits are those of the source, in its order: a snapshot is a prefix of whole transactions.
//!
//! | what happens | then |
//! |---|---|
//! | connection lost, source restarts, disk full, index being built | again after 0.1 to 30 s, from the note |
//! | slot gone, invalidated, read by somebody else; another system; log before our note | pause: `replica resync` |
//! | timeline parted behind the note (a standby was promoted) | goes on |
//! | nullable column without default | a property where a rule has no `properties`, from its first row on; null in rows that its own transaction changed before, see [`added_columns`] |
//! | mapped column or table dropped, renamed, retyped; other identity | pause before its first row |
//! | mapped column dropped and added again, a label renamed | pause, within ten seconds |
//! | partition dropped, attached with rows, detached | pause, within ten seconds |
//! | rows that rules refuse | pause before their transaction, with table, column and SQL |
//!
//! Source: GART (USENIX ATC 2023), section 3 (log replayer). Differs: the position is in the graph's own commit, so that nothing is applied
//! twice, and nothing has to be idempotent.

pub mod added_columns;
mod back_off;
mod begin;
mod catalogue_bytes;
mod column_order;
mod confirmations;
pub mod connect;
pub mod detach;
mod early_work;
pub mod failure;
mod follower;
pub mod following_note;
mod known_marks;
mod known_tables;
mod known_translator;
mod mark_changes;
mod marks_note;
mod new_columns;
pub mod options;
pub mod pause;
mod progress;
pub mod replica;
mod session;
mod shared;
#[cfg(test)]
mod shop_catalogue;
pub mod slot_note;
mod source_objects;
mod unfilled_columns;
mod watcher;
