//! Edge list: a block of lines. Each line is a row, a fault, or says nothing; a row's own line gives the
//! same row.
//!
//! Input: a byte that chooses the separator, how many ids a line has and whether a letter stands before
//! them; the columns' words with commas between, a line break; the block.

use crate::target::{Memory, Target};
use evergraph::import::csv::header::parse_list_columns;
use evergraph::import::faults::{FaultCollector, OnBadRow};
use evergraph::import::field::cell::CellType;
use evergraph::import::list::line::{LineFormat, LineRows, Separator, first_data_line};

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 512 } };

const SEPARATORS: [Separator; 4] =
    [Separator::Blanks, Separator::Byte(b','), Separator::Byte(b'|'), Separator::Byte(b';')];

fn seeds() -> Vec<Vec<u8>> {
    [
        "\x00weight,time:long\n# comment\n7 12 0.5 1254192988\n-1\t18446744073709551615 1 2\r\n\nx 1 2 3\n",
        "\x01\n1,2\n 3 , 4 \n5,6,7\n",
        "\x04name:string,born:date,:IGNORE\n7 Ada 1815-12-10 x\n8 \\N \\N y\n",
        "\x08weight\nc comment\na 1 2 57\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn promise(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else { return };
    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return };
    let Ok(words) = std::str::from_utf8(&rest[..end]) else { return };
    let words = words.split(',').filter(|word| !word.is_empty());
    let columns = match parse_list_columns("columns", words) {
        Ok(columns) => columns,
        Err(error) => return assert!(error.to_string().starts_with("columns: "), "{error}"),
    };
    let format = LineFormat {
        separator: SEPARATORS[usize::from(choice % 4)],
        ids: if choice & 4 == 0 { 2 } else { 1 },
        columns,
        null: Some(b"\\N".to_vec()),
        marker: (choice & 8 != 0).then_some(b'a'),
    };
    check(&format, &rest[end + 1..]);
}

fn check(format: &LineFormat, block: &[u8]) {
    let first = first_data_line(block);
    assert!(first.is_none_or(|line| !line.is_empty()));
    let mut faults = FaultCollector::new(OnBadRow::Skip { at_most: None }, None);
    let rows = format.parse(block.to_vec(), faults.rules());
    let count = rows.sources.len();
    assert_eq!(rows.targets.len(), if format.ids == 2 { count } else { 0 });
    assert_eq!(rows.columns.len(), format.columns.iter().flatten().count());
    assert!(count as u64 + rows.faults.count() <= rows.lines);
    let lines: Vec<u64> = rows.row_lines().collect();
    let mut texts = rows.texts();
    for (row, line) in lines.iter().enumerate() {
        assert_eq!(rows.line_of(row), *line);
        let text = texts.get(*line);
        // The first fraction makes numbers of all rows doubles: those of a row alone may be another's.
        if format.columns.iter().flatten().any(|(_, cell_type)| *cell_type == CellType::Number) {
            continue;
        }
        let alone = format.parse(text.to_vec(), faults.rules());
        assert_eq!((ids(&alone, 0), alone.faults.count()), (ids(&rows, row), 0), "line {line}");
    }
    let LineRows { columns, faults: found, lines: all, .. } = rows;
    for column in columns {
        assert!(column.finish().column.is_none_or(|column| column.len() == count));
    }
    faults.add("f", 1, found).expect("bad rows are left out");
    for bad in faults.finish().first {
        assert!((1..=all).contains(&bad.line) && !bad.fault.reason.is_empty(), "{bad}");
    }
}

fn ids(rows: &LineRows, row: usize) -> (u64, Option<u64>) {
    (rows.sources[row], rows.targets.get(row).copied())
}
