//! Frozen list: the shared lists of one segment, their weights, and the fresh edges on top.

use crate::frozen::fresh_lists::FreshLists;
use crate::frozen::resolved_list::{ResolvedList, ResolvedWeights, RowCursor};
use crate::frozen::stored_lists::{StoredColumn, StoredLists};
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::sync::Arc;

/// The lists of one segment. A clone shares them.
#[derive(Clone)]
pub struct FrozenList<S: StoredLists> {
    store: S,
    weights: ListWeights<S::Column>,
    fresh: Option<Arc<FreshLists>>,
    edges_count: u64,
}

/// Where the weights of stored lists lie.
#[derive(Clone)]
pub(crate) enum ListWeights<C> {
    /// None were asked for.
    None,
    /// A plain array, shared.
    Column(C),
    /// Numbers of another form, converted. A vector: an `Arc<[f64]>` would be made by a copy, which takes as much memory again.
    Own(Arc<Vec<f64>>),
    /// The same number for each edge, as often as the longest list has edges, or more. Many segments share it.
    Same(Arc<[f64]>),
}

impl<C: StoredColumn> ListWeights<C> {
    /// All of them.
    #[inline]
    pub(crate) fn resolved(&self) -> Result<ResolvedWeights<'_>> {
        Ok(match self {
            Self::None => ResolvedWeights::None,
            Self::Own(own) => ResolvedWeights::Each(own),
            Self::Same(same) => ResolvedWeights::Same(same),
            Self::Column(column) => ResolvedWeights::Each(column.floats()?.ok_or_else(no_plain_array)?),
        })
    }
}

#[cold]
fn no_plain_array() -> Error {
    Error::new(ErrorKind::Corrupt, "a column of weights changed after it was frozen")
}

impl<S: StoredLists> FrozenList<S> {
    /// The lists of `store` with what is fresh.
    ///
    /// # Errors
    /// As [`StoredLists::lists`].
    pub(crate) fn new(
        store: S,
        weights: ListWeights<S::Column>,
        fresh: Option<Box<FreshLists>>,
    ) -> Result<Self> {
        let stored = store.lists()?.edges_count();
        let edges_count = fresh.as_ref().map_or(stored as u64, |fresh| fresh.edge_count(stored));
        Ok(Self { store, weights, fresh: fresh.map(Arc::from), edges_count })
    }

    /// Resolves it for a visit. Cost: constant.
    ///
    /// # Errors
    /// As [`StoredLists::lists`].
    #[inline]
    pub fn resolved(&self) -> Result<ResolvedList<'_>> {
        Ok(ResolvedList {
            lists: self.store.lists()?,
            weights: self.weights.resolved()?,
            fresh: self.fresh.as_deref(),
        })
    }

    /// Resolves it for a visit of rows from `row` on, ascending. Cost: constant; a search in sparse lists.
    ///
    /// # Errors
    /// As [`StoredLists::lists`].
    #[inline]
    pub(crate) fn cursor(&self, row: u16) -> Result<RowCursor<'_>> {
        Ok(RowCursor::at(self.resolved()?, row))
    }

    /// About how many edges the rows before `row`, a multiple of 64, have: a row that was merged anew counts
    /// twice. Cost: a look at dense lists, a search in sparse ones.
    #[inline]
    pub(crate) fn edges_before(&self, row: u16) -> Result<usize> {
        let stored = self.store.lists()?.edges_before(row);
        Ok(self.fresh.as_ref().map_or(stored, |fresh| fresh.edges_before(row, stored)))
    }

    /// The lists without what is fresh.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Number of edges.
    #[must_use]
    pub fn edges_count(&self) -> u64 {
        self.edges_count
    }

    /// How many edges lie in fresh lists: those that came, and those of lists that were merged anew.
    #[must_use]
    pub fn fresh_count(&self) -> u64 {
        self.fresh.as_ref().map_or(0, |fresh| fresh.neighbors.len() as u64)
    }

    /// Whether its edges have weights.
    pub(crate) fn is_weighted(&self) -> bool {
        !matches!(self.weights, ListWeights::None)
    }

    /// Whether there are fresh lists.
    #[must_use]
    pub fn has_fresh(&self) -> bool {
        self.fresh.is_some()
    }

    /// Bytes on the heap that are this list's alone: fresh lists.
    pub(crate) fn fresh_bytes(&self) -> usize {
        self.fresh.as_ref().map_or(0, |fresh| fresh.heap_bytes())
    }
}
