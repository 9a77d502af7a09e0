//! Build indexes: what the log of a graph does to build an index in all stores that have a part of the graph.
//!
//! ```text
//! begin     every store fills it; values that are entered from here on are noted        wait_for: until all have
//!           it answers look-ups from there on; one that shall not be unique is done
//! enforce   nobody enters a value that is there: no duplicate comes any more
//!           whoever enforced it looks for duplicates once, at any later moment
//! confirm   there was none: it is unique                   some: it is dropped, as any index
//! ```
//!
//! A store that decides commits itself looks at what was entered during the build instead, and refuses nobody
//! (`indexing.rs`). Here that would be a transaction that checks all values of the graph: beside writers it would conflict
//! for ever, and it would be as large as the index. So writers look for other holders a little early.
//!
//! A build belongs to the graph, and not to who began it: it goes on without him, and anybody may join, or drop it.
//!
//! Source: PostgreSQL, `CREATE INDEX CONCURRENTLY`, which also enforces an index before it has found out whether it is unique.

use evergraph_graph::error::Result;
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::timestamp::Timestamp;

/// An index that stores build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedBuild {
    /// What it becomes.
    pub definition: IndexDefinition,
    /// The moment at which it was created: one that is dropped and created anew has another.
    pub created: Timestamp,
}

/// What came of the wish to build an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BegunBuild {
    /// There is one already, perhaps with another promise.
    Ready(IndexDefinition),
    /// It is being built, by this wish.
    New(SharedBuild),
    /// One is being built already, perhaps with another promise.
    Joined(SharedBuild),
}

/// How far the stores are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildProgress {
    /// Nodes whose stores have filled it.
    pub nodes_done: u32,
    /// All nodes that have a part of the graph.
    pub nodes_count: u32,
}

/// Builds indexes in all stores of a graph.
///
/// # Concurrency
/// Any thread, without a lock of the front; any method may wait for the log.
///
/// # Errors
/// `busy` if the log did not answer in time, and what was asked may still happen; `io` if it cannot be asked. `conflict` if the
/// build was dropped, or dropped and begun anew.
pub trait BuildIndexes {
    /// Has every store build `definition`.
    ///
    /// # Errors
    /// `invalid` if owner or key is not named; as the trait says.
    fn begin(&self, definition: IndexDefinition) -> Result<BegunBuild>;

    /// Waits until all stores have filled it, but for a fraction of a second at most. How far they are; `None` if that is it.
    ///
    /// # Errors
    /// As the trait says.
    fn wait_for(&self, build: SharedBuild) -> Result<Option<BuildProgress>>;

    /// From the moment that is returned on nobody enters a value that another item has. `None` if the index is unique by now:
    /// somebody else has looked for duplicates.
    ///
    /// # Errors
    /// As the trait says.
    fn enforce(&self, build: SharedBuild) -> Result<Option<Timestamp>>;

    /// At a moment behind that of [`BuildIndexes::enforce`] no value was there twice: the index is unique.
    ///
    /// # Errors
    /// As the trait says.
    fn confirm(&self, build: SharedBuild) -> Result<()>;

    /// Whether the build goes on, at the moment of the transaction that this is for.
    fn goes_on(&self, build: SharedBuild) -> bool;
}
