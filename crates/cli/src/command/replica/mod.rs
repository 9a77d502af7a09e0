//! `evergraph replica`: a PostgreSQL database as a graph, a subcommand a file.
//!
//! ```text
//! propose ──> mapping.toml ──> check ──> SQL that mends what stands in the way
//!                   └──> run ──> a database that follows ──> status, stop, verify, resync, detach
//! ```

pub mod check;
mod copy_meter;
pub mod detach;
mod error_news;
pub mod execute;
pub mod propose;
pub mod resync;
pub mod run;
pub mod samples;
pub mod source_url;
pub mod status;
mod status_text;
pub mod stop;
mod until;
pub mod verify;
