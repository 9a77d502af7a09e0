//! Edge batches: many edges of one type put at once, looked up in order.
//!
//! ```text
//! fit      the properties of each
//! sort     by source and target; of two for one edge the later counts
//! check    room, ends (each once), unique values, whether each edge was there at S
//! buffer   all of them
//! ```
//!
//! Nothing is buffered before all is checked. What is learned of names and types stays, as with one edge.

use crate::engine::Engine;
use crate::transaction::handle::{Transaction, owned};
use crate::view::View as _;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::transaction::NewEdge;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use std::collections::BTreeSet;

/// Edges to be put, ascending, each once.
type Batch = Vec<(EdgeId, Properties)>;

impl<E: Engine> Transaction<E> {
    /// As [`evergraph_graph::transaction::Transaction::put_edges`].
    pub(super) fn put_batch(&mut self, edge_type: TypeId, edges: &[NewEdge<'_>]) -> Result<()> {
        self.check_time()?;
        let batch = self.fitted(edge_type, edges)?;
        let bytes = batch.iter().map(|(_, properties)| properties.heap_bytes()).sum();
        let bytes = self.check_room(batch.len(), bytes)?;
        self.check_ends(&batch)?;
        self.check_unique_values(Owner::EdgeType(edge_type), &batch)?;
        let at_s = self.were_there(&batch)?;
        for (edge, properties) in &batch {
            self.note_edge(*edge, properties);
        }
        let puts = batch.into_iter().zip(at_s).map(|((edge, properties), at_s)| (edge, properties, at_s));
        self.writes.put_edges(puts);
        self.written_bytes += bytes;
        Ok(())
    }

    fn fitted(&mut self, edge_type: TypeId, edges: &[NewEdge<'_>]) -> Result<Batch> {
        let ends = |edge: &NewEdge<'_>| u64::from(edge.source.0) << 32 | u64::from(edge.target.0);
        if !edges.is_empty() && edges.iter().all(|edge| edge.properties.is_empty()) {
            // Without properties one call checks the type for all, and edges with the same ends are the same.
            let properties = self.schema.fit(Owner::EdgeType(edge_type), Properties::EMPTY)?;
            let mut order: Vec<u64> = edges.iter().map(ends).collect();
            order.sort_unstable();
            order.dedup();
            let edge = |ends: u64| {
                let (source, target) = (VertexId((ends >> 32) as u32), VertexId(ends as u32));
                (EdgeId { source, edge_type, target, discriminator: 0 }, properties.clone())
            };
            return Ok(order.into_iter().map(edge).collect());
        }
        let mut order: Vec<(u64, usize)> = edges.iter().map(ends).zip(0..).collect();
        order.sort_unstable();
        // Of each run of equal ends the last.
        let last = |at: &usize| order.get(at + 1).is_none_or(|next| next.0 != order[*at].0);
        (0..order.len())
            .filter(last)
            .map(|at| {
                let NewEdge { source, target, properties } = edges[order[at].1];
                let properties = self.schema.fit(Owner::EdgeType(edge_type), owned(properties))?;
                Ok((EdgeId { source, edge_type, target, discriminator: 0 }, properties))
            })
            .collect()
    }

    fn check_ends(&self, batch: &Batch) -> Result<()> {
        // The sources ascend already: a sort that knows runs has the targets to sort only.
        let sources = batch.iter().map(|(edge, _)| edge.source);
        let mut ends: Vec<VertexId> = sources.chain(batch.iter().map(|(edge, _)| edge.target)).collect();
        ends.sort();
        ends.dedup();
        let mut labels = Vec::with_capacity(ends.len());
        self.reader().labels(&ends, &mut labels)?;
        match labels.iter().position(Option::is_none) {
            None => Ok(()),
            Some(at) => Err(self.missing_vertex(ends[at])),
        }
    }

    /// Refuses values of unique keys that an edge outside the batch has, or two inside it.
    fn check_unique_values(&self, owner: Owner, batch: &Batch) -> Result<()> {
        let catalogue = self.schema.current();
        if !catalogue.has_indexes() {
            return Ok(());
        }
        let mut entered: BTreeSet<(KeyId, &Value)> = BTreeSet::new();
        for (edge, properties) in batch {
            for (key, value) in properties.as_slice() {
                let Some(value) = value else { continue };
                if !catalogue.is_unique(owner, *key) && !self.is_made_unique(owner, *key) {
                    continue;
                }
                let holder = self.reader().holder((owner, *key), value, Some(*edge))?;
                // An edge of the batch has other values from now on.
                let is_outside =
                    |holder: &EdgeId| batch.binary_search_by_key(holder, |(edge, _)| *edge).is_err();
                if let Some(holder) = holder.filter(is_outside) {
                    return Err(self.taken_value(owner, *key, value, holder));
                }
                if !entered.insert((*key, value)) {
                    let other = |(other, properties): &&(EdgeId, Properties)| {
                        other != edge && properties.get(*key).flatten() == Some(value)
                    };
                    let holder = batch.iter().find(other).map_or(*edge, |(other, _)| *other);
                    return Err(self.taken_value(owner, *key, value, holder));
                }
            }
        }
        Ok(())
    }

    /// Whether each edge was there at S.
    fn were_there(&self, batch: &Batch) -> Result<Vec<bool>> {
        let written = |edge: &EdgeId| self.writes.edge(*edge);
        let asked: Vec<EdgeId> =
            batch.iter().map(|(edge, _)| *edge).filter(|edge| written(edge).is_none()).collect();
        let mut stored = vec![false; asked.len()];
        self.reader().view.has_edges(&asked, &mut stored)?;
        if asked.len() == batch.len() {
            return Ok(stored);
        }
        let mut stored = stored.into_iter();
        let at_s = batch.iter().map(|(edge, _)| match written(edge) {
            Some(write) => write.was_there(),
            None => stored.next().unwrap_or(false),
        });
        Ok(at_s.collect())
    }
}
