//! Checkpoints of the memory engine: bodies in files, and the manifest that says what they come to.
//!
//! ```text
//! segments --body_form--> bytes --body_file--> bodies-1, bodies-2, ...
//!                                                 ^ file, offset, length, base
//! catalogue, groups, C, need  ----------------> manifest      (replaced by an atomic rename)
//! log frames > C                                log-7, log-8  (older ones are pruned)
//! ```
//!
//! - [`arrays`], [`column_form`], [`body_form`]: the stable binary form of bodies
//! - [`body_file`]: many bodies in one file, a checksum every 64 KiB
//! - [`manifest`](mod@manifest): what a database consists of
//! - [`write`](mod@write): the fuzzy checkpoint, while writes go on
//! - [`read`](mod@read): from a manifest to groups with segments
//! - [`check`](mod@check), [`check_graph`](mod@check_graph): is what is stored sound?
//! - [`error`](mod@error)

pub mod arrays;
pub mod body_file;
pub mod body_form;
pub mod check;
pub mod check_graph;
pub mod column_form;
pub mod error;
pub mod manifest;
pub mod read;
pub mod write;
