//! Settings: what users choose once and not in every call.
//!
//! ```text
//! clap's description of the command line
//!        │ setting.rs: which options are settings, and what are they called elsewhere?
//!        ▼
//! file.rs: TOML files ──┐
//! environment variables ┼─> resolve.rs: who wins ──> defaults of the command line, parsed again
//! flags ────────────────┘                       └──> print.rs: --print-config
//! ```
//!
//! No option is listed here: a command that gets a new one gets its variable and its key in files with
//! it. A setting becomes the *default* of its option, so that all rules between options hold as if it
//! had not been said: what is said on the command line wins and never conflicts with a file.

pub mod file;
pub mod inline_table;
pub mod print;
pub mod resolve;
pub mod setting;
