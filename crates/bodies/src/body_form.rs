//! The binary form of bodies, format version 1: the arrays as in memory.
//!
//! ```text
//! EDGES                                          VERTICES
//! OFFSET SIZE FIELD       (little-endian)        OFFSET SIZE FIELD
//!      0    1 kind        1                           0    1 kind     2
//!      1    1 version     1                           1    1 version  1
//!      2    1 sort key    0: by neighbour             2    2 columns
//!      3    1 flags       bit 0 sparse                4    4 zero
//!                         bit 1 discriminators        8  512 live     64 x u64
//!      4    4 ends                                  520      columns
//!      8    4 edges
//!     12    2 columns
//!     14    2 zero
//!     16      rows            u16 an end, only if sparse
//!             ends            u32 an end
//!             neighbours      u32 an edge
//!             discriminators  u16 an edge, only if flagged
//!             columns         a key (u16) and a column (`column_form`) each, keys ascending
//! ```
//!
//! The sort key is a seam: a type may one day keep its lists in another order; a reader that does
//! not know the order refuses the body.
//!
//! One function a kind says what a sound body is; it runs before a body is written and after it is
//! read, so that neither a defect of ours nor a bad disk gets past a border.

use crate::edge_body::EdgeBody;
use crate::edge_lists::ROWS;
use crate::newest::Orders;
use crate::vertex_body::VertexBody;
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::PackedColumn;
use evergraph_storage::checkpoint::arrays::{put_array, take_array};
use evergraph_storage::checkpoint::column_form::{put_column, take_column};
use std::sync::Arc;

const EDGES: u8 = 1;
const VERTICES: u8 = 2;
const VERSION: u8 = 1;
const BY_NEIGHBOR: u8 = 0;
const SPARSE: u8 = 1;
const DISCRIMINATORS: u8 = 2;

type Columns = Vec<(KeyId, Arc<PackedColumn>)>;

/// A body that has a stable form.
pub trait StableForm: Sized {
    /// How many properties have a column.
    fn columns_count(&self) -> usize;

    /// This body with these columns instead of its own, ascending by key.
    #[must_use]
    fn with_columns(self, columns: Vec<(KeyId, Arc<PackedColumn>)>) -> Self;

    /// Appends the stable form.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads a body; all of `reader`.
    ///
    /// Cost: one copy of the arrays and one pass over them.
    ///
    /// # Errors
    /// If the bytes are not the stable form of a sound body.
    fn take(reader: &mut Reader<'_>) -> Decoded<Self>;

    /// Whether the arrays fit together, and what doesn't.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn check(&self) -> Result<(), String>;
}

impl StableForm for EdgeBody {
    fn columns_count(&self) -> usize {
        self.columns.len()
    }

    fn with_columns(self, columns: Columns) -> Self {
        Self { columns, orders: Orders::default(), ..self }
    }

    fn put(&self, out: &mut Vec<u8>) {
        let sparse = if self.rows.is_some() { SPARSE } else { 0 };
        let discriminated = if self.discriminators.is_empty() { 0 } else { DISCRIMINATORS };
        let edges = u32::try_from(self.neighbors.len()).expect("ends of lists have 32 bits");
        out.extend_from_slice(&[EDGES, VERSION, BY_NEIGHBOR, sparse | discriminated]);
        out.extend_from_slice(&(self.ends.len() as u32).to_le_bytes());
        out.extend_from_slice(&edges.to_le_bytes());
        out.extend_from_slice(&(self.columns.len() as u16).to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        put_array(out, self.rows.as_deref().unwrap_or_default());
        put_array(out, &self.ends);
        put_array(out, &self.neighbors);
        put_array(out, &self.discriminators);
        put_columns(out, &self.columns);
    }

    fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        take_kind(reader, EDGES)?;
        let (sort_key, flags) = (reader.u8()?, reader.u8()?);
        if sort_key != BY_NEIGHBOR {
            return Err(start.error(format!("edges sorted by neighbour expected, found sort key {sort_key}")));
        }
        if flags & !(SPARSE | DISCRIMINATORS) != 0 {
            return Err(start.error(format!("known flags of an edge body expected, found {flags:#04x}")));
        }
        let (ends, edges) = (reader.u32()? as usize, reader.u32()? as usize);
        let (columns, zero) = (reader.u16()?, reader.u16()?);
        if ends > ROWS || zero != 0 {
            return Err(start.error(format!("at most {ROWS} rows expected, found {ends}")));
        }
        let rows = if flags & SPARSE == 0 { None } else { Some(take_array(reader, ends)?) };
        let ends = take_array(reader, ends)?;
        let neighbors = take_array(reader, edges)?;
        let discriminators =
            if flags & DISCRIMINATORS == 0 { Box::default() } else { take_array(reader, edges)? };
        let columns = take_columns(reader, columns, |length| length == edges)?;
        let body = Self { rows, ends, neighbors, discriminators, columns, orders: Orders::default() };
        take_end(reader)?;
        body.check().map_err(|problem| start.error(problem))?;
        Ok(body)
    }

