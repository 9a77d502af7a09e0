//! Mapping: how each file of an import is read, as declared in TOML or recognised; how tables of a database are.
//!
//! ```text
//! mapping.toml ──> document ──┐                              ┌──> plan
//!                             ├──> FileRule, one a file ─────┤
//! files ──> recognise ────────┘      words (its header)      └──> propose ──> mapping.toml
//! ```
//!
//! What recognition finds and what a mapping file says are the same rules, so that importing a folder
//! equals importing it with the mapping file that is proposed for it.

mod column;
pub mod document;
pub mod glob;
mod misuse;
pub mod origin;
pub mod propose;
pub mod rule;
pub mod table;
mod table_entry;
pub mod words;
