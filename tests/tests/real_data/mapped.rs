//! Mapped: sets as their publishers have them, read in one go: what is recognised, and what a mapping
//! file says. The counts are those that the sets' own pages state.

use crate::import::{assert_is_whole, expected_counts, load, options, rows_of};
use evergraph::Value;
use evergraph::graph::load::{EdgeTable, Load, VertexTable};
use evergraph::import::mapping::document::Mapping;
use evergraph::import::options::{ImportOptions, Imported, InputFile};
use evergraph::import::policy::OnUnknown;
use evergraph::import::read::read;
use evergraph_tests::data::read_text;
use evergraph_tests::data_folder::data_set;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

fn mapped(folder: &Path, mapping: &str) -> Load {
    let mapping = Mapping::parse("mapping", mapping, folder).unwrap();
    load(&ImportOptions { mapping: Some(mapping), ..ImportOptions::new([InputFile::new(folder)]) })
}

fn edges<'a>(load: &'a Load, edge_type: &str) -> &'a EdgeTable {
    let mut found = load.edges.iter().filter(|table| table.edge_type == edge_type);
    let table = found.next().unwrap_or_else(|| panic!("no {edge_type}"));
    assert!(found.next().is_none(), "{edge_type} joins one pair of labels");
    table
}

/// The value of `key` in each row.
fn of_vertices(table: &VertexTable, key: &str) -> Vec<Option<Value>> {
    let column = table.column(key).unwrap();
    (0..table.rows as usize).map(|row| column.as_ref()?.get(row)).collect()
}

fn of_edges(table: &EdgeTable, key: &str) -> Vec<Option<Value>> {
    let column = table.column(key).unwrap();
    (0..table.rows as usize).map(|row| column.as_ref()?.get(row)).collect()
}

fn shown(value: &Option<Value>) -> String {
    value.as_ref().map_or("-".to_owned(), ToString::to_string)
}

/// Two labels have no files of their own: their vertices are those that edges speak of.
#[test]
fn snb_without_messages_creates_them_from_its_edges() {
    let Some(folder) = data_set("snb-sf0.1-topology") else { return };
    let options =
        options(std::slice::from_ref(&folder)).with(|options| options.ids.on_unknown = OnUnknown::Create);
    let Imported { load, bad_rows, settled, .. } = read(&options, &|_| ()).unwrap();
    assert_is_whole(&load);
    assert_eq!((bad_rows.count, settled.repeated_pairs), (0, 0));
    assert_eq!(settled.created, [("Comment".to_owned(), 151_043), ("Post".to_owned(), 135_701)]);
    let expected = expected_counts(&folder, "rows");
    assert_eq!(expected.len(), 28);
    for (file, rows) in expected {
        assert_eq!(rows_of(&load, &file), rows, "{file}");
    }
    assert_eq!((load.vertices_count(), load.edges_count()), (327_588, 1_354_697));
    let comment = load.vertex_table("Comment").unwrap();
    assert!(of_vertices(comment, "id").iter().all(Option::is_some));
}

#[test]
fn lsqb_with_projected_foreign_keys_is_recognised_as_a_folder() {
    let Some(folder) = data_set("lsqb-example") else { return };
    let load = load(&options(std::slice::from_ref(&folder)));
    assert_is_whole(&load);
    let mut files = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(stem) = name.strip_suffix(".csv") else { continue };
        let lines = read_text(&folder.join(&name)).lines().count() as u64;
        assert_eq!(rows_of(&load, stem), lines - 1, "{stem}");
        files += 1;
    }
    assert_eq!(files, 36);
    assert_eq!(edges(&load, "KNOWS").rows, 6);
    let kinds = load.edges.iter().filter(|table| table.edge_type == "IS_LOCATED_IN").count();
    assert_eq!(kinds, 5, "one type between five pairs of labels");
}

