//! Union: joins the edges of two bodies of one segment, each list sorted as before.
//!
//! ```text
//! self    3  5  9          turns   self 1, other 1, self 2, other 1
//! other   4  12            united  3  4  5  9  12
//! ```
//!
//! Both bodies are read front to back and once, so that it is enough to know how many edges come from
//! which in turn: lists, discriminators and columns are copied by the same turns.

use crate::edge_body::EdgeBody;
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_storage::record::RecordKey;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// How many edges come from the first body, then from the second, then from the first again.
#[derive(Default)]
struct InterleavedCounts(Vec<u32>);

impl InterleavedCounts {
    fn take(&mut self, side: usize, count: usize) {
        if count == 0 {
            return;
        }
        while self.0.is_empty() || self.0.len() % 2 == side {
            self.0.push(0);
        }
        *self.0.last_mut().expect("pushed above") += count as u32;
    }

    /// Calls `copy` with the body, 0 or 1, and the stretch of it that comes next.
    fn for_each(&self, mut copy: impl FnMut(usize, Range<usize>)) {
        let mut taken = [0; 2];
        for (turn, count) in self.0.iter().enumerate() {
            let from = &mut taken[turn % 2];
            copy(turn % 2, *from..*from + *count as usize);
            *from += *count as usize;
        }
    }
}

impl EdgeBody {
    /// The edges of both bodies, which have none in common.
    ///
    /// Cost: a binary search for each edge of `other`, a copy of both, and four bytes an edge of the
    /// smaller one.
    #[must_use]
    pub fn united(&self, other: &Self) -> Self {
        let mut degrees = Vec::new();
        for body in [self, other] {
            body.for_each_row(|row, range| {
                let length = degrees.len().max(usize::from(row) + 1);
                degrees.resize(length, 0u32);
                degrees[usize::from(row)] += range.len() as u32;
            });
        }
        let lists = self.lists();
        let mut turns = InterleavedCounts::default();
        let mut taken = 0;
        other.for_each_row(|row, range| {
            let own = lists.places(row);
            for at in range {
                let key = RecordKey::edge(row, other.neighbors[at], other.discriminator(at));
                let place = lists.lower_bound(key, &own, taken.max(own.start));
                turns.take(0, place - taken);
                turns.take(1, 1);
                taken = place;
            }
        });
        turns.take(0, self.neighbors.len() - taken);

        let bodies = [self, other];
        let count = self.neighbors.len() + other.neighbors.len();
        let mut neighbors = Vec::with_capacity(count);
        turns.for_each(|body, range| neighbors.extend_from_slice(&bodies[body].neighbors[range]));
        let mut discriminators = Vec::new();
        if bodies.iter().any(|body| !body.discriminators.is_empty()) {
            discriminators.reserve_exact(count);
            turns.for_each(|body, range| {
                discriminators.extend(range.map(|at| bodies[body].discriminator(at)));
            });
        }
        let keys: BTreeSet<KeyId> = bodies.iter().flat_map(|body| &body.columns).map(|of| of.0).collect();
        let columns = keys.into_iter().filter_map(|key| {
            let parts = bodies.map(|body| body.column(key).map(Arc::as_ref));
            Some((key, Arc::new(united_column(parts, &turns)?)))
        });
        Self::new(&degrees, neighbors.into(), discriminators.into(), columns.collect())
    }
}

fn united_column(parts: [Option<&PackedColumn>; 2], turns: &InterleavedCounts) -> Option<PackedColumn> {
    let mut builder = PackedColumnBuilder::default();
    turns.for_each(|body, range| builder.copy(parts[body], range));
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use crate::net::{Effect, Net};
    use evergraph_graph::properties::Properties;
    use evergraph_graph::value::Value;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Edges = BTreeMap<(u16, u32, u16), Option<i64>>;

    fn body(edges: &Edges, key: KeyId) -> EdgeBody {
        let net = |(edge, value): (&(u16, u32, u16), &Option<i64>)| {
            let properties: Properties =
                value.map(|value| (key, Some(Value::I64(value)))).into_iter().collect();
            let key = RecordKey::edge(edge.0, edge.1, edge.2);
            Net { key, effect: Effect::Present(properties), difference: 1 }
        };
        EdgeBody::empty().merged(&edges.iter().map(net).collect::<Vec<_>>())
    }

    fn any_edges() -> impl Strategy<Value = Edges> {
        let row = prop_oneof![0u16..4, 100u16..104, Just(4095u16)];
        let edge = (row, 0u32..6, prop_oneof![3 => Just(0u16), 1 => 1u16..3]);
        proptest::collection::btree_map(edge, proptest::option::of(0i64..100), 0..40)
    }

    proptest! {
        #[test]
        fn a_union_is_what_adding_one_by_one_gives(
            first in any_edges(), mut second in any_edges(), same_key in any::<bool>(),
        ) {
            second.retain(|edge, _| !first.contains_key(edge));
            let keys = [KeyId(7), if same_key { KeyId(7) } else { KeyId(3) }];
            let united = body(&first, keys[0]).united(&body(&second, keys[1]));
            let nets = second.iter().map(|(edge, value)| {
                let properties: Properties =
                    value.map(|value| (keys[1], Some(Value::I64(value)))).into_iter().collect();
                let key = RecordKey::edge(edge.0, edge.1, edge.2);
                Net { key, effect: Effect::Present(properties), difference: 1 }
            });
            prop_assert_eq!(united, body(&first, keys[0]).merged(&nets.collect::<Vec<_>>()));
        }
    }
}
