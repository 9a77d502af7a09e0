//! Records: what nodes append to the shared log, and how records are packed into messages.
//!
//! ```text
//! mutations ──payload──> bytes by partition ─┐
//! checks, touches ───────────────────────────┴─> transaction_part ──> body ──> message, up to 64 KiB
//!                                                   └──large_transaction──> parts that are sent ahead
//! ```
//!
//! - [`payload`]: the mutations of a commit by partition, both sides of every edge
//! - [`transaction_part`]: checks, touches and payloads of a transaction, or of a part of it
//! - [`body`]: every kind of record
//! - [`message`]: several records, as the log has them
//! - [`large_transaction`]: a transaction that takes several messages

pub mod body;
pub mod large_transaction;
pub mod message;
pub mod payload;
#[cfg(test)]
pub(crate) mod strategy;
pub mod transaction_part;
