//! Newest edges of a reader: the engine's order combined with own writes, or a sorted list.

use crate::snapshot::reader::Reader;
use crate::transaction::writes::EdgeWrite;
use crate::view::View;
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, KeyId};
use evergraph_graph::look_up::{OrderedMatches, RangeCursor};
use evergraph_graph::newest::{NewestEdges, Overlay, moved};
use evergraph_graph::view::{GraphView, newest_by_sorting};

impl<V: View> Reader<'_, V> {
    /// As [`evergraph_graph::view::GraphView::newest_with_properties`].
    pub(crate) fn newest_edges_with_properties(
        &self,
        asked: &NewestEdges,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
        keys: &[KeyId],
        columns: &mut [Column],
    ) -> Result<()> {
        assert_eq!(keys.len(), columns.len(), "a column for each key");
        let before = ranked.items.len();
        let mut own = self.writes.edges_of(asked.source, asked.edge_type, Direction::Out);
        if self.catalogue.newest_first(asked.edge_type) == Some(asked.key) && own.next().is_none() {
            let after = cursor.after.as_ref();
            if self.view.newest_with_properties(asked, after, limit, ranked, keys, columns)? {
                moved(cursor, before, limit, ranked);
                return Ok(());
            }
        }
        self.newest_edges(asked, cursor, limit, ranked)?;
        let mut columns = keys.iter().zip(columns);
        columns.try_for_each(|(key, column)| self.edge_properties(&ranked.items[before..], *key, column))
    }

    /// As [`evergraph_graph::view::GraphView::newest`].
    pub(crate) fn newest_edges(
        &self,
        asked: &NewestEdges,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<()> {
        if self.catalogue.newest_first(asked.edge_type) != Some(asked.key) {
            return newest_by_sorting(self, asked, cursor, limit, ranked);
        }
        let after = cursor.after.as_ref();
        let mut own = Overlay::new(asked, after);
        for (edge, write) in self.writes.edges_of(asked.source, asked.edge_type, Direction::Out) {
            use EdgeWrite::{Add, Delete, Insert, Replace, Set};
            match write {
                Add(all) | Insert(all) | Replace(all) => own.change(edge, all.get(asked.key).flatten()),
                Delete => own.change(edge, None),
                Set(changes) => {
                    if let Some(value) = changes.get(asked.key) {
                        own.change(edge, value);
                    }
                }
            }
        }
        let before = ranked.items.len();
        if own.is_empty() {
            if !self.view.newest(asked, after, limit, ranked)? {
                return newest_by_sorting(self, asked, cursor, limit, ranked);
            }
        } else {
            // As many as may drop out are read more.
            let mut stored = OrderedMatches::default();
            if !self.view.newest(asked, after, limit.saturating_add(own.len()), &mut stored)? {
                return newest_by_sorting(self, asked, cursor, limit, ranked);
            }
            own.lay_over(stored.values.into_iter().zip(stored.items), limit, ranked);
        }
        moved(cursor, before, limit, ranked);
        Ok(())
    }
}
