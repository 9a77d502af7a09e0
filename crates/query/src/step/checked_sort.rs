//! Checked sort: a stable sort that can be stopped, and that lets others work, however many rows it sorts.

use evergraph_graph::error::Result;
use std::cmp::Ordering;

/// Rows that are sorted, or merged, between two checks. What is done with rows before and after is checked as often.
pub const STRETCH_ROWS: usize = 1024;

/// Sorts `rows`; equal ones stay in order. Calls `check` between stretches of a thousand rows.
///
/// Cost: n log n comparisons, and room for as many rows again.
///
/// # Errors
/// The first error of `check`.
pub fn sort(
    mut rows: Vec<u32>,
    compare: impl Fn(u32, u32) -> Ordering,
    mut check: impl FnMut() -> Result<()>,
) -> Result<Vec<u32>> {
    for run in rows.chunks_mut(STRETCH_ROWS) {
        check()?;
        run.sort_by(|left, right| compare(*left, *right));
    }
    let mut merged = Vec::with_capacity(if rows.len() > STRETCH_ROWS { rows.len() } else { 0 });
    let mut width = STRETCH_ROWS;
    while width < rows.len() {
        for pair in rows.chunks(width.saturating_mul(2)) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut merged, &compare, &mut check)?;
        }
        std::mem::swap(&mut rows, &mut merged);
        merged.clear();
        width = width.saturating_mul(2);
    }
    Ok(rows)
}

/// Appends two sorted runs to `merged`, as one.
fn merge(
    mut left: &[u32],
    mut right: &[u32],
    merged: &mut Vec<u32>,
    compare: &impl Fn(u32, u32) -> Ordering,
    check: &mut impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut until_check = 0;
    while let ([first_left, rest_left @ ..], [first_right, rest_right @ ..]) = (left, right) {
        if until_check == 0 {
            check()?;
            until_check = STRETCH_ROWS;
        }
        until_check -= 1;
        if compare(*first_left, *first_right) == Ordering::Greater {
            merged.push(*first_right);
            right = rest_right;
        } else {
            merged.push(*first_left);
            left = rest_left;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::cancel::CancelFlag;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_in_order_and_equal_ones_as_they_were(
            keys in proptest::collection::vec(0_u8..40, 0..6 * STRETCH_ROWS),
        ) {
            let rows: Vec<u32> = (0..keys.len() as u32).collect();
            let by_key = |left: u32, right: u32| keys[left as usize].cmp(&keys[right as usize]);
            let mut expected = rows.clone();
            expected.sort_by(|left, right| by_key(*left, *right));
            prop_assert_eq!(sort(rows, by_key, || Ok(())).unwrap(), expected);
        }
    }

    #[test]
    fn it_is_stopped_within_a_stretch_wherever_it_is() {
        let rows: Vec<u32> = (0..10 * STRETCH_ROWS as u32).rev().collect();
        let mut checks_count = 0_u32;
        sort(
            rows.clone(),
            |left, right| left.cmp(&right),
            || {
                checks_count += 1;
                Ok(())
            },
        )
        .unwrap();
        // Ten runs, and four rounds of merging, each of which compares the smaller half of a pair.
        assert_eq!(checks_count, 10 + 5 + 2 * 2 + 4 + 2);
        for stopped_at in [0, 5, checks_count - 1] {
            let (mut left, flag) = (stopped_at, CancelFlag::default());
            let stopped = sort(
                rows.clone(),
                |left, right| left.cmp(&right),
                || {
                    if left == 0 {
                        flag.cancel();
                    }
                    left = left.saturating_sub(1);
                    flag.check()
                },
            );
            assert!(stopped.is_err(), "at check {stopped_at} of {checks_count}");
        }
    }
}
