//! Opened: the store of a `Database`: one that this process writes, one that reads what another process writes, or one whose graph
//! lies on the nodes of a cluster.

use crate::file_work::FileWork;
#[cfg(feature = "cluster")]
use crate::open_cluster::OpenCluster;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::reader::OpenReader;
use evergraph_graph::error::{Error, Result};
use evergraph_storage::indexing::{IndexProgress, IndexRequest};
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
    /// A cluster decides what is written, and this process is one of its nodes.
    #[cfg(feature = "cluster")]
    InCluster(Arc<OpenCluster>),
}

impl Opened {
    /// Transactions and snapshots.
    #[inline]
    pub fn store(&self) -> &Store<AnyEngine> {
        match self {
            Self::ToWrite(open) => open.store(),
            Self::ToRead(open) => open.store(),
            #[cfg(feature = "cluster")]
            Self::InCluster(open) => open.store(),
        }
    }

    /// The store with its log and files, for `work` on them.
    ///
    /// # Errors
    /// `invalid` if it is only read here, naming the process that writes and can do that; in a cluster, saying what to do there.
    pub fn files(&self, work: FileWork) -> Result<&OpenStore<AnyEngine>> {
        match self {
            Self::ToWrite(open) => Ok(open),
            Self::ToRead(open) if work.is_change() => Err(refusal(open.store())),
            Self::ToRead(open) => Err(Error::invalid(match open.store().writer_process() {
                Some(writer) => format!(
                    "the database is open to be read here: {work} is for the process that writes it, {writer}"
                ),
                None => format!("the database is open to be read here: open it to be written for {work}"),
            })),
            #[cfg(feature = "cluster")]
            Self::InCluster(_) => Err(Error::invalid(work.refusal_in_cluster())),
        }
    }

    /// Builds an index: see [`Store::create_index`].
    ///
    /// # Errors
    /// As there; `invalid` if it is only read here, naming the process that writes.
    pub fn create_index(
        &self,
        request: &IndexRequest<'_>,
        progress: &mut dyn FnMut(IndexProgress) -> Result<()>,
    ) -> Result<bool> {
        match self {
            // Closing it waits for the build.
            Self::ToWrite(open) => open.create_index(request, progress),
            Self::ToRead(open) => open.store().create_index(request, progress),
            #[cfg(feature = "cluster")]
            Self::InCluster(open) => open.store().create_index(request, progress),
        }
    }

    /// Closes it.
    ///
    /// # Errors
    /// Those of the log's last sync; `invalid` from inside work on its files; those of the node's end.
    pub fn close(&self) -> Result<()> {
        match self {
            Self::ToWrite(open) => open.close(),
            Self::ToRead(open) => {
                open.close();
                Ok(())
            }
            #[cfg(feature = "cluster")]
            Self::InCluster(open) => open.close(),
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
