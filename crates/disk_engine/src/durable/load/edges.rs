//! Edges of one type: both sides, sorted part by part, from blocks to files.
//!
//! ```text
//! blocks   pass 1  edges a group and side: parts that fit the memory
//!          pass 2  ──by source──> buckets of the out parts   (source, target, properties)
//! out part         lists by counting sort, each sorted by target; parallel edges numbered in input order,
//!                  on from those that are there; written
//!                  ──by target──> buckets of the in parts    (target, source, discriminator)
//! in part          stable counting sort by target: each list is sorted already; written
//! ```

use crate::durable::load::ends::{Counts, ResolvedEdgeTable};
use crate::durable::load::output::{LoadOutput, Sequence};
use crate::durable::load::parts::{Part, Parts, starts};
use crate::durable::load::present::LastPresent;
use crate::format::subject::{EdgeSide, Subject};
use crate::format::tree_key::{ItemKey, ListId};
use crate::spill::buckets::Buckets;
use crate::spill::file::SpillDirectory;
use evergraph_graph::bytes::{DecodeError, Reader, put_varint};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GROUP_SIZE, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::load::EdgeBlock;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use evergraph_storage::durable_engine::OnLoadProgress;
use std::collections::BTreeSet;

/// Edges that are written between two questions whether to go on.
const EDGES_BETWEEN_QUESTIONS: u64 = 1 << 16;

/// Passes in which each edge is handled: into a bucket, to its source's list, to its target's.
const PASSES: u64 = 3;

/// The edges of one type of a load.
pub(super) struct TypeLoad<'a, 'o> {
    /// The type.
    pub edge_type: TypeId,
    /// Whether at most one edge may lead from a vertex to another.
    pub is_simple: bool,
    /// Its tables.
    pub tables: Vec<ResolvedEdgeTable<'a>>,
    /// What sorting may take.
    pub memory_bytes: u64,
    /// Whether a group is one of the load's own.
    pub is_new: &'o dyn Fn(GroupId) -> bool,
    /// The edges that are there.
    pub present: &'o LastPresent<'o>,
    /// Where spilled buckets lie.
    pub spill: &'o dyn Fn() -> SpillDirectory<'o>,
}

