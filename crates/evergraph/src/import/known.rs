//! Known: the vertices that a database has before an import, found by the ids that files use.
//!
//! A label's vertices are found by its unique key: id 17 of label Person, whose unique key is `id`, is
//! the vertex whose `id` is 17. Labels without a unique key have no known vertices.

use crate::database::Snapshot;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;

/// What a database has; nothing, if the import makes it.
#[derive(Default)]
pub struct Known(Option<Snapshot>);

/// The vertices of one label by one key.
pub struct KnownLabel<'a> {
    snapshot: &'a Snapshot,
    label: LabelId,
    key: KeyId,
    /// The name of the key.
    pub key_name: String,
    /// The type of its values; `None` while there are none.
    pub value_type: Option<ValueType>,
}

impl Known {
    /// What `snapshot` shows.
    #[must_use]
    pub fn of(snapshot: Snapshot) -> Self {
        Self(Some(snapshot))
    }

    /// Whether there is no database.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// The vertices of `label` by `key`, if it is a unique key of theirs.
    #[must_use]
    pub fn by_key(&self, label: &str, key: &str) -> Option<KnownLabel<'_>> {
        let snapshot = self.0.as_ref()?;
        let catalogue = snapshot.catalogue();
        let (label, key) = (catalogue.label(label)?, catalogue.key(key)?);
        catalogue.is_unique(Owner::Label(label), key).then(|| KnownLabel::new(snapshot, label, key))
    }

    /// The vertices of `label` by its only unique key; `None` if the database has no such label.
    ///
    /// # Errors
    /// `invalid` if the label has no unique key or several.
    pub fn by_label(&self, label: &str) -> Result<Option<KnownLabel<'_>>> {
        let Some(snapshot) = &self.0 else { return Ok(None) };
        let catalogue = snapshot.catalogue();
        let Some(id) = catalogue.label(label) else { return Ok(None) };
        let keys: Vec<KeyId> = catalogue.unique_keys().filter(|on| on.0 == id).map(|on| on.1).collect();
        match keys[..] {
            [key] => Ok(Some(KnownLabel::new(snapshot, id, key))),
            [] => Err(Error::invalid(format!(
                "label {label} of the database has no unique key, by which ids would be found"
            ))),
            _ => {
                let names: Vec<_> = keys.iter().map(|key| catalogue.key_name(*key).to_string()).collect();
                let names = names.join(", ");
                Err(Error::invalid(format!(
                    "label {label} of the database has several unique keys ({names}): it isn't clear which \
                     of them ids are"
                )))
            }
        }
    }
}

impl<'a> KnownLabel<'a> {
    fn new(snapshot: &'a Snapshot, label: LabelId, key: KeyId) -> Self {
        let catalogue = snapshot.catalogue();
        let value_type = catalogue.property_type(Owner::Label(label), key);
        Self { snapshot, label, key, key_name: catalogue.key_name(key).to_string(), value_type }
    }

    /// The vertex with `id`. Cost: a look-up in the index.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn find(&self, id: &Value) -> Result<Option<VertexId>> {
        let id = match (self.value_type, id.as_i64()) {
            (Some(ValueType::I8), Some(number)) => i8::try_from(number).ok().map(Value::I8),
            (Some(ValueType::I16), Some(number)) => i16::try_from(number).ok().map(Value::I16),
            (Some(ValueType::I32), Some(number)) => i32::try_from(number).ok().map(Value::I32),
            _ => Some(id.clone()),
        };
        let Some(id) = id else { return Ok(None) };
        let mut found = Vec::with_capacity(1);
        self.snapshot.look_up(self.label, self.key, &[id], &mut found)?;
        Ok(found[0])
    }
}

#[cfg(test)]
mod tests {
    use crate::database::Database;
    use crate::import::faults::OnBadRow;
    use crate::import::options::{ImportOptions, InputFile};
    use crate::import::policy::OnUnknown;
    use crate::read::ReadByName;
    use evergraph_graph::id::Direction;
    use evergraph_graph::value::Value;
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
        assert_eq!(
            world.reached("Person", 17, "KNOWS", "name"),
            ["Charles", "Charles", "Mary"].map(Value::from)
        );
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
        world.db.create_unique_index("Person", "name").unwrap();
        let unclear = world.import(&[("LIKES.csv", ":START_ID(Person),:END_ID(Person)\n4,17\n")]);
        assert!(unclear.unwrap_err().contains("several unique keys"));
        assert_eq!(world.counts(), (2, 3));
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
        let owns =
            format!(":START_ID(Person){{id-type:long}},:END_ID(Device){{id-type:uuid}}\n17,{device}\n");
        assert_eq!(world.import(&[("OWNS.csv", &owns)]), Ok((0, 1)));
        let other = world.import(&[("OWNS.csv", ":START_ID(Person),:END_ID(Device){id-type:date}\n17,x\n")]);
        assert!(
            other.unwrap_err().contains("ids of id space Device are of type date here and of type uuid in")
        );
        let text = world.import(&[("OWNS.csv", ":START_ID(Person),:END_ID(Device)\n17,x\n")]).unwrap_err();
        assert!(text.contains("OWNS.csv:2: column 2 (:END_ID(Device)): \"x\" is no uuid"), "{text}");
        let more = world.import(&[("Person.csv", "id:ID(Person){id-type:short}\n18\n40000\n")]).unwrap_err();
        assert!(more.contains("\"40000\" is no short, as ids are here"), "{more}");
        let options =
            world.options(&[("OWNS.csv", &format!(":START_ID(Person),:END_ID(Device)\n40000,{device}\n"))]);
        let create = ImportOptions { on_unknown: OnUnknown::Create, ..options };
        let refused = world.db.import(&create, &|_| ()).unwrap_err().to_string();
        assert!(
            refused.ends_with("a vertex can't be created: 40000 is no short, as ids are here"),
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
        let options = ImportOptions { on_bad_row: skip, ..world.options(&again) };
        let made = world.db.import(&options, &|_| ()).unwrap();
        assert_eq!((made.files.bad_rows.count, world.counts()), (1, (3, 1)));
        let ids = world.import(&[("Person.csv", "id:ID(Person),name\n7,Mary\n")]).unwrap_err();
        assert!(ids.contains("Person.id is long already and cannot become string"), "{ids}");
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
        let made = world.db.import(&ImportOptions { vertices: Some(60..64), ..options }, &|_| ()).unwrap();
        assert_eq!((made.vertices_count, made.edges_count), (3, 2));
    }
}
