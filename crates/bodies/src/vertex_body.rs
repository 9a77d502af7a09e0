//! Vertex body: the vertices of a group: which rows are alive, and a column for each property.
//!
//! ```text
//! live      4,096 bits
//! columns   (key, column)*    by row; a column is as long as its last row with a value needs
//! ```
//!
//! A merge rewrites the columns that changed and shares the others.
//!
//! Source: GART (ATC 2023) 5.3, vertex properties as columns beside the vertex array.

use crate::body::{Body, BodyBytes};
use crate::net::{Effect, Net};
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::value::Value;
use evergraph_storage::view::GroupBits;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The vertices of a group at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct VertexBody {
    live: Box<GroupBits>,
    /// Bits of `live`: each commit asks for them.
    live_count: usize,
    /// Ascending by key.
    pub(crate) columns: Vec<(KeyId, Arc<PackedColumn>)>,
}

impl VertexBody {
    /// A body with these live rows and these columns, ascending by key.
    #[must_use]
    pub fn new(live: Box<GroupBits>, columns: Vec<(KeyId, Arc<PackedColumn>)>) -> Self {
        debug_assert!(columns.is_sorted_by(|a, b| a.0 < b.0));
        let live_count = live.iter().map(|word| word.count_ones() as usize).sum();
        Self { live, live_count, columns }
    }

    /// The columns, by key.
    #[must_use]
    pub fn columns(&self) -> &[(KeyId, Arc<PackedColumn>)] {
        &self.columns
    }

    /// Which rows live.
    #[must_use]
    #[inline]
    pub fn live(&self) -> &GroupBits {
        &self.live
    }

    /// Whether the vertex in `row` is alive.
    #[must_use]
    #[inline]
    pub fn is_alive(&self, row: u16) -> bool {
        self.live[usize::from(row) / 64] >> (row % 64) & 1 == 1
    }

    /// The column of a property.
    #[must_use]
    #[inline]
    pub fn column(&self, key: KeyId) -> Option<&Arc<PackedColumn>> {
        let at = self.columns.binary_search_by_key(&key, |column| column.0).ok()?;
        Some(&self.columns[at].1)
    }

    /// One property of the vertex in `row`.
    #[must_use]
    #[inline]
    pub fn property(&self, row: u16, key: KeyId) -> Option<Value> {
        self.column(key)?.get(usize::from(row))
    }

    /// All properties of the vertex in `row`, by key.
    #[inline]
    pub fn properties(&self, row: u16) -> impl Iterator<Item = (KeyId, Value)> + '_ {
        self.columns.iter().filter_map(move |(key, column)| Some((*key, column.get(usize::from(row))?)))
    }

    /// The same in a list.
    #[must_use]
    pub fn property_map(&self, row: u16) -> Vec<(KeyId, Value)> {
        let mut all = Vec::with_capacity(self.columns.len());
        all.extend(self.properties(row));
        all
    }

    /// As [`Body::merged`].
    ///
    /// # Errors
    /// The first of `nets` that changes a vertex which is not there: records of a damaged file may say so.
    pub fn copied(&self, nets: &[Net]) -> Result<Self, String> {
        let is_absent =
            |net: &&Net| matches!(net.effect, Effect::Changed(_)) && !self.is_alive(net.key.row());
        match nets.iter().find(is_absent) {
            Some(net) => {
                Err(format!("a record changes the vertex of row {}, which is not there", net.key.row()))
            }
            None => Ok(self.merged(nets)),
        }
    }
}

/// The new values of one column, by row.
type RowChanges<'a> = Vec<(u16, Option<&'a Value>)>;

fn rewritten(old: Option<&Arc<PackedColumn>>, changes: &RowChanges<'_>) -> Option<PackedColumn> {
    let mut builder = PackedColumnBuilder::default();
    let old = old.map(Arc::as_ref);
    let copy_to = |builder: &mut PackedColumnBuilder, row: usize| builder.copy(old, builder.len()..row);
    for (row, value) in changes {
        copy_to(&mut builder, usize::from(*row));
        builder.push(*value);
    }
    let end = old.map_or(0, |old| old.len()).max(builder.len());
    copy_to(&mut builder, end);
    builder.finish()
}

impl Body for VertexBody {
    const RECORDS_WORTH_A_MERGE_MIN: usize = 64;

    fn empty() -> Self {
        Self::new(Box::new([0; 64]), Vec::new())
    }