impl TypeLoad<'_, '_> {
    /// Writes both sides to `output`, and notes their segments in `touched`.
    ///
    /// # Errors
    /// As `DurableEngine::build_load`.
    pub(super) fn write(
        &self,
        output: &mut LoadOutput<'_>,
        touched: &mut BTreeSet<(GroupId, Subject)>,
        done: &mut OnLoadProgress<'_>,
    ) -> Result<()> {
        // Each edge is reported once, though it is handled in each pass.
        let (mut handled, mut reported) = (0, 0);
        let done: &mut OnLoadProgress<'_> = &mut |edges| {
            handled += edges;
            let unreported = handled / PASSES - reported;
            reported += unreported;
            done(unreported)
        };
        let counts = Counts::of(&self.tables)?;
        done(0)?;
        for (side, counts) in [(EdgeSide::Out, &counts.sources), (EdgeSide::In, &counts.targets)] {
            let groups = (0..).map(GroupId).zip(counts).filter(|(_, count)| **count > 0);
            touched.extend(groups.map(|(group, _)| (group, Subject::edges(self.edge_type, side))));
        }
        // A half for the part that is sorted, a quarter for each kind of buckets.
        let (out_parts, in_parts) =
            (counts.out_parts(self.memory_bytes / 2)?, counts.in_parts(self.memory_bytes / 2)?);
        drop(counts);
        let bucket_bytes = self.memory_bytes / 4;
        let mut out_buckets = Buckets::new((self.spill)(), out_parts.as_slice().len(), bucket_bytes);
        self.gather(&out_parts, &mut out_buckets, done)?;
        let mut in_buckets = InBuckets {
            buckets: Buckets::new((self.spill)(), in_parts.as_slice().len(), bucket_bytes),
            parts: &in_parts,
        };
        for (at, part) in out_parts.as_slice().iter().enumerate() {
            let edges = OutEdges::decode(out_buckets.take(at)?, part.edges(), self.has_properties())?;
            self.write_out_part((&out_parts, part), &edges, output, &mut in_buckets, done)?;
        }
        drop(out_buckets);
        for (at, part) in in_parts.as_slice().iter().enumerate() {
            let bytes = in_buckets.buckets.take(at)?;
            self.write_in_part((&in_parts, part), &bytes, output, done)?;
        }
        Ok(())
    }

    fn has_properties(&self) -> bool {
        self.tables.iter().any(|table| !table.keys.is_empty())
    }

    fn sequence(&self, group: GroupId) -> Sequence {
        if (self.is_new)(group) { Sequence::Bottom } else { Sequence::Newest }
    }

    /// Puts every edge into the bucket of its source.
    fn gather(&self, parts: &Parts, buckets: &mut Buckets<'_>, done: &mut OnLoadProgress<'_>) -> Result<()> {
        let has_properties = self.has_properties();
        for table in &self.tables {
            table.for_each_block(&mut |block| {
                for (row, (source, target)) in block.sources.iter().zip(&block.targets).enumerate() {
                    let (source, target) = (table.source.vertex(*source), table.target.vertex(*target));
                    buckets.push(parts.part_of(source), |bytes| {
                        bytes.extend_from_slice(&source.0.to_le_bytes());
                        bytes.extend_from_slice(&target.0.to_le_bytes());
                        if has_properties {
                            put_properties(block, row, &table.keys, bytes);
                        }
                    })?;
                }
                done(block.rows() as u64)
            })?;
        }
        Ok(())
    }

    fn write_out_part(
        &self,
        (parts, part): (&Parts, &Part),
        edges: &OutEdges,
        output: &mut LoadOutput<'_>,
        in_buckets: &mut InBuckets<'_>,
        done: &mut OnLoadProgress<'_>,
    ) -> Result<()> {
        let subject = Subject::edges(self.edge_type, EdgeSide::Out);
        let mut counts = vec![0u32; part.places()];
        (0..part.edges()).for_each(|at| counts[parts.place(edges.source(at))] += 1);
        let mut next = starts(counts);
        let mut order = vec![0u64; part.edges()];
        for at in 0..part.edges() {
            let place = &mut next[parts.place(edges.source(at))];
            order[*place as usize] = u64::from(edges.target(at).0) << 32 | at as u64;
            *place += 1;
        }
        // Each start moved to where its list ends.
        let (mut from, mut unreported) = (0, 0);
        let (mut neighbors, has_properties) = (Vec::new(), self.has_properties());
        for (group, ends) in part.groups().iter().zip(next.chunks(GROUP_SIZE as usize)) {
            let sequence = self.sequence(*group);
            for (row, end) in (0..).zip(ends) {
                let list = &mut order[std::mem::replace(&mut from, *end as usize)..*end as usize];
                list.sort_unstable();
                let source = VertexId::new(*group, row);
                let mut before = None;
                neighbors.clear();
                for entry in &*list {
                    let (target, at) = (VertexId((entry >> 32) as u32), *entry as u32 as usize);
                    let discriminator = self.discriminator(sequence, source, target, before)?;
                    before = Some((target, discriminator));
                    let item = ItemKey::edge(target, discriminator);
                    in_buckets.push(source, item)?;
                    if discriminator == 0 && !has_properties {
                        neighbors.push(target.0);
                        continue;
                    }
                    output.push_list(sequence, (subject, source), &neighbors)?;
                    neighbors.clear();
                    output.push_edge(sequence, (subject, source), item, &edges.properties(at)?)?;
                }
                output.push_list(sequence, (subject, source), &neighbors)?;
                unreported += list.len() as u64;
                if unreported >= EDGES_BETWEEN_QUESTIONS {
                    done(std::mem::take(&mut unreported))?;
                }
            }
        }
        done(unreported)
    }

    /// The discriminator of an edge, `before` which another one of its list was written.
    #[inline]
    fn discriminator(
        &self,
        sequence: Sequence,
        source: VertexId,
        target: VertexId,
        before: Option<(VertexId, u16)>,
    ) -> Result<u16> {
        let last = match before {
            Some((known, last)) if known == target => Some(last),
            _ if sequence == Sequence::Bottom => None,
            _ => (self.present)(ListId::edges(source, self.edge_type, EdgeSide::Out), target)?,
        };
        let Some(last) = last else { return Ok(0) };
        if self.is_simple {
            let text = format!(
                "edge type `{}` is simple, and the load would add a second edge of it from {source} to {target}",
                self.tables.first().map_or("", |resolved| &resolved.table.edge_type)
            );
            return Err(Error::invalid(text));
        }
        last.checked_add(1).ok_or_else(|| {
            Error::new(ErrorKind::Limit, format!("more than 65,536 parallel edges from {source} to {target}"))
        })
    }

    /// Writes the in side at the vertices of `part`: `bytes` are its edges, ascending by source.
    fn write_in_part(
        &self,
        (parts, part): (&Parts, &Part),
        bytes: &[u8],
        output: &mut LoadOutput<'_>,
        done: &mut OnLoadProgress<'_>,
    ) -> Result<()> {
        let subject = Subject::edges(self.edge_type, EdgeSide::In);
        let in_edges = || bytes.as_chunks::<IN_EDGE_BYTES>().0.iter().map(InEdge::decode);
        let mut counts = vec![0u32; part.places()];
        in_edges().for_each(|in_edge| counts[parts.place(in_edge.target)] += 1);
        let mut next = starts(counts);
        let mut items = vec![ItemKey::VERTEX; part.edges()];
        for in_edge in in_edges() {
            let place = &mut next[parts.place(in_edge.target)];
            items[*place as usize] = in_edge.item;
            *place += 1;
        }
        let (mut from, mut unreported) = (0, 0);
        let mut neighbors = Vec::new();
        for (group, ends) in part.groups().iter().zip(next.chunks(GROUP_SIZE as usize)) {
            let sequence = self.sequence(*group);
            for (row, end) in (0..).zip(ends) {
                let list = &items[std::mem::replace(&mut from, *end as usize)..*end as usize];
                let target = VertexId::new(*group, row);
                neighbors.clear();
                for item in list {
                    if item.discriminator() == 0 {
                        neighbors.push(item.neighbor().0);
                        continue;
                    }
                    output.push_list(sequence, (subject, target), &neighbors)?;
                    neighbors.clear();
                    output.push_edge(sequence, (subject, target), *item, &Properties::EMPTY)?;
                }
                output.push_list(sequence, (subject, target), &neighbors)?;
                unreported += list.len() as u64;
                if unreported >= EDGES_BETWEEN_QUESTIONS {
                    done(std::mem::take(&mut unreported))?;
                }
            }
        }
        done(unreported)
    }
}

