//! Graphs of files with elements: what is read, in any order and any pieces, and what is refused.

use super::*;
use crate::import::existing_graph::ExistingGraph;
use crate::import::faults::OnBadRow;
use crate::import::options::{Imported, InputFile};
use crate::import::policy::OnUnknown;
use crate::import::read::read_in_blocks;
use evergraph_formats::element::{Edge, Vertex};
use evergraph_formats::graphml::keys::Scope;
use evergraph_formats::graphml::writer::{GraphmlSchema, GraphmlWriter, PropertyKey};
use evergraph_formats::graphson::line_write::{Layout, VertexWriter};
use evergraph_graph::load::{EdgeTable, Load, VertexTable};
use evergraph_graph::value::{Value, ValueType};
use proptest::prelude::*;
use std::fs;

/// Reads files from a folder of their own; errors are without its name.
fn read(
    files: &[(&str, &str)],
    change: impl Fn(&mut ImportOptions),
    (threads, block_bytes): (usize, usize),
) -> std::result::Result<Imported, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs = Vec::new();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
        inputs.push(InputFile::new(folder.path().join(name)));
    }
    let mut options = ImportOptions { threads, ..ImportOptions::new(inputs) };
    change(&mut options);
    let prefix = format!("{}/", folder.path().display());
    let mut imported = read_in_blocks(&options, ExistingGraph::default(), &|_| (), block_bytes)
        .map_err(|error| error.to_string().replace(&prefix, ""))?;
    imported.notes.iter_mut().for_each(|note| *note = note.replace(&prefix, ""));
    imported.bad_rows.first.iter_mut().for_each(|row| row.file = row.file.replace(&prefix, ""));
    Ok(imported)
}

fn sound(files: &[(&str, &str)]) -> Imported {
    read(files, |_| (), (2, 16)).unwrap()
}

fn error(files: &[(&str, &str)]) -> String {
    read(files, |_| (), (2, 16)).unwrap_err()
}

fn vertex_values(table: &VertexTable, key: &str) -> Vec<Option<Value>> {
    let column = table.column(key).unwrap();
    (0..table.rows as usize).map(|row| column.as_ref()?.get(row)).collect()
}

/// Everything in `load`, as text.
fn shown(load: &Load) -> String {
    let mut text = String::new();
    for table in &load.vertices {
        let values: Vec<_> = table.properties.iter().map(|(key, _)| vertex_values(table, key)).collect();
        text += &format!("{} {:?} {:?} {values:?}\n", table.label, table.unique_key, table.properties);
    }
    for table in &load.edges {
        let values: Vec<_> = table.properties.iter().map(|(key, _)| table.column(key).unwrap()).collect();
        let EdgeTable { edge_type, source_label, target_label, properties, .. } = table;
        let joins = (source_label, target_label, table.ends().unwrap());
        text += &format!("{edge_type} {joins:?} {properties:?} {values:?}\n");
    }
    text
}

const MARKO: &str = r#"{"id":1,"label":"person","outE":{"knows":[{"id":7,"inV":2,"properties":{"weight":0.5}}],"created":[{"id":9,"inV":"x"}]},"properties":{"name":[{"id":0,"value":"marko"}],"place":[{"id":1,"value":"a","properties":{"since":1997}},{"id":2,"value":"b"}]}}"#;
const VADAS: &str = r#"{"id":2,"label":"person","inE":{"knows":[{"id":7,"outV":1}]},"properties":{"name":[{"id":3,"value":"vadas"}]}}"#;
const LOP: &str = r#"{"id":"x","label":"software","inE":{"created":[{"id":9,"outV":1},{"id":10,"outV":3}]},"properties":{"lang":[{"id":4,"value":"java"}]}}"#;
const JOSH: &str =
    r#"{"id":3,"label":"person","outE":{"created":[{"id":10,"inV":"x","properties":{"weight":1}}]}}"#;

fn lines(lines: &[&str]) -> String {
    lines.join("\n") + "\n"
}

