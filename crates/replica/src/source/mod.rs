//! Sources: where rows and their changes come from.
//!
//! ```text
//! contract    what a source offers: catalogue, copy, stream, confirm
//!    ├── postgres    a PostgreSQL server, 14 or newer
//!    └── scripted    recorded messages, which may break off and lie: for tests
//! replica_source     what following needs beside: slots, publications
//! ```

pub mod batch;
pub mod catalogue;
pub mod catalogue_marks;
pub mod contract;
pub mod error;
pub mod postgres;
pub mod replica_source;
pub mod scripted;
mod sent_transactions;
pub mod slot_state;
pub mod slot_wait;
pub mod table_cuts;