/// Appends the properties of a row: how many, then key and value of each, ascending by key.
fn put_properties(block: &EdgeBlock, row: usize, keys: &[(KeyId, usize)], bytes: &mut Vec<u8>) {
    let columns = keys.iter().filter_map(|(key, place)| Some((key, block.column(*place)?)));
    let columns = columns.filter(|(_, column)| column.has(row));
    put_varint(bytes, columns.clone().count() as u64);
    for (key, column) in columns {
        bytes.extend_from_slice(&key.0.to_le_bytes());
        if let Some(value) = column.get(row) {
            value.encode(bytes);
        }
    }
}

/// The edges of one bucket of the out side, in input order.
struct OutEdges {
    bytes: Vec<u8>,
    /// Where the record of each edge begins; empty if there are no properties, and each has 8 bytes.
    starts: Vec<u64>,
}

impl OutEdges {
    fn decode(bytes: Vec<u8>, edges: usize, has_properties: bool) -> Result<Self> {
        let mut starts = Vec::new();
        if has_properties {
            starts.reserve_exact(edges);
            let mut reader = Reader::new(&bytes);
            while !reader.is_empty() {
                starts.push(reader.offset() as u64);
                reader.take(8).map_err(|error| unreadable(&error))?;
                take_properties(&mut reader, |_, _| {})?;
            }
        }
        let found = if has_properties { starts.len() } else { bytes.len() / 8 };
        if found != edges {
            return Err(changed(&format!("{edges} edges expected, found {found}")));
        }
        Ok(Self { bytes, starts })
    }

