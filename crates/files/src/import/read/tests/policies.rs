//! Ids that come twice or not at all, as the options say.

use crate::import::policy::{OnDuplicate, OnUnknown};
use crate::import::read::tests::files::*;
use crate::import::read::*;
use evergraph_graph::value::Value;

#[test]
fn a_vertex_that_comes_twice_is_the_first_or_the_last_one_if_told() {
    let files = Files::new(&[
        ("A.csv", "id:ID(S),n\n1,a\n2,b\n3,c\n2,d\n"),
        ("B.csv", "id:ID(S),n\n4,e\n1,f\n"),
        ("E.csv", ":START_ID(S),:END_ID(S)\n1,2\n3,4\n2,1\n"),
    ]);
    let read =
        |on_duplicate| files.read(&files.options().with(|options| options.ids.on_duplicate = on_duplicate));
    let ends = |load: &Load| -> Vec<String> {
        let names: Vec<Vec<Option<Value>>> = load.vertices.iter().map(|table| table.values("n")).collect();
        let name = |table: usize, row: u32| names[table][row as usize].as_ref().unwrap().to_string();
        let tables = load.edges.iter();
        let mut ends: Vec<String> = tables
            .flat_map(|table| edges(table).into_iter().map(move |(source, target)| (table, source, target)))
            .map(|(table, source, target)| {
                name(table.source_label, source) + &name(table.target_label, target)
            })
            .collect();
        ends.sort();
        ends
    };
    let error = read(OnDuplicate::Fail).unwrap_err().to_string();
    assert!(error.contains("A.csv:5: column 1 (id:ID(S)): vertex \"2\" of id space S"), "{error}");
    let first = read(OnDuplicate::First).unwrap();
    assert_eq!((first.settled.duplicates, first.load.vertices_count()), (2, 4));
    assert_eq!(ends(&first.load), ["ab", "ba", "ce"]);
    let last = read(OnDuplicate::Last).unwrap();
    assert_eq!((last.settled.duplicates, last.load.vertices_count()), (2, 4));
    assert_eq!(ends(&last.load), ["ce", "df", "fd"]);
    let rows: Vec<u64> = last.load.vertices.iter().map(|table| table.rows).collect();
    assert_eq!(rows, [2, 2], "the last one tells the label as well");
}

#[test]
fn edges_to_vertices_that_are_not_there_are_skipped_or_make_them_if_told() {
    let files = Files::new(&[
        ("Person.csv", "id:ID(Person),n\n1,a\n"),
        ("LIKES.csv", ":START_ID(Person),:END_ID(Post){id-type:long}\n1,7\n2,8\n3,7\n"),
        ("KNOWS.csv", ":START_ID(Person),:END_ID(Person)\n1,4\n4,1\n"),
    ]);
    let read = |on_unknown| files.read(&files.options().with(|options| options.ids.on_unknown = on_unknown));
    assert!(
        read(OnUnknown::Skip)
            .unwrap_err()
            .to_string()
            .contains("no file of vertices has the id space \"Post\"")
    );
    let imported = read(OnUnknown::Create).unwrap();
    assert_eq!(imported.settled.created, [("Person".to_owned(), 3), ("Post".to_owned(), 2)]);
    let load = imported.load;
    let person = load.vertex_table("Person").unwrap();
    assert_eq!(person.values("id"), ["1", "2", "3", "4"].map(|id| Some(Value::from(id))));
    assert_eq!(person.values("n"), [Some(Value::from("a")), None, None, None]);
    let post = load.vertex_table("Post").unwrap();
    assert_eq!(
        (post.unique_key.as_deref(), post.values("id")),
        (Some("id"), vec![Some(Value::I64(7)), Some(Value::I64(8))])
    );
    let likes = load.edges.iter().find(|table| table.edge_type == "LIKES").unwrap();
    assert_eq!(edges(likes), [(0, 0), (1, 1), (2, 0)]);

    let files =
        Files::new(&[("Person.csv", "id:ID,n\n1,a\n2,b\n"), ("KNOWS.csv", ":START_ID,:END_ID\n1,2\n1,9\n")]);
    let options = files.options().with(|options| options.ids.on_unknown = OnUnknown::Skip);
    let imported = files.read(&options).unwrap();
    assert_eq!((imported.settled.unknown, imported.load.edges_count()), (1, 1));
}

#[test]
fn lists_settle_what_is_told_as_csv_files_do() {
    let files = Files::new(&[("g.v", "5 1\n7 2\n5 3\n"), ("g.e", "5 7\n7 6\n")]);
    let options = files.options().with(|options| {
        options.ids.on_duplicate = OnDuplicate::First;
        options.ids.on_unknown = OnUnknown::Create;
    });
    let imported = files.read(&options).unwrap();
    assert_eq!(
        (imported.settled.duplicates, imported.settled.created.as_slice()),
        (1, [("Vertex".to_owned(), 1)].as_slice())
    );
    assert_eq!(ids(&imported.load.vertices[0]), [5, 7, 6]);
    assert_eq!(imported.load.vertices[0].values("value")[2], None);
    assert_eq!(edges(&imported.load.edges[0]), [(0, 1), (1, 2)]);
    let skip = options.clone().with(|options| options.ids.on_unknown = OnUnknown::Skip);
    let imported = files.read(&skip).unwrap();
    assert_eq!((imported.settled.unknown, imported.load.edges_count()), (1, 1));
    let last = options.with(|options| options.ids.on_duplicate = OnDuplicate::Last);
    assert!(files.error(&last).1.starts_with("g.v:3: vertex 5 is there already: that the last one counts"));
}
