//! Tables that a server sends, as Arrow streams: bytes are batches that can be read whole, or an error.

use crate::target::{Memory, Target};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use evergraph_client::arrow_stream::read_table;
use evergraph_graph::error::ErrorKind;
use std::sync::Arc;

/// The target. Pieces of 1,000 bytes come; a table is limited to a megabyte. A field of the schema takes some hundred bytes.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 64 } };

const BYTES_MAX: u64 = 1 << 20;

fn seeds() -> Vec<Vec<u8>> {
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("vertex", Arc::new(UInt64Array::from(vec![0, 1, 2]))),
        ("rank", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::NAN)]))),
        ("name", Arc::new(StringArray::from(vec![Some("ann"), None, Some("")]))),
        ("count", Arc::new(Int64Array::from(vec![-1, 0, 1]))),
        ("path", Arc::new(lists)),
    ];
    let whole = RecordBatch::try_from_iter(columns).expect("columns have the same length");
    let narrow = whole.project(&[0]).expect("there is one");
    [
        vec![whole.clone(), whole.slice(1, 1)],
        vec![narrow.clone(), narrow.slice(0, 0)],
        vec![whole.slice(0, 0)],
    ]
    .into_iter()
    .map(|batches| {
        let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).expect("a vector takes all");
        batches.iter().for_each(|batch| writer.write(batch).expect("a vector takes all"));
        writer.into_inner().expect("a vector takes all")
    })
    .collect()
}

fn promise(mut input: &[u8]) {
    let fill = |into: &mut [u8]| {
        let length = into.len().min(input.len()).min(1000);
        let (now, later) = input.split_at(length);
        into[..length].copy_from_slice(now);
        input = later;
        Ok(length)
    };
    match read_table(fill, BYTES_MAX) {
        Ok((schema, batches)) => {
            for batch in batches {
                assert_eq!(batch.schema().fields(), schema.fields());
                for column in batch.columns() {
                    column.to_data().validate_full().expect("what was read is sound");
                }
            }
        }
        Err(error) => assert!([ErrorKind::Io, ErrorKind::Limit].contains(&error.kind()), "{error}"),
    }
}
