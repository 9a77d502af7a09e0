//! Bodies of a load: whole groups from blocks, exact at the load's timestamp.
//!
//! ```text
//! for each edge type   blocks  1st pass           edges a group and side; parts of groups that fit memory
//!                      blocks  a pass a part ──>  out bodies of its groups
//!                      out bodies      a part ──> in bodies of its groups
//! ```
//!
//! A block lies in memory or can be read again, so that reading it once more a part is cheaper than
//! keeping what is needed later. What stays is the bodies.

use crate::group::{EdgeSegment, EdgeSubject, Group};
use crate::load::buckets::Buckets;
use crate::load::extend::{ChangedVertices, Extension, change, extend, present, settle};
use crate::load::parts::{Part, cut};
use crate::load::sort::{EDGE_BYTES, Input, Side, in_bodies, out_bodies};
use crate::segment::body::Body;
use crate::segment::edge_body::EdgeBody;
use crate::segment::version::{Hub, Segment};
use crate::segment::vertex_body::VertexBody;
use crate::segments::Segments;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, VertexTable};
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::bulk::numbers::Numbers;
use evergraph_storage::durable_engine::{LoadPlan, OnLoadProgress};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Columns of edges, ascending by key; an entry an edge.
type Columns = Vec<(KeyId, PackedColumn)>;

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
    /// `limit` for too many edges of one type at a group, or too many parallel ones; `invalid` for
    /// parallel ones of a simple type; what reading blocks and `done` say.
    pub fn build(&self, done: &mut OnLoadProgress<'_>) -> Result<BuiltBodies> {
        let mut built = BuiltBodies::default();
        let mut edges: BTreeMap<(GroupId, EdgeSubject), Segment<EdgeBody>> = BTreeMap::new();
        let mut types: Vec<TypeId> = self.plan.numbers.types.clone();
        types.sort_unstable();
        types.dedup();
        let mut added: BTreeMap<GroupId, Vec<EdgeSegment>> = BTreeMap::new();
        for edge_type in types {
            for (side, bodies) in self.build_type(edge_type, done)? {
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
            let bodies = vertex_bodies(&self.plan.load.vertices[table], self.plan.numbers)?;
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

    /// Both sides of all edges of one type, by group.
    fn build_type(&self, edge_type: TypeId, done: &mut OnLoadProgress<'_>) -> Result<[(Direction, Side); 2]> {
        let with_types = self.plan.load.edges.iter().zip(&self.plan.numbers.types);
        let tables: Vec<Ends<'_>> = with_types
            .filter(|(_, of)| **of == edge_type)
            .map(|(table, _)| Ends {
                table,
                source: self.end(table.source_label),
                target: self.end(table.target_label),
            })
            .collect();
        let counts = Counts::of(&tables)?;
        for (side, counts) in [(Direction::Out, &counts.sources), (Direction::In, &counts.targets)] {
            let touched = (0..).map(GroupId).zip(counts).filter(|(_, count)| **count > 0);
            let there = touched.filter_map(|(group, _)| self.segments.groups().get(group));
            there.for_each(|group| settle(self.segments, group, EdgeSubject::new(edge_type, side)));
        }
        let out_subject = EdgeSubject::new(edge_type, Direction::Out);
        let mut out = Vec::new();
        for part in cut(&counts.sources, EDGE_BYTES + counts.column_bytes_an_edge(), self.plan.memory_bytes)?
        {
            let buckets = Buckets::of(&part, &counts.sources);
            let (inputs, columns) = self.gather(&tables, &buckets)?;
            let present = |vertex| present(self.segments, out_subject, vertex);
            let bodies = out_bodies(&buckets, inputs, &columns, present)?;
            if self.plan.numbers.simple.contains(&edge_type) {
                bodies.iter().try_for_each(|(group, body)| check_simple(tables[0].table, *group, body))?;
            }
            out.extend(bodies);
            done(part.edges() as u64)?;
        }
        let mut into = Vec::new();
        for part in cut(&counts.targets, EDGE_BYTES, self.plan.memory_bytes)? {
            into.extend(in_bodies(&Buckets::of(&part, &counts.targets), &out));
            done(0)?;
        }
        Ok([(Direction::Out, out), (Direction::In, into)])
    }

    fn end(&self, table: usize) -> End<'_> {
        let VertexTable { rows, existing, .. } = &self.plan.load.vertices[table];
        End { rows: *rows, first: self.plan.numbers.tables[table].1.first().0, existing }
    }

    /// The edges that begin in each bucket, and their properties.
    ///
    /// Cost: one pass over the blocks.
    fn gather(&self, tables: &[Ends<'_>], buckets: &Buckets) -> Result<(Vec<Input>, Columns)> {
        let keys =
            tables.iter().flat_map(|ends| &ends.table.properties).map(|(key, _)| self.plan.numbers.keys[key]);
        let mut columns: BTreeMap<KeyId, PackedColumnBuilder> =
            keys.map(|key| (key, PackedColumnBuilder::default())).collect();
        let rows_of = |part: &Part| if columns.is_empty() { 0 } else { part.edges() };
        let empty = |part: &Part| Input {
            sources: Vec::with_capacity(part.edges()),
            targets: Vec::with_capacity(part.edges()),
            rows: Vec::with_capacity(rows_of(part)),
        };
        let mut inputs: Vec<Input> = buckets.parts().iter().map(empty).collect();
        let has_columns = !columns.is_empty();
        let mut gathered = 0;
        for ends in tables {
            let place =
                |key| ends.table.properties.iter().position(|(name, _)| self.plan.numbers.keys[name] == key);
            let mut places: Vec<(Option<usize>, &mut PackedColumnBuilder)> =
                columns.iter_mut().map(|(key, column)| (place(*key), column)).collect();
            let mut rows: Vec<usize> = Vec::new();
            ends.for_each_block(&mut |block| {
                rows.clear();
                for (row, (source, target)) in block.sources.iter().zip(&block.targets).enumerate() {
                    let Some((bucket, place)) = buckets.place(ends.source.vertex(*source)) else { continue };
                    let input = &mut inputs[bucket];
                    input.sources.push(place);
                    input.targets.push(ends.target.vertex(*target).0);
                    if has_columns {
                        input.rows.push(gathered);
                        gathered += 1;
                        rows.push(row);
                    }
                }
                for (at, column) in &mut places {
                    match at.and_then(|at| block.column(at)) {
                        whole if rows.len() == block.rows() => column.copy(whole, 0..block.rows()),
                        None => column.copy(None, 0..rows.len()),
                        Some(found) => rows.iter().for_each(|row| column.push_item(found, *row)),
                    }
                }
                Ok(())
            })?;
        }
        let columns = columns.into_iter().filter_map(|(key, column)| Some((key, column.finish()?)));
        Ok((inputs, columns.collect()))
    }
}

/// Which vertices the ends of a table's edges are, on one side.
struct End<'a> {
    rows: u64,
    first: u32,
    existing: &'a [VertexId],
}

impl End<'_> {
    #[inline]
    fn vertex(&self, end: u32) -> VertexId {
        if u64::from(end) < self.rows {
            VertexId(self.first + end)
        } else {
            self.existing[(u32::MAX - end) as usize]
        }
    }
}