    fn check(&self) -> Result<(), String> {
        self.lists().check()?;
        let edges = self.neighbors.len();
        check_columns(&self.columns, |length| length == edges)
    }
}

impl StableForm for VertexBody {
    fn columns_count(&self) -> usize {
        self.columns.len()
    }

    fn with_columns(mut self, columns: Columns) -> Self {
        self.columns = columns;
        self
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[VERTICES, VERSION]);
        out.extend_from_slice(&(self.columns.len() as u16).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        put_array(out, &self.live()[..]);
        put_columns(out, &self.columns);
    }

    fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        take_kind(reader, VERTICES)?;
        let (columns, zero) = (reader.u16()?, reader.u32()?);
        if zero != 0 {
            return Err(start.error("four zero bytes expected"));
        }
        let mut live = Box::new([0; 64]);
        live.copy_from_slice(&take_array::<u64>(reader, 64)?);
        let columns = take_columns(reader, columns, |length| length <= ROWS)?;
        take_end(reader)?;
        check_columns(&columns, |length| length <= ROWS).map_err(|problem| start.error(problem))?;
        Ok(Self::new(live, columns))
    }

    fn check(&self) -> Result<(), String> {
        check_columns(&self.columns, |length| length <= ROWS)
    }
}

fn take_kind(reader: &mut Reader<'_>, kind: u8) -> Decoded<()> {
    let start = reader.clone();
    let found = (reader.u8()?, reader.u8()?);
    if found == (kind, VERSION) {
        return Ok(());
    }
    let name = if kind == EDGES { "edge" } else { "vertex" };
    let expected = format!("an {name} body ({kind}) of version {VERSION} expected");
    Err(start.error(format!("{expected}, found kind {} of version {}", found.0, found.1)))
}

fn take_end(reader: &Reader<'_>) -> Decoded<()> {
    if reader.is_empty() {
        return Ok(());
    }
    Err(reader.error(format!("the end of the body expected, found {} more bytes", reader.remaining())))
}

fn put_columns(out: &mut Vec<u8>, columns: &Columns) {
    for (key, column) in columns {
        out.extend_from_slice(&key.0.to_le_bytes());
        put_column(out, column);
    }
}

fn take_columns(reader: &mut Reader<'_>, count: u16, fits: impl Fn(usize) -> bool) -> Decoded<Columns> {
    let mut columns = Columns::new();
    for _ in 0..count {
        let key = KeyId(reader.u16()?);
        columns.push((key, Arc::new(take_column(reader, &fits)?)));
    }
    Ok(columns)
}