    fn merged(&self, nets: &[Net]) -> Self {
        let mut live = self.live.clone();
        let mut changes: BTreeMap<KeyId, RowChanges<'_>> = BTreeMap::new();
        for net in nets {
            let row = net.key.row();
            let (word, bit) = (usize::from(row) / 64, 1 << (row % 64));
            let whole = match &net.effect {
                Effect::Absent => {
                    live[word] &= !bit;
                    None
                }
                Effect::Present(properties) => {
                    live[word] |= bit;
                    Some(properties)
                }
                Effect::Changed(properties) => {
                    for (key, value) in properties.as_slice() {
                        changes.entry(*key).or_default().push((row, value.as_ref()));
                    }
                    continue;
                }
            };
            for (key, column) in &self.columns {
                if column.has(usize::from(row))
                    && whole.is_none_or(|properties| properties.get(*key).is_none())
                {
                    changes.entry(*key).or_default().push((row, None));
                }
            }
            for (key, value) in whole.map_or(&[][..], |properties| properties.as_slice()) {
                changes.entry(*key).or_default().push((row, value.as_ref()));
            }
        }
        let mut columns: BTreeMap<KeyId, Arc<PackedColumn>> = self.columns.iter().cloned().collect();
        for (key, changes) in &changes {
            match rewritten(self.column(*key), changes) {
                Some(column) => columns.insert(*key, Arc::new(column)),
                None => columns.remove(key),
            };
        }
        Self::new(live, columns.into_iter().collect())
    }

    #[inline]
    fn items(&self) -> usize {
        self.live_count
    }

    fn bytes(&self) -> BodyBytes {
        let properties = self.columns.iter().map(|(_, column)| column.heap_bytes() + 32).sum();
        BodyBytes { topology: size_of::<GroupBits>(), properties, orders: 0 }
    }

    fn split_hubs(self) -> (Self, Vec<(u16, Self)>) {
        (self, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::properties::Properties;
    use evergraph_storage::record::RecordKey;

    fn net(row: u16, effect: Effect) -> Net {
        Net { key: RecordKey::vertex(row), effect, difference: 0 }
    }

    fn props(list: &[(u16, Option<i64>)]) -> Properties {
        list.iter().map(|(key, value)| (KeyId(*key), value.map(Value::I64))).collect()
    }

    #[test]
    fn a_change_of_a_vertex_that_is_not_there_is_an_error() {
        let body = VertexBody::empty().merged(&[net(3, Effect::Present(props(&[])))]);
        let change = |row| body.copied(&[net(row, Effect::Changed(props(&[(1, Some(10))])))]);
        assert_eq!(change(3).unwrap().property(3, KeyId(1)), Some(Value::I64(10)));
        let problem = change(4).unwrap_err();
        assert!(problem.contains("the vertex of row 4, which is not there"), "{problem}");
    }

    #[test]
    fn a_merge_rewrites_what_changed_and_shares_the_other_columns() {
        let first = VertexBody::empty().merged(&[
            net(3, Effect::Present(props(&[(1, Some(10)), (2, Some(20))]))),
            net(4095, Effect::Present(props(&[(2, Some(21))]))),
        ]);
        assert!(first.is_alive(3) && first.is_alive(4095) && !first.is_alive(4));
        assert_eq!(first.items(), 2);
        assert_eq!(first.property(3, KeyId(1)), Some(Value::I64(10)));
        let second = first.merged(&[net(3, Effect::Changed(props(&[(2, None), (3, Some(5))])))]);
        assert_eq!(
            second.properties(3).collect::<Vec<_>>(),
            [(KeyId(1), Value::I64(10)), (KeyId(3), Value::I64(5))]
        );
        assert!(Arc::ptr_eq(first.column(KeyId(1)).unwrap(), second.column(KeyId(1)).unwrap()));
        assert_eq!(second.property(4095, KeyId(2)), Some(Value::I64(21)));
        assert_eq!(first.property(3, KeyId(2)), Some(Value::I64(20)), "the old body stays as it was");
    }

    #[test]
    fn a_dead_vertex_leaves_nothing_behind() {
        let body = VertexBody::empty().merged(&[net(0, Effect::Present(props(&[(1, Some(10))])))]);
        let body = body.merged(&[net(0, Effect::Absent)]);
        assert_eq!(body, VertexBody::empty());
        assert_eq!(body.bytes().properties, 0);
    }
}
