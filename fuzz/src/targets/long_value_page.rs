//! Long values' page: a reference, then a page; any bytes are refused, or a value that reads back.

use crate::pages::{input_of, page_of, sound};
use crate::samples;
use crate::target::{Memory, Target};
use evergraph_disk_engine::format::file_name::{PAGE_BYTES, PageNumber};
use evergraph_disk_engine::format::long_values::{LongReference, LongValueReader, LongValuesBuilder};
use evergraph_disk_engine::format::subject::Subject;
use evergraph_graph::bytes::Reader;
use evergraph_graph::id::KeyId;
use evergraph_graph::value::Value;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 8 << 20, per_byte: 1024 } };

fn seeds() -> Vec<Vec<u8>> {
    samples::values()
        .iter()
        .map(|value| {
            let mut builder = LongValuesBuilder::new(Subject::VERTICES, KeyId(2), PageNumber(0));
            let reference = builder.push(value);
            let mut page = Box::new([0; PAGE_BYTES]);
            let _ = builder.finish(&mut page).expect("a value takes a page");
            let mut seed = reference.offset.to_le_bytes().to_vec();
            seed.extend_from_slice(&(reference.length as u16).to_le_bytes());
            seed.extend(input_of(&page));
            seed
        })
        .collect()
}

fn promise(input: &[u8]) {
    let Some((place, rest)) = input.split_first_chunk::<4>() else { return };
    let [offset, length] = [[place[0], place[1]], [place[2], place[3]]].map(u16::from_le_bytes);
    let reference = LongReference { page: PageNumber(0), offset, length: length.into() };
    let mut reader = LongValueReader::new(reference);
    if sound(reader.add(&page_of(rest))).is_none() {
        return;
    }
    let Some(value) = sound(reader.finish()) else { return };
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    let again = Value::decode(&mut Reader::new(&bytes)).expect("a value that is written can be read");
    let mut again_bytes = Vec::new();
    again.encode(&mut again_bytes);
    assert_eq!(again_bytes, bytes, "the value reads back");
}
