//! Cut: every format, plain and packed, cut off anywhere. Rows before the cut are read, or the file is
//! refused; packed data that isn't whole always is.

use crate::samples::{Sample, assert_names, counts, gzip, samples, zstd};
use evergraph::import::faults::OnBadRow;
use evergraph::import::options::ImportOptions;

/// Places at which each file is cut.
const CUTS: usize = 80;

/// About [`CUTS`] lengths below `bytes`, the first and the last ones among them.
fn lengths(bytes: usize) -> impl Iterator<Item = usize> {
    let step = bytes.div_ceil(CUTS);
    (0..bytes).filter(move |length| length % step == 0 || *length < 8 || *length + 8 > bytes)
}

fn skip(options: &mut ImportOptions) {
    options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None };
}

/// Rows whose lines end before `length`.
fn whole_rows(sample: &Sample, length: usize) -> Option<u64> {
    let lines = sample.bytes[..length].iter().filter(|byte| **byte == b'\n').count();
    Some(lines.saturating_sub(sample.header_lines?) as u64)
}

#[test]
fn the_samples_are_sound() {
    let folder = tempfile::tempdir().unwrap();
    for sample in samples() {
        let Sample { name, bytes, .. } = &sample;
        let mut packed = vec![((*name).to_owned(), bytes.clone())];
        if *name != "a.parquet" {
            packed.push((format!("{name}.gz"), gzip(bytes)));
            packed.push((format!("{name}.zst"), zstd(bytes)));
        }
        for (name, bytes) in packed {
            let whole = sample.read(folder.path(), &name, &bytes, |_| ()).unwrap();
            assert_eq!(counts(&whole), sample.counts, "{name}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_gives_its_rows_or_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    for sample in samples() {
        let (vertices, edges) = sample.counts;
        for length in lengths(sample.bytes.len()) {
            let (cut, place) = (&sample.bytes[..length], format!("{}, cut to {length} bytes", sample.name));
            for lenient in [false, true] {
                let change = |options: &mut ImportOptions| {
                    if lenient {
                        skip(options)
                    }
                };
                match sample.read(folder.path(), sample.name, cut, change) {
                    // What is left of a header may be one of another kind: that is a guess, and told as one.
                    Ok(found) if !found.guessed_files.is_empty() => {}
                    Ok(found) => {
                        let found = counts(&found);
                        assert!(found.0 <= vertices && found.1 <= edges, "{place}: {found:?}");
                        let rows = if edges > 0 { found.1 } else { found.0 };
                        if lenient && let Some(whole) = whole_rows(&sample, length) {
                            assert!(rows >= whole, "{place}: {whole} whole rows, {rows} read");
                        }
                    }
                    Err(error) => assert_names(&error, sample.name, &place),
                }
            }
        }
    }
}

#[test]
fn formats_that_say_where_they_end_are_never_taken_for_whole() {
    let folder = tempfile::tempdir().unwrap();
    let ends = [
        "g.gr",
        "g.mtx",
        "g.graphml",
        "g.gexf",
        "g.gml",
        "g.json",
        "one.graphson",
        "three.graphson",
        "wrapped.graphson",
        "a.parquet",
    ];
    for sample in samples().into_iter().filter(|sample| ends.contains(&sample.name)) {
        // The last figure of the last line may be cut without a trace, and the line's end.
        for length in lengths(sample.bytes.len() - 4) {
            let read = sample.read(folder.path(), sample.name, &sample.bytes[..length], skip);
            let is_empty = length == 0 && sample.name.ends_with("son");
            let place = format!("{}, cut to {length} bytes", sample.name);
            match read {
                Err(error) => assert_names(&error, sample.name, &place),
                Ok(found) => {
                    assert!(is_empty || found.bad_rows.count > 0, "{place}: {:?}", counts(&found));
                }
            }
        }
    }
}

#[test]
fn packed_data_cut_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for sample in samples().into_iter().filter(|sample| sample.name != "a.parquet") {
        for (ending, bytes) in [("gz", gzip(&sample.bytes)), ("zst", zstd(&sample.bytes))] {
            let name = format!("{}.{ending}", sample.name);
            for length in lengths(bytes.len()) {
                let place = format!("{name}, cut to {length} bytes");
                let read = sample.read(folder.path(), &name, &bytes[..length], skip);
                assert_names(&read.err().unwrap_or_else(|| panic!("{place}: loads")), &name, &place);
            }
        }
    }
}
