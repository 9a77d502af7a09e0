//! Forwarding: implements `GraphView` for every type that can create a reader, one line a method.
//!
//! A reader borrows its engine's view, so its owner cannot keep one beside what it borrows from; it
//! makes one a call, which copies a few pointers.

/// Implements `GraphView` for `$owner<E>`, whose method `reader` makes a
/// [`Reader`](crate::snapshot::reader::Reader) of its `session`, and whose `check_time` refuses who has had his time.
macro_rules! view_through_reader {
    ($owner:ident) => {
        const _: () = {
            use $crate::snapshot::forwarding::forward;
            use evergraph_graph::catalogue::Catalogue;
            use evergraph_graph::column::Column;
            use evergraph_graph::error::Result;
            use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
            use evergraph_graph::index::IndexStatistics;
            use evergraph_graph::look_up::{MatchCursor, Matches, RangeCursor, OrderedMatches, ValueRange};
            use evergraph_graph::newest::NewestEdges;
            use evergraph_graph::next_reads::NextReads;
            use evergraph_graph::timestamp::Timestamp;
            use evergraph_graph::travel::Travels;
            use evergraph_graph::value::Value;
            use evergraph_graph::view::{
                EdgeCursor, GraphView, NeighborBatch, NeighborCursor, Statistics, VertexCursor,
            };
            use std::sync::Arc;

            impl<E: Engine> GraphView for $owner<E> {
                forward!(timestamp() -> Timestamp);
                forward!(catalogue() -> Arc<Catalogue>);

                #[inline]
                fn check_begun(&self) -> Result<()> {
                    self.session.check_begun()
                }

                forward!(scan_vertices(
                    labels: Option<&[LabelId]>,
                    cursor: &mut VertexCursor,
                    limit: usize,
                    vertices: &mut Vec<VertexId>
                ) -> Result<()>);
                forward!(scan_edges(
                    types: Option<&[TypeId]>,
                    cursor: &mut EdgeCursor,
                    limit: usize,
                    edges: &mut Vec<EdgeId>
                ) -> Result<()>);
                forward!(is_remote() -> bool);
                forward!(heeds_ahead() -> bool);
                forward!(ahead(next: NextReads<'_>) -> ());
                forward!(travels() -> Option<Arc<dyn Travels>>);
                forward!(labels(vertices: &[VertexId], labels: &mut Vec<Option<LabelId>>) -> Result<()>);
                forward!(neighbors(
                    vertices: &[VertexId],
                    types: Option<&[TypeId]>,
                    direction: Direction,
                    cursor: &mut NeighborCursor,
                    limit: usize,
                    batch: &mut NeighborBatch
                ) -> Result<()>);
                forward!(degrees(
                    vertices: &[VertexId],
                    types: Option<&[TypeId]>,
                    direction: Direction,
                    degrees: &mut Vec<u64>
                ) -> Result<()>);
                forward!(newest(
                    asked: &NewestEdges,
                    cursor: &mut RangeCursor<EdgeId>,
                    limit: usize,
                    ranked: &mut OrderedMatches<EdgeId>
                ) -> Result<()>);
                forward!(newest_with_properties(
                    asked: &NewestEdges,
                    cursor: &mut RangeCursor<EdgeId>,
                    limit: usize,
                    ranked: &mut OrderedMatches<EdgeId>,
                    keys: &[KeyId],
                    columns: &mut [Column]
                ) -> Result<()>);
                forward!(count_edges_between(
                    pairs: &[(VertexId, VertexId)],
                    edge_type: TypeId,
                    counts: &mut Vec<u32>
                ) -> Result<()>);
                forward!(has_edges(edges: &[EdgeId], found: &mut Vec<bool>) -> Result<()>);
                forward!(vertex_properties(vertices: &[VertexId], key: KeyId, column: &mut Column) -> Result<()>);
                forward!(vertex_property_map(vertex: VertexId) -> Result<Vec<(KeyId, Value)>>);
                forward!(edge_properties(edges: &[EdgeId], key: KeyId, column: &mut Column) -> Result<()>);
                forward!(edge_property_map(edge: EdgeId) -> Result<Vec<(KeyId, Value)>>);
                forward!(look_up(
                    label: LabelId,
                    key: KeyId,
                    values: &[Value],
                    vertices: &mut Vec<Option<VertexId>>
                ) -> Result<()>);
                forward!(look_up_vertices(
                    label: LabelId,
                    key: KeyId,
                    values: &[Value],
                    cursor: &mut MatchCursor<VertexId>,
                    limit: usize,
                    matches: &mut Matches<VertexId>
                ) -> Result<()>);
                forward!(look_up_edges(
                    edge_type: TypeId,
                    key: KeyId,
                    values: &[Value],
                    cursor: &mut MatchCursor<EdgeId>,
                    limit: usize,
                    matches: &mut Matches<EdgeId>
                ) -> Result<()>);
                forward!(range_vertices(
                    label: LabelId,
                    key: KeyId,
                    range: &ValueRange,
                    cursor: &mut RangeCursor<VertexId>,
                    limit: usize,
                    ranked: &mut OrderedMatches<VertexId>
                ) -> Result<()>);
                forward!(range_edges(
                    edge_type: TypeId,
                    key: KeyId,
                    range: &ValueRange,
                    cursor: &mut RangeCursor<EdgeId>,
                    limit: usize,
                    ranked: &mut OrderedMatches<EdgeId>
                ) -> Result<()>);
                forward!(indexes() -> Vec<IndexStatistics>);
                forward!(statistics() -> Result<Statistics>);
            }
        };
    };
}

/// One method of `GraphView`, answered by the reader.
macro_rules! forward {
    ($name:ident($($argument:ident: $kind:ty),*) -> Result<$ok:ty>) => {
        fn $name(&self, $($argument: $kind),*) -> Result<$ok> {
            self.check_time()?;
            GraphView::$name(&self.reader(), $($argument),*)
        }
    };
    ($name:ident($($argument:ident: $kind:ty),*) -> $result:ty) => {
        fn $name(&self, $($argument: $kind),*) -> $result {
            GraphView::$name(&self.reader(), $($argument),*)
        }
    };
}

pub(crate) use {forward, view_through_reader};