#[test]
fn streams_of_edges_keep_their_moments_whatever_their_order() {
    let Some(folder) = data_set("temporal") else { return };
    let load = mapped(
        &folder,
        r#"
        [[file]]
        path = "CollegeMsg.txt.gz"
        format = "edge-list"
        label = "Student"
        type = "WROTE"
        columns = ["at:datetime{epoch:seconds}"]
        [[file]]
        path = "sx-mathoverflow.txt.gz"
        format = "edge-list"
        label = "User"
        type = "ANSWERED"
        columns = ["at:datetime{epoch:s}"]
        [[file]]
        path = "soc-sign-bitcoinotc.csv.gz"
        format = "edge-list"
        label = "Trader"
        type = "RATED"
        columns = ["rating:byte", "at:datetime{epoch:seconds}"]
        "#,
    );
    assert_is_whole(&load);
    for (label, vertices, edge_type, rows, first) in [
        ("Student", 1899, "WROTE", 59_835, "2004-04-15T"),
        ("User", 24_818, "ANSWERED", 506_550, "2009-09-29T02:56:28Z"),
        ("Trader", 5881, "RATED", 35_592, "2010-11-08T18:45:11.72836Z"),
    ] {
        assert_eq!(load.vertex_table(label).unwrap().rows, vertices, "{label}");
        let edges = edges(&load, edge_type);
        assert_eq!(edges.rows, rows, "{edge_type}");
        let moments = of_edges(edges, "at");
        assert!(shown(&moments[0]).starts_with(first), "{edge_type} {}", shown(&moments[0]));
        assert!(moments.iter().all(Option::is_some));
    }
    let answers = of_edges(edges(&load, "ANSWERED"), "at");
    assert!(!answers.is_sorted(), "they stand in the order of the file");
    assert!(
        of_edges(edges(&load, "RATED"), "rating")
            .iter()
            .all(|rating| { rating.as_ref().is_some_and(|rating| matches!(rating, Value::I8(-10..=10))) })
    );
}

#[test]
fn the_roads_of_rome_have_the_vertices_and_arcs_that_their_header_announces() {
    let Some(folder) = data_set("road-rome99") else { return };
    let load = load(&options(&[folder]));
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (3353, 8870));
    let weights = of_edges(&load.edges[0], "weight");
    assert_eq!(weights[0], Some(Value::F64(535.0)));
    let ends = load.edges[0].ends().unwrap();
    let pairs: HashSet<&(u32, u32)> = ends.iter().collect();
    assert!(pairs.len() < ends.len(), "parallel arcs are kept");
}

const TINYSNB: &str = r#"
    [defaults]
    escape = "\\"

    [[file]]
    path = "vPerson.csv"
    label = "Person"
    id = { column = "id", type = "long" }
    types = { "Gender" = "short", "ISStudent" = "bool", "isWorker" = "bool", "age" = "int", "eyeSight" = "double",
        "birthdate" = "date", "registerTime" = "datetime", "lastJobDuration" = "duration",
        "workedHours" = "long[]", "usedNames" = "string[]", "courseScoresPerTerm" = "long[][]",
        "grades" = "long[]", "height" = "float", "u" = "uuid" }

    [[file]]
    path = "vPerson2.csv"
    label = "Person"
    header = false
    columns = ["id:ID(Person){id-type:long}", "fname", "Gender:short", "ISStudent:bool", "isWorker:bool", "age:int",
        "eyeSight:double", "birthdate:date", "registerTime:datetime", "lastJobDuration:duration",
        "workedHours:long[]", "usedNames:string[]", "courseScoresPerTerm:long[][]", "grades:long[]",
        "height:float", "u:uuid"]

    [[file]]
    path = "vOrganisation.csv"
    label = "Organisation"
    header = false
    columns = ["id:ID(Organisation){id-type:long}", "name", "orgCode:long", "mark:double", "score:long", "history",
        "licenseValidInterval:duration", "rating:double", "state:map", "info"]

    [[file]]
    path = "vMovies.csv"
    label = "Movie"
    header = false
    columns = ["name:ID(Movie)", "length:int", "note", "description:map", "content", "audience:map", "grade"]

    [[file]]
    path = "eKnows*.csv"
    type = "KNOWS"
    header = false
    columns = [":START_ID(Person)", ":END_ID(Person)", "date:date", "meetTime:datetime", "validInterval:duration",
        "comments:string[]", "summary:map", "notes", "someMap:map"]

    [[file]]
    path = "eStudyAt.csv"
    type = "STUDY_AT"
    start = { column = "from", space = "Person" }
    end = { column = "to", space = "Organisation" }
    types = { "YEAR" = "long", "Places" = "string[]", "length" = "short", "code" = "bigint", "hugedata" = "bigint" }
    ignore = ["level", "temperature", "ulength", "ulevel"]

    [[file]]
    path = "eWorkAt.csv"
    type = "WORK_AT"
    header = false
    columns = [":START_ID(Person)", ":END_ID(Organisation)", "year:long", "grading:double[]", "rating:float"]

    [[file]]
    path = "eMeets.csv"
    type = "MEETS"
    header = false
    columns = [":START_ID(Person)", ":END_ID(Person)", "location:float[]", "times:int", "data"]

    [[file]]
    path = "eMarries.csv"
    type = "MARRIES"
    header = false
    columns = [":START_ID(Person)", ":END_ID(Person)", "usedAddress:string[]", "address:short[]", "note"]
    undirected = true
