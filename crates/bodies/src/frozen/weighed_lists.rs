//! Weighed lists: the lists of a segment whose weights a property says.
//!
//! ```text
//! stored   the column itself, one number for all edges if there is none, or numbers converted from it
//! fresh    numbers of records; a row of which an edge went or weighs something else is merged anew
//! ```
//!
//! A stored edge without a weight is no error if records took it away or gave it one: then the lists are copied with all that the
//! records changed.

use crate::edge_lists::EdgeLists;
use crate::frozen::edge_weights::{EdgeWeights, WeighedSegment, longest_list};
use crate::frozen::freeze_source::{FreezeSegment, FreezeSource};
use crate::frozen::freezer::{Freezer, WEIGHTS, lists_within};
use crate::frozen::fresh_lists::FreshLists;
use crate::frozen::frozen_list::{FrozenList, ListWeights};
use crate::frozen::label_lists::{ScopedBody, ScopedLists};
use crate::frozen::label_scope::LabelScope;
use crate::frozen::stored_lists::{StoredColumn as _, StoredLists};
use crate::net::{Effect, Net};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::GROUP_SIZE;
use std::ops::Range;
use std::sync::Arc;

/// The stored lists of a segment, and their weights.
type WeighedLists<S> = (S, ListWeights<<S as StoredLists>::Column>);

