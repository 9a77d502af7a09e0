//! Body: a stored body of edges or vertices. One that is read can be read through, and written it reads
//! back.

use crate::samples;
use crate::target::{Memory, Target};
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::PackedColumn;
use std::sync::Arc;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 17, per_byte: 256 } };

fn seeds() -> Vec<Vec<u8>> {
    let values = samples::values();
    let columns: Vec<_> = values
        .iter()
        .zip(0..)
        .map(|(value, key)| (KeyId(key), PackedColumn::from_values([Some(value), None, Some(value)])))
        .map(|(key, column)| (key, Arc::new(column.expect("there are values"))))
        .collect();
    let sparse = |rows: &[usize]| {
        let mut degrees = vec![0; 4096];
        rows.iter().for_each(|row| degrees[*row] += 1);
        degrees
    };
    let edges = |degrees: &[u32], discriminators: &[u16], columns| {
        EdgeBody::new(degrees, Box::new([7, 7, 8]), discriminators.into(), columns)
    };
    vec![
        written(&edges(&[2, 1], &[0, 5, 0], Vec::new())),
        written(&edges(&[1, 2], &[], columns[..4].to_vec())),
        written(&edges(&sparse(&[0, 9, 4095]), &[], columns.clone())),
        written(&VertexBody::new(Box::new([u64::MAX; 64]), columns)),
        written(&VertexBody::new(Box::new([5; 64]), Vec::new())),
    ]
}

/// The stable form of a body.
pub(super) fn written<B: StableForm>(body: &B) -> Vec<u8> {
    let mut bytes = Vec::new();
    body.put(&mut bytes);
    bytes
}

fn promise(input: &[u8]) {
    if let Some(body) = read_back::<EdgeBody>(input) {
        let mut seen = 0;
        body.for_each_row(|row, range| {
            assert_eq!(body.range(row), range);
            seen += range.len();
            for at in range {
                body.properties(at).for_each(drop);
                assert!(body.lists().parallel(row, body.neighbors()[at]).contains(&at));
            }
        });
        assert_eq!(seen, body.neighbors().len());
    }
    if let Some(body) = read_back::<VertexBody>(input) {
        (0..4096).for_each(|row| body.properties(row).for_each(drop));
    }
}

fn read_back<B: StableForm>(input: &[u8]) -> Option<B> {
    let read = |bytes| -> Decoded<B> { B::take(&mut Reader::new(bytes)) };
    let body = match read(input) {
        Ok(body) => body,
        Err(error) => {
            assert!(error.offset <= input.len() && !error.expected.is_empty(), "{error}");
            return None;
        }
    };
    body.check().expect("a body that is read is sound");
    let bytes = written(&body);
    let again = read(&bytes).expect("a body that is written can be read");
    assert_eq!(written(&again), bytes);
    Some(body)
}
