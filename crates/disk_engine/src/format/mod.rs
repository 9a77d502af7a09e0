//! Format: the bytes of CSR files and their pages, version 1; no I/O.
//!
//! ```text
//! file    file_head | page 0 | page 1 | ... | page_index | directory | footer
//!         each file number has a topology file (lists, vertices, entries, filter) and a columns file
//!         (columns, long values), so that a scan of the topology reads nothing else
//! page    32 bytes of head, then a body by kind:
//!         1 lists      2 vertices      3 columns      4 entries      5 filter (ribbon)      6 long_values
//! parts   positions, frames, operation, discriminators, stamps: arrays that several kinds share; row_set: of directories
//! words   subject, tree_key, file_name
//! ```
//!
//! - A builder takes records in key order and says exactly when its page is full. Order is an invariant
//!   of the engine: builders assert it.
//! - A decoder trusts nothing: bytes of any content give a value or a [`DecodeError`] with the offset
//!   inside the page (or section) and what was expected there. It takes no more memory than the input
//!   justifies. Checksums are verified by [`page::verify`], once, before a decoder runs.
//! - Order inside a page is not verified on each read; a page out of order gives wrong answers and no
//!   panic. `check` functions look for it.
//!
//! [`DecodeError`]: evergraph_graph::bytes::DecodeError

pub mod columns;
pub mod directory;
pub mod discriminators;
pub mod entries;
pub mod file_head;
pub mod file_name;
pub mod filter;
pub mod footer;
pub mod frames;
pub mod lists;
pub mod long_values;
pub mod operation;
pub mod page;
pub mod page_index;
pub mod positions;
pub mod ribbon;
pub mod row_set;
pub mod stamps;
pub mod subject;
pub mod tree_key;
pub mod vertices;