impl<S: FreezeSource> Freezer<'_, S> {
    /// The lists of a segment with weights that a property says.
    pub(crate) fn by_properties(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        of: WeighedSegment,
        labels: Option<&LabelScope<'_>>,
        weights: &EdgeWeights<'_>,
    ) -> Result<FrozenList<S::Lists>> {
        let weighed = match self.weighed(segment, of, labels, weights) {
            Ok(weighed) => weighed,
            // Of a stored edge, which records may have taken away, or given a weight.
            Err(error) if error.kind() == ErrorKind::Invalid => return self.filtered(segment, of),
            Err(error) => return Err(error),
        };
        let mut fresh = None;
        segment.with_nets(&mut |nets| {
            fresh = Self::weighted(&weighed, nets, of, weights, labels)?;
            Ok(())
        })?;
        let (store, weights) = weighed;
        FrozenList::new(store, weights, fresh)
    }

    /// The stored lists of a segment, without the edges that leave the labels, and their weights.
    fn weighed(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        of: WeighedSegment,
        labels: Option<&LabelScope<'_>>,
        weights: &EdgeWeights<'_>,
    ) -> Result<WeighedLists<S::Lists>> {
        let stored = segment.lists()?;
        let is_made = labels.is_some() || Self::needs_conversion(&stored, weights)?;
        let Some(scope) = self.labels.as_ref().filter(|_| is_made) else {
            let own = self.stored_weights(&stored, of, weights)?;
            return Ok((stored, own));
        };
        let made = self.kept_or_made(scope, &stored.identity(), || {
            let lists = match labels {
                Some(labels) => self.cut_to_labels(segment, stored.lists()?, labels)?,
                None => ScopedLists::Whole,
            };
            let store = lists_within(&lists, &stored);
            if !Self::needs_conversion(&store, weights)? {
                return Ok(lists.into());
            }
            // What they become is counted where they are kept.
            let _meanwhile = self.request.budget.reserve(WEIGHTS, weight_bytes(store.lists()?))?;
            let own = weights.converted(store.lists()?, store.column(weights.key())?.as_ref(), of)?;
            Ok(ScopedBody { lists, weights: Some(Arc::new(own)) })
        })?;
        let store = lists_within(&made.lists, &stored);
        let own = match made.weights {
            Some(own) => ListWeights::Own(own),
            None => self.stored_weights(&store, of, weights)?,
        };
        Ok((store, own))
    }

    /// Whether there has to be a number for each edge of `store` that is not there yet.
    fn needs_conversion(store: &S::Lists, weights: &EdgeWeights<'_>) -> Result<bool> {
        Ok(match store.column(weights.key())? {
            Some(column) => column.floats()?.is_none(),
            None => weights.weight().missing.is_none(),
        })
    }

    /// The weights of all stored edges.
    pub(crate) fn stored_weights(
        &self,
        store: &S::Lists,
        of: WeighedSegment,
        weights: &EdgeWeights<'_>,
    ) -> Result<ListWeights<<S::Lists as StoredLists>::Column>> {
        let lists = store.lists()?;
        let is_converted = Self::needs_conversion(store, weights)?;
        match (store.column(weights.key())?, weights.weight().missing) {
            (Some(column), _) if !is_converted => Ok(ListWeights::Column(column)),
            (None, Some(number)) => self.repeated(weights, number, lists),
            (column, _) => {
                let reservation = self.request.budget.reserve(WEIGHTS, weight_bytes(lists))?;
                let own = weights.converted(lists, column.as_ref(), of)?;
                // Not before: where an edge has no weight, the lists may be copied instead.
                self.reservations.lock().push(reservation);
                Ok(ListWeights::Own(Arc::new(own)))
            }
        }
    }

    /// `number`, the weight of edges without the property, for all edges of `lists`.
    pub(crate) fn repeated<C>(
        &self,
        weights: &EdgeWeights<'_>,
        number: f64,
        lists: EdgeLists<'_>,
    ) -> Result<ListWeights<C>> {
        let repeated = weights.repeated(number, longest_list(lists), |bytes| self.reserve(WEIGHTS, bytes));
        Ok(ListWeights::Same(repeated?))
    }

    /// As [`FreshLists::of_differences`], of edges within the labels, with weights: a row whose weights change is merged anew
    /// too.
    fn weighted(
        (store, stored_weights): &WeighedLists<S::Lists>,
        nets: &[Net],
        of: WeighedSegment,
        weights: &EdgeWeights<'_>,
        labels: Option<&LabelScope<'_>>,
    ) -> Result<Option<Box<FreshLists>>> {
        let (lists, stored_weights) = (store.lists()?, stored_weights.resolved()?);
        if let Some(net) = nets.last()
            && u32::from(net.key.row()) >= GROUP_SIZE
        {
            let text = format!("a record of group {} is of row {}", of.group.0, net.key.row());
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        let is_in = |net: &&Net| labels.is_none_or(|labels| labels.contains(net.key.neighbor()));
        let nets: Vec<&Net> = nets.iter().filter(is_in).collect();
        let mut fresh = FreshLists::new();
        for of_row in nets.chunk_by(|a, b| a.key.row() == b.key.row()) {
            let row = of_row[0].key.row();
            let is_replaced = of_row.iter().any(|net| net.difference != 1);
            let range = lists.range(row);
            let copy = |fresh: &mut FreshLists, range: Range<usize>| {
                fresh.neighbors.extend_from_slice(&lists.neighbors()[range.clone()]);
                fresh.weights.extend_from_slice(stored_weights.of(range));
            };
            let mut from = range.start;
            for net in of_row {
                let mut stored = None;
                if is_replaced {
                    let to = lists.lower_bound(net.key, &range, from);
                    copy(&mut fresh, from..to);
                    let is_there = to < range.end && lists.is_at(net.key, to);
                    stored = is_there.then(|| stored_weights.of(to..to + 1)[0]);
                    from = to + usize::from(is_there);
                }
                if net.effect != Effect::Absent {
                    fresh.neighbors.push(net.key.neighbor());
                    fresh.weights.push(weights.after(net, stored, of)?);
                }
            }
            if is_replaced {
                copy(&mut fresh, from..range.end);
                fresh.replace_row(row, range.len());
            } else {
                fresh.finish_row(row);
            }
        }
        Ok(fresh.finish())
    }
}

