//! Known types: what a file seems to hold yields to the types that the database has.

use evergraph::import::existing_graph::ExistingGraph;
use evergraph::import::mapping::rule::{ColumnName, EndColumn, FileFormat, FileRule};
use evergraph::import::recognise::known_types::yield_to_known;
use evergraph::{Database, Value};

fn words(text: &str) -> Vec<String> {
    text.split(',').map(ToOwned::to_owned).collect()
}

#[test]
fn guesses_yield_to_the_types_of_the_database_and_words_of_headers_stay() {
    let db = Database::in_memory().unwrap();
    db.transact(|transaction| {
        let ada = [("id", Value::from("1")), ("born", Value::I32(1815)), ("seen", Value::I64(7))];
        let ada = transaction.add_vertex("Person", &ada)?;
        transaction.add_edge(ada, "KNOWS", ada, &[("since", Value::I16(1833))])?;
        Ok(())
    })
    .unwrap();
    let known = ExistingGraph::of(db.snapshot());
    let end = |name: &str| Some(EndColumn::new(ColumnName::Name(name.to_owned())));
    let long = |rule: &mut FileRule, names: &[&str]| {
        rule.types = names.iter().map(|name| ((*name).to_owned(), "long".to_owned())).collect();
    };
    let mut people =
        FileRule { label: Some("Person".to_owned()), id: end("id"), ..FileRule::new(FileFormat::Csv) };
    people.id.as_mut().unwrap().id_type = Some("long".to_owned());
    long(&mut people, &["born", "age"]);
    yield_to_known(&mut people, &words("id,born,age,seen:date"), &known);
    assert_eq!(people.id.unwrap().id_type.as_deref(), Some("string"));
    let types: Vec<(&str, &str)> =
        people.types.iter().map(|(name, of)| (name.as_str(), of.as_str())).collect();
    assert_eq!(types, [("age", "long"), ("born", "int")]);
    let knows = FileRule { edge_type: Some("KNOWS".to_owned()), ..FileRule::new(FileFormat::Csv) };
    let mut knows = FileRule { start: end("since"), end: end("to"), ..knows };
    yield_to_known(&mut knows, &words("since,to"), &known);
    assert!(knows.types.is_empty(), "an end is no property");
    let mut bare =
        FileRule { header: false, columns: Some(words("born,c2")), ..FileRule::new(FileFormat::Csv) };
    (bare.label, bare.id) = (Some("Person".to_owned()), end("c2"));
    bare.types.insert("born".to_owned(), "long".to_owned());
    yield_to_known(&mut bare, &words("born,c2"), &known);
    assert_eq!(bare.types.get("born").map(String::as_str), Some("int"));
}
