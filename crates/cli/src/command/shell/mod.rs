//! `evergraph shell`: Gremlin line by line, from a person at a terminal or from scripts.
//!
//! ```text
//! terminal ──────> dialogue ─┐                         ┌─> command ─┐
//!                            ├─> script ─> statement ──┤            ├─> session ─> results, or an error with its place
//! -c, -f, stdin ─> runner ───┘                         └─> query ───┘
//!                                                                      session ─> backend ─┬─> embedded   a folder
//!                                                                                          └─> remote     a server
//! ```

pub mod arguments;
pub mod backend;
pub mod command;
pub mod complete;
pub mod dialogue;
pub mod editor;
pub mod embedded;
pub mod execute;
pub mod help;
pub mod history;
pub mod remote;
pub mod runner;
pub mod schema;
pub mod script;
pub mod script_position;
pub mod session;
pub mod variables;