/// What a number for each edge takes.
fn weight_bytes(lists: EdgeLists<'_>) -> u64 {
    (lists.edges_count() * size_of::<f64>()) as u64
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::frozen::frozen_graph::FrozenGraph;
    use crate::frozen::label_lists::LabelLists;
    use crate::frozen::test_source::{
        LABELS, TestEdge, TestSource, WatchedLists, expected, frozen, reserved_bytes, visited, weighted,
    };
    use evergraph_graph::id::{Direction, LabelId};
    use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology as _, Visit};
    use evergraph_graph::value::{Value, ValueType};
    use evergraph_storage::memory_budget::MemoryBudget;

    /// Where the weights of the out side's first edge lie.
    fn weights_place(graph: &FrozenGraph<WatchedLists>) -> usize {
        let mut place = 0;
        let visit = |_: u32, piece: Piece<'_>| {
            place = piece.weights.as_ptr().addr();
            Visit::Stop
        };
        graph
            .visit(Direction::Out, 0..graph.bound(), &mut PieceBuffer::default(), visit)
            .expect("its weights are there");
        place
    }

    #[test]
    fn converted_weights_serve_the_next_snapshot_that_asks_for_the_same() {
        let edges: Vec<TestEdge> = (1..100)
            .map(|target| {
                let value = (target % 3 > 0).then_some(Value::I64(i64::from(target)));
                TestEdge { value, ..TestEdge::stored(0, 1, target) }
            })
            .collect();
        let source = TestSource::new(&LABELS, &edges, None);
        // Labels that no edge leaves, and that some may leave.
        for labels in [None, Some(vec![LabelId(0)])] {
            let budget = MemoryBudget::new(u64::MAX);
            let kept = LabelLists::new(&budget);
            let freeze = |kept: Option<&LabelLists>, missing| {
                let labels = labels.clone();
                let projection = Projection { labels, ..weighted(Some(missing), None, Direction::Out) };
                let graph = frozen(&source, kept, &projection, ValueType::I64, &budget).unwrap();
                assert_eq!(
                    visited(&graph, Direction::Out),
                    expected(&edges, &projection, Direction::Out),
                    "{projection:?}"
                );
                graph
            };
            let kept_bytes = || reserved_bytes(&budget, "lists within labels");
            let first = freeze(Some(&kept), 0.5);
            let bytes = kept_bytes();
            assert!(bytes >= 99 * 8, "{bytes} bytes");
            let second = freeze(Some(&kept), 0.5);
            assert_eq!((weights_place(&second), kept_bytes()), (weights_place(&first), bytes));
            let other = freeze(Some(&kept), 0.25);
            assert_ne!(weights_place(&other), weights_place(&first));
            assert!(kept_bytes() > bytes);
            // Nobody keeps these, so that the topology has to.
            let own = freeze(None, 0.5);
            assert_ne!(weights_place(&own), weights_place(&first));
            let used = budget.used_bytes();
            drop(own);
            assert!(budget.used_bytes() + 99 * 8 <= used);
            drop((first, second, other));
            let used = budget.used_bytes();
            assert_eq!(kept_bytes(), used, "the rest went with the topologies");
            drop(kept);
            assert_eq!(budget.used_bytes(), 0);
        }
    }

    #[test]
    fn weights_that_the_budget_refuses_are_an_error() {
        let edges: Vec<TestEdge> = (1..1000)
            .map(|target| TestEdge { value: Some(Value::I64(1)), ..TestEdge::stored(0, 1, target) })
            .collect();
        let source = TestSource::new(&LABELS, &edges, None);
        let projection = weighted(Some(1.0), None, Direction::Out);
        for (limit, is_enough) in [(8192 / 8 + 999 * 8 - 1, false), (8192 / 8 + 999 * 8, true)] {
            let graph = frozen(&source, None, &projection, ValueType::I64, &MemoryBudget::new(limit));
            match graph {
                Ok(graph) => assert!(is_enough && graph.edge_count() == 999),
                Err(error) => assert!(!is_enough && error.kind() == ErrorKind::Limit, "{error}"),
            }
        }
    }
}
