//! Reload: columns by COPY, for static arrays that are made anew; what an answer of a kernel on them has in common with ours.

use crate::goals::baseline::RELOAD;
use crate::plan::{expect, wrong};
use crate::results::Median;
use crate::workload::replica::OURS;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_measure::kernel::{Answer, Kernel};
use evergraph_replica::source::batch::RowBatch;
use evergraph_replica::source::contract::{CopyRequest, Source as _};
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::source::table_cuts::PageRange;
use evergraph_replica::wire::copy_text::read_row;
use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Instant;

/// Scores of two runs may differ by this part of the larger one: sums in another order. On a large network a score is 1e-6 itself.
const TOLERANCE: f64 = 1e-9;
/// Runs whose median is one figure.
const RUNS: usize = 3;

/// Reads columns of whole numbers, row by row.
///
/// # Errors
/// The server's; `corrupt` for a cell that is no number.
pub fn copy_numbers<const N: usize>(
    settings: &ConnectionSettings,
    table: &str,
    columns: [&str; N],
    mut each: impl FnMut([i64; N]),
) -> Result<()> {
    copy_batches(settings, table, &columns, |batch| {
        for row in batch.iter() {
            let text = std::str::from_utf8(row).unwrap_or_default().trim_end();
            let mut cells = text.split('\t').map(str::parse::<i64>);
            let mut numbers = [0; N];
            for number in &mut numbers {
                let cell = cells.next().and_then(std::result::Result::ok);
                *number = cell.ok_or_else(|| wrong(RELOAD, "a row of COPY", text, "whole numbers"))?;
            }
            each(numbers);
        }
        Ok(())
    })
}

/// Reads columns as texts, row by row; `None` is null.
///
/// # Errors
/// The server's, and those of `each`; `corrupt` for a row with other cells.
pub fn copy_texts<const N: usize>(
    settings: &ConnectionSettings,
    table: &str,
    columns: [&str; N],
    mut each: impl FnMut([Option<&str>; N]) -> Result<()>,
) -> Result<()> {
    copy_batches(settings, table, &columns, |batch| {
        let mut cells = Vec::new();
        for row in batch.iter() {
            read_row(row, &mut cells)
                .map_err(|error| wrong(RELOAD, "a row of COPY", error, "a row in its text format"))?;
            let texts = texts_of(&cells).ok_or_else(|| {
                let expected = format!("{N} texts");
                wrong(RELOAD, "a row of COPY", String::from_utf8_lossy(row), expected)
            })?;
            each(texts)?;
        }
        Ok(())
    })
}

/// The cells of a row as texts; `None` for another number of cells, and for bytes that are no text.
fn texts_of<'c, const N: usize>(cells: &'c [Option<Cow<'_, [u8]>>]) -> Option<[Option<&'c str>; N]> {
    if cells.len() != N {
        return None;
    }
    let mut texts = [None; N];
    for (text, cell) in texts.iter_mut().zip(cells) {
        *text = cell.as_deref().map(std::str::from_utf8).transpose().ok()?;
    }
    Some(texts)
}

