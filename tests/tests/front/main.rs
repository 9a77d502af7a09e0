//! The front of a store, behind which engines differ: what transactions, snapshots and indexes
//! promise, on a naive engine, the memory engine, the disk engine and the mapped engine.
//!
//! ```text
//! rules                 one promise a test
//! random_transactions   interleaved transactions against a model, which predicts every conflict
//! limits                the time and the bytes that a transaction may take
//! loads                 bulk loads into data, with snapshots and writers open over them
//! indexes               indexes of all kinds against a scan, beside random transactions
//! late_commits          commits between another one's writes and its latch
//! index_builds          builds at their edges, and beside writers
//! newest                edges by descending value against a model, declared or not
//! notes                 of an owner: each with its commit, wherever that is; nobody else writes
//! owner_loads           with notes and with changes of vertices that are there, all of it or nothing
//! serializable          who commits has read what it would read alone
//! threads               what must hold whoever is first
//! kept_indexes          whose entries the engine has: opened without a scan, and asked first
//! choice                the engine of a new database, and all of a store on each engine behind one type
//! conversions           from one engine to another, there and back
//! durable               opened, checkpointed, killed and reopened; copied, loaded, checked and salvaged
//! ```

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

// What it compiled of the front for any engine is linked, not compiled once more.
use evergraph as _;

mod choice;
mod conversions;
mod durable;
mod index_builds;
mod indexes;
mod keeps;
mod kept_indexes;
mod late_commits;
mod limits;
mod loads;
mod model;
mod naive_engine;
mod naive_files;
mod naive_topology;
mod newest;
mod notes;
mod oracle;
mod owner_loads;
mod random_transactions;
mod read_only;
mod rules;
mod serializable;
mod shared_names;
mod test_store;
mod threads;
