//! Newest: the out-edges of a vertex by descending value of a property.
//!
//! ```text
//! since    9   7   4   2        range  ..=7, limit 2  ->  7  4      cursor behind 4  ->  2
//! ```
//!
//! The greatest value comes first, and of one value the greatest id, as in a descending range of an
//! ordered index ([`OrderedMatches`]). An edge without a value isn't in the answer.
//!
//! Stores keep lists sorted by neighbour. One that also has the places of a list by value reads no more
//! than it gives, and lays over it what changed since ([`Overlay`]); every other view reads the list and sorts
//! it ([`rank`]).
//!
//! Source: LiveGraph (VLDB 2020), sections 3 and 7.2: lists that are read from their newest edge on, which is what
//! its authors say wins them LinkBench's TAO mix. Differs: the order is that of a property, declared for
//! an edge type, beside lists that stay sorted by neighbour.

use crate::id::{EdgeId, KeyId, TypeId, VertexId};
use crate::look_up::{OrderedMatches, RangeCursor, ValueRange};
use crate::value::{Value, ValueType};

/// An edge with its value: where a cursor stands.
pub type Stamped = (Value, EdgeId);

/// Which edges are asked for: those from a vertex whose property lies in a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewestEdges {
    /// Where the edges start.
    pub source: VertexId,
    /// Their type.
    pub edge_type: TypeId,
    /// The property that says how new an edge is.
    pub key: KeyId,
    /// The values that are asked for. Its direction doesn't count: the greatest value comes first.
    pub range: ValueRange,
}

impl NewestEdges {
    /// All edges of `edge_type` from `source` that have a value of `key`.
    #[must_use]
    #[inline]
    pub fn new(source: VertexId, edge_type: TypeId, key: KeyId) -> Self {
        Self { source, edge_type, key, range: ValueRange::ALL }
    }

    /// The same, with values in `range` only.
    #[must_use]
    pub fn within(self, range: ValueRange) -> Self {
        Self { range, ..self }
    }

    /// The edge to `target` among them.
    #[must_use]
    #[inline]
    pub fn edge(&self, target: VertexId, discriminator: u16) -> EdgeId {
        EdgeId { source: self.source, edge_type: self.edge_type, target, discriminator }
    }

    fn asks_for(&self, value: &Value, edge: EdgeId, after: Option<&Stamped>) -> bool {
        self.range.contains(value) && after.is_none_or(|(last, of)| (value, edge) < (last, *of))
    }
}

/// Whether a property of this type can say how new an edge is: whole numbers up to 64 bits, dates, datetimes.
#[must_use]
#[inline]
pub fn can_order(value_type: ValueType) -> bool {
    use ValueType::{Date, DateTime, I8, I16, I32, I64};
    matches!(value_type, I8 | I16 | I32 | I64 | Date | DateTime)
}

/// Appends up to `limit` of `found`, the edges of a whole list with their values, to `ranked`, as the answer to what
/// is `asked` for behind the cursor, which it moves.
///
/// Cost: what is asked for is sorted.
pub fn rank(
    mut found: Vec<Stamped>,
    asked: &NewestEdges,
    cursor: &mut RangeCursor<EdgeId>,
    limit: usize,
    ranked: &mut OrderedMatches<EdgeId>,
) {
    found.retain(|(value, edge)| asked.asks_for(value, *edge, cursor.after.as_ref()));
    if limit < found.len() {
        found.select_nth_unstable_by(limit, |one, other| other.cmp(one));
        found.truncate(limit);
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    let before = ranked.items.len();
    for (value, edge) in found {
        ranked.values.push(value);
        ranked.items.push(edge);
    }
    moved(cursor, before, limit, ranked);
}

/// Moves the cursor behind what was appended to `before` edges of `ranked`, as the answer to a question for
/// `limit`.
pub fn moved(cursor: &mut RangeCursor<EdgeId>, before: usize, limit: usize, ranked: &OrderedMatches<EdgeId>) {
    if ranked.items.len() > before
        && let (Some(value), Some(edge)) = (ranked.values.last(), ranked.items.last())
    {
        cursor.after = Some((value.clone(), *edge));
    }
    cursor.done = ranked.items.len() - before < limit;
}

/// Edges whose value isn't what a list says any more, laid over it.
#[derive(Debug)]
pub struct Overlay<'a> {
    asked: &'a NewestEdges,
    after: Option<&'a Stamped>,
    /// Ascending: what the list says of them doesn't count.
    changed: Vec<EdgeId>,
    /// Those of them that belong to the answer.
    found: Vec<Stamped>,
}

