//! Bodies of a load: new groups, and what becomes of segments that are there, exact at the load's timestamp.

use crate::group::{EdgeSegment, Group};
use crate::load::extend::{ChangedVertices, Extension, change, extend};
use crate::segment::version::{Hub, Segment};
use crate::segments::Segments;
use evergraph_bodies::body::Body;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::load::sorter::LoadSorter;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::durable_engine::{LoadPlan, OnLoadProgress};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a load makes of the database.
#[derive(Debug, Default)]
pub struct BuiltBodies {
    /// New groups, ascending.
    pub groups: Vec<Group>,
    /// What becomes of segments that are there.
    pub extensions: Vec<Extension>,
    /// What becomes of vertices that are there.
    pub changed: Vec<ChangedVertices>,
    /// Of groups that are there: the new out edges of indexed types, and nothing else.
    pub added: Vec<Group>,
}

/// A load while its bodies are built.
pub struct Builder<'a> {
    /// The load and its numbers.
    pub plan: &'a LoadPlan<'a>,
    /// What is there: every commit readable, and none to come.
    pub segments: &'a Segments,
}

impl Builder<'_> {
    /// Builds every group and extension. `done` hears of edges put in place and may fail to cancel.
    ///
    /// # Errors
    /// As [`LoadSorter::edges`].
    pub fn build(&self, done: &mut OnLoadProgress<'_>) -> Result<BuiltBodies> {
        let mut built = BuiltBodies::default();
        let mut edges: BTreeMap<(GroupId, EdgeSubject), Segment<EdgeBody>> = BTreeMap::new();
        let sorter = LoadSorter { plan: self.plan, target: self.segments };
        let mut added: BTreeMap<GroupId, Vec<EdgeSegment>> = BTreeMap::new();
        for edge_type in sorter.types() {
            for (side, bodies) in sorter.edges(edge_type, done)? {
                let subject = EdgeSubject::new(edge_type, side);
                for (group, body) in bodies {
                    match self.segments.groups().get(group) {
                        Some(group) => {
                            extend(group, subject, &body, self.plan.numbers.base, &mut built.extensions)?;
                            if side == Direction::Out && self.plan.indexed.contains(&edge_type) {
                                let segment = Arc::new(Segment::new(self.plan.numbers.base, body));
                                added.entry(group.id).or_default().push(EdgeSegment { subject, segment });
                            }
                        }
                        None => {
                            drop(edges.insert((group, subject), new_segment(body, self.plan.numbers.base)))
                        }
                    }
                }
            }
        }
        let base = self.plan.numbers.base;
        let alone = |(id, edges)| {
            let label = self.segments.groups().get(id).expect("it was extended").label;
            Group::with_edges(id, label, Segment::new(base, VertexBody::empty()), edges)
        };
        built.added = added.into_iter().map(alone).collect();
        for changes in self.plan.changes.chunk_by(|one, other| one.vertex.group() == other.vertex.group()) {
            done(0)?;
            built.changed.push(change(self.segments, changes, base));
        }
        let mut edges = edges.into_iter().peekable();
        let mut by_first: Vec<usize> = (0..self.plan.load.vertices.len()).collect();
        by_first.sort_unstable_by_key(|table| self.plan.numbers.tables[*table].1);
        for table in by_first {
            let (label, first) = self.plan.numbers.tables[table];
            let bodies = sorter.vertices(table)?;
            for (id, vertices) in (first.0..).map(GroupId).zip(bodies) {
                let mut own = Vec::new();
                while let Some(((_, subject), segment)) = edges.next_if(|((group, _), _)| *group == id) {
                    own.push(EdgeSegment { subject, segment: Arc::new(segment) });
                }
                let vertices = Segment::appearing(self.plan.numbers.base, vertices, Arc::from([]));
                built.groups.push(Group::with_edges(id, label, vertices, own));
            }
        }
        debug_assert!(edges.peek().is_none(), "every edge begins and ends in a table of the load");
        Ok(built)
    }
}

