//! Terminal: what the program's commands print with, for people and for programs.
//!
//! ```text
//! number       counts, sizes, times and rates in a fitting unit
//! table        columns below their names; data that can't move a cursor
//! console      where results, summaries and notes go: as text or as one JSON document
//! meter        how far a long piece of work is
//! failure      why a command stopped: kind, causes, hint, exit code
//! interrupt    Ctrl-C and SIGTERM
//! file_size_limit  what happens beyond `ulimit -f`
//! result_file  a result in a file that is there in whole or not at all
//! ```
//!
//! Nothing here knows a command, a setting, or how a database is opened.

pub mod console;
pub mod failure;
pub mod file_size_limit;
pub mod interrupt;
pub mod meter;
pub mod number;
pub mod result_file;
pub mod table;
