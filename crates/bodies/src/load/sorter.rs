//! Load sorter: the bodies of a bulk load, whichever engine keeps them.
//!
//! ```text
//! for each edge type   blocks  1st pass           edges a group and side; parts of groups that fit memory
//!                      blocks  a pass a part ──>  out bodies of its groups
//!                      out bodies      a part ──> in bodies of its groups
//! ```
//!
//! A block lies in memory or can be read again, so that reading it once more a part is cheaper than
//! keeping what is needed later. What stays is the bodies.

use crate::edge_body::EdgeBody;
use crate::edge_subject::EdgeSubject;
use crate::load::buckets::Buckets;
use crate::load::parts::{Part, cut};
use crate::load::sort::{EDGE_BYTES, Input, PresentLists, Side, in_bodies, out_bodies};
use crate::vertex_body::VertexBody;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, VertexTable};
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_storage::bulk::numbers::Numbers;
use evergraph_storage::durable_engine::{LoadPlan, OnLoadProgress};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Columns of edges, ascending by key; an entry an edge.
type Columns = Vec<(KeyId, PackedColumn)>;

/// The segments that are there when a load begins. Every commit is readable, and none comes meanwhile.
pub trait LoadTarget: Sync {
    /// Lists of a segment.
    type Present: PresentLists;

    /// Whether the group is there.
    fn has_group(&self, group: GroupId) -> bool;

    /// Merges the segment of `subject` in a group, and its hubs, until their bodies are exact at W.
    ///
    /// # Errors
    /// What merging says.
    fn settle(&self, group: GroupId, subject: EdgeSubject) -> Result<()>;

    /// The lists with the edges of `vertex`, settled before; `None` if there are none.
    ///
    /// # Errors
    /// `corrupt` if they can't be read.
    fn present(&self, subject: EdgeSubject, vertex: VertexId) -> Result<Option<Self::Present>>;
}

/// A load while its edges are sorted.
pub struct LoadSorter<'a, T> {
    /// The load and its numbers.
    pub plan: &'a LoadPlan<'a>,
    /// What is there.
    pub target: &'a T,
}

impl<T: LoadTarget> LoadSorter<'_, T> {
    /// The edge types of the load, ascending.
    #[must_use]
    pub fn types(&self) -> Vec<TypeId> {
        let mut types = self.plan.numbers.types.clone();
        types.sort_unstable();
        types.dedup();
        types
    }

    /// Both sides of all edges of one type, by group. `done` hears of edges put in place and may fail to cancel.
    ///
    /// # Errors
    /// `limit` for too many edges of one type at a group, or too many parallel ones; `invalid` for
    /// parallel ones of a simple type; what reading blocks, the target and `done` say.
    pub fn edges(&self, edge_type: TypeId, done: &mut OnLoadProgress<'_>) -> Result<[(Direction, Side); 2]> {
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
            for (group, _) in touched.filter(|(group, _)| self.target.has_group(*group)) {
                self.target.settle(group, EdgeSubject::new(edge_type, side))?;
            }
        }
        let out_subject = EdgeSubject::new(edge_type, Direction::Out);
        let mut out = Vec::new();
        for part in cut(&counts.sources, EDGE_BYTES + counts.column_bytes_an_edge(), self.plan.memory_bytes)?
        {
            let buckets = Buckets::of(&part, &counts.sources);
            let (inputs, columns) = self.gather(&tables, &buckets)?;
            let present = |vertex| self.target.present(out_subject, vertex);
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

    /// The new groups of the load with the bodies of their vertices, by table.
    ///
    /// # Errors
    /// What reading blocks says.
    pub fn vertices(&self, table: usize) -> Result<Vec<VertexBody>> {
        vertex_bodies(&self.plan.load.vertices[table], self.plan.numbers)
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
    let Some(at) = body.lists().discriminators().iter().position(|discriminator| *discriminator > 0) else {
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
