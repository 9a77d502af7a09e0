//! Known: edges of an import find the vertices that the database has, and rows of those are bad rows.

use evergraph::import::faults::OnBadRow;
use evergraph::import::known::Known;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::import::policy::{OnDuplicate, OnUnknown};
use evergraph::{Database, Direction, ReadByName, Value};
use std::fs;
use tempfile::TempDir;

/// A database and a folder for files to import into it.
struct World {
    db: Database,
    folder: TempDir,
}

impl World {
    /// Ada and Charles, who know each other, in the database.
    fn new() -> Self {
        let world = Self { db: Database::in_memory().unwrap(), folder: tempfile::tempdir().unwrap() };
        world
            .import(&[
                ("Person.csv", "id:ID(Person){id-type:long},name\n17,Ada\n4,Charles\n"),
                ("KNOWS.csv", ":START_ID(Person),:END_ID(Person)\n17,4\n"),
            ])
            .unwrap();
        world
    }

    fn options(&self, files: &[(&str, &str)]) -> ImportOptions {
        let file = |(name, text): &(&str, &str)| {
            let path = self.folder.path().join(name);
            fs::write(&path, text).unwrap();
            InputFile::new(path)
        };
        ImportOptions::new(files.iter().map(file))
    }

    /// Counts of new vertices and edges, or what is wrong.
    fn import(&self, files: &[(&str, &str)]) -> Result<(u64, u64), String> {
        let made = self.db.import(&self.options(files), &|_| ());
        let folder = format!("{}/", self.folder.path().display());
        made.map(|made| (made.vertices_count, made.edges_count))
            .map_err(|error| error.to_string().replace(&folder, ""))
    }

    fn counts(&self) -> (u64, u64) {
        let statistics = self.db.statistics().unwrap();
        (statistics.vertices_count(), statistics.edges_count())
    }

    /// The values of `key` among those whom the vertex with `id` reaches.
    fn reached(&self, label: &str, id: i64, edge_type: &str, key: &str) -> Vec<Value> {
        let snapshot = self.db.snapshot();
        let vertex = snapshot.find(label, "id", id).unwrap().unwrap();
        let edges = snapshot.edges(vertex, Direction::Out, &[edge_type]).unwrap();
        edges.iter().filter_map(|(_, to)| snapshot.get(*to, key).unwrap()).collect()
    }
}

#[test]
fn edges_of_an_import_find_the_vertices_that_are_there() {
    let world = World::new();
    let made = world.import(&[
        ("Person.csv", "id:ID(Person){id-type:long},name\n5,Mary\n"),
        ("KNOWS.csv", ":START_ID(Person),:END_ID(Person)\n17,5\n5,4\n17,4\n4,17\n"),
    ]);
    assert_eq!((made, world.counts()), (Ok((1, 4)), (3, 5)));
    assert_eq!(world.reached("Person", 17, "KNOWS", "name"), ["Charles", "Charles", "Mary"].map(Value::from));
    assert_eq!(world.reached("Person", 4, "KNOWS", "name"), [Value::from("Ada")]);
}

#[test]
fn edges_alone_name_the_label_whose_vertices_they_join() {
    let world = World::new();
    let made = world.import(&[("LIKES.csv", ":START_ID(Person),:END_ID(Person)\n4,17\n4,17\n")]);
    assert_eq!((made, world.counts()), (Ok((0, 2)), (2, 3)));
    let unknown = world.import(&[("LIKES.csv", ":START_ID(Person),:END_ID(Person)\n4,17\n4,18\n")]);
    assert!(unknown.unwrap_err().contains("there is no vertex 18 in id space Person"));
    let stranger = world.import(&[("LIKES.csv", ":START_ID(Dog),:END_ID(Person)\n4,17\n")]);
    assert!(stranger.unwrap_err().contains("no file of vertices has the id space \"Dog\""));
    let nameless = world.import(&[("LIKES.csv", ":START_ID,:END_ID\n4,17\n")]).unwrap_err();
    assert!(
        nameless.contains("the database has \"Person\"; say which one is meant, as in :START_ID(Person)"),
        "{nameless}"
    );
    assert_eq!(world.counts(), (2, 3));
}

