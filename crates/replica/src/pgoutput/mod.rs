//! pgoutput: the messages of PostgreSQL's logical decoding, protocol version 2, columns as text.
//!
//! ```text
//! Begin  Relation  Insert Update Delete Truncate ...  Commit            one transaction, after its commit
//!
//! StreamStart  Relation  Insert ...  StreamStop                         a block of a transaction in progress
//! StreamStart  ...                   StreamStop   StreamAbort (of a savepoint)   ...   StreamCommit
//! ```
//!
//! Blocks of several streamed transactions interleave; within a block each message names its (sub)transaction. A message
//! is borrowed from the bytes it is read from. Nothing here does I/O, and no bytes make it panic.
//!
//! Source: the PostgreSQL manual, "Logical Replication Message Formats".

pub mod decoder;
pub mod message;
pub mod relation;
pub mod tuple;
