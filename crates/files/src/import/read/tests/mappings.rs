//! Mapping files: how they are followed, blamed and proposed.

use crate::import::options::InputFile;
use crate::import::read::tests::files::*;
use crate::import::read::*;
use evergraph_graph::value::Value;
use std::fs;

#[test]
fn a_mapping_says_how_files_without_headers_are_read() {
    let files = Files::new(&[
        ("people.csv", "7|Ada|1815|NULL\n8|Mary|NULL|[[1,2],[3]]\n"),
        ("knows.txt", "7;8;3 years\n8;7;1 day\n7;7;\n"),
        ("more.e", "1 2\n2 1\n"),
        ("notes.csv", "a,b\n"),
    ]);
    let imported = mapped(
        &files,
        r#"
        [[file]]
        path = "people.csv"
        label = "Person"
        header = false
        columns = ["pid:long", "name", "born:int", "scores:int[][]"]
        id = "pid"
        delimiter = "|"
        null = "NULL"
        [[file]]
        path = "knows.*"
        type = "KNOWS"
        header = false
        columns = ["a", "b", "since:duration"]
        start = { column = "a", space = "Person" }
        end = { column = 2, space = "Person", type = "long" }
        undirected = true
        [[file]]
        path = "*.e"
        format = "edge-list"
        label = "Page"
        type = "LINK"
        undirected = true
        "#,
    )
    .unwrap();
    let load = imported.load;
    let person = load.vertex_table("Person").unwrap();
    assert_eq!(person.values("pid"), [7, 8].map(|id| Some(Value::I64(id))));
    assert_eq!(person.values("born"), [Some(Value::I32(1815)), None]);
    assert_eq!(person.values("scores")[1].as_ref().unwrap().to_string(), "[[1, 2], [3]]");
    let knows = load.edges.iter().find(|table| table.edge_type == "KNOWS").unwrap();
    assert_eq!(edges(knows), [(0, 1), (0, 0)]);
    assert_eq!(load.vertex_table("Page").unwrap().rows, 2);
    assert_eq!(imported.settled.repeated_pairs, 2);
    assert_eq!(imported.ignored_files, [files.path("notes.csv")]);
}

#[test]
fn a_mapping_that_does_not_fit_is_blamed_by_its_line() {
    let files = Files::new(&[("people.csv", "id,name\n1,Ada\n")]);
    let prefix = format!("{}/", files.folder.path().display());
    for (rule, expected) in [
        (
            "path = 'people.csv'\nid = 'pid'",
            "m.toml:1: people.csv: id: there is no column \"pid\"; there are id, name",
        ),
        ("path = 'peple.csv'", "m.toml:1: path: no file that is imported is \"peple.csv\""),
        (
            "path = '*.csv'\ncolumns = ['a:ID']",
            "m.toml:1: people.csv: its first line has 2 columns, the header that replaces it has 1",
        ),
        ("path = '*.csv'\nheader = false", "m.toml:1: people.csv: has no header: give `columns`"),
    ] {
        let error =
            mapped(&files, &format!("[[file]]\n{rule}\n")).unwrap_err().to_string().replace(&prefix, "");
        assert!(error.starts_with(expected), "got {error}");
    }
}

#[test]
fn what_a_proposal_leaves_open_is_said_once_and_for_lists_too() {
    let files = Files::new(&[
        ("a.csv", "id,x\n1,2\n"),
        ("b.csv", "id,x\n1,2\n"),
        ("knows.csv", "from;to;since\n1;2;1833\n"),
        ("pairs.e", "1 2 3 4 5\n"),
        ("times.txt", "1 2 1082040961\n2 3 1082040962\n"),
    ]);
    let text = crate::import::plan::propose(&files.options(), &Known::default()).unwrap();
    let problem = "its columns don't tell between which vertices its edges are; known are those of a, b; say which \
                   ones, as in --replace-header ':START_ID(LABEL);:END_ID(LABEL);since:long'";
    assert_eq!(text.matches("its columns don't tell").count(), 1, "{text}");
    assert!(text.contains(&format!("# TO BE COMPLETED: {problem}\n")), "{text}");
    assert!(text.contains("# TO BE COMPLETED: 3 columns behind source and target have no names"), "{text}");
    assert!(text.contains("# its third column is read as the weight, but looks like times"), "{text}");
    let imported = Files::new(&[("times.txt", "1 2 1082040961\n2 3 1082040962\n")]);
    let imported = imported.read(&imported.options()).unwrap();
    assert!(imported.notes[0].contains("times.txt: its third column"), "{:?}", imported.notes);
    assert_eq!(imported.load.edges[0].values("weight")[1], Some(Value::F64(1_082_040_962.0)));
}

/// What recognition finds is what it proposes: both ways give one graph.
#[test]
fn importing_a_folder_is_importing_it_by_the_mapping_that_is_proposed() {
    let files = Files::new(&[
        ("person_0_0.csv", "id|firstName|birthday\n1|Ada|0\n2|Mary|86400000\n"),
        ("person_knows_person_0_0.csv", "Person.id|Person.id|creationDate\n1|2|5\n"),
        ("City.csv", "id:ID(City)|name\n1|London\n"),
        ("Person_livesIn_City.csv", ":START_ID(Person){id-type:long}|:END_ID(City)\n1|1\n"),
        ("companies.csv", "company_id,name,founded\n5,Acme,1999-01-01\n"),
        ("works.csv", "from,to\n"),
        ("g.e", "1 2 0.5\n"),
        ("pairs.csv", "1,2\n"),
        ("headerless.tsv", "7\tx\t1.5\n8\ty\t2\n"),
        ("roads.gr", "p sp 3 1\na 1 2 9\n"),
        ("readme.md", "x"),
    ]);
    fs::remove_file(files.path("works.csv")).unwrap();
    let options = ImportOptions::new([InputFile::new(files.folder.path())]);
    let recognised = files.read(&options).unwrap();
    let text = crate::import::plan::propose(&options, &Known::default()).unwrap();
    assert!(text.ends_with("# Left out, for nothing tells what they hold:\n#   readme.md\n"), "{text}");
    let by_mapping = mapped(&files, &text).unwrap();
    let shown = |imported: &Imported| {
        let vertices = imported.load.vertices.iter().map(|table| {
            let keys: Vec<&str> = table.properties.iter().map(|(key, _)| key.as_str()).collect();
            let values: Vec<_> = keys.iter().map(|key| table.values(key)).collect();
            format!("{} {:?} {:?} {values:?}", table.label, table.unique_key, table.properties)
        });
        let edges = imported.load.edges.iter().map(|table| {
            let ends = (table.source_label, table.target_label, edges(table));
            format!("{} {ends:?} {:?}", table.edge_type, table.properties)
        });
        vertices.chain(edges).collect::<Vec<String>>()
    };
    assert_eq!(shown(&recognised), shown(&by_mapping));
    let types: Vec<&str> = recognised.load.edges.iter().map(|table| table.edge_type.as_str()).collect();
    assert_eq!(types, ["LIVES_IN", "KNOWS", "EDGE"]);
    let labels: Vec<&str> = recognised.load.vertices.iter().map(|table| table.label.as_str()).collect();
    assert_eq!(labels, ["City", "companies", "headerless", "Person", "Vertex"]);
    assert_eq!(recognised.load.edges[2].rows, 3);
    assert_eq!(recognised.guessed_files, [files.path("companies.csv"), files.path("headerless.tsv")]);
}