/// A table whose ends can be told.
struct Ends<'a> {
    table: &'a EdgeTable,
    source: End<'a>,
    target: End<'a>,
}

impl Ends<'_> {
    fn for_each_block(&self, visit: &mut dyn FnMut(&EdgeBlock) -> Result<()>) -> Result<()> {
        self.table.blocks.for_each(visit)
    }
}

/// What one pass over the blocks of a type tells.
#[derive(Default)]
struct Counts {
    /// Edges that begin in each group.
    sources: Vec<u64>,
    /// Edges that end in each group.
    targets: Vec<u64>,
    edges: u64,
    column_bytes: u64,
}

impl Counts {
    fn of(tables: &[Ends<'_>]) -> Result<Self> {
        let mut counts = Self::default();
        let count = |counts: &mut Vec<u64>, vertex: VertexId| {
            let group = vertex.group().0 as usize;
            if counts.len() <= group {
                counts.resize(group + 1, 0);
            }
            counts[group] += 1;
        };
        for ends in tables {
            ends.for_each_block(&mut |block| {
                block.sources.iter().for_each(|end| count(&mut counts.sources, ends.source.vertex(*end)));
                block.targets.iter().for_each(|end| count(&mut counts.targets, ends.target.vertex(*end)));
                counts.edges += block.rows() as u64;
                counts.column_bytes +=
                    block.columns.iter().flatten().map(|column| column.heap_bytes() as u64).sum::<u64>();
                Ok(())
            })?;
        }
        Ok(counts)
    }

    fn column_bytes_an_edge(&self) -> u64 {
        self.column_bytes.div_ceil(self.edges.max(1))
    }
}

fn check_simple(table: &EdgeTable, group: GroupId, body: &EdgeBody) -> Result<()> {
    let Some(at) = body.discriminators.iter().position(|discriminator| *discriminator > 0) else {
        return Ok(());
    };
    let mut source = VertexId::new(group, 0);
    body.for_each_row(|row, range| {
        if range.contains(&at) {
            source = VertexId::new(group, row);
        }
    });
    let target = VertexId(body.neighbors()[at]);
    let text = format!(
        "edge type `{}` is simple, and the load would add a second edge of it from {source} to {target}",
        table.edge_type
    );
    Err(Error::invalid(text))
}

fn new_segment(body: EdgeBody, base: Timestamp) -> Segment<EdgeBody> {
    let (body, hubs) = body.split_hubs();
    let hubs =
        hubs.into_iter().map(|(row, body)| Hub { row, segment: Arc::new(Segment::of_load(base, body)) });
    Segment::appearing(base, body, hubs.collect())
}

/// The bodies of a table's groups, in order: blocks end where they like, groups every 4,096 rows.
fn vertex_bodies(table: &VertexTable, numbers: &Numbers) -> Result<Vec<VertexBody>> {
    let keys: Vec<KeyId> = table.properties.iter().map(|(key, _)| numbers.keys[key]).collect();
    let empty = || keys.iter().map(|_| PackedColumnBuilder::default()).collect::<Vec<_>>();
    let (mut columns, mut rows) = (empty(), 0);
    let mut bodies = Vec::new();
    table.blocks.for_each(&mut |block| {
        let mut from = 0;
        while from < block.rows {
            let to = block.rows.min(from + GROUP_SIZE as usize - rows);
            for (at, column) in columns.iter_mut().enumerate() {
                column.copy(block.column(at), from..to);
            }
            rows += to - from;
            from = to;
            if rows == GROUP_SIZE as usize {
                bodies.push(vertex_body(rows, &keys, std::mem::replace(&mut columns, empty())));
                rows = 0;
            }
        }
        Ok(())
    })?;
    if rows > 0 {
        bodies.push(vertex_body(rows, &keys, columns));
    }
    Ok(bodies)
}

fn vertex_body(rows: usize, keys: &[KeyId], columns: Vec<PackedColumnBuilder>) -> VertexBody {
    let mut live = Box::new([0u64; 64]);
    for row in 0..rows {
        live[row / 64] |= 1 << (row % 64);
    }
    let packed =
        keys.iter().zip(columns).filter_map(|(key, column)| Some((*key, Arc::new(column.finish()?))));
    let mut packed: Vec<(KeyId, Arc<PackedColumn>)> = packed.collect();
    packed.sort_unstable_by_key(|column| column.0);
    VertexBody::new(live, packed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::MemoryEngine;
    use crate::segment::edge_body::HUB_DEGREE;
    use evergraph_graph::id::{EdgeId, LabelId};
    use evergraph_graph::load::{EdgeBlock, Load, VertexBlock};
    use evergraph_graph::value::{Value, ValueType};
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
