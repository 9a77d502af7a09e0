//! Checkpoints of the memory engine: bodies in files.
//!
//! ```text
//! segments --StableForm--> bytes --body_file--> bodies-1, bodies-2, ...
//!                                                  ^ file, offset, length, base
//! manifest, this engine's section --------------- segment_list
//! ```
//!
//! - [`StableForm`](evergraph_bodies::body_form::StableForm): the stable form of bodies
//! - [`body_file`]: many bodies in one file, a checksum every 64 KiB
//! - [`segment_list`]: where the body of each segment lies
//! - [`write`](mod@write): the fuzzy checkpoint, while writes go on
//! - [`read`](mod@read): from a manifest to groups with segments
//! - [`copy`](mod@copy): bodies' files held open for a backup
//! - [`check`](mod@check): is what is stored sound?

pub mod body_file;
pub mod check;
pub mod copy;
pub mod read;
pub mod segment_list;
pub mod write;
