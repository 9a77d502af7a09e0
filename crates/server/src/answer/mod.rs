//! Answers: how results and errors of a request are written, whatever carries them.
//!
//! ```text
//! request_task ──> AnswerFormat ──┬─> message    WebSocket, GraphBinary or GraphSON
//!                                 ├─> document   HTTP, GraphSON
//!                                 ├─> lines      HTTP, JSON lines
//!                                 ├─> binary     HTTP, GraphBinary
//!                                 └─> table      HTTP, Arrow
//! ```

pub mod binary;
pub mod document;
pub mod format;
pub mod lines;
pub mod memory;
pub mod message;
pub mod meter;
pub mod table;
mod warnings;
