//! Mapping: how each file of an import is read, as declared in TOML or recognised.
//!
//! ```text
//! mapping.toml ──> document ──┐                              ┌──> plan
//!                             ├──> FileRule, one a file ─────┤
//! files ──> recognise ────────┘      words (its header)      └──> propose ──> mapping.toml
//! ```
//!
//! What recognition finds and what a mapping file says are the same rules, so that importing a folder
//! equals importing it with the mapping file that is proposed for it.

pub mod document;
pub mod glob;
pub mod propose;
pub mod rule;
pub mod words;
