//! Entry body: all entries of an index of the mapped engine. Any bytes are refused or read without a panic; a body that passes its
//! check is a sorted set, is found from any of its entries on, and is the same when it is written again or merged.

use crate::target::{Memory, Target};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_mapped_engine::entries::entry::EntryForm;
use evergraph_mapped_engine::entries::entry_body::{
    EntryBody, EntryCursor, EntryStarts, MergedEntries, length_byte,
};
use std::fmt::Display;

/// The target: the first byte of an input says which index it is, the rest is its body.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 17, per_byte: 64 } };

fn form(number: u8) -> EntryForm {
    let kind = if number & 1 == 0 { IndexKind::Ordered } else { IndexKind::Hash };
    let owner = if number & 2 == 0 { Owner::Label(LabelId(1)) } else { Owner::EdgeType(TypeId(1)) };
    EntryForm::of(IndexId { owner, key: KeyId(1), kind })
}

fn item(number: u8, at: u32) -> ItemId {
    if number & 2 == 0 {
        return ItemId::Vertex(VertexId(at));
    }
    ItemId::Edge(EdgeId {
        source: VertexId(at),
        edge_type: TypeId(1),
        target: VertexId(at / 2),
        discriminator: 0,
    })
}

fn seeds() -> Vec<Vec<u8>> {
    let of = |number: u8, count: u32| {
        let values = |at: u32| match at % 3 {
            0 => Value::I64(i64::from(at) - 9),
            1 => Value::from(format!("customer {}", at / 2)),
            _ => Value::from("a long text ".repeat(1 + at as usize % 7)),
        };
        let entry = |at| form(number).entry(ValueBytes::of(&values(at)).as_slice(), item(number, at));
        let mut entries: Vec<_> = (0..count).map(entry).collect();
        entries.sort();
        [&[number], &written(&entries)[..]].concat()
    };
    (0..4).flat_map(|number| [of(number, 0), of(number, 3), of(number, 16), of(number, 40)]).collect()
}

fn written(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut starts = EntryStarts::new(entries.len() as u64);
    entries.iter().for_each(|entry| starts.push(entry));
    let mut arrays = starts.finish();
    for entry in entries {
        arrays.push(length_byte(entry));
        arrays.extend_from_slice(entry);
    }
    arrays
}

/// The entries between two bounds, from the front or the back; none if one of them cannot be read.
fn read(body: EntryBody<'_>, low: &[u8], high: Option<&[u8]>, is_backwards: bool) -> Option<Vec<Vec<u8>>> {
    let mut cursor = told(EntryCursor::new(body, low, high))?;
    let mut entries = Vec::new();
    loop {
        let entry = told(if is_backwards { cursor.last() } else { cursor.first() })?;
        let Some(entry) = entry else { return Some(entries) };
        // Entries that overlap would be many more bytes than there are.
        if entries.len() < 64 {
            entries.push(entry.to_vec());
        }
        if is_backwards { cursor.skip_last() } else { cursor.skip_first() }
    }
}

/// What was read, if it was; an error must have a text.
fn told<T, E: Display>(read: Result<T, E>) -> Option<T> {
    read.map_err(|problem| assert!(!problem.to_string().is_empty(), "an error says what is wrong")).ok()
}

fn merged(body: EntryBody<'_>, changes: &[(&[u8], bool)]) -> Vec<Vec<u8>> {
    let merged = MergedEntries::new(body, changes.iter().copied()).expect("a sound body can be merged");
    merged.map(|entry| entry.expect("a sound body can be read").to_vec()).collect()
}

fn promise(input: &[u8]) {
    let Some((number, arrays)) = input.split_first() else { return };
    let Some(body) = told(EntryBody::parse(arrays)) else { return };
    let bound = &arrays[arrays.len() / 2..][..8.min(arrays.len() / 2)];
    told(body.rank(bound));
    read(body, &[], None, false);
    read(body, bound, None, true);
    read(body, &[], Some(bound), false);
    if told(body.check(|entry| form(*number).check(entry).map(|_| ()))).is_none() {
        return;
    }
    let mut entries = Vec::new();
    let mut cursor = EntryCursor::new(body, &[], None).expect("a sound body has a beginning");
    while let Some(entry) = cursor.first().expect("a sound body can be read") {
        entries.push(entry.to_vec());
        cursor.skip_first();
    }
    assert!(entries.len() as u64 == body.count() && entries.is_sorted_by(|a, b| a < b));
    assert_eq!(written(&entries), arrays, "a body has one form");
    for (at, entry) in entries.iter().enumerate().step_by(1 + entries.len() / 40) {
        assert_eq!(body.rank(entry), Ok(at as u64));
        let found = read(body, entry, None, false).expect("a sound body can be read");
        assert_eq!(found.first(), Some(entry));
    }
    assert_eq!(merged(body, &[]), entries);
    let Some(last) = entries.pop() else { return };
    assert_eq!(merged(body, &[(&last, false)]), entries);
}