#[test]
fn of_several_unique_keys_ids_are_the_one_called_id_or_the_one_that_is_named() {
    let world = World::new();
    world.db.create_unique_index("Person", "name").unwrap();
    assert_eq!(world.import(&[("LIKES.csv", ":START_ID(Person),:END_ID(Person)\n4,17\n")]), Ok((0, 1)));
    assert_eq!(world.reached("Person", 4, "LIKES", "name"), [Value::from("Ada")]);
    let by_name = ":START_ID(Person){key:name},:END_ID(Person){key:name}\nAda,Charles\n";
    assert_eq!(world.import(&[("LIKES.csv", by_name)]), Ok((0, 1)));
    assert_eq!(world.reached("Person", 17, "LIKES", "name"), [Value::from("Charles")]);
    let both = world.import(&[("LIKES.csv", ":START_ID(Person){key:name},:END_ID(Person)\nAda,4\n")]);
    assert!(both.unwrap_err().contains("found by their ids here and by {key:name} in"));
    let none = world.import(&[("LIKES.csv", ":START_ID(Person){key:age},:END_ID(Person)\n1,4\n")]);
    assert!(none.unwrap_err().contains("age is not a unique key of label Person in the database; there is"));
    let other = World { db: Database::in_memory().unwrap(), folder: tempfile::tempdir().unwrap() };
    for key in ["mail", "name"] {
        other.db.create_unique_index("Person", key).unwrap();
    }
    let unclear = other.import(&[("LIKES.csv", ":START_ID(Person),:END_ID(Person)\n4,17\n")]).unwrap_err();
    assert!(unclear.contains("as in :START_ID(Person){key:"), "{unclear}");
}

#[test]
fn plain_files_go_on_where_others_ended() {
    let world = World { db: Database::in_memory().unwrap(), folder: tempfile::tempdir().unwrap() };
    let people = "id:ID(Person),name,born:int\n1,Ada,1815\n2,Charles,1791\n";
    assert_eq!(world.import(&[("Person.csv", people)]), Ok((2, 0)));
    // Nobody says between whom; ids look like numbers, and are texts in the database, as 1815 is an int.
    assert_eq!(world.import(&[("knows.csv", "from,to,since\n1,2,1833\n")]), Ok((0, 1)));
    assert_eq!(world.import(&[("Person.csv", "id,name,born\n3,Mary,1780\n")]), Ok((1, 0)));
    let mary = world.db.snapshot().find("Person", "id", "3").unwrap().unwrap();
    assert_eq!(world.db.snapshot().get(mary, "born").unwrap(), Some(Value::I32(1780)));
    let typed = world.import(&[("Person.csv", "id:ID(Person){id-type:long},name\n4,Eve\n")]).unwrap_err();
    assert!(
        typed.ends_with(
            "Person.csv: property id of label Person is long here and string in the database, which keeps its type: \
             say id:ID{id-type:string} in the file's header, by --replace-header, or in a mapping"
        ),
        "{typed}"
    );
    let born = world.import(&[("Person.csv", "id:ID(Person),born:date\n4,1780-01-01\n")]).unwrap_err();
    assert!(born.contains("is date here and int in the database") && born.contains("say born:int"), "{born}");
    world.db.create_unique_index("City", "id").unwrap();
    let unclear = world.import(&[("knows.csv", "from,to,since\n1,2,1833\n")]).unwrap_err();
    assert!(
        unclear.contains(
            "known are those of City, Person; say which ones, as in --replace-header \
                          ':START_ID(LABEL),:END_ID(LABEL),since:long'"
        ),
        "{unclear}"
    );
}

