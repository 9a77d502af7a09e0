//! Matrix Market: a matrix read line by line comes back from its own file.

use crate::target::{Memory, Target};
use evergraph_formats::error::LineError;
use evergraph_formats::matrix_market::{
    Banner, Entry, MatrixMarketWriter, Size, is_comment, parse_banner, parse_entry, parse_size,
};
use evergraph_graph::value::Value;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 16, per_byte: 64 } };

fn seeds() -> Vec<Vec<u8>> {
    [
        "%%MatrixMarket matrix coordinate real general\n% comment\n5 4 2\n1 1 0.5\n5 4 -1e-300\n",
        "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n",
        "%%matrixmarket MATRIX coordinate pattern symmetric\n\n3 3 2\n3 1\n2 2",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn promise(input: &[u8]) {
    let Some((banner, size, entries)) = read(input) else { return };
    for entry in &entries {
        let mirrored = banner.mirror(entry);
        assert!(mirrored.is_err() || mirrored.as_ref() != Ok(&Some(entry.clone())), "{mirrored:?}");
    }
    // Real matrices hold what isn't finite in no form that all readers share.
    let is_finite = |entry: &&Entry| !matches!(entry.value, Some(Value::F64(number)) if !number.is_finite());
    let entries: Vec<Entry> = entries.iter().filter(is_finite).cloned().collect();
    let announced = Size { entries: entries.len() as u64, ..size };
    let mut writer = MatrixMarketWriter::new(Vec::new(), banner, announced).expect("memory takes bytes");
    for entry in &entries {
        writer.write_entry(entry).expect("an entry that was read can be written");
    }
    let written = writer.finish().expect("all entries are written");
    assert_eq!(read(&written), Some((banner, announced, entries)));
}

/// The lines up to the first that is refused; `None` if that is the banner or the size.
fn read(text: &[u8]) -> Option<(Banner, Size, Vec<Entry>)> {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next()?;
    let banner = accepted(parse_banner(first), first)?;
    let mut lines = lines.filter(|line| !is_comment(line));
    let second = lines.next()?;
    let size = accepted(parse_size(second, banner), second)?;
    let entries = lines.map_while(|line| accepted(parse_entry(line, banner, size), line)).collect();
    Some((banner, size, entries))
}

fn accepted<T>(parsed: Result<T, LineError>, line: &[u8]) -> Option<T> {
    if let Err(LineError { column, reason }) = &parsed {
        assert!((1..=line.len() as u64 + 1).contains(column) && !reason.is_empty(), "{column}: {reason}");
    }
    parsed.ok()
}