fn check_columns(columns: &Columns, fits: impl Fn(usize) -> bool) -> Result<(), String> {
    if columns.len() > usize::from(u16::MAX) || !columns.is_sorted_by(|a, b| a.0 < b.0) {
        return Err("columns in ascending order of their keys expected".to_owned());
    }
    match columns.iter().find(|(_, column)| column.is_empty() || !fits(column.len())) {
        None => Ok(()),
        Some((key, column)) => Err(format!(
            "a column of property {} as long as its body expected, found {} items",
            key.0,
            column.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use evergraph_graph::packed_column::strategy::any_column;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn any_columns(length: usize) -> impl Strategy<Value = Columns> {
        let keys = proptest::collection::btree_set(0u16..9, 0..3).prop_map(Vec::from_iter);
        keys.prop_flat_map(move |keys| {
            let columns = keys.into_iter().filter(move |_| length > 0);
            let columns: Vec<_> = columns
                .map(|key| any_column(length).prop_map(move |column| (KeyId(key), Arc::new(column))))
                .collect();
            columns
        })
    }

    /// Dense or sparse, with and without parallel edges and columns.
    pub(crate) fn any_edge_body() -> impl Strategy<Value = EdgeBody> {
        let row = prop_oneof![3 => 0u16..20, 1 => 4000u16..4096];
        let discriminator = prop_oneof![9 => Just(0u16), 1 => any::<u16>()];
        let edges = proptest::collection::btree_set((row, 0u32..50, discriminator), 0..60);
        edges
            .prop_flat_map(|edges: BTreeSet<(u16, u32, u16)>| (any_columns(edges.len()), Just(edges)))
            .prop_map(|(columns, edges)| {
                let mut degrees = vec![0; ROWS];
                edges.iter().for_each(|(row, ..)| degrees[usize::from(*row)] += 1);
                let neighbors = edges.iter().map(|edge| edge.1).collect();
                let discriminators = edges.iter().map(|edge| edge.2).collect();
                EdgeBody::new(&degrees, neighbors, discriminators, columns)
            })
    }

    fn any_vertex_body() -> impl Strategy<Value = VertexBody> {
        (proptest::collection::vec(any::<u64>(), 64), (0usize..100).prop_flat_map(any_columns))
            .prop_map(|(live, columns)| VertexBody::new(Box::new(live.try_into().unwrap()), columns))
    }

    fn reads_back<B: StableForm + PartialEq + std::fmt::Debug>(body: &B) -> Vec<u8> {
        let mut bytes = Vec::new();
        body.put(&mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(B::take(&mut reader).as_ref(), Ok(body));
        for cut in 0..bytes.len() {
            assert!(B::take(&mut Reader::new(&bytes[..cut])).is_err(), "cut at {cut}");
        }
        assert_eq!(body.check(), Ok(()));
        bytes
    }

    proptest! {
        #[test]
        fn a_body_reads_back_and_no_cut_of_it_does(edges in any_edge_body(), vertices in any_vertex_body()) {
            reads_back(&edges);
            reads_back(&vertices);
        }

        #[test]
        fn a_damaged_body_is_refused_or_sound(
            edges in any_edge_body(), vertices in any_vertex_body(), at in any::<proptest::sample::Index>(), to in any::<u8>(),
        ) {
            let damaged = |put: &dyn Fn(&mut Vec<u8>)| {
                let mut bytes = Vec::new();
                put(&mut bytes);
                let at = at.index(bytes.len());
                bytes[at] = to;
                bytes
            };
            if let Ok(read) = VertexBody::take(&mut Reader::new(&damaged(&|bytes| vertices.put(bytes)))) {
                prop_assert_eq!(read.check(), Ok(()));
            }
            let bytes = damaged(&|bytes| edges.put(bytes));
            if let Ok(read) = EdgeBody::take(&mut Reader::new(&bytes)) {
                prop_assert_eq!(read.check(), Ok(()));
                read.for_each_row(|row, range| {
                    assert_eq!(read.range(row), range.clone());
                    range.for_each(|at| drop(read.properties(at).collect::<Vec<_>>()));
                });
            }
        }
    }

    fn body(degrees: &[u32], neighbors: &[u32], discriminators: &[u16]) -> Vec<u8> {
        let mut end = 0;
        let ends = degrees.iter().map(|degree| {
            end += degree;
            end
        });
        let body = EdgeBody {
            ends: ends.collect(),
            neighbors: neighbors.into(),
            discriminators: discriminators.into(),
            ..EdgeBody::empty()
        };
        let mut bytes = Vec::new();
        body.put(&mut bytes);
        bytes
    }

    #[test]
    fn lists_that_are_not_sorted_or_name_an_edge_twice_are_refused() {
        let refused = |bytes: Vec<u8>, text: &str| {
            let error = EdgeBody::take(&mut Reader::new(&bytes)).unwrap_err();
            assert!(error.expected.contains(text), "{error}");
        };
        assert!(EdgeBody::take(&mut Reader::new(&body(&[2, 1], &[3, 5, 4], &[]))).is_ok());
        refused(body(&[1, 2], &[3, 5, 4], &[]), "row 1");
        refused(body(&[2], &[3, 3], &[]), "row 0");
        refused(body(&[2], &[3, 3], &[1, 1]), "row 0");
        refused(body(&[2], &[3, 3], &[1, 0]), "row 0");
        assert!(EdgeBody::take(&mut Reader::new(&body(&[2], &[3, 3], &[0, 1]))).is_ok());
        refused(body(&[1], &[3, 4], &[]), "ascend to 2");
        refused(body(&[3], &[3, 4], &[]), "ascend to 2");
        let mut other_order = body(&[1], &[3], &[]);
        other_order[2] = 1;
        refused(other_order, "sort key 1");
        let mut newer = body(&[1], &[3], &[]);
        newer[1] = 2;
        refused(newer, "version 2");
    }

    #[test]
    fn counts_beyond_the_bytes_take_no_memory() {
        let mut bytes = body(&[1], &[3], &[]);
        bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(EdgeBody::take(&mut Reader::new(&bytes)).is_err());
    }
}
