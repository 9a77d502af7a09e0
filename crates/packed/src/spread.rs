//! Spread: where the lists of a window begin after it was rebalanced.
//!
//! Gaps are shared out by the lengths of lists: who had many edges gets many more (VCSR). The last list of the array also
//! gets those of vertices that will come behind it.
//!
//! Source: VCSR (Islam, Dai and Cheng, CCGRID 2022), as in DGAP (SC 2023), sections 2.3 and 3.1.4.

use std::ops::Range;

/// The starts of lists of these `lengths` (slots, pivots included) in `slots`; the first list begins where they do.
/// `coming` vertices are expected behind the last one. `None` if the lists do not fit.
pub(crate) fn starts(slots: &Range<u64>, lengths: &[u64], coming: u64) -> Option<Vec<u64>> {
    let used: u64 = lengths.iter().sum();
    let gaps = (slots.end - slots.start).checked_sub(used)?;
    let weights = used + lengths.len() as u64 + coming;
    let mut starts = Vec::with_capacity(lengths.len());
    let (mut length_before, mut weight_before) = (0, 0);
    for length in lengths {
        let gaps_before = u128::from(gaps) * u128::from(weight_before) / u128::from(weights);
        starts.push(slots.start + length_before + gaps_before as u64);
        length_before += length;
        weight_before += length + 1;
    }
    Some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaps_go_by_length_and_to_vertices_that_will_come() {
        assert_eq!(starts(&(10..30), &[1, 7], 0).unwrap(), [10, 13]);
        assert_eq!(starts(&(10..30), &[4, 4], 0).unwrap(), [10, 20]);
        assert_eq!(starts(&(10..30), &[4, 4], 10).unwrap(), [10, 17]);
        assert_eq!(starts(&(0..16), &[], 5).unwrap(), Vec::<u64>::new());
        assert_eq!(starts(&(0..16), &[8, 9], 0), None);
    }

    proptest! {
        #[test]
        fn lists_fit_between_their_starts(
            lengths in proptest::collection::vec(1u64..50, 1..20), gaps in 0u64..300, first in 0u64..9, coming in 0u64..9,
        ) {
            let slots = first..first + lengths.iter().sum::<u64>() + gaps;
            let mut starts = starts(&slots, &lengths, coming).unwrap();
            prop_assert_eq!(starts[0], first);
            starts.push(slots.end);
            for (at, length) in lengths.iter().enumerate() {
                prop_assert!(starts[at] + length <= starts[at + 1]);
            }
        }
    }
}
