//! Whole groups out of blocks: the segments of a bulk load, exact at its timestamp.

use crate::bulk::sort::{Ends, SortedSide, sort_edges};
use crate::memory::group::{EdgeSegment, EdgeSubject, Group};
use crate::segment::body::Body;
use crate::segment::edge_body::EdgeBody;
use crate::segment::version::{Hub, Segment};
use crate::segment::vertex_body::VertexBody;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::load::{EdgeTable, Load, VertexTable};
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::timestamp::Timestamp;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The numbers that a load's names and rows get: filled in by the store before bodies are built.
#[derive(Debug, Default)]
pub struct Numbers {
    /// For each vertex table, its label and the first of its consecutive new groups.
    pub tables: Vec<(LabelId, GroupId)>,
    /// For each edge table, its type.
    pub types: Vec<TypeId>,
    /// The types of which at most one edge goes from a vertex to another.
    pub simple: HashSet<TypeId>,
    /// Property keys by name.
    pub keys: HashMap<String, KeyId>,
    /// The timestamp that the bodies are exact at.
    pub base: Timestamp,
}

impl Numbers {
    /// The vertex in `row` of vertex table `table`.
    #[must_use]
    pub fn vertex(&self, table: usize, row: u32) -> VertexId {
        VertexId(self.tables[table].1.first().0 + row)
    }
}

/// How many groups a table of `rows` vertices needs.
#[must_use]
pub fn groups_of(rows: u64) -> u64 {
    rows.div_ceil(u64::from(GROUP_SIZE))
}

