//! Opened: the store of a `Database`: one that this process writes, or one that reads what another process writes.

use evergraph_engines::engine::AnyEngine;
use evergraph_engines::reader::OpenReader;
use evergraph_graph::error::{Error, Result};
use evergraph_storage::open::OpenStore;
use evergraph_storage::store::Store;
use std::sync::Arc;

/// An open store. Clones share it.
#[derive(Clone)]
pub enum Opened {
    /// This process writes it.
    ToWrite(Arc<OpenStore<AnyEngine>>),
    /// It is only read here.
    ToRead(Arc<OpenReader>),
}

impl Opened {
    /// Transactions and snapshots.
    #[inline]
    pub fn store(&self) -> &Store<AnyEngine> {
        match self {
            Self::ToWrite(open) => open.store(),
            Self::ToRead(open) => open.store(),
        }
    }

    /// The store with its log and files.
    ///
    /// # Errors
    /// `invalid` if it is only read here, naming the process that writes.
    #[inline]
    pub fn to_write(&self) -> Result<&OpenStore<AnyEngine>> {
        match self {
            Self::ToWrite(open) => Ok(open),
            Self::ToRead(open) => Err(refusal(open.store())),
        }
    }

    /// As [`Opened::to_write`], for `work` on its files that is no change of the graph.
    ///
    /// # Errors
    /// `invalid` if it is only read here, naming the process that can do that.
    pub fn to_maintain(&self, work: &str) -> Result<&OpenStore<AnyEngine>> {
        match self {
            Self::ToWrite(open) => Ok(open),
            Self::ToRead(open) => Err(Error::invalid(match open.store().writer_process() {
                Some(writer) => format!(
                    "the database is open to be read here: {work} is for the process that writes it, {writer}"
                ),
                None => format!("the database is open to be read here: open it to be written for {work}"),
            })),
        }
    }

    /// Closes it.
    ///
    /// # Errors
    /// Those of the log's last sync; `invalid` from inside work on its files.
    pub fn close(&self) -> Result<()> {
        match self {
            Self::ToWrite(open) => open.close(),
            Self::ToRead(open) => {
                open.close();
                Ok(())
            }
        }
    }
}

/// What a store that only reads says to whoever would write.
fn refusal(store: &Store<AnyEngine>) -> Error {
    match store.check_writable() {
        Err(error) => error,
        Ok(()) => unreachable!("a store without a log is not written"),
    }
}
