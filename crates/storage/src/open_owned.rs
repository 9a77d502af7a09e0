//! Open owned: an open database begins to follow a source, and takes bulk loads of its owner.

use crate::bulk::load::{LoadProgress, LoadSummary};
use crate::checkpoint::contract::OnCheckpointProgress;
use crate::durable_engine::DurableEngine;
use crate::open::OpenStore;
use crate::ownership::{OwnerChanges, Ownership};
use evergraph_graph::error::Result;
use evergraph_graph::load::Load;
use std::ops::ControlFlow;

impl<E: DurableEngine> OpenStore<E> {
    /// Makes the database follow `source`: see [`Store::own`](crate::store::Store::own).
    ///
    /// Cost: a checkpoint and a commit, if it doesn't yet.
    ///
    /// # Errors
    /// As [`Store::own`](crate::store::Store::own) and [`OpenStore::checkpoint`].
    pub fn own(&self, source: &str) -> Result<Ownership<E>> {
        let _operation = self.operations.begin()?;
        let make_durable = &mut || {
            let made = self.upkeep.checkpoint(&mut |_| ControlFlow::Continue(()));
            Ok(made.map(drop)?)
        };
        self.store().own(source, make_durable)
    }

    /// As [`OpenStore::load_within`], by the owner and with what he changes besides: see [`Ownership::load_within`].
    ///
    /// # Errors
    /// As [`Ownership::load_within`] and [`OpenStore::checkpoint`].
    pub fn load_owned(
        &self,
        ownership: &mut Ownership<E>,
        memory_bytes: u64,
        load: &Load,
        changes: OwnerChanges<'_>,
        building: &mut dyn FnMut(LoadProgress) -> Result<()>,
        writing: &mut OnCheckpointProgress<'_>,
    ) -> Result<LoadSummary> {
        let _operation = self.operations.begin()?;
        let make_durable = &mut || Ok(self.upkeep.checkpoint(writing).map(drop)?);
        ownership.load_within(memory_bytes, load, changes, building, make_durable)
    }
}
