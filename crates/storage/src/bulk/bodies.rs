//! Whole groups out of columns: the segments of a bulk load, exact at its timestamp.

use crate::bulk::sort::{Ends, SortedSide, sort_edges};
use crate::memory::group::{EdgeSegment, EdgeSubject, Group};
use crate::segment::body::Body;
use crate::segment::edge_body::EdgeBody;
use crate::segment::version::{Hub, Segment};
use crate::segment::vertex_body::VertexBody;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::load::{EdgeTable, Load};
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

/// Builds every group of `load`. `done` hears of edges put in place, `false` from it cancels.
///
/// # Errors
/// `limit` for too many edges of a type, or too many parallel ones.
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
        let of_type = |at: &usize| numbers.types[*at] == edge_type;
        let tables: Vec<(&EdgeTable, usize)> =
            (0..load.edges.len()).filter(of_type).map(|at| (&load.edges[at], at)).collect();
        add_type(edge_type, &tables, numbers, &mut edges)?;
        done(tables.iter().map(|(table, _)| table.sources.len() as u64).sum())?;
    }
    let mut groups = Vec::new();
    let mut edges = edges.into_iter().peekable();
    let mut by_first: Vec<usize> = (0..load.vertices.len()).collect();
    by_first.sort_unstable_by_key(|table| numbers.tables[*table].1);
    for table in by_first {
        let (label, first) = numbers.tables[table];
        let rows = load.vertices[table].rows;
        for number in 0..groups_of(rows) as u32 {
            let id = GroupId(first.0 + number);
            let from = number as usize * GROUP_SIZE as usize;
            let to = rows.min(from as u64 + u64::from(GROUP_SIZE)) as usize;
            let vertices = vertex_body(&load.vertices[table].columns, numbers, from..to);
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

fn vertex_body(columns: &[(String, Column)], numbers: &Numbers, rows: std::ops::Range<usize>) -> VertexBody {
    let mut live = Box::new([0u64; 64]);
    for row in 0..rows.len() {
        live[row / 64] |= 1 << (row % 64);
    }
    let packed = columns.iter().filter_map(|(name, column)| {
        let mut builder = PackedColumnBuilder::default();
        rows.clone().for_each(|row| builder.push(column.get(row).as_ref()));
        Some((numbers.keys[name], Arc::new(builder.finish()?)))
    });
    let mut packed: Vec<(KeyId, Arc<PackedColumn>)> = packed.collect();
    packed.sort_unstable_by_key(|column| column.0);
    VertexBody::new(live, packed)
}

/// Where an edge of a type comes from: which of its tables, and the row there.
struct Rows<'a> {
    tables: &'a [(&'a EdgeTable, usize)],
    /// Where the edges of each table end in the type's common numbering.
    ends: Vec<usize>,
}

impl Rows<'_> {
    fn find(&self, at: usize) -> (&EdgeTable, usize) {
        let table = self.ends.partition_point(|end| *end <= at);
        let start = table.checked_sub(1).map_or(0, |before| self.ends[before]);
        (self.tables[table].0, at - start)
    }
}

fn add_type(
    edge_type: TypeId,
    tables: &[(&EdgeTable, usize)],
    numbers: &Numbers,
    edges: &mut BTreeMap<(GroupId, EdgeSubject), Segment<EdgeBody>>,
) -> Result<()> {
    let mut total = 0;
    let ends = tables.iter().map(|(table, _)| {
        total += table.sources.len();
        total
    });
    let rows = Rows { tables, ends: ends.collect() };
    let ends_of = |at: usize| {
        let (table, row) = rows.find(at);
        Ends {
            source: numbers.vertex(table.source_label, table.sources[row]),
            target: numbers.vertex(table.target_label, table.targets[row]),
        }
    };
    let (out, into) = sort_edges(total, ends_of)?;
    if numbers.simple.contains(&edge_type) && !out.discriminators.is_empty() {
        let name = tables.first().map_or("", |(table, _)| &table.edge_type);
        let text = format!("edge type `{name}` is simple, and the load has parallel edges of it");
        return Err(Error::invalid(text));
    }
    let mut names: Vec<&str> =
        tables.iter().flat_map(|(table, _)| table.columns.iter().map(|column| column.0.as_str())).collect();
    names.sort_unstable_by_key(|name| numbers.keys[*name]);
    names.dedup();
    let column = |name: &str, range: std::ops::Range<usize>| {
        let mut builder = PackedColumnBuilder::default();
        for input in &out.input[range] {
            let (table, row) = rows.find(*input as usize);
            let column = table.columns.iter().find(|column| column.0 == name);
            builder.push(column.and_then(|column| column.1.get(row)).as_ref());
        }
        Some((numbers.keys[name], Arc::new(builder.finish()?)))
    };
    for_each_group(&out, |group, degrees, range| {
        let columns = names.iter().filter_map(|name| column(name, range.clone())).collect();
        let segment = segment(&out, degrees, range, columns, numbers.base);
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
    use evergraph_graph::load::VertexTable;
    use evergraph_graph::value::{Value, ValueType};

    fn numbers_column(values: impl Iterator<Item = i64>) -> Column {
        let mut column = Column::new(ValueType::I64);
        values.for_each(|value| column.push(Some(Value::I64(value))));
        column
    }

    #[test]
    fn a_load_of_several_groups_and_a_hub_reads_back() {
        let table = |label: &str, rows: u64| VertexTable {
            label: label.into(),
            rows,
            unique_key: None,
            columns: vec![("id".into(), numbers_column(0..rows as i64))],
        };
        let many = HUB_DEGREE as u32 + 1;
        let likes = EdgeTable {
            edge_type: "LIKES".into(),
            source_label: 0,
            target_label: 1,
            sources: (0..many).map(|_| 5000).chain([1, 1, 4999]).collect(),
            targets: (0..many).chain([7, 7, 0]).collect(),
            columns: vec![("weight".into(), numbers_column(0..i64::from(many) + 3))],
        };
        let knows = EdgeTable {
            edge_type: "LIKES".into(),
            source_label: 0,
            target_label: 0,
            sources: vec![2],
            targets: vec![5000],
            columns: Vec::new(),
        };
        let load = Load {
            vertices: vec![table("Person", 5001), table("Post", u64::from(many))],
            edges: vec![likes, knows],
        };
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
