//! Stream: from the batches of a stream of changes to whole committed transactions, translated, in commit order.
//!
//! ```text
//! batch ──> TransactionReader ──> Transaction ──> Pipeline ──> changes of a piece, ..., commit
//!             │      ▲               pieces of 256 KiB,          workers decode and translate pieces,
//!             ▼      │               each with its tables        their results come out in order
//!           open transactions        described before it
//!             in memory, then in files without names
//! ```
//!
//! # Descriptions of tables
//! PostgreSQL describes a table before its first row in the session. In a streamed transaction it does so apart, before the
//! transaction's first row of the table: that description holds for this transaction alone, and for all once it commits. After
//! a rollback, also to a savepoint, it describes the table again. So a description is dropped with the subtransaction that it
//! came in, and [`known_relations`] decides at each commit what the rows after it mean.
//!
//! # What may be confirmed
//! The end of a commit, when the commit is durable here. And the position of a keepalive while no transaction is under way,
//! neither a whole one nor a streamed one: [`event::StreamEvent::Idle`].
//!
//! PostgreSQL itself would allow more. `confirmed_flush` decides which commits come again: those whose record lies at or behind
//! it. A keepalive names what the server has decoded, and it has sent every commit before that. So a transaction that is under
//! way commits behind every keepalive so far, and comes again whole, since `restart_lsn` stays before its beginning. PostgreSQL's
//! own subscriber relies on that. We gain nothing by it: while a transaction is open, it holds `restart_lsn`, and with it the
//! log, whatever we confirm. So we keep to the rule that does not rest on how a server decodes. Its price: servers before 14.7 and
//! 15.2 never end a streamed transaction that a crash of theirs cut off, and until the next connection such a server hears of
//! commits alone.
//!
//! Source: PostgreSQL 15, `walsender.c` (`sentPtr`), `snapbuild.c` (`SnapBuildXactNeedsSkip`), `pgoutput.c` (`maybe_send_schema`,
//! `cleanup_rel_sync_cache`), `worker.c` (`send_feedback`).

pub mod event;
pub mod finished_piece;
pub mod job;
pub mod known_relations;
pub mod open_transaction;
pub mod piece;
pub mod pipeline;
pub mod row_translator;
pub mod stored_messages;
pub mod transaction_reader;
pub mod translated;
pub mod worker_pool;
