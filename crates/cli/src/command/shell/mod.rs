//! `evergraph shell`: Gremlin line by line, from a person at a terminal or from scripts.
//!
//! ```text
//! terminal ──────> dialogue ─┐                         ┌─> command ─┐
//!                            ├─> script ─> statement ──┤            ├─> session ─> results, or an error with its place
//! -c, -f, stdin ─> runner ───┘                         └─> query ───┘
//! ```

pub mod arguments;
pub mod command;
pub mod complete;
pub mod dialogue;
pub mod editor;
pub mod execute;
pub mod help;
pub mod history;
pub mod runner;
pub mod schema;
pub mod script;
pub mod script_position;
pub mod session;
pub mod variables;