/// Copies columns of a table on a connection of its own, many rows at once.
///
/// # Errors
/// The server's, and those of `each`.
pub fn copy_batches(
    settings: &ConnectionSettings,
    table: &str,
    columns: &[&str],
    mut each: impl FnMut(&RowBatch) -> Result<()>,
) -> Result<()> {
    let request = CopyRequest {
        schema: "public".to_owned(),
        table: table.to_owned(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        pages: PageRange::ALL,
        snapshot: None,
    };
    let mut source = PostgresSource::new(settings.clone(), CancelFlag::default());
    let mut stream = source.copy(&request, &CancelFlag::default())?;
    let mut batch = RowBatch::default();
    while stream.next_batch(&mut batch)? {
        each(&batch)?;
    }
    Ok(())
}

/// What can be compared without knowing which vertex is which: numbers, or the sizes of components, ascending.
#[must_use]
pub fn comparable(answer: &Answer, vertices: impl Iterator<Item = u32>) -> Vec<f64> {
    let mut numbers: Vec<f64> = match answer {
        Answer::Numbers(numbers) => vertices.map(|vertex| numbers[vertex as usize]).collect(),
        Answer::Labels(labels) => {
            let mut of_vertices: Vec<u32> = vertices.map(|vertex| labels[vertex as usize]).collect();
            of_vertices.sort_unstable();
            of_vertices.chunk_by(|one, other| one == other).map(|component| component.len() as f64).collect()
        }
        Answer::Sum(sum) => vec![*sum as f64],
    };
    numbers.sort_unstable_by(f64::total_cmp);
    numbers
}

/// Fails unless both are the same but for the last digits.
///
/// # Errors
/// `corrupt`.
pub fn expect_same(kernel: Kernel, ours: &[f64], theirs: &[f64]) -> Result<()> {
    expect(OURS, &format!("vertices or components, {}", kernel.title()), ours.len(), theirs.len())?;
    match ours.iter().zip(theirs).find(|(one, other)| !is_close(**one, **other)) {
        Some((one, other)) => Err(wrong(OURS, kernel.title(), one, other)),
        None => Ok(()),
    }
}

/// What is infinite is close to itself alone: a search reaches a vertex or does not.
fn is_close(one: f64, other: f64) -> bool {
    let is_finite = one.is_finite() && other.is_finite();
    one == other || is_finite && (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
}

/// Fails unless `who` has the same answer vertex by vertex as `expected`, whose vertices have the same numbers: numbers but for the
/// last digits, the same components however they are labelled.
///
/// # Errors
/// `corrupt`; it names the first vertex that differs.
pub fn expect_same_vertices(who: &str, kernel: Kernel, found: &Answer, expected: &Answer) -> Result<()> {
    let [found, expected] = [found, expected].map(by_vertex);
    expect(who, &format!("vertices, {}", kernel.title()), found.len(), expected.len())?;
    let apart = found.iter().zip(&expected).position(|(one, other)| !is_close(*one, *other));
    match apart {
        Some(vertex) => {
            let what = format!("{} of vertex {vertex}", kernel.title());
            Err(wrong(who, &what, found[vertex], expected[vertex]))
        }
        None => Ok(()),
    }
}

/// A number for each vertex; of a component, the smallest of its vertices.
fn by_vertex(answer: &Answer) -> Vec<f64> {
    match answer {
        Answer::Numbers(numbers) => numbers.clone(),
        Answer::Labels(labels) => {
            let mut smallest = HashMap::new();
            let canonical = labels.iter().zip(0_u32..);
            canonical.map(|(label, vertex)| f64::from(*smallest.entry(*label).or_insert(vertex))).collect()
        }
        Answer::Sum(sum) => vec![*sum as f64],
    }
}

/// The median time of some runs, seconds.
///
/// # Errors
/// The first of `run`.
pub fn median_time(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let began = Instant::now();
        run()?;
        times.push(began.elapsed().as_secs_f64());
    }
    Ok(Median::of(&times).median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_row_are_texts_or_null() {
        let mut cells = Vec::new();
        read_row(b"7\t\\N\ta\\tb\n", &mut cells).unwrap();
        assert_eq!(texts_of(&cells), Some([Some("7"), None, Some("a\tb")]));
        assert_eq!(texts_of::<2>(&cells), None);
        read_row(b"\xff\n", &mut cells).unwrap();
        assert_eq!(texts_of::<1>(&cells), None);
    }

    #[test]
    fn components_are_compared_by_their_sizes_and_scores_in_order() {
        let labels = Answer::Labels(vec![0, 7, 0, 7, 7]);
        assert_eq!(comparable(&labels, 0..5), [2.0, 3.0]);
        let scores = Answer::Numbers(vec![0.5, f64::INFINITY, 0.25, 9.0]);
        assert_eq!(comparable(&scores, 0..3), [0.25, 0.5, f64::INFINITY]);
        let same = |one: &[f64], other: &[f64]| expect_same(Kernel::Sssp, one, other).is_ok();
        assert!(same(&[0.25, f64::INFINITY], &[0.25 + 1e-12, f64::INFINITY]));
        assert!(!same(&[0.25], &[0.26]) && !same(&[1.0], &[f64::INFINITY]) && !same(&[1.0], &[1.0, 1.0]));
        assert!(same(&[2e-7], &[2e-7 * (1.0 + 1e-12)]) && !same(&[2e-7], &[2.001e-7]), "a small score");
        assert!(!same(&[f64::NAN], &[f64::INFINITY]));
    }

    #[test]
    fn answers_of_the_same_vertices_are_compared_one_by_one() {
        let scores = |scores: &[f64]| Answer::Numbers(scores.to_vec());
        let same = |kernel, one: &Answer, other: &Answer| expect_same_vertices("peer", kernel, one, other);
        assert!(same(Kernel::PageRank, &scores(&[0.5, 0.25]), &scores(&[0.5 + 1e-15, 0.25])).is_ok());
        let error = same(Kernel::PageRank, &scores(&[0.25, 0.5]), &scores(&[0.5, 0.25])).unwrap_err();
        assert!(error.to_string().contains("vertex 0"), "{error}");
        assert!(same(Kernel::PageRank, &scores(&[0.5]), &scores(&[0.5, 0.25])).is_err());
        let labels = |labels: &[u32]| Answer::Labels(labels.to_vec());
        assert!(same(Kernel::Wcc, &labels(&[4, 4, 9, 4]), &labels(&[0, 0, 2, 0])).is_ok());
        assert!(
            same(Kernel::Wcc, &labels(&[4, 4, 9, 4]), &labels(&[0, 2, 0, 0])).is_err(),
            "sizes are the same"
        );
        assert!(same(Kernel::Wcc, &labels(&[4, 4, 9]), &labels(&[0, 0, 0])).is_err());
    }
}
