//! CSV: labels, types, ids and headers come together as one graph.

use crate::import::id_type::IdType;
use crate::import::options::HeaderPlace;
use crate::import::read::tests::files::*;
use evergraph_graph::load::EdgeTable;
use evergraph_graph::value::Value;

#[test]
fn csv_files_belong_together_through_their_id_spaces() {
    let load = Files::new(&[("KNOWS.csv", KNOWS), ("Person.csv", PERSONS)]).load();
    let person = load.vertex_table("Person").unwrap();
    assert_eq!((person.rows, person.unique_key.as_deref()), (2, Some("id")));
    assert_eq!(person.values("id"), [Some(Value::from("17")), Some(Value::from("4"))]);
    assert_eq!(person.values("name")[1], Some(Value::from("Charles \"C\", Esq.")));
    assert_eq!(person.values("born"), [Some(Value::I32(1815)), None]);
    assert_eq!(load.edges[0].edge_type, "KNOWS");
    assert_eq!(edges(&load.edges[0]), [(0, 1)]);
    assert_eq!(load.edges[0].values("since"), [Some(Value::I32(1833))]);
}

#[test]
fn ids_are_integers_where_a_header_or_the_options_say_so() {
    let header = "id:ID(Person){id-type:long},name,born:int".to_owned();
    let mut files = Files::new(&[("Person.csv", PERSONS), ("KNOWS.csv", KNOWS)]);
    files.inputs[0].header = HeaderPlace::Replaced(header);
    assert_eq!(ids(&files.load().vertices[0]), [17, 4]);
    files.inputs[0].header = HeaderPlace::FirstLine;
    let load = files.read(&files.options().with(|options| options.ids.id_type = IdType::LONG)).unwrap().load;
    assert_eq!((ids(&load.vertices[0]), edges(&load.edges[0])), (vec![17, 4], vec![(0, 1)]));
}

#[test]
fn label_and_type_columns_name_rows_one_by_one() {
    let load = Files::new(&[
        ("nodes.csv", "key:ID,:LABEL,x:int\na,Cat,1\nb,Dog,2\nc,Cat,3\nd,,4\n"),
        ("edges.csv", ":END_ID,:TYPE,:START_ID\nb,SEES,a\na,SEES,b\nc,BITES,b\nc,SEES,b\nd,,a\n"),
    ])
    .load();
    let labels: Vec<(&str, u64)> =
        load.vertices.iter().map(|table| (table.label.as_str(), table.rows)).collect();
    assert_eq!(labels, [("Cat", 2), ("Dog", 1), ("nodes", 1)]);
    assert_eq!(load.vertices[0].values("x"), [Some(Value::I32(1)), Some(Value::I32(3))]);
    let joins = |table: &EdgeTable| (table.edge_type.clone(), table.source_label, table.target_label);
    let tables: Vec<_> = load.edges.iter().map(joins).collect();
    let expected = [("SEES", 0, 1), ("SEES", 1, 0), ("BITES", 1, 0), ("edges", 0, 2)];
    assert_eq!(tables, expected.map(|(edge_type, source, target)| (edge_type.to_owned(), source, target)));
    let ends: Vec<_> = load.edges.iter().map(edges).collect();
    assert_eq!(ends, [vec![(0, 0)], vec![(0, 0), (0, 1)], vec![(0, 1)], vec![(0, 0)]]);
}

#[test]
fn of_several_labels_the_first_counts_and_a_property_has_all() {
    let files =
        Files::new(&[("n.csv", "id:ID,:LABEL,x:int\na,Cat;Pet,1\nb,Dog,2\nc,Cat,3\nd,Dog; Pet;Old,4\n")]);
    let imported = files.read(&files.options()).unwrap();
    let labels = |label: &str| -> Vec<String> {
        let values = imported.load.vertex_table(label).unwrap().values("labels");
        values.into_iter().map(|value| value.map_or("-".to_owned(), |value| value.to_string())).collect()
    };
    assert_eq!(
        (labels("Cat"), labels("Dog")),
        (
            vec!["[\"Cat\", \"Pet\"]".to_owned(), "-".to_owned()],
            vec!["-".to_owned(), "[\"Dog\", \"Pet\", \"Old\"]".to_owned()]
        )
    );
    assert!(
        imported.notes[0].ends_with(
            "n.csv: 2 vertices have several labels: the first one counts, property labels has all"
        )
    );
}

#[test]
fn several_files_feed_one_label() {
    let mut files = Files::new(&[("a.csv", "id:ID,x:int\n1,5\n"), ("b.csv", "id:ID,y\n2,z\n")]);
    for input in &mut files.inputs {
        input.label = Some("T".to_owned());
    }
    let load = files.load();
    assert_eq!((load.vertices.len(), load.vertices[0].rows), (1, 2));
    assert_eq!(load.vertices[0].values("x"), [Some(Value::I32(5)), None]);
    assert_eq!(load.vertices[0].values("y"), [None, Some(Value::from("z"))]);
}

#[test]
fn a_header_may_come_from_elsewhere_and_quotes_may_be_characters() {
    let mut files = Files::new(&[("Tag.csv", "1|\"a\n2|b\"\n")]);
    files.inputs[0].header = HeaderPlace::Given(":ID|name".to_owned());
    let options = files.options().with(|options| {
        options.csv.delimiter = Some(b'|');
        options.csv.quote = None;
    });
    let load = files.read(&options).unwrap().load;
    assert_eq!(load.vertices[0].values("name"), [Some(Value::from("\"a")), Some(Value::from("b\""))]);
    assert_eq!(load.vertices[0].unique_key, None, "an id without a name is not kept");
    assert_eq!(load.vertices[0].properties.len(), 1);
}

#[test]
fn csv_with_names_only_is_vertices_and_edges_by_what_it_looks_like() {
    let load = Files::new(&[
        ("person.csv", "id;name;born\n1;Ada;1815\n2;Mary;1780\n"),
        ("knows.csv", "from;to;since\n1;2;1833-06-05\n"),
    ])
    .load();
    let person = load.vertex_table("person").unwrap();
    assert_eq!((ids(person), person.values("born")[0].clone()), (vec![1, 2], Some(Value::I64(1815))));
    assert_eq!((load.edges[0].edge_type.as_str(), edges(&load.edges[0])), ("knows", vec![(0, 1)]));
    assert_eq!(load.edges[0].values("since")[0].as_ref().unwrap().to_string(), "1833-06-05");
    assert_eq!(
        invalid(&[("a.csv", "town,street\nA,x\nA,y\n")]),
        "a.csv: no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are \
         there :START_ID and :END_ID of edges: the first line is \"town street\"; if its rows are edges between the \
         first two columns, say --edges TYPE=FILE; a mapping file can say how it is \
         read, `evergraph import --propose` writes one to begin with"
    );
}
