//! Shared readable: how a process that reads what another one writes learns R, and announces its snapshots there.
//!
//! ```text
//! begin   prepare: whatever has to be waited for
//!         registry locked: register (announced, then R loaded) ─> pin, which takes what was registered
//! end     the pin is dropped, and takes the announcement back
//! ```
//!
//! Source: mapped-engine, section 5.

use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Freshness;
use std::any::Any;
use std::fmt::Debug;

/// What [`SharedReadable::prepare`] found, which only the same implementation's `register` understands.
pub type Prepared = Box<dyn Any + Send>;

/// R of the process that writes, and the place where it sees which snapshots are open here.
///
/// # Concurrency
/// Any thread calls any method; `register` with the registry of this process' timeline locked, and the engine's `pin` follows
/// under the same lock.
pub trait SharedReadable: Send + Sync + Debug {
    /// Does what takes long, before the registry is locked: files are read, another process is waited for, or commits that
    /// `freshness` asks for. `None` if there is nothing of the kind to do.
    fn prepare(&self, freshness: Freshness) -> Option<Prepared>;

    /// Announces that a snapshot begins, then loads R, in this order: the writer sees the announcement, or the snapshot sees
    /// what the writer did before it looked. `None` if by now there is something to prepare first: both are called again then.
    /// Names that the pin shows are never older than those of a pin before it.
    ///
    /// Cannot fail, and waits for nothing. If nothing can be announced, the pin that follows says why, in each of its reads and in
    /// [`Engine::check_begun`](crate::engine::Engine::check_begun).
    fn register(&self, prepared: Option<Prepared>) -> Option<Timestamp>;

    /// R now, for numbers: nothing is kept for it. Never falls.
    fn readable(&self) -> Timestamp;
}
