//! Travel: parts of queries that run on the nodes where the vertices lie.
//!
//! ```text
//! query's thread   begin ──> thread of the node: who reads which partition ──> Begin to each of them
//!                  first rows ──> Rows                                            │
//! each node        thread of the node: messages in and out                        v
//!                  stage workers: a program takes rows ──> rows by place ──> Rows to the others ──> ... ──> results
//! query's thread   results, or why there are none <────────────────────────────────────────────────────────┘
//! ```
//!
//! - [`message`]: what nodes send each other
//! - [`held_rows`]: the memory of rows that one query keeps here
//! - [`sent_rows`]: messages that are kept, to be sent again
//! - [`stage_inbound`]: which rows of a stage have come, and whether all have
//! - [`journey`]: one query at one node
//! - [`asked_travel`]: one query at the node that asked
//! - [`silence`]: when a node may find others silent
//! - `open_queries`: all of them, with the lock held
//! - [`travelling_queries`]: the same between the thread of the node, workers, and queries
//! - [`travel_options`]: how much of them a node runs
//! - [`stage_workers`]: the threads that run stages
//! - [`stage_view`]: what stages read on this node, and [`own_graph`], its partitions as one graph
//! - [`travel_run`]: a query that waits for its results
//!
//! # Ends, losses, and full buffers
//!
//! Rows of a stage are numbered by sender and receiver, and the last message says that it is: a stage has ended at a node when
//! all numbers of all senders have come, and a sender says so only after the stage before has ended there. Nothing is acknowledged. Who has
//! nothing to do and misses something for a while asks the sender for it again; who has no room for a message drops it, and asks
//! later. So much is sent again as a node has room for; that there is more is said, so that it is wanted as soon as this is done.
//! A sender keeps what it sent until the receiver's last message of the next stage says that all has come, so that without
//! losses no message is sent but rows. Doubles have numbers that came.
//!
//! A worker never waits for another node, nor for another worker: it runs what came, or a part of it, and is done: queries take
//! turns. The thread of the node runs nothing. A query ends everywhere with its asker, with its time, when a node fails, starts again or is silent, or when it takes
//! more memory than it may. Whoever asked can then still read in another way.

pub mod asked_travel;
pub mod held_rows;
pub mod journey;
pub mod message;
pub(crate) mod open_queries;
pub mod own_graph;
pub mod sent_rows;
pub mod silence;
pub mod stage_inbound;
pub mod stage_view;
pub mod stage_workers;
pub mod travel_options;
pub mod travel_run;
pub mod travelling_queries;
