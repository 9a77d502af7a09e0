//! Column page: any bytes are refused or a column; in a sound one every record says the same alone as in the
//! whole column.

use crate::pages::{FIRST_TS, input_of, page_of, sound};
use crate::samples;
use crate::target::{Memory, Target};
use evergraph_disk_engine::format::columns::builder::{ColumnBase, ColumnPageBuilder};
use evergraph_disk_engine::format::columns::page::{ColumnContent, ColumnPage};
use evergraph_disk_engine::format::file_name::{PAGE_BYTES, PageNumber};
use evergraph_disk_engine::format::long_values::LongReference;
use evergraph_disk_engine::format::page::{PageBytes, Pushed};
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_graph::id::{KeyId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 16 << 20, per_byte: 1024 } };

fn seeds() -> Vec<Vec<u8>> {
    let values = samples::values();
    let mut mixed = ColumnPageBuilder::new(Subject::VERTICES, KeyId(3), ColumnBase::Vertices, Some(FIRST_TS));
    for (value, at) in values.iter().zip(0..) {
        push(&mut mixed, at * 3, Some(value), FIRST_TS.0 + 100);
        push(&mut mixed, at * 3, None, FIRST_TS.0 + at);
    }
    let reference = LongReference { page: PageNumber(4), offset: 77, length: 5000 };
    assert_eq!(mixed.push_long(99_999, reference, FIRST_TS), Pushed::Taken);
    let edges = Subject::edges(TypeId(1), EdgeSide::Out);
    let mut ranks = ColumnPageBuilder::new(edges, KeyId(0), ColumnBase::Ranks, None);
    (0..300).for_each(|at| push(&mut ranks, 70_000 + at, Some(&Value::from(at as i64 * 5)), 0));
    let mut removals = ColumnPageBuilder::new(edges, KeyId(9), ColumnBase::Ranks, None);
    (0..9).for_each(|at| push(&mut removals, at * 1000, None, 0));
    [mixed, ranks, removals].map(|mut builder| input_of(&finished(&mut builder))).to_vec()
}

fn push(builder: &mut ColumnPageBuilder, position: u64, value: Option<&Value>, stamp: u64) {
    assert_eq!(builder.push(position, value, Timestamp(stamp)), Pushed::Taken);
}

fn finished(builder: &mut ColumnPageBuilder) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_BYTES]);
    let _ = builder.finish(&mut page);
    page
}

fn promise(input: &[u8]) {
    let page = page_of(input);
    let Some(column) = sound(ColumnPage::open(&page)) else { return };
    let records = usize::from(column.head().values);
    for at in [0, 1, records / 2, records.saturating_sub(1), records] {
        sound(column.content(at));
    }
    let (mut positions, mut stamps) = (Vec::new(), Vec::new());
    sound(column.positions_into(&mut positions));
    sound(column.stamps_into(FIRST_TS, 0..records, &mut stamps));
    let whole = sound(column.column());
    if sound(column.check(FIRST_TS)).is_none() {
        return;
    }
    let whole = whole.expect("a page that is sound can be read");
    assert_eq!(positions.len(), records, "a page that is sound has a position a record");
    for (at, position) in positions.iter().enumerate().take(300) {
        let value = whole.as_ref().and_then(|column| column.get(at));
        match column.content(at).expect("the page is sound") {
            ColumnContent::Value(alone) => assert_eq!(Some(alone), value),
            ColumnContent::Long(_) | ColumnContent::Removed => assert_eq!(value, None),
        }
        assert!(column.find(*position).contains(&at), "record {at} is found by its position");
    }
}
