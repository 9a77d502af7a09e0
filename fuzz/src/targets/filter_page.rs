//! Filter page: any bytes are refused, or say of any key whether it may be there.

use crate::pages::{input_of, page_of, sound};
use crate::target::{Memory, Target};
use evergraph_disk_engine::format::file_name::PAGE_BYTES;
use evergraph_disk_engine::format::filter::{FilterColumns, FilterPage, FilterPageBuilder, KeyHash};
use evergraph_disk_engine::format::page::Pushed;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_graph::id::{TypeId, VertexId};

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 17, per_byte: 0 } };

const EDGES: Subject = Subject::edges(TypeId(2), EdgeSide::Out);

fn seeds() -> Vec<Vec<u8>> {
    [0, 4, 5].into_iter().map(FilterColumns::of_level).map(seed).collect()
}

fn seed(columns: FilterColumns) -> Vec<u8> {
    let mut builder = FilterPageBuilder::new(EDGES, columns);
    let mut page = Box::new([0; PAGE_BYTES]);
    let full =
        (0..200).map(|at| builder.push_edge(VertexId(at / 7), VertexId(at))).all(|it| it == Pushed::Taken);
    assert!(full, "a page takes more");
    let _ = builder.finish(&mut page);
    let filter = FilterPage::open(&page).expect("a page that is written can be read");
    assert!(filter.may_contain(KeyHash::of_edge(EDGES, VertexId(3), VertexId(21))));
    input_of(&page)
}

fn promise(input: &[u8]) {
    let page = page_of(input);
    let Some(filter) = sound(FilterPage::open(&page)) else { return };
    for at in 0..64 {
        let _ = filter.may_contain(KeyHash::of_edge(EDGES, VertexId(at), VertexId(at * 77)));
        let _ = filter.may_contain(KeyHash::of_value(EDGES, &input[..input.len().min(at as usize)]));
    }
}