impl<'a> Overlay<'a> {
    /// Nothing changed; the answer begins behind `after`.
    #[must_use]
    #[inline]
    pub fn new(asked: &'a NewestEdges, after: Option<&'a Stamped>) -> Self {
        Self { asked, after, changed: Vec::new(), found: Vec::new() }
    }

    /// The value of `edge` is `value` now; `None` if it has none or isn't there. Edges ascend.
    pub fn change(&mut self, edge: EdgeId, value: Option<&Value>) {
        debug_assert!(self.changed.last().is_none_or(|last| *last < edge), "each edge once, ascending");
        self.changed.push(edge);
        let belongs = |value: &&Value| self.asked.asks_for(value, edge, self.after);
        self.found.extend(value.filter(belongs).map(|value| (value.clone(), edge)));
    }

    /// Edges that changed: so many of a list may drop out.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.changed.len()
    }

    /// Whether nothing changed.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    /// Appends the first `limit` edges of `list` and of what changed, in one order. `list` has the answer as it
    /// was before, the newest first.
    pub fn lay_over(
        mut self,
        list: impl Iterator<Item = Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) {
        if limit < self.found.len() {
            self.found.select_nth_unstable_by(limit, |one, other| other.cmp(one));
            self.found.truncate(limit);
        }
        self.found.sort_unstable_by(|one, other| other.cmp(one));
        let mut list = list.filter(|(_, edge)| self.changed.binary_search(edge).is_err()).peekable();
        let mut found = self.found.into_iter().peekable();
        for _ in 0..limit {
            let next = match (list.peek(), found.peek()) {
                (Some(one), Some(other)) if one < other => found.next(),
                (Some(_), _) => list.next(),
                (None, _) => found.next(),
            };
            let Some((value, edge)) = next else { break };
            ranked.values.push(value);
            ranked.items.push(edge);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::ops::Bound;

    const ASKED: (VertexId, TypeId, KeyId) = (VertexId(1), TypeId(2), KeyId(3));

    /// Values of edges by target.
    type Values = BTreeMap<u32, Option<i64>>;

    fn newest(values: &Values, asked: &NewestEdges, after: Option<&Stamped>) -> Vec<Stamped> {
        let edges = values
            .iter()
            .filter_map(|(target, value)| Some((Value::I64((*value)?), asked.edge(VertexId(*target), 0))));
        let mut found: Vec<_> = edges.filter(|(value, edge)| asked.asks_for(value, *edge, after)).collect();
        found.sort_by(|one, other| other.cmp(one));
        found
    }

    fn any_values() -> impl Strategy<Value = Values> {
        proptest::collection::btree_map(0u32..12, proptest::option::of(0i64..6), 0..12)
    }

    proptest! {
        #[test]
        fn a_list_with_changes_laid_over_is_the_list_of_what_there_is_then(
            old in any_values(),
            changes in any_values(),
            from in proptest::option::of(0i64..6),
            to in proptest::option::of(0i64..6),
            after in proptest::option::of((0i64..6, 0u32..12)),
            limit in 0usize..14,
        ) {
            let bound = |end: Option<i64>| end.map_or(Bound::Unbounded, |end| Bound::Included(Value::I64(end)));
            let (source, edge_type, key) = ASKED;
            let asked = NewestEdges::new(source, edge_type, key).within(ValueRange::new(bound(from), bound(to)));
            let after = after.map(|(value, target)| (Value::I64(value), asked.edge(VertexId(target), 0)));
            let mut overlay = Overlay::new(&asked, after.as_ref());
            for (target, value) in &changes {
                overlay.change(asked.edge(VertexId(*target), 0), value.map(Value::I64).as_ref());
            }
            prop_assert_eq!((overlay.len(), overlay.is_empty()), (changes.len(), changes.is_empty()));
            let mut ranked = OrderedMatches::default();
            overlay.lay_over(newest(&old, &asked, after.as_ref()).into_iter(), limit, &mut ranked);
            let now: Values = old.into_iter().chain(changes).collect();
            let mut wanted = newest(&now, &asked, after.as_ref());
            wanted.truncate(limit);
            let found: Vec<_> = ranked.values.into_iter().zip(ranked.items).collect();
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn whole_numbers_and_times_can_order_edges_and_nothing_else() {
        let names = ValueType::all().filter(|value_type| can_order(*value_type)).map(ValueType::name);
        assert_eq!(names.collect::<Vec<_>>(), ["byte", "short", "int", "long", "date", "datetime"]);
    }
}