#[test]
fn a_graphson_file_is_vertices_by_label_and_edges_by_type_and_ends() {
    let imported = sound(&[("g.json", &lines(&[MARKO, VADAS, LOP, JOSH]))]);
    let load = &imported.load;
    let person = load.vertex_table("person").unwrap();
    assert_eq!((person.rows, person.unique_key.as_deref()), (3, Some("id")));
    let ids = vertex_values(person, "id");
    assert_eq!(ids.iter().map(|id| id.as_ref().unwrap().as_i64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(vertex_values(person, "name")[2], None);
    assert_eq!(vertex_values(person, "place")[0].as_ref().unwrap().to_string(), "[\"a\", \"b\"]");
    let software = load.vertex_table("software").unwrap();
    let keys: Vec<&str> = software.properties.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!((keys, vertex_values(software, "id")), (vec!["id", "lang"], vec![Some(Value::from("x"))]));
    let joins: Vec<_> = load
        .edges
        .iter()
        .map(|table| {
            (table.edge_type.as_str(), table.source_label, table.target_label, table.ends().unwrap())
        })
        .collect();
    assert_eq!(joins, [("knows", 0, 0, vec![(0, 1)]), ("created", 0, 1, vec![(0, 0), (2, 0)])]);
    assert_eq!(imported.notes, ["g.json: 1 property of a property was left out"]);
}

#[test]
fn the_graph_is_the_same_with_any_number_of_threads_and_size_of_blocks_wrapped_or_not() {
    let text = lines(&[MARKO, VADAS, LOP, JOSH]);
    let wrapped = format!("{{\"vertices\":[{}]}}", [MARKO, VADAS, LOP, JOSH].join(","));
    let whole = read(&[("g.json", &text)], |_| (), (1, 1 << 20)).unwrap();
    for (text, threads, block_bytes) in
        [(&text, 1, 1), (&text, 3, 300), (&wrapped, 2, 1), (&wrapped, 1, 1 << 20)]
    {
        let again = read(&[("g.json", text)], |_| (), (threads, block_bytes)).unwrap();
        assert_eq!(shown(&again.load), shown(&whole.load));
        assert_eq!(again.notes, whole.notes);
    }
}

#[test]
fn files_of_one_graph_belong_together_and_a_lost_line_is_noticed() {
    let imported = sound(&[("a.json", &lines(&[MARKO, LOP])), ("b.json", &lines(&[VADAS, JOSH]))]);
    assert_eq!((imported.load.vertices_count(), imported.load.edges_count()), (4, 3));
    assert_eq!(
        error(&[("g.json", &lines(&[MARKO, VADAS, LOP]))]),
        "g.json: outE and inE list different edges (2 and 3): the file is incomplete"
    );
    assert!(
        error(&[("a.json", &lines(&[MARKO, LOP])), ("b.json", &lines(&[VADAS]))])
            .starts_with("a.json and the other GraphSON files: outE and inE list different edges")
    );
}

#[test]
fn a_key_of_two_types_is_any_across_the_tables_of_an_edge_type_too_and_told() {
    let text = lines(&[
        r#"{"id":1,"label":"a","outE":{"e":[{"id":1,"inV":1,"properties":{"w":1}},{"id":2,"inV":2,"properties":{"w":"x"}}]},"properties":{"n":[{"id":1,"value":{"@type":"g:Int32","@value":1}}]}}"#,
        r#"{"id":2,"label":"b"}"#,
        r#"{"id":3,"label":"a","properties":{"n":[{"id":1,"value":{"@type":"g:Int64","@value":1}}]}}"#,
    ]);
    let imported = sound(&[("g.json", &text)]);
    let table = imported.load.vertex_table("a").unwrap();
    assert_eq!(table.properties[1], ("n".to_owned(), ValueType::Any));
    assert_eq!(vertex_values(table, "n"), [Some(Value::I32(1)), Some(Value::I64(1))]);
    assert!(imported.load.edges.iter().all(|table| table.properties == [("w".to_owned(), ValueType::Any)]));
    assert_eq!(
        imported.notes,
        [
            "property n of label a has values of several types: its type is any",
            "property w of type e has values of several types: its type is any"
        ]
    );
}

#[test]
fn what_is_wrong_in_a_graphson_file_is_named_by_line() {
    let vertex = r#"{"id":1,"label":"a"}"#;
    for (second, expected) in [
        (
            r#"{"id":2,"x":1}"#,
            "g.json:2: byte 8: `x` is not a key of a vertex: known keys are id, label, outE, inE, properties",
        ),
        (r#"{"id":2,"label"#, "g.json:2: byte 15: "),
        (vertex, "g.json:2: vertex 1 of id space GraphSON is there already, from g.json:1"),
        (r#"{"id":2,"label":["a","b"]}"#, "g.json:2: a, b are several labels; a vertex has one"),
        (
            r#"{"id":2,"outE":{"e":[{"id":1,"inV":7}]}}"#,
            "g.json:2: there is no vertex 7 in id space GraphSON",
        ),
        (r#"{"id":2,"properties":{"":[{"id":1,"value":2}]}}"#, "g.json:2: a property has an empty name"),
    ] {
        let found = error(&[("g.json", &lines(&[vertex, second]))]);
        assert!(found.starts_with(expected), "{found}");
    }
}

/// Exports of labels that share ids have such files, and so do most of NetworkX that were read from others.
#[test]
fn vertices_that_have_a_property_id_keep_the_ids_of_the_file_under_another_key() {
    let text = lines(&[
        r#"{"id":1,"label":"a"}"#,
        r#"{"id":2,"label":"b","outE":{"e":[{"id":1,"inV":1}]},"properties":{"id":[{"id":1,"value":"own"}]}}"#,
    ]);
    let imported = sound(&[("g.json", &text)]);
    for table in &imported.load.vertices {
        assert_eq!(table.unique_key.as_deref(), Some("_id"), "one name for all labels");
    }
    let b = imported.load.vertex_table("b").unwrap();
    assert_eq!(vertex_values(b, "id"), [Some(Value::from("own"))]);
    assert_eq!(vertex_values(b, "_id")[0].as_ref().unwrap().as_i64(), Some(2));
    assert_eq!(
        imported.notes,
        ["vertices of GraphSON files have a property id of their own: the ids of the files are kept as _id \
          (--vertex-id names another key)"]
    );
    let named = |options: &mut ImportOptions| options.ids.vertex_key = Some("id".to_owned());
    assert_eq!(
        read(&[("g.json", &text)], named, (2, 16)).unwrap_err(),
        "g.json:2: the vertex has a property id of its own, but its id is kept under that name: choose \
         another name for ids (--vertex-id)"
    );
    let taken = text.replace("\"id\":[{", "\"_id\":[{\"id\":1,\"value\":1}],\"id\":[{");
    assert_eq!(sound(&[("g.json", &taken)]).load.vertices[0].unique_key.as_deref(), Some("__id"));
}

#[test]
fn numbers_without_a_type_are_doubles_if_one_of_them_has_a_fraction() {
    let gml = "graph [ node [ id 1 w 1 big 9007199254740993 ] node [ id 2 w 0.5 big 0.5 ] node [ id 3 w 2 x 1 ] node [ id 4 x \"a\" ]\n\
               edge [ source 1 target 2 w 1 ] edge [ source 1 target 2 w 0.25 ] edge [ source 2 target 1 n 7 ] ]";
    for block_bytes in [1, 1 << 20] {
        let imported = read(&[("g.gml", gml)], |_| (), (2, block_bytes)).unwrap();
        let table = &imported.load.vertices[0];
        assert_eq!(
            vertex_values(table, "w"),
            [Some(Value::F64(1.0)), Some(Value::F64(0.5)), Some(Value::F64(2.0)), None]
        );
        assert_eq!(table.properties[1], ("w".to_owned(), ValueType::F64));
        assert_eq!(vertex_values(table, "big")[0], Some(Value::I64(9_007_199_254_740_993)), "no double");
        assert!(table.properties.contains(&("x".to_owned(), ValueType::Any)));
        let edges = &imported.load.edges[0];
        assert_eq!(edges.properties, [("w".to_owned(), ValueType::F64), ("n".to_owned(), ValueType::I64)]);
        assert_eq!(imported.notes.len(), 3, "{:?}", imported.notes);
    }
}

#[test]
fn unknown_ends_in_files_of_edges_alone_become_vertices_of_the_label_for_those_without() {
    let create = |options: &mut ImportOptions| options.ids.on_unknown = OnUnknown::Create;
    let links = r#"{"links": [{"source": 1, "target": 2}]}"#;
    let load = read(&[("g.json", links)], create, (2, 16)).unwrap().load;
    let table = &load.vertices[0];
    assert_eq!((table.label.as_str(), table.rows, table.unique_key.as_deref()), ("Vertex", 2, Some("id")));
    assert_eq!(load.edges_count(), 1);
}

#[test]
fn a_file_of_each_format_is_known_by_its_name_or_its_content() {
    let gexf = "<gexf><graph><nodes><node id=\"a\"/><node id=\"b\"/></nodes><edges><edge source=\"a\" target=\"b\"/></edges></graph></gexf>";
    let gml = "Creator \"x\"\ngraph [\n node [ id 1 ]\n node [ id 2 ] edge [ source 1 target 2 ] ]";
    let pajek = "% c\n*Vertices 2\n*Arcs\n1 2\n";
    let links =
        r#"{"directed": true, "nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}"#;
    let cytoscape =
        r#"[{"data": {"id": "a"}}, {"data": {"id": "b"}}, {"data": {"source": "a", "target": "b"}}]"#;
    let graphml =
        "<graphml><graph><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"/></graph></graphml>";
    for (name, text) in [
        ("g.gexf", gexf),
        ("g.xml", gexf),
        ("g.gml", gml),
        ("g.gml", graphml),
        ("g.net", pajek),
        ("g.paj", pajek),
        ("g.json", links),
        ("g.cyjs", cytoscape),
        ("g.json", cytoscape),
    ] {
        let load = sound(&[(name, text)]).load;
        assert_eq!((load.vertices_count(), load.edges_count()), (2, 1), "{name}: {text}");
        assert_eq!((load.vertices[0].label.as_str(), load.edges[0].edge_type.as_str()), ("Vertex", "EDGE"));
    }
}

#[test]
fn skipped_lines_are_counted_and_options_say_where_ids_go_and_what_unknown_ends_become() {
    let text = lines(&[
        r#"{"id":1,"outE":{"e":[{"id":5,"inV":2}]},"properties":{"id":[{"id":1,"value":"own"}]}}"#,
        "nonsense",
        r#"{"id":3,"inE":{"e":[{"id":6,"outV":2}]}}"#,
    ]);
    let skip = |options: &mut ImportOptions| {
        options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None };
        options.ids.on_unknown = OnUnknown::Create;
        options.ids.vertex_key = Some("key".to_owned());
        options.ids.edge_key = Some("key".to_owned());
    };
    let imported = read(&[("g.graphson", &text)], skip, (2, 16)).unwrap();
    assert_eq!((imported.bad_rows.count, imported.bad_rows.first[0].line), (1, 2));
    assert_eq!(imported.settled.created, [("Vertex".to_owned(), 1)]);
    let table = &imported.load.vertices[0];
    assert_eq!(vertex_values(table, "id"), [Some(Value::from("own")), None, None]);
    assert_eq!(vertex_values(table, "key").len(), 3);
    let ids = imported.load.edges[0].column("key").unwrap().unwrap();
    assert_eq!((ids.len(), ids.get(0).unwrap().as_i64()), (1, Some(5)));
}

const GRAPHML: &str = r#"<graphml><key id="labelV" for="node"/><key id="age" for="node" attr.name="age" attr.type="int"/>
        <key id="w" for="edge" attr.name="w" attr.type="double"/>
        <graph edgedefault="undirected"><data key="labelV">x</data>
        <edge source="a" target="b"><data key="w">0.5</data></edge>
        <node id="a"><data key="labelV">person</data><data key="age">29</data></node>
        <node id="b"/>
        <edge id="e" source="b" target="a" directed="true"/></graph></graphml>"#;

#[test]
fn a_graphml_file_may_have_edges_before_its_vertices_and_tells_what_it_loses() {
    let imported = sound(&[("g.xml", GRAPHML)]);
    let labels: Vec<_> =
        imported.load.vertices.iter().map(|table| (table.label.as_str(), table.rows)).collect();
    assert_eq!(labels, [("person", 1), ("Vertex", 1)]);
    assert_eq!(vertex_values(&imported.load.vertices[0], "age"), [Some(Value::I32(29))]);
    assert_eq!(vertex_values(&imported.load.vertices[1], "id"), [Some(Value::from("b"))]);
    let edges: Vec<_> = imported
        .load
        .edges
        .iter()
        .map(|table| (table.edge_type.as_str(), table.source_label, table.target_label, table.rows))
        .collect();
    assert_eq!(edges, [("EDGE", 0, 1, 1), ("EDGE", 1, 0, 1)]);
    assert_eq!(
        imported.notes,
        [
            "g.xml: 1 edge has no direction there: stored once, from source to target",
            "g.xml: 1 data tag was left out: drawings, or of the graph itself"
        ]
    );
}

#[test]
fn edges_that_wait_in_a_file_keep_their_lines_and_numbers_without_a_type() {
    let none = |options: &mut ImportOptions| options.memory = Some(0);
    let unknown = GRAPHML.replace("target=\"b\"", "target=\"c\"");
    assert_eq!(
        read(&[("g.graphml", &unknown)], none, (2, 16)).unwrap_err(),
        "g.graphml:4: there is no vertex \"c\" in id space GraphML"
    );
    let gml = "graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 w 1 ] edge [ source 2 target 1 w 0.5 ] ]";
    let imported = read(&[("g.gml", gml)], none, (2, 1)).unwrap();
    assert!(imported.spilled_bytes > 0);
    assert_eq!(shown(&imported.load), shown(&read(&[("g.gml", gml)], |_| (), (2, 1)).unwrap().load));
}

#[test]
fn what_is_wrong_in_a_graphml_file_is_named_by_line() {
    let cut_off = &GRAPHML[..GRAPHML.len() - 30];
    assert!(
        error(&[("g.graphml", cut_off)]).starts_with("g.graphml: line 7, column "),
        "{}",
        error(&[("g.graphml", cut_off)])
    );
    let wrong_type = GRAPHML.replace("29", "old");
    let found = error(&[("g.graphml", &wrong_type)]);
    assert!(
        found.starts_with("g.graphml: line 5, column 54: data of key `age`: \"old\" is not a valid int"),
        "{found}"
    );
    let unknown = GRAPHML.replace("target=\"b\"", "target=\"c\"");
    assert_eq!(
        error(&[("g.graphml", &unknown)]),
        "g.graphml:4: there is no vertex \"c\" in id space GraphML"
    );
}

/// A vertex: its label and two properties that it may have.
type RandomVertex = (usize, Option<i64>, Option<String>);
/// An edge: its ends, type and weight.
type RandomEdge = (prop::sample::Index, prop::sample::Index, usize, Option<f64>);

const LABELS: [&str; 3] = ["a", "b", "c"];

fn a_vertex() -> impl Strategy<Value = RandomVertex> {
    (0..3usize, prop::option::of(any::<i64>()), prop::option::of("[a-z<&\"\n é]{0,6}"))
}

fn an_edge() -> impl Strategy<Value = RandomEdge> {
    let weight = any::<f64>().prop_filter("equal to itself", |weight| !weight.is_nan());
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3usize, prop::option::of(weight))
}

fn elements(vertices: &[RandomVertex], edges: &[RandomEdge]) -> (Vec<Vertex>, Vec<Edge>) {
    let vertex = |(at, (label, number, text)): (usize, &RandomVertex)| {
        let number = number.map(|number| ("n".to_owned(), vec![Value::I64(number).into()]));
        let text = text.as_ref().map(|text| ("t".to_owned(), vec![Value::from(text.as_str()).into()]));
        Vertex {
            id: Value::I64(at as i64 * 7),
            labels: vec![LABELS[*label].to_owned()],
            properties: number.into_iter().chain(text).collect(),
        }
    };
    let edge = |(at, (source, target, edge_type, weight)): (usize, &RandomEdge)| Edge {
        id: Some(Value::I64(at as i64)),
        edge_type: LABELS[*edge_type].to_owned(),
        source: Value::I64(source.index(vertices.len()) as i64 * 7),
        target: Value::I64(target.index(vertices.len()) as i64 * 7),
        properties: weight.iter().map(|weight| ("w".to_owned(), Value::F64(*weight))).collect(),
    };
    (vertices.iter().enumerate().map(vertex).collect(), edges.iter().enumerate().map(edge).collect())
}

fn graphson(vertices: &[Vertex], edges: &[Edge]) -> String {
    let mut writer = VertexWriter::new(Vec::new(), Layout::Lines);
    for vertex in vertices {
        let out = edges.iter().filter(|edge| edge.source == vertex.id);
        let into = edges.iter().filter(|edge| edge.target == vertex.id);
        writer.write_vertex(vertex, out, into).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn graphml(vertices: &[Vertex], edges: &[Edge]) -> String {
    let property = |scope, name: &str, value_type| PropertyKey { scope, name: name.to_owned(), value_type };
    let schema = GraphmlSchema {
        properties: vec![
            property(Scope::Vertex, "n", ValueType::I64),
            property(Scope::Vertex, "t", ValueType::String),
            property(Scope::Edge, "w", ValueType::F64),
        ],
        vertex_ids: ValueType::I64,
        edge_ids: ValueType::I64,
    };
    let mut writer = GraphmlWriter::new(Vec::new(), schema).unwrap();
    // Edges may come first.
    edges.iter().for_each(|edge| writer.write_edge(edge).unwrap());
    vertices.iter().for_each(|vertex| writer.write_vertex(vertex).unwrap());
    String::from_utf8(writer.finish().unwrap().0).unwrap()
}

/// Every vertex and edge of `load` as text, sorted.
fn contents(load: &Load) -> Vec<String> {
    let ids: Vec<_> = load.vertices.iter().map(|table| vertex_values(table, "id")).collect();
    let mut contents = Vec::new();
    for table in &load.vertices {
        let [id, n, t] = ["id", "n", "t"].map(|key| vertex_values(table, key));
        contents.extend(
            (0..id.len()).map(|row| format!("{} {:?} {:?} {:?}", table.label, id[row], n[row], t[row])),
        );
    }
    for table in &load.edges {
        let (edge_ids, weights) = (table.column("e").unwrap().unwrap(), table.column("w").unwrap());
        for (row, (source, target)) in table.ends().unwrap().into_iter().enumerate() {
            let ends = (&ids[table.source_label][source as usize], &ids[table.target_label][target as usize]);
            let weight = weights.as_ref().and_then(|weights| weights.get(row));
            contents.push(format!("{} {:?} {ends:?} {weight:?}", table.edge_type, edge_ids.get(row)));
        }
    }
    contents.sort();
    contents
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn both_formats_read_back_what_was_written_within_any_memory(
        vertices in prop::collection::vec(a_vertex(), 1..20),
        edges in prop::collection::vec(an_edge(), 0..30),
        threads in 1usize..4,
        block_bytes in 1usize..3000,
        memory in prop_oneof![Just(None), Just(Some(0)), (0u64..20_000).prop_map(Some)],
    ) {
        let (vertices, edges) = elements(&vertices, &edges);
        let mut expected: Vec<String> = Vec::new();
        for vertex in &vertices {
            let value = |key: &str| {
                vertex.properties.iter().find(|(name, _)| name == key).map(|(_, values)| &values[0].value)
            };
            expected.push(format!("{} {:?} {:?} {:?}", vertex.labels[0], Some(&vertex.id), value("n"), value("t")));
        }
        for edge in &edges {
            let ends = (Some(&edge.source), Some(&edge.target));
            let weight = edge.properties.first().map(|(_, weight)| weight);
            expected.push(format!("{} {:?} {ends:?} {weight:?}", edge.edge_type, edge.id));
        }
        expected.sort();
        for (name, text) in [("g.json", graphson(&vertices, &edges)), ("g.graphml", graphml(&vertices, &edges))] {
            let change = |options: &mut ImportOptions| {
                options.ids.edge_key = Some("e".to_owned());
                options.memory = memory;
            };
            let imported = read(&[(name, &text)], change, (threads, block_bytes)).unwrap();
            prop_assert_eq!(contents(&imported.load), expected.clone(), "{}", name);
            prop_assert_eq!(imported.notes.len(), 0);
        }
    }
}
