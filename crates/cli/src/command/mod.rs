//! The commands, a subcommand a file: its arguments, what it does, and its report.

pub mod backup;
pub mod bench;
pub mod check;
pub mod checkpoint;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod completions;
pub mod convert;
pub mod demo;
pub mod export;
pub mod generate;
pub mod health;
pub mod import;
pub mod index;
pub mod man;
pub mod query;
pub mod readers;
pub mod replica;
pub mod run;
pub mod salvage;
pub mod serve;
pub mod service;
pub mod shell;
pub mod stats;
pub mod user;
