//! Cancellation: the edges that are left of a list with tombstones.
//!
//! A list keeps the order of insertion, and a tombstone deletes one edge that was inserted before it. Parallel edges look
//! alike, so it does not matter which; the oldest ones go.
//!
//! Source: DGAP (SC 2023), section 3.1.2, "Graph Updates".

use crate::slot::{is_tombstone, target};
use std::collections::BTreeMap;

/// Replaces the slots by the targets of the edges that are left.
///
/// Cost: one pass; a second one and a table of the deleted targets if there is a tombstone.
pub(crate) fn to_targets(slots: &mut Vec<u32>) {
    let tombstones = slots.iter().filter(|slot| is_tombstone(**slot));
    let mut deleted: BTreeMap<u32, u32> = BTreeMap::new();
    tombstones.for_each(|slot| *deleted.entry(target(*slot)).or_default() += 1);
    if deleted.is_empty() {
        slots.iter_mut().for_each(|slot| *slot = target(*slot));
        return;
    }
    let mut end = 0;
    for at in 0..slots.len() {
        let slot = slots[at];
        if is_tombstone(slot) {
            continue;
        }
        match deleted.get_mut(&target(slot)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => {
                slots[end] = target(slot);
                end += 1;
            }
        }
    }
    slots.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::{edge, tombstone};

    fn left(slots: &[u32]) -> Vec<u32> {
        let mut slots = slots.to_vec();
        to_targets(&mut slots);
        slots
    }

    #[test]
    fn a_tombstone_takes_one_edge() {
        assert_eq!(left(&[edge(1), edge(0), edge(1)]), [1, 0, 1]);
        assert_eq!(left(&[edge(1), edge(0), tombstone(1), edge(1)]), [0, 1]);
        assert_eq!(left(&[edge(1), edge(1), tombstone(1), edge(2), tombstone(1)]), [2]);
        assert_eq!(left(&[edge(0), tombstone(0)]), [] as [u32; 0]);
        assert_eq!(left(&[]), [] as [u32; 0]);
    }
}
