//! Remote: databases of servers, by the client that the program uses as well.
//!
//! ```text
//! connect ──> RemoteDatabase ─┬─> RemoteResults       frames as they come, objects and tables
//!                             └─> RemoteTransaction   a session; queries run to their end
//! ```
//!
//! The calling thread waits itself, without the GIL, and takes it every 50 ms to look for signals.

pub mod database;
pub mod query_settings;
pub mod received;
pub mod results;
pub mod signals;
pub mod transaction;
