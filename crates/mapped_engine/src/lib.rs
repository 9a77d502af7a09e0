//! The mapped engine: a graph in mapped files, read where it lies, in a form that other processes can read while it is written.
//!
//! ```text
//! extents          array files: allocated whole, mapped, written one extent at a time
//! entries          of indexes, as bytes
//! files            segments, runs and bodies in them: the engine's part of a manifest
//! checkpoint       how it gets there and back
//! words            memory that processes share: words of 64 bits, in regions that never move
//! live_head, live  its first line; the time in it: W, R, era;           live_file: regions of it, mapped
//! slots            which snapshots are open in which process, and what they need
//! claimed_slots    of a reader: claims slots and begins snapshots;      dead_readers: finds those whose process is gone
//! free_lines       what is free of it;                            arena: blocks of it
//! tail, run        records of a segment, in commit order and sorted; shared_record: one of them, with its properties
//! hub_table        rows that have segments of their own
//! version          body, runs and tail of a segment between two switches, and the way to the past
//! index_table      which indexes there are
//! shared_catalogue the names of the graph, and its indexes
//! group            a vertex group: where the present version of each of its segments is
//! version_reference, group_blocks   the writer's side of that;  present_version: what its own snapshots read of it
//! retired          what was replaced and waits until nobody reads it
//! segment_state, segment, merge   the writer's side of a segment: its blocks; appends and switches; runs and bodies
//! segment_history, segment_changes   what changed there since a writer began; reserved_records: what a commit takes
//! live_writer      all that the process does that writes;               live_snapshot: what any other reads
//! body_store       bodies and their columns in extents
//! view             reading at one timestamp, in any process;            freeze: lists for algorithms
//! engine           all of it behind `Engine`
//! durable          files of a database
//! reader           the same in a process that does not write
//! ```
//!
//! ```text
//! group ──> version ──older──> version ──older──> ...      bases fall
//!             │ base              │ base
//!             ├─> body            ├─> body                 in the array files
//!             ├─> runs            └─> ...
//!             └─> tail                                     grows in place; all else never changes
//! ```
//!
//! Source: DGAP (SC 2023), section 3: one structure serves updates and analysis in place. Differs: dense bodies are
//! replaced whole and never changed, so that readers need neither locks nor copies.

pub mod arena;
pub mod body_store;
pub mod checkpoint;
pub mod claimed_slots;
pub mod dead_readers;
pub mod durable;
pub mod engine;
pub mod entries;
pub mod extents;
pub mod files;
pub mod free_lines;
pub mod freeze;
pub mod group;
pub mod group_blocks;
pub mod hub_table;
pub mod index_table;
pub mod live;
pub mod live_file;
pub mod live_head;
pub mod live_snapshot;
pub mod live_writer;
pub mod merge;
pub mod present_version;
pub mod reader;
pub mod reserved_records;
pub mod retired;
pub mod run;
pub mod segment;
pub mod segment_changes;
pub mod segment_history;
pub mod segment_state;
pub mod shared_catalogue;
pub mod shared_record;
pub mod slots;
pub mod statistics;
pub mod tail;
pub mod version;
pub mod version_reference;
pub mod view;
pub mod words;
