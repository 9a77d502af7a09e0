//! Memory: an import whose ids, rows and edges don't fit into it gives what one within its memory gives.

use crate::import::faults::OnBadRow;
use crate::import::policy::{OnDuplicate, OnUnknown};
use crate::import::read::tests::files::*;
use crate::import::read::*;
use evergraph_graph::error::ErrorKind;
use proptest::prelude::*;
use std::fmt::Write;

/// Everything of an import that a database gets, and what was settled.
fn shown(imported: &Imported) -> String {
    let mut text = format!("{:?} {:?}\n", imported.settled, imported.bad_rows);
    // A label none of whose rows stays has the properties that they had, if they go only when all are read.
    for table in imported.load.vertices.iter().filter(|table| table.rows > 0) {
        let values: Vec<_> = table.properties.iter().map(|(key, _)| table.values(key)).collect();
        writeln!(text, "{} {} {values:?}", table.label, table.rows).unwrap();
    }
    for table in &imported.load.edges {
        let (ends, numbers) = (edges(table), table.values("n"));
        writeln!(
            text,
            "{} {}-{} {ends:?} {numbers:?}",
            table.edge_type, table.source_label, table.target_label
        )
        .unwrap();
    }
    text
}

fn an_id() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..60, 0u64..60, any::<u64>().prop_map(|id| id >> 1)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_same_graph_comes_of_any_memory(
        ids in prop::collection::btree_set(an_id(), 1..60),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ends in prop::collection::vec((an_id(), any::<prop::sample::Index>(), any::<bool>()), 0..80),
        is_text in any::<bool>(),
        on_duplicate in prop_oneof![Just(OnDuplicate::Fail), Just(OnDuplicate::First), Just(OnDuplicate::Last)],
        on_unknown in prop_oneof![Just(OnUnknown::Fail), Just(OnUnknown::Skip), Just(OnUnknown::Create)],
        skips in any::<bool>(),
        memory in prop_oneof![Just(0u64), 0u64..20_000],
    ) {
        let ids: Vec<u64> = ids.into_iter().collect();
        let id_type = if is_text { "string" } else { "long" };
        let mut files = [format!("id:ID(S){{id-type:{id_type}}},n:int\n"), format!("id:ID(S){{id-type:{id_type}}},n:int\n")];
        let again = again.iter().map(|index| *index.get(&ids));
        for (row, id) in ids.iter().copied().chain(again).enumerate() {
            // The labels' vertices share an id space; files come one after the other.
            writeln!(files[usize::from(row * 2 > ids.len())], "{id},{row}").unwrap();
        }
        let mut edges = format!(":START_ID(S){{id-type:{id_type}}},:END_ID(S){{id-type:{id_type}}},n:int\n");
        for (row, (id, index, is_known)) in ends.iter().enumerate() {
            let (known, other) = (*index.get(&ids), if *is_known { *index.get(&ids) } else { *id });
            writeln!(edges, "{known},{other},{row}").unwrap();
        }
        let [a, b] = &files;
        // Missing vertices get the label of the space, which one file has.
        let files = Files::new(&[("S.csv", a), ("T.csv", b), ("E.csv", &edges)]);
        let read = |memory: Option<u64>| {
            files.read(&files.options().with(|options| {
                options.ids.on_duplicate = on_duplicate;
                options.ids.on_unknown = on_unknown;
                options.memory = memory;
                // A vertex that comes twice stops the import when its row is read, or not before all are.
                if skips && on_duplicate != OnDuplicate::Fail {
                    options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None };
                }
            }))
        };
        match (read(Some(1 << 30)), read(Some(memory))) {
            (Ok(whole), Ok(small)) => prop_assert_eq!(shown(&whole), shown(&small)),
            (Err(whole), Err(small)) => {
                prop_assert_eq!((whole.kind(), small.kind()), (ErrorKind::Invalid, ErrorKind::Invalid));
                let is_spilled_duplicate = small.to_string().contains("the vertex has the id of the one from");
                prop_assert!(is_spilled_duplicate || whole.to_string() == small.to_string(), "{}\n{}", whole, small);
            }
            (whole, small) => prop_assert!(false, "{:?}\n{:?}", whole.map(|_| ()), small.map(|_| ())),
        }
    }
}

#[test]
fn a_vertex_that_came_twice_is_named_by_both_places_when_ids_are_spilled() {
    let files = Files::new(&[
        ("A.csv", "id:ID(S)\nx\ny\nz\n"),
        ("B.csv", "id:ID(S)\nv\nz\ny\n"),
        ("E.csv", ":START_ID(S),:END_ID(S)\nx,y\n"),
    ]);
    let options = files.options().with(|options| options.memory = Some(0));
    let (kind, text) = files.error(&options);
    assert_eq!(kind, ErrorKind::Invalid);
    assert_eq!(
        text,
        "B.csv:3: the vertex has the id of the one from A.csv:4, in id space S; --on-duplicate first or last leaves \
         one of them out"
    );
}
