//! Memory: an import whose ids, rows and edges don't fit into it gives what one within its memory gives.

use crate::import::faults::OnBadRow;
use crate::import::mapping::document::Mapping;
use crate::import::options::InputFile;
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_same_graph_comes_of_edge_lists_with_any_memory(
        lines in prop::collection::vec((0usize..3, an_id(), an_id()), 0..120),
        signs in 0u8..3,
        undirected in any::<[bool; 3]>(),
        has_header in any::<bool>(),
        memory in prop_oneof![Just(0u64), 0u64..20_000],
    ) {
        let mut texts = ["# first\n", "", "# third\n"].map(str::to_owned);
        for (at, (file, source, target)) in lines.iter().enumerate() {
            // Ids are positive; of either sign; or above 2^63, some of them.
            let show = |id: u64| match signs {
                0 => id.to_string(),
                1 => (id as i64 - 30).to_string(),
                _ => if id.is_multiple_of(3) { (id | 1 << 63).to_string() } else { id.to_string() },
            };
            writeln!(texts[*file], "{} {} {at}", show(*source), show(*target)).unwrap();
        }
        let mut files = vec![("a.e", texts[0].as_str()), ("b.e", &texts[1]), ("c.e", &texts[2])];
        if has_header {
            files.push(("d.gr", "p sp 40 3\na 1 2 5\na 2 1 5\na 40 7 5\n"));
        }
        let files = Files::new(&files);
        let mut mapping = String::new();
        // Two types, of which files without direction may share one with others.
        for (name, edge_type, undirected) in
            [("a.e", "X", undirected[0]), ("b.e", "X", undirected[1]), ("c.e", "Y", undirected[2])]
        {
            writeln!(
                mapping,
                "[[file]]\npath = \"{name}\"\nformat = \"edge-list\"\ntype = \"{edge_type}\"\ncolumns = [\"n:int\"]\n\
                 undirected = {undirected}"
            ).unwrap();
        }
        if has_header {
            writeln!(mapping, "[[file]]\npath = \"*.gr\"\nformat = \"dimacs\"\nlabel = \"Place\"\ntype = \"ROAD\"\ncolumns = [\"n:int\"]\nundirected = true").unwrap();
        }
        let read = |memory: u64| {
            let mapping = Mapping::parse("m.toml", &mapping, files.folder.path()).unwrap();
            let folder = InputFile::new(files.folder.path());
            let options = ImportOptions { mapping: Some(mapping), threads: 2, ..ImportOptions::new([folder]) };
            files.read(&options.with(|options| options.memory = Some(memory)))
        };
        match (read(1 << 30), read(memory)) {
            (Ok(whole), Ok(small)) => prop_assert_eq!(shown(&whole), shown(&small)),
            (Err(whole), Err(small)) => prop_assert_eq!(whole.to_string(), small.to_string()),
            (whole, small) => prop_assert!(false, "{:?}\n{:?}", whole.map(|_| ()), small.map(|_| ())),
        }
    }

    #[test]
    fn the_same_pairs_stay_with_any_memory_whichever_labels_they_join(
        ends in prop::collection::vec((0u64..12, 0u64..12, any::<bool>()), 0..80),
        memory in prop_oneof![Just(0u64), 0u64..4_000],
    ) {
        let mut vertices = ["A", "B"].map(|_| "id:ID(S){id-type:long}\n".to_owned());
        (0..12).for_each(|id| writeln!(vertices[id % 2], "{id}").unwrap());
        let header = ":START_ID(S){id-type:long},:END_ID(S){id-type:long},n:int\n";
        let mut edges = [header.to_owned(), header.to_owned()];
        for (row, (source, target, is_directed)) in ends.iter().enumerate() {
            writeln!(edges[usize::from(*is_directed)], "{source},{target},{row}").unwrap();
        }
        let [a, b] = &vertices;
        let files = Files::new(&[("A.csv", a), ("B.csv", b), ("E.csv", &edges[0]), ("F.csv", &edges[1])]);
        let mapping = "[[file]]\npath = \"A.csv\"\n[[file]]\npath = \"B.csv\"\n[[file]]\npath = \"E.csv\"\ntype = \"E\"\nundirected = true\n\
                       [[file]]\npath = \"F.csv\"\ntype = \"E\"\n";
        let read = |memory: u64| {
            let mapping = Mapping::parse("m.toml", mapping, files.folder.path()).unwrap();
            let folder = InputFile::new(files.folder.path());
            let options = ImportOptions { mapping: Some(mapping), threads: 2, ..ImportOptions::new([folder]) };
            files.read(&options.with(|options| options.memory = Some(memory))).unwrap()
        };
        prop_assert_eq!(shown(&read(1 << 30)), shown(&read(memory)));
    }
}

#[test]
fn ids_of_vertex_lists_that_do_not_fit_are_refused_with_file_and_amount() {
    let mut files = Files::new(&[("v.txt", "1\n2\n3\n"), ("e.txt", "1 2\n")]);
    files.inputs[0].role = Some(Role::VertexList);
    files.inputs[1].role = Some(Role::EdgeList);
    let (kind, text) = files.error(&files.options().with(|options| options.memory = Some(0)));
    assert_eq!(kind, ErrorKind::Limit);
    assert!(text.starts_with("v.txt: the ids of 3 vertices take "), "{text}");
    assert!(text.contains("CSV") && text.contains("--memory"), "{text}");
}
