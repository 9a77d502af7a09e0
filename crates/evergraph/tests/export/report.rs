//! Report: what an export tells: how far it is, and what its files don't carry.

use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::{Database, ErrorKind};
use std::cell::RefCell;

#[test]
fn what_is_not_carried_is_told() {
    let db = Database::in_memory().unwrap();
    for key in ["id", "email"] {
        db.create_unique_index("Person", key).unwrap();
    }
    db.transact(|tx| {
        let tx = tx.by_id();
        let (person, age, unused) = (tx.label("Person")?, tx.key("age")?, tx.key("unused")?);
        tx.declare_vertex_property(person, age, ValueType::Any)?;
        tx.declare_vertex_property(person, unused, ValueType::String)?;
        tx.declare_meta_properties(person, age)?;
        tx.declare_meta_properties(person, unused)?;
        let knows = tx.declare_simple_type("KNOWS")?;
        let since = tx.key("since")?;
        tx.declare_edge_property(knows, since, ValueType::I64)?;
        tx.declare_newest_first(knows, since)?;
        tx.edge_type("LIKES")?;
        tx.label("City")?;
        Ok(())
    })
    .unwrap();
    db.transact(|tx| {
        let ada = tx.add_vertex("Person", &[("id", 1_i64.into()), ("age", 36_i32.into())])?;
        let bob = tx.add_vertex("Person", &[("id", 2_i64.into()), ("email", "b@x".into())])?;
        tx.add_edge(ada, "KNOWS", bob, &[("since", 1833_i64.into())])
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ExportOptions::new(ExportFormat::Csv, folder.path().join("out"));
    let told = RefCell::new(Vec::new());
    let report = db.export(&options, &|now| told.borrow_mut().push(now.fraction())).unwrap();
    assert_eq!(
        report.losses,
        [
            "the unique hash index on `Person.email`: create it again",
            "the label `City`: it has no vertices",
            "that the edge type `KNOWS` is simple: one edge from a vertex to another",
            "that the edge type `KNOWS` is newest-first by `since`",
            "the edge type `LIKES`: no edges of it are among what is written",
            "that `age` of `Person` may be any: all of its values are int",
            "the property `unused` of `Person`: it has no values",
            "that values of `age` of `Person` may have properties",
        ]
    );
    let told = told.into_inner();
    assert!(told.is_sorted() && told.last() == Some(&1.0), "{told:?}");
}

/// No format carries them yet: each says how many it leaves out.
#[test]
fn properties_of_properties_are_counted_in_every_format() {
    let db = Database::in_memory().unwrap();
    db.transact(|tx| {
        let tx = tx.by_id();
        let (person, name) = (tx.label("Person")?, tx.key("name")?);
        tx.declare_vertex_property(person, name, ValueType::String)?;
        tx.declare_meta_properties(person, name)
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (round, expected) in
        ["1 property of a value of `name` of `Person`", "3 properties of values of `name` of `Person`"]
            .into_iter()
            .enumerate()
    {
        let added = ["'since', 1815", "'since', 1791, 'by', 'x'"][round];
        db.gremlin(&format!("g.addV('Person').property('name', 'Ada', {added})")).run().unwrap();
        for (format, output) in [
            (ExportFormat::Csv, "csv"),
            (ExportFormat::Parquet, "parquet"),
            (ExportFormat::GraphSon, "a.json"),
            (ExportFormat::GraphMl, "a.graphml"),
            (ExportFormat::EdgeList, "lists"),
        ] {
            let mut options = ExportOptions::new(format, folder.path().join(output));
            options.overwrite = true;
            let losses = db.export(&options, &|_| ()).unwrap().losses;
            assert!(losses.iter().any(|loss| loss == expected), "{format:?}: {losses:?}");
        }
    }
}

#[test]
fn only_what_was_chosen_is_written_and_edges_need_both_ends() {
    let db = Database::in_memory().unwrap();
    db.transact(|tx| {
        let a = tx.add_vertex("A", &[])?;
        let b = tx.add_vertex("B", &[])?;
        tx.add_edge(a, "X", a, &[])?;
        tx.add_edge(a, "X", b, &[])?;
        tx.add_edge(a, "Y", a, &[])
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (format, output) in [
        (ExportFormat::Csv, "csv"),
        (ExportFormat::GraphSon, "a.json"),
        (ExportFormat::GraphMl, "a.graphml"),
        (ExportFormat::EdgeList, "lists"),
    ] {
        let mut options = ExportOptions::new(format, folder.path().join(output));
        options.labels = vec!["A".to_owned()];
        options.types = vec!["X".to_owned()];
        let report = db.export(&options, &|_| ()).unwrap();
        assert_eq!((report.vertices_count, report.edges_count), (1, 1), "{format:?}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("lists/X.e")).unwrap(), "0 0\n");
    let lines = std::fs::read_to_string(folder.path().join("a.json")).unwrap();
    assert_eq!(lines.matches("\"0-0-0-0\"").count(), 2, "at both of its ends: {lines}");

    let mut options = ExportOptions::new(ExportFormat::Csv, folder.path().join("none"));
    options.types = vec!["Z".to_owned()];
    let error = db.export(&options, &|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "no edge type is called \"Z\"; there are: X, Y");
}
