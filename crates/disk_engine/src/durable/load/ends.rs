//! Ends: the edge tables of one type, the vertices at their ends, and how many edges each group has.

use crate::durable::load::parts::Parts;
use evergraph_graph::error::Result;
use evergraph_graph::id::{KeyId, TypeId, VertexId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, VertexTable};
use evergraph_storage::durable_engine::LoadPlan;

/// The vertices at the ends of a table's edges, on one side.
pub(super) struct End<'a> {
    rows: u64,
    first: u32,
    existing: &'a [VertexId],
}

impl<'a> End<'a> {
    fn new(plan: &LoadPlan<'a>, table: usize) -> Self {
        let VertexTable { rows, existing, .. } = &plan.load.vertices[table];
        Self { rows: *rows, first: plan.numbers.tables[table].1.first().0, existing }
    }

    /// The vertex that `end` names; the shape of the load was checked.
    #[inline]
    pub(super) fn vertex(&self, end: u32) -> VertexId {
        if u64::from(end) < self.rows {
            VertexId(self.first + end)
        } else {
            self.existing[(u32::MAX - end) as usize]
        }
    }
}

/// A table of edges whose ends are resolved: from a row, or a vertex that was there before, to its number.
pub(super) struct ResolvedEdgeTable<'a> {
    /// The table.
    pub table: &'a EdgeTable,
    /// Where its edges begin.
    pub source: End<'a>,
    /// Where they end.
    pub target: End<'a>,
    /// Its properties by key, ascending, each with its place in the blocks.
    pub keys: Vec<(KeyId, usize)>,
}

impl<'a> ResolvedEdgeTable<'a> {
    /// The tables of `edge_type`.
    pub(super) fn of_type(plan: &LoadPlan<'a>, edge_type: TypeId) -> Vec<Self> {
        let with_types = plan.load.edges.iter().zip(&plan.numbers.types);
        let tables = with_types.filter(|(_, of)| **of == edge_type);
        tables
            .map(|(table, _)| Self {
                table,
                source: End::new(plan, table.source_label),
                target: End::new(plan, table.target_label),
                keys: by_key(plan, table.properties.iter().map(|(name, _)| name)),
            })
            .collect()
    }

    /// Hands out the blocks, in order.
    pub(super) fn for_each_block(&self, visit: &mut dyn FnMut(&EdgeBlock) -> Result<()>) -> Result<()> {
        self.table.blocks.for_each(visit)
    }
}

/// The keys of named properties, ascending, each with its place among the names.
pub(super) fn by_key<'n>(
    plan: &LoadPlan<'_>,
    names: impl Iterator<Item = &'n String>,
) -> Vec<(KeyId, usize)> {
    let mut keys: Vec<(KeyId, usize)> =
        names.enumerate().map(|(place, name)| (plan.numbers.keys[name], place)).collect();
    keys.sort_unstable();
    keys
}

/// What one pass over the blocks of a type counts.
#[derive(Default)]
pub(super) struct Counts {
    /// Edges that begin in each group.
    pub sources: Vec<u64>,
    /// Edges that end in each group.
    pub targets: Vec<u64>,
    edges: u64,
    column_bytes: u64,
}

/// What sorting takes for each edge of a part beside its properties: the bucket's 8 bytes, order and place.
const OUT_EDGE_BYTES: u64 = 8 + 8 + 4;
/// What sorting takes more for each edge that may have properties: where its record begins.
const RECORD_START_BYTES: u64 = 8;
/// What sorting takes for each edge of a part of the in side: the bucket's 10 bytes, and the sorted 6.
const IN_EDGE_BYTES: u64 = 10 + 6;

impl Counts {
    /// Counts all edges of `tables`. Cost: one pass over the blocks.
    pub(super) fn of(tables: &[ResolvedEdgeTable<'_>]) -> Result<Self> {
        let mut counts = Self::default();
        let count = |counts: &mut Vec<u64>, vertex: VertexId| {
            let group = vertex.group().0 as usize;
            if counts.len() <= group {
                counts.resize(group + 1, 0);
            }
            counts[group] += 1;
        };
        for table in tables {
            table.for_each_block(&mut |block| {
                block.sources.iter().for_each(|end| count(&mut counts.sources, table.source.vertex(*end)));
                block.targets.iter().for_each(|end| count(&mut counts.targets, table.target.vertex(*end)));
                counts.edges += block.rows() as u64;
                counts.column_bytes +=
                    block.columns.iter().flatten().map(|column| column.heap_bytes() as u64).sum::<u64>();
                Ok(())
            })?;
        }
        Ok(counts)
    }

    /// The parts of the out side.
    pub(super) fn out_parts(&self, memory_bytes: u64) -> Result<Parts> {
        let properties = match self.column_bytes {
            0 => 0,
            bytes => RECORD_START_BYTES + bytes.div_ceil(self.edges.max(1)),
        };
        Parts::cut(&self.sources, OUT_EDGE_BYTES + properties, memory_bytes)
    }

    /// The parts of the in side.
    pub(super) fn in_parts(&self, memory_bytes: u64) -> Result<Parts> {
        Parts::cut(&self.targets, IN_EDGE_BYTES, memory_bytes)
    }
}