/// Builds every group of `load`, whose shape was checked. `done` hears of edges put in place, `false` from it cancels.
///
/// # Errors
/// `limit` for too many edges of a type, or too many parallel ones; `invalid` for parallel ones of a
/// simple type; what reading blocks and `done` say.
pub fn build_groups(
    load: &Load,
    numbers: &Numbers,
    done: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<Vec<Group>> {
    let mut edges: BTreeMap<(GroupId, EdgeSubject), Segment<EdgeBody>> = BTreeMap::new();
    let mut types: Vec<TypeId> = numbers.types.clone();
    types.sort_unstable();
    types.dedup();
    for edge_type in types {
        let with_types = load.edges.iter().zip(&numbers.types);
        let tables: Vec<&EdgeTable> =
            with_types.filter(|(_, of)| **of == edge_type).map(|(table, _)| table).collect();
        add_type(edge_type, &tables, numbers, &mut edges)?;
        done(tables.iter().map(|table| table.rows).sum())?;
    }
    let mut groups = Vec::new();
    let mut edges = edges.into_iter().peekable();
    let mut by_first: Vec<usize> = (0..load.vertices.len()).collect();
    by_first.sort_unstable_by_key(|table| numbers.tables[*table].1);
    for table in by_first {
        let (label, first) = numbers.tables[table];
        let bodies = vertex_bodies(&load.vertices[table], numbers)?;
        for (id, vertices) in (first.0..).map(GroupId).zip(bodies) {
            let mut own = Vec::new();
            while let Some(((_, subject), segment)) = edges.next_if(|((group, _), _)| *group == id) {
                own.push(EdgeSegment { subject, segment: Arc::new(segment) });
            }
            groups.push(Group::with_edges(
                id,
                label,
                Segment::appearing(numbers.base, vertices, Arc::from([])),
                own,
            ));
        }
    }
    debug_assert!(edges.peek().is_none(), "every edge begins and ends in a table of the load");
    Ok(groups)
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

/// The edges of one type out of all blocks of its tables, in their order.
struct Gathered {
    sources: Vec<VertexId>,
    targets: Vec<VertexId>,
    /// Sorted by key.
    columns: Vec<(KeyId, PackedColumn)>,
}

impl Gathered {
    /// Cost: one pass over the blocks; 8 bytes an edge, and a copy of its properties.
    fn of(tables: &[&EdgeTable], numbers: &Numbers) -> Result<Self> {
        let count = tables.iter().map(|table| table.rows).sum::<u64>();
        let count = u32::try_from(count).map_err(|_| {
            Error::new(ErrorKind::Limit, format!("{count} edges of one type at once, 2^32 - 1 fit"))
        })?;
        let (mut sources, mut targets) =
            (Vec::with_capacity(count as usize), Vec::with_capacity(count as usize));
        let keys = tables.iter().flat_map(|table| &table.properties).map(|(key, _)| numbers.keys[key]);
        let mut columns: BTreeMap<KeyId, PackedColumnBuilder> =
            keys.map(|key| (key, PackedColumnBuilder::default())).collect();
        for table in tables {
            let place = |key| table.properties.iter().position(|(name, _)| numbers.keys[name] == key);
            let mut places: Vec<(Option<usize>, &mut PackedColumnBuilder)> =
                columns.iter_mut().map(|(key, column)| (place(*key), column)).collect();
            table.blocks.for_each(&mut |block| {
                sources.extend(block.sources.iter().map(|end| numbers.vertex(table.source_label, *end)));
                targets.extend(block.targets.iter().map(|end| numbers.vertex(table.target_label, *end)));
                for (at, column) in &mut places {
                    column.copy(at.and_then(|at| block.column(at)), 0..block.rows());
                }
                Ok(())
            })?;
        }
        let columns = columns.into_iter().filter_map(|(key, column)| Some((key, column.finish()?)));
        Ok(Self { sources, targets, columns: columns.collect() })
    }
}

fn add_type(
    edge_type: TypeId,
    tables: &[&EdgeTable],
    numbers: &Numbers,
    edges: &mut BTreeMap<(GroupId, EdgeSubject), Segment<EdgeBody>>,
) -> Result<()> {
    let Gathered { sources, targets, columns } = Gathered::of(tables, numbers)?;
    let (out, into) = sort_edges(sources.len(), |at| Ends { source: sources[at], target: targets[at] })?;
    drop((sources, targets));
    if numbers.simple.contains(&edge_type) && !out.discriminators.is_empty() {
        let name = tables.first().map_or("", |table| &table.edge_type);
        let text = format!("edge type `{name}` is simple, and the load has parallel edges of it");
        return Err(Error::invalid(text));
    }
    for_each_group(&out, |group, degrees, range| {
        let of_group = columns.iter().filter_map(|(key, column)| {
            let input = out.input[range.clone()].iter().map(|input| *input as usize);
            Some((*key, Arc::new(column.select(input)?)))
        });
        let of_group = of_group.collect();
        let segment = segment(&out, degrees, range, of_group, numbers.base);
        edges.insert((group, EdgeSubject::new(edge_type, Direction::Out)), segment);
    });
    for_each_group(&into, |group, degrees, range| {
        let segment = segment(&into, degrees, range, Vec::new(), numbers.base);
        edges.insert((group, EdgeSubject::new(edge_type, Direction::In)), segment);
    });
    Ok(())
}

/// Calls `visit` with each group that has edges, the degrees of its rows, and where its lists lie.
fn for_each_group(side: &SortedSide, mut visit: impl FnMut(GroupId, &[u32], std::ops::Range<usize>)) {
    let mut degrees = Vec::with_capacity(GROUP_SIZE as usize);
    let (mut at, mut from) = (0, 0usize);
    while at < side.ends.len() {
        let first = VertexId(side.first.0 + at as u32);
        let last = (at + (GROUP_SIZE as usize - usize::from(first.row()))).min(side.ends.len());
        degrees.clear();
        degrees.resize(usize::from(first.row()), 0);
        let mut before = from as u32;
        for end in &side.ends[at..last] {
            degrees.push(end - before);
            before = *end;
        }
        let to = before as usize;
        if to > from {
            visit(first.group(), &degrees, from..to);
        }
        (at, from) = (last, to);
    }
}

fn segment(
    side: &SortedSide,
    degrees: &[u32],
    range: std::ops::Range<usize>,
    columns: Vec<(KeyId, Arc<PackedColumn>)>,
    base: Timestamp,
) -> Segment<EdgeBody> {
    let discriminators = side.discriminators.get(range.clone()).unwrap_or_default();
    let body = EdgeBody::new(degrees, side.neighbors[range].into(), discriminators.into(), columns);
    let (body, hubs) = body.split_hubs();
    let hubs = hubs.into_iter().map(|(row, body)| Hub { row, segment: Arc::new(Segment::new(base, body)) });
    Segment::appearing(base, body, hubs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, View};
    use crate::memory::engine::MemoryEngine;
    use crate::segment::edge_body::HUB_DEGREE;
    use crate::timeline::clock::{Readable, Timeline};
    use evergraph_graph::id::EdgeId;
    use evergraph_graph::load::{EdgeBlock, VertexBlock};
    use evergraph_graph::value::{Value, ValueType};
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
        for group in build_groups(&load, &numbers, &mut |_| Ok(())).unwrap() {
            engine.attach(Arc::new(group));
        }
        let view = engine.view(&(), Timestamp(1));
        let (hub, post) = (numbers.vertex(0, 5000), |row| numbers.vertex(1, row));
        assert_eq!(view.degree(hub, TypeId(0), Direction::Out).unwrap(), u64::from(many));
        assert_eq!(engine.statistics().hubs, 1);
        assert_eq!(view.vertex_property(hub, KeyId(0)).unwrap(), Some(Value::I64(5000)));
        assert!(!view.is_alive(numbers.vertex(0, 5001)).unwrap());
        let edge =
            |source, target, discriminator| EdgeId { source, edge_type: TypeId(0), target, discriminator };
        let weight = |edge| view.edge_property(edge, KeyId(1)).unwrap();
        assert_eq!(weight(edge(hub, post(9), 0)), Some(Value::I64(9)));
        assert_eq!(weight(edge(numbers.vertex(0, 1), post(7), 1)), Some(Value::I64(i64::from(many) + 1)));
        assert_eq!(weight(edge(numbers.vertex(0, 2), hub, 0)), None);
        let mut list = Vec::new();
        view.neighbors(post(7), TypeId(0), Direction::In, &mut list).unwrap();
        assert_eq!(list, [(numbers.vertex(0, 1), 0), (numbers.vertex(0, 1), 1), (hub, 0)]);
        assert_eq!(view.live(GroupId(4)).unwrap().iter().map(|word| word.count_ones()).sum::<u32>(), 905);
    }
}
