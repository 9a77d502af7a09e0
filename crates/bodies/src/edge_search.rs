//! Edge search: many edges of one segment's lists looked up together.
//!
//! ```text
//! range     where the list of each edge lies          two loads an edge, none waits for another's
//! halve     all lists by one step, again and again    one load an edge and step, likewise
//! compare   what is found with what is asked
//! ```
//!
//! One after the other each search waits for memory, list by list; by turns those waits overlap.

use crate::edge_lists::EdgeLists;
use evergraph_storage::record::RecordKey;

/// A search under way: the edge, or where it would be, lies at `from` or in the `left` places behind it.
struct ListSearch {
    key: RecordKey,
    from: u32,
    left: u32,
    end: u32,
}

impl EdgeLists<'_> {
    /// Whether each of some edges is there. Cost: as [`EdgeLists::find`] for each, but for the waits.
    #[must_use]
    pub fn contains_each(&self, edges: impl Iterator<Item = RecordKey>) -> Vec<bool> {
        let mut searches: Vec<ListSearch> = edges
            .map(|key| {
                let list = self.range(key.row());
                ListSearch { key, from: list.start as u32, left: list.len() as u32, end: list.end as u32 }
            })
            .collect();
        let neighbors = self.neighbors();
        let mut longest = searches.iter().map(|search| search.left).max().unwrap_or(0);
        while longest > 1 {
            for search in searches.iter_mut().filter(|search| search.left > 1) {
                let half = search.left / 2;
                let middle = search.from + half;
                let is_behind = neighbors[middle as usize - 1] < search.key.neighbor();
                search.from = if is_behind { middle } else { search.from };
                search.left -= half;
            }
            longest -= longest / 2;
        }
        let is_there = |search: &ListSearch| {
            let ListSearch { key, from, left, end } = *search;
            let at = from + u32::from(left > 0 && neighbors[from as usize] < key.neighbor());
            at < end
                && neighbors[at as usize] == key.neighbor()
                && match self.discriminators.is_empty() {
                    true => key.discriminator() == 0,
                    // The list is at hand now.
                    false => self.find(key).is_some(),
                }
        };
        searches.iter().map(is_there).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use crate::edge_body::EdgeBody;
    use crate::net::{Effect, Net};
    use evergraph_graph::properties::Properties;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_are_found_together_that_are_found_one_by_one(
            there in proptest::collection::btree_set((0u16..6, 0u32..40, 0u16..3), 0..120),
            parallel in any::<bool>(),
        ) {
            let discriminator = |number| if parallel { number } else { 0 };
            let keys = there.iter().map(|edge| RecordKey::edge(edge.0, edge.1, discriminator(edge.2)));
            let mut keys: Vec<RecordKey> = keys.collect();
            keys.sort_unstable();
            keys.dedup();
            let net = |key| Net { key, effect: Effect::Present(Properties::EMPTY), difference: 1 };
            let body = EdgeBody::empty().merged(&keys.into_iter().map(net).collect::<Vec<_>>());
            let asked: Vec<RecordKey> = (0..7u16)
                .flat_map(|row| (0..41u32).map(move |neighbor| (row, neighbor)))
                .flat_map(|(row, neighbor)| (0..3u16).map(move |number| RecordKey::edge(row, neighbor, number)))
                .collect();
            let one_by_one: Vec<bool> = asked.iter().map(|key| body.find(*key).is_some()).collect();
            prop_assert_eq!(body.lists().contains_each(asked.into_iter()), one_by_one);
            prop_assert!(body.lists().contains_each(std::iter::empty()).is_empty());
        }
    }
}
