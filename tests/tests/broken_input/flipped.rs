//! Flipped: every format, plain and packed, with random bytes of it changed. Nothing panics; what packers
//! checksum is refused or unharmed.

use crate::samples::{assert_names, counts, gzip, samples, zstd};
use evergraph::import::faults::OnBadRow;
use evergraph::storage::io::random::{Random, SplitMix64};

/// Changed files for each sample and packing.
const ROUNDS: u64 = 70;

/// `bytes` with one to four of them changed.
fn flipped(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.next_u64() % 4 {
        let at = (random.next_u64() % bytes.len() as u64) as usize;
        // Half the time what text is made of: that gets further.
        let marks = b"\"'<>&;,{}[]\n\r\0 -9";
        bytes[at] = match random.next_u64() % 2 {
            0 => bytes[at] ^ (1 << (random.next_u64() % 8)),
            _ => marks[(random.next_u64() % marks.len() as u64) as usize],
        };
    }
    bytes
}

#[test]
fn a_file_with_changed_bytes_is_read_or_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    for sample in samples() {
        for seed in 0..ROUNDS {
            let bytes = flipped(&sample.bytes, seed);
            let read = sample.read(folder.path(), sample.name, &bytes, |options| {
                options.bad_rows.on_bad_row =
                    if seed % 2 == 0 { OnBadRow::Stop } else { OnBadRow::Skip { at_most: None } };
            });
            let place = format!("{}, seed {seed}", sample.name);
            if let Err(error) = read {
                // A file beside it may be the one whose rows don't fit any more.
                let name = sample.beside.as_ref().map_or(sample.name, |_| ".csv");
                assert_names(&error, name, &place);
            }
        }
    }
}

#[test]
fn packed_data_with_changed_bytes_is_refused_or_unharmed() {
    let folder = tempfile::tempdir().unwrap();
    for sample in samples().into_iter().filter(|sample| sample.name != "a.parquet") {
        for (ending, bytes) in [("gz", gzip(&sample.bytes)), ("zst", zstd(&sample.bytes))] {
            let name = format!("{}.{ending}", sample.name);
            for seed in 0..ROUNDS {
                let place = format!("{name}, seed {seed}");
                match sample.read(folder.path(), &name, &flipped(&bytes, seed), |_| ()) {
                    Ok(found) => assert_eq!(counts(&found), sample.counts, "{place}"),
                    Err(error) => assert_names(&error, &name, &place),
                }
            }
        }
    }
}
