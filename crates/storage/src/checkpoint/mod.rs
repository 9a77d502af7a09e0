//! Checkpoints: the stored contents of a database, and checks that they are sound.
//!
//! ```text
//! engine's records and bodies --> its own files, and its section --+
//! catalogue, groups, C, need  -------------------------------------+-> manifest  (replaced by an atomic rename)
//! log frames > C                                                       log-7, log-8  (older ones are pruned)
//! ```
//!
//! - [`manifest`](mod@manifest): what a database consists of
//! - [`contract`]: what the front gives to the engine that makes a checkpoint, and hears of it
//! - [`arrays`], [`column_form`]: the stable binary form of columns
//! - [`report`]: findings of a check
//! - [`check`](mod@check), [`check_graph`](mod@check_graph): is what is stored sound?
//! - [`error`](mod@error)

pub mod arrays;
pub mod check;
pub mod check_graph;
pub mod column_form;
pub mod contract;
pub mod error;
pub mod manifest;
pub mod report;