#[test]
fn a_value_that_is_unique_in_the_database_or_came_before_is_a_bad_row() {
    let world = World::new();
    world.db.create_unique_index("Person", "name").unwrap();
    let header = "id:ID(Person){id-type:long},name";
    let taken = world.import(&[("Person.csv", &format!("{header}\n5,Mary\n6,Ada\n"))]).unwrap_err();
    assert!(
        taken.ends_with(
            "Person.csv:3: property name: \"Ada\" is taken: a vertex in the database has it, and it is unique"
        ),
        "{taken}"
    );
    let twice = world.import(&[("Person.csv", &format!("{header}\n5,Mary\n6,\n7,Mary\n"))]).unwrap_err();
    assert!(
        twice.contains("Person.csv:4: ") && twice.contains("a vertex before, of this import,"),
        "{twice}"
    );
    let skip = OnBadRow::Skip { at_most: None };
    let rows = format!("{header}\n5,Mary\n6,Ada\n7,Mary\n5,Mary\n8,Eve\n");
    let files = [("Person.csv", rows.as_str())];
    let options = world.options(&files).with(|options| options.bad_rows.on_bad_row = skip);
    let options = options.with(|options| options.ids.on_duplicate = OnDuplicate::First);
    let made = world.db.import(&options, &|_| ()).unwrap();
    assert_eq!((made.files.bad_rows.count, made.files.settled.duplicates, world.counts()), (2, 1, (4, 1)));
    let vertex = |id: i32, name: &str| {
        format!(
            "{{\"id\":{{\"@type\":\"g:Int64\",\"@value\":{id}}},\"label\":\"Person\",\"properties\":\
             {{\"name\":[{{\"id\":0,\"value\":\"{name}\"}}]}}}}\n"
        )
    };
    let elements = world.import(&[("g.json", &(vertex(9, "Zoe") + &vertex(10, "Ada")))]).unwrap_err();
    assert!(elements.contains("g.json:2: property name: \"Ada\" is taken"), "{elements}");
}

#[test]
fn ids_of_any_type_find_the_vertices_that_are_there() {
    let world = World { db: Database::in_memory().unwrap(), folder: tempfile::tempdir().unwrap() };
    let device = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    let devices = format!("id:ID(Device){{id-type:uuid}}\n{device}\n");
    let people = "id:ID(Person){id-type:short}\n17\n";
    assert_eq!(world.import(&[("Device.csv", &devices), ("Person.csv", people)]), Ok((2, 0)));
    // Nobody states the types again, or another width; one of the forms is another system's.
    let owns = format!(":START_ID(Person),:END_ID(Device)\n17,{{{}}}\n", device.to_uppercase());
    assert_eq!(world.import(&[("OWNS.csv", &owns)]), Ok((0, 1)));
    let owns = format!(":START_ID(Person){{id-type:long}},:END_ID(Device){{id-type:uuid}}\n17,{device}\n");
    assert_eq!(world.import(&[("OWNS.csv", &owns)]), Ok((0, 1)));
    let other = world.import(&[("OWNS.csv", ":START_ID(Person),:END_ID(Device){id-type:date}\n17,x\n")]);
    assert!(other.unwrap_err().contains("ids of id space Device are of type date here and of type uuid in"));
    let text = world.import(&[("OWNS.csv", ":START_ID(Person),:END_ID(Device)\n17,x\n")]).unwrap_err();
    assert!(text.contains("OWNS.csv:2: column 2 (:END_ID(Device)): \"x\" is not a valid uuid"), "{text}");
    let more = world.import(&[("Person.csv", "id:ID(Person){id-type:short}\n18\n40000\n")]).unwrap_err();
    assert!(more.contains("\"40000\" is not a valid short, as ids are here"), "{more}");
    let options =
        world.options(&[("OWNS.csv", &format!(":START_ID(Person),:END_ID(Device)\n40000,{device}\n"))]);
    let create = options.with(|options| options.ids.on_unknown = OnUnknown::Create);
    let refused = world.db.import(&create, &|_| ()).unwrap_err().to_string();
    assert!(
        refused.ends_with("a vertex can't be created: 40000 is not a valid short, as ids are here"),
        "{refused}"
    );
}

