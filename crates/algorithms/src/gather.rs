//! Gather: sums over the values of a vertex's neighbours, the inner loop of kernels that pull.
//!
//! A sum is made by one thread in the order of the list, so that it is the same for any number of
//! threads.

/// Below this many neighbours one sum is faster than several: the loop over what is left of a list
/// after whole groups is one more branch to guess wrong, and most lists are short.
const SHORT_LIST: usize = 32;

/// Sums of a long list that run side by side, so that an addition needn't wait for the one before
/// it. Two measured 10 % faster than four, and keeping short lists apart 1 to 11 % faster than not.
const LANES: usize = 2;

/// The sum of the `values` of `neighbors`. Its bounds checks are compares that never miss; a form
/// without them (`get`, or one check a group) was no faster.
#[inline]
pub(crate) fn sum_of(values: &[f64], neighbors: &[u32]) -> f64 {
    if neighbors.len() < SHORT_LIST {
        return neighbors.iter().map(|neighbor| values[*neighbor as usize]).sum();
    }
    let (groups, rest) = neighbors.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for group in groups {
        for (lane, neighbor) in lanes.iter_mut().zip(group) {
            *lane += values[*neighbor as usize];
        }
    }
    let rest: f64 = rest.iter().map(|neighbor| values[*neighbor as usize]).sum();
    lanes[0] + lanes[1] + rest
}

/// The sum of the `values` of `neighbors`, each times its weight; there is one for each.
#[inline]
pub(crate) fn weighted_sum_of(values: &[f64], neighbors: &[u32], weights: &[f64]) -> f64 {
    neighbors.iter().zip(weights).map(|(neighbor, weight)| values[*neighbor as usize] * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_have_the_sum_of_their_values() {
        let values: Vec<f64> = (0..200).map(f64::from).collect();
        for length in [0, 1, SHORT_LIST as u32, 101, 200] {
            let list: Vec<u32> = (0..length).rev().collect();
            let want: u32 = list.iter().sum();
            assert_eq!(sum_of(&values, &list), f64::from(want));
            assert_eq!(weighted_sum_of(&values, &list, &vec![0.5; list.len()]), f64::from(want) / 2.0);
        }
    }
}
