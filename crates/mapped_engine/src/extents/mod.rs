//! Extents: pieces of array files, each written once, read in place, and free when nobody needs it.
//!
//! ```text
//! array-1    1 MiB   [ header payload 0.. | header payload .. |     free      | ... ]     each next file twice as large,
//! array-2    2 MiB   [ ...                                                         ]     up to 1 GiB
//! ```
//!
//! - [`header`]: what an extent says of itself
//! - [`free_space`]: which bytes of a file are free
//! - [`array_file`]: one file: allocated, mapped, synced
//! - [`payload_writer`]: an extent that is written part by part
//! - [`checked_blocks`], [`blockwise_payload`]: which blocks were compared with their checksums, and reads that compare them
//! - [`stored_extent`]: an extent that somebody needs
//! - [`table`]: all files: allocating, writing, opening, giving back
//! - [`reader`]: the same files as another process reads them
//!
//! An extent is free when its last [`StoredExtent`](stored_extent::StoredExtent) is dropped. So whoever may still need it holds
//! one: the live version, a checkpoint under way, the manifest that is durable or may be, a replaced version that a snapshot
//! reads. Nothing else decides when bytes are written again.

pub mod array_file;
pub mod blockwise_payload;
pub mod checked_blocks;
pub mod free_space;
pub mod header;
pub mod payload_writer;
pub mod reader;
pub mod stored_extent;
pub mod table;
