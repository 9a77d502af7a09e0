//! Texts of PostgreSQL's values: a value of the type's own, or a cause. Rows of COPY: columns, or an error with its byte.

use crate::target::{Memory, Target};
use evergraph_replica::value::column_type::ColumnType;
use evergraph_replica::wire::copy_text::read_row;

/// The target. The first byte chooses the type, or rows. A list's element takes 24 bytes, and twice that while the list grows.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 14, per_byte: 128 } };

const SCALARS: [ColumnType; 14] = [
    ColumnType::Bool,
    ColumnType::I16,
    ColumnType::I32,
    ColumnType::I64,
    ColumnType::F32,
    ColumnType::F64,
    ColumnType::Numeric,
    ColumnType::Text,
    ColumnType::Bytes,
    ColumnType::Uuid,
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Interval,
];
/// The first byte from which on an array is read.
const ARRAYS: u8 = 100;
/// The one of a row.
const ROW: u8 = 255;

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "t",
        "-32768",
        "7",
        "9223372036854775807",
        "0.1",
        "-Infinity",
        "12.50",
        "é",
        "\\x00ff",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "0044-03-15 BC",
        "2024-02-29 12:00:00.5",
        "0044-03-15 12:00:00.5+00:53:28 BC",
        "P1Y-2M3DT-4H5M-6.5S",
    ];
    let scalars = texts.iter().enumerate().map(|(at, text)| [&[at as u8], text.as_bytes()].concat());
    let arrays: [(u8, &str); 3] =
        [(2, "[0:1]={{1,2},{3,4}}"), (7, r#"{"a,b","say \"hi\"",NULL,plain,"\\"}"#), (6, "{NaN,1.5}")];
    let arrays = arrays.map(|(at, text)| [&[ARRAYS + at], text.as_bytes()].concat());
    scalars.chain(arrays).chain([[&[ROW], &b"1\t\\N\ta\\tb\\\\\n"[..]].concat()]).collect()
}

fn promise(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    if *choice == ROW {
        let mut cells = Vec::new();
        match read_row(text, &mut cells) {
            Ok(()) => assert_eq!(cells.len(), 1 + text.iter().filter(|byte| **byte == b'\t').count()),
            Err(error) => assert!(error.offset <= text.len() && !error.expected.is_empty()),
        }
        return;
    }
    let scalar = SCALARS[usize::from(choice % ARRAYS) % SCALARS.len()].clone();
    let column_type = match *choice >= ARRAYS {
        true => ColumnType::Array { element: Box::new(scalar), delimiter: b',' },
        false => scalar,
    };
    match column_type.read(text) {
        Ok(value) => {
            assert_eq!(value.value_type(), column_type.value_type());
            assert!(value.depth() <= 6);
        }
        Err(error) => assert!(!error.cause.to_string().is_empty()),
    }
}