fn new_segment(body: EdgeBody, base: Timestamp) -> Segment<EdgeBody> {
    let (body, hubs) = body.split_hubs();
    let hubs =
        hubs.into_iter().map(|(row, body)| Hub { row, segment: Arc::new(Segment::of_load(base, body)) });
    Segment::appearing(base, body, hubs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::MemoryEngine;
    use evergraph_bodies::edge_body::HUB_DEGREE;
    use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId};
    use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
    use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
    use evergraph_graph::value::{Value, ValueType};
    use evergraph_storage::bulk::numbers::Numbers;
    use evergraph_storage::engine::Engine;
    use evergraph_storage::timeline::clock::{Readable, Timeline};
    use evergraph_storage::view::{PointReads, View};
    use std::collections::HashSet;
    use std::ops::Range;

    fn packed(values: Range<u32>) -> Option<PackedColumn> {
        let mut column = PackedColumnBuilder::default();
        values.for_each(|value| column.push_i64(i64::from(value)));
        column.finish()
    }

    /// Cuts `0..rows` into blocks that don't end where groups do.
    fn ranges(rows: u32) -> impl Iterator<Item = Range<u32>> {
        (0..rows).step_by(999).map(move |from| from..rows.min(from + 999))
    }

    #[test]
    fn a_load_of_several_groups_and_a_hub_reads_back() {
        read_back(u64::MAX);
    }

    #[test]
    fn a_load_in_parts_of_one_group_reads_back() {
        read_back(0);
    }

    fn read_back(memory_bytes: u64) {
        let table = |label: &str, rows: u32| {
            let block = |rows: Range<u32>| VertexBlock { rows: rows.len(), columns: vec![packed(rows)] };
            VertexTable::new(label, vec![("id".into(), ValueType::I64)], ranges(rows).map(block).collect())
        };
        let many = HUB_DEGREE as u32 + 1;
        let ends: Vec<(u32, u32)> =
            (0..many).map(|target| (5000, target)).chain([(1, 7), (1, 7), (4999, 0)]).collect();
        let block = |rows: Range<u32>| EdgeBlock {
            columns: vec![packed(rows.clone())],
            ..EdgeBlock::bare(ends[rows.start as usize..rows.end as usize].iter().copied())
        };
        let weights = vec![("weight".into(), ValueType::I64)];
        let likes = EdgeTable::new("LIKES", 0, 1, weights, ranges(many + 3).map(block).collect());
        let knows = EdgeTable::new("LIKES", 0, 0, Vec::new(), vec![EdgeBlock::bare([(2, 5000)])]);
        let load =
            Load { vertices: vec![table("Person", 5001), table("Post", many)], edges: vec![likes, knows] };
        let numbers = Numbers {
            tables: vec![(LabelId(0), GroupId(3)), (LabelId(1), GroupId(5))],
            types: vec![TypeId(0), TypeId(0)],
            simple: HashSet::new(),
            keys: [("id".into(), KeyId(0)), ("weight".into(), KeyId(1))].into(),
            base: Timestamp(1),
        };
        let timeline = Arc::new(Timeline::new(Timestamp(1), Readable::Published));
        let engine = MemoryEngine::new(timeline);
        let plan = LoadPlan {
            load: &load,
            numbers: &numbers,
            memory_bytes,
            indexed: HashSet::new(),
            changes: Vec::new(),
        };
        let segments = engine.segments();
        let built = Builder { plan: &plan, segments }.build(&mut |_| Ok(())).unwrap();
        assert!(built.extensions.is_empty());
        for group in built.groups {
            segments.attach(Arc::new(group));
        }
        let view = engine.view(&(), Timestamp(1));
        let (hub, post) = (numbers.vertex(0, 5000), |row| numbers.vertex(1, row));
        assert_eq!(view.degree(hub, TypeId(0), Direction::Out).unwrap(), u64::from(many));
        assert_eq!(engine.statistics().hubs, 1);
        assert_eq!(view.vertex_property(hub, KeyId(0)).unwrap(), Some(Value::I64(5000)));
        assert_eq!(view.label(numbers.vertex(0, 5001)).unwrap(), None);
        let edge =
            |source, target, discriminator| EdgeId { source, edge_type: TypeId(0), target, discriminator };
        let weight = |edge| view.edge_property(edge, KeyId(1)).unwrap();
        assert_eq!(weight(edge(hub, post(9), 0)), Some(Value::I64(9)));
        assert_eq!(weight(edge(numbers.vertex(0, 1), post(7), 1)), Some(Value::I64(i64::from(many) + 1)));
        assert_eq!(weight(edge(numbers.vertex(0, 2), hub, 0)), None);
        let mut list = Vec::new();
        view.all_neighbors(post(7), TypeId(0), Direction::In, &mut list).unwrap();
        assert_eq!(list, [(numbers.vertex(0, 1), 0), (numbers.vertex(0, 1), 1), (hub, 0)]);
        assert_eq!(view.live(GroupId(4)).unwrap().iter().map(|word| word.count_ones()).sum::<u32>(), 905);
    }
}