    #[inline]
    fn start(&self, at: usize) -> usize {
        if self.starts.is_empty() { 8 * at } else { self.starts[at] as usize }
    }

    #[inline]
    fn number(&self, start: usize) -> VertexId {
        let bytes = self.bytes[start..].first_chunk().expect("records were decoded once");
        VertexId(u32::from_le_bytes(*bytes))
    }

    #[inline]
    fn source(&self, at: usize) -> VertexId {
        self.number(self.start(at))
    }

    #[inline]
    fn target(&self, at: usize) -> VertexId {
        self.number(self.start(at) + 4)
    }

    #[inline]
    fn properties(&self, at: usize) -> Result<Properties> {
        if self.starts.is_empty() {
            return Ok(Properties::EMPTY);
        }
        let mut reader = Reader::new(&self.bytes[self.start(at) + 8..]);
        let mut changes = Vec::new();
        take_properties(&mut reader, |key, value| changes.push((key, Some(value))))?;
        Ok(Properties::new(changes))
    }
}

fn take_properties(reader: &mut Reader<'_>, mut take: impl FnMut(KeyId, Value)) -> Result<()> {
    let count = reader.varint().map_err(|error| unreadable(&error))?;
    for _ in 0..count {
        let key = reader.u16().map_err(|error| unreadable(&error))?;
        take(KeyId(key), Value::decode(reader).map_err(|error| unreadable(&error))?);
    }
    Ok(())
}

fn unreadable(error: &DecodeError) -> Error {
    changed(&format!("at byte {} of a bucket: {}", error.offset, error.expected))
}

/// The error of a bucket that is not what was spilled: a disk fault, or blocks that change from pass to pass.
fn changed(problem: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the load's edges changed while they were sorted: {problem}"))
}

/// Bytes of an edge in a bucket of the in side.
const IN_EDGE_BYTES: usize = 10;

/// An edge that ends in a part of the in side.
struct InEdge {
    target: VertexId,
    /// Source and discriminator.
    item: ItemKey,
}

impl InEdge {
    #[inline]
    fn decode(bytes: &[u8; IN_EDGE_BYTES]) -> Self {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let discriminator = u16::from_le_bytes([bytes[8], bytes[9]]);
        Self { target: VertexId(number(0)), item: ItemKey::edge(VertexId(number(4)), discriminator) }
    }
}

/// The buckets of the in side.
struct InBuckets<'a> {
    buckets: Buckets<'a>,
    parts: &'a Parts,
}

impl InBuckets<'_> {
    /// Adds the edge from `source` that is `item` of its list.
    #[inline]
    fn push(&mut self, source: VertexId, item: ItemKey) -> Result<()> {
        let target = item.neighbor();
        self.buckets.push(self.parts.part_of(target), |bytes| {
            bytes.extend_from_slice(&target.0.to_le_bytes());
            bytes.extend_from_slice(&source.0.to_le_bytes());
            bytes.extend_from_slice(&item.discriminator().to_le_bytes());
        })?;
        Ok(())
    }
}
