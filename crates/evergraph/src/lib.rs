//! A transactional property graph whose live data is analysed at the speed of a static array.
//!
//! Open a [`Database`], change it in transactions, and run algorithms on a [`Snapshot`] while others
//! go on writing. `ARCHITECTURE.md` in the repository says how it works.
//!
//! The feature `files`, on by default, brings the modules `import` and `export`. Without it
//! (`default-features = false`) a program builds neither Arrow nor Parquet. The feature `cluster` brings the graphs of clusters
//! ([`cluster`]); without it a program builds neither the connections between nodes nor a client of their log.
//!
//! ```
//! use evergraph::algorithms::{control::Control, pagerank, scope::Scope};
//! use evergraph::{Database, Freeze};
//!
//! let db = Database::in_memory()?;
//! db.transact(|tx| {
//!     let hub = tx.add_vertex("Account", &[])?;
//!     for _ in 0..3 {
//!         let from = tx.add_vertex("Account", &[])?;
//!         tx.add_edge(from, "TRANSFER", hub, &[])?;
//!     }
//!     Ok(())
//! })?;
//! let snapshot = db.snapshot();
//! let control = Control::new(snapshot.budget());
//! let ranks = pagerank::run(&snapshot, &Scope::default(), &Default::default(), &control)?;
//! assert!(ranks.scores[0] > ranks.scores[1]);
//! # Ok::<(), evergraph::Error>(())
//! ```

pub mod cluster;
pub mod database;
mod durability;
mod file_work;
#[cfg(feature = "files")]
pub mod files;
pub mod generate;
pub mod gremlin;
mod import_progress;
pub mod index;
mod maintenance;
#[cfg(feature = "cluster")]
mod open_cluster;
mod opened;
pub mod options;
pub mod ownership;
pub mod path;
pub mod read;
pub mod reading;
mod settle;
pub mod shared_transaction;
pub mod snapshot;
pub mod statistics;
pub mod transaction;

pub use database::Database;
pub use evergraph_algorithms as algorithms;
pub use evergraph_analysis as analysis;
pub use evergraph_disk_engine as disk_engine;
pub use evergraph_engines as engines;
pub use evergraph_engines::kind::EngineKind;
pub use evergraph_engines::persistent_memory::PersistentMemory;
#[cfg(feature = "files")]
pub use evergraph_files::{export, import};
pub use evergraph_graph as graph;
pub use evergraph_graph::error::{Error, ErrorKind, Result};
pub use evergraph_graph::id::{Direction, EdgeId, VertexId};
pub use evergraph_graph::index::IndexKind;
pub use evergraph_graph::look_up::ValueRange;
pub use evergraph_graph::transaction::{Committed, Freshness, Isolation, TransactionOptions};
pub use evergraph_graph::value::Value;
pub use evergraph_graph::view::{Freeze, GraphView};
pub use evergraph_mapped_engine as mapped_engine;
pub use evergraph_memory_engine as memory_engine;
pub use evergraph_protocol as protocol;
pub use evergraph_query as query;
pub use evergraph_query::value::item::Item;
pub use evergraph_storage as storage;
pub use evergraph_storage::indexing::OwnerName;
pub use evergraph_storage::log::options::Durability;
pub use file_work::FileWork;
pub use index::IndexOptions;
pub use options::Options;
pub use read::ReadByName;
pub use snapshot::Snapshot;
pub use statistics::Statistics;
pub use transaction::Transaction;

/// The examples of the guide, run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rust.md")]
struct Guide;