/// It was a panic once.
#[test]
fn edges_of_csv_files_cannot_join_vertices_of_graphson() {
    let world = World::new();
    let refused = world.import(&[
        ("g.json", "{\"id\":1,\"label\":\"a\"}\n"),
        ("E.csv", ":START_ID(GraphSON),:END_ID(Person)\n1,17\n"),
    ]);
    let refused = refused.unwrap_err();
    assert!(
        refused.contains("E.csv: header: id space GraphSON is that of g.json, which has its edges"),
        "{refused}"
    );
}

#[test]
fn a_vertex_that_is_there_is_a_bad_row() {
    let world = World::new();
    let again = [("Person.csv", "id:ID(Person){id-type:long},name\n6,Mary\n17,Eve\n")];
    let refused = world.import(&again).unwrap_err();
    assert!(
        refused.contains("Person.csv:3") && refused.contains("vertex 17 is in the database already"),
        "{refused}"
    );
    let skip = OnBadRow::Skip { at_most: None };
    let options = world.options(&again).with(|options| options.bad_rows.on_bad_row = skip);
    let made = world.db.import(&options, &|_| ()).unwrap();
    assert_eq!((made.files.bad_rows.count, world.counts()), (1, (3, 1)));
    let ids = world.import(&[("Person.csv", "id:ID(Person),name\n7,Mary\n")]).unwrap_err();
    assert!(ids.contains("property id of label Person is string here and long in the database"), "{ids}");
}

#[test]
fn edge_lists_go_on_where_others_ended() {
    let world = World::new();
    assert_eq!(world.import(&[("a.e", "30 10\n10 20\n")]), Ok((3, 2)));
    assert_eq!(world.import(&[("b.e", "30 5\n5 40\n20 30\n")]), Ok((2, 3)));
    assert_eq!(world.reached("Vertex", 30, "EDGE", "id"), [10, 5].map(Value::I64));
    assert_eq!(world.reached("Vertex", 20, "EDGE", "id"), [Value::I64(30)]);
    assert_eq!(world.import(&[("c.v", "50\n60\n"), ("c.e", "50 10\n10 60\n")]), Ok((2, 2)));
    let refused = world.import(&[("d.v", "70\n60\n"), ("d.e", "70 60\n")]).unwrap_err();
    assert!(refused.contains("vertex 60 is in the database already"), "{refused}");
    let unknown = world.import(&[("d.v", "70\n"), ("d.e", "70 10\n70 71\n")]).unwrap_err();
    assert!(unknown.contains("there is no vertex 71"), "{unknown}");
    let options = world.options(&[("e.e", "60 61\n61 62\n")]);
    let made =
        world.db.import(&options.with(|options| options.lists.vertices = Some(60..64)), &|_| ()).unwrap();
    assert_eq!((made.vertices_count, made.edges_count), (3, 2));
    let before = Known::of(world.db.snapshot()).edges_by_type().unwrap()["EDGE"];
    let list: String = (0..before).map(|number| format!("{number} 10\n")).collect();
    let again = world.db.import(&world.options(&[("f.e", &list)]), &|_| ()).unwrap();
    let expected =
        format!("type EDGE: {before} edges were there before, and {before} are added; if they are the same");
    assert!(again.files.notes[0].starts_with(&expected), "{:?}", again.files.notes);
    let one = world.db.import(&world.options(&[("g.e", "10 20\n")]), &|_| ()).unwrap();
    assert!(
        one.files.notes[0].ends_with("were there before, and 1 is added, whether it is one of them or not"),
        "{:?}",
        one.files.notes
    );
}