"#;

#[test]
fn kuzus_tinysnb_is_read_by_a_mapping_with_all_its_types() {
    let Some(folder) = data_set("kuzu-tinysnb") else { return };
    let load = mapped(&folder, TINYSNB);
    assert_is_whole(&load);
    let counts: Vec<(&str, u64)> =
        load.vertices.iter().map(|table| (table.label.as_str(), table.rows)).collect();
    assert_eq!(counts, [("Movie", 3), ("Organisation", 3), ("Person", 8)]);
    let counts: Vec<(&str, u64)> =
        load.edges.iter().map(|table| (table.edge_type.as_str(), table.rows)).collect();
    assert_eq!(counts, [("KNOWS", 14), ("MARRIES", 3), ("MEETS", 7), ("STUDY_AT", 3), ("WORK_AT", 3)]);

    let person = load.vertex_table("Person").unwrap();
    let row = |key: &str| of_vertices(person, key).iter().map(shown).collect::<Vec<String>>();
    assert_eq!(row("id"), ["0", "2", "3", "5", "7", "8", "9", "10"]);
    assert_eq!(row("birthdate")[3], "1950-07-23");
    assert_eq!(row("registerTime")[..2], ["2011-08-20T11:25:30Z", "2008-11-03T13:25:30.000526-02:00"]);
    assert_eq!(row("registerTime")[6], "1976-12-23T11:21:42+06:40");
    let durations = of_vertices(person, "lastJobDuration");
    let expected =
        |text: &str| Some(Value::parse(text, evergraph::graph::value::ValueType::Duration).unwrap());
    assert_eq!(durations[0], expected("P36M2DT13H2M"));
    assert_eq!(durations[5], expected("PT18M0.024S"));
    assert_eq!(row("courseScoresPerTerm")[0], "[[10, 8], [6, 7, 8]]");
    assert_eq!(row("u")[3], "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a14");

    let organisation = load.vertex_table("Organisation").unwrap();
    let Some(Value::Map(state)) = &of_vertices(organisation, "state")[1] else { panic!("a map") };
    let Some(Value::List(places)) = state.get(&Value::from("location")) else { panic!("a list") };
    assert_eq!(places.as_slice(), [Value::from("vanco,uver north area")]);
    let movie = load.vertex_table("Movie").unwrap();
    let Some(Value::Map(audience)) = &of_vertices(movie, "audience")[0] else { panic!("a map") };
    assert_eq!(audience.get(&Value::from("audience53")), Some(&Value::I64(42)));

    let knows = edges(&load, "KNOWS");
    assert_eq!(shown(&of_edges(knows, "meetTime")[0]), "1986-10-21T21:08:31.521Z");
    assert_eq!(shown(&of_edges(knows, "notes")[0]), "1");
    assert!(of_edges(knows, "someMap")[2].is_none());
    let studies = edges(&load, "STUDY_AT");
    assert_eq!(shown(&of_edges(studies, "code")[0]), "9223372036854775808");
    assert_eq!(studies.properties.len(), 5, "the ignored columns are gone");
    let marries = edges(&load, "MARRIES");
    assert_eq!(
        of_edges(marries, "usedAddress").iter().map(shown).collect::<Vec<_>>(),
        ["[\"toronto\"]", "-", "[]"]
    );
}
