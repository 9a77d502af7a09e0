//! Known types: a guess yields to what the database has.
//!
//! ```text
//! people.csv   id,name,born      guess: id is long, born is long
//! database     Person.id is a string, Person.born an int: so they are in the file
//! ```
//!
//! A value that isn't of the database's type is a bad row, as it would be with a header that says so.

use crate::import::id_type::IdType;
use crate::import::known::{Known, OwnerOf};
use crate::import::mapping::rule::{ColumnName, FileRule};
use crate::import::mapping::words::name_of;
use evergraph_graph::value::ValueType;

/// Gives the columns of a guessed `rule` the types that `known` has of their properties. `words` is the
/// header that names them; a type in there is no guess, and stays.
pub fn yield_to_known(rule: &mut FileRule, words: &[String], known: &Known) {
    let owner = match (&rule.label, &rule.edge_type, &rule.id) {
        (Some(label), _, Some(_)) => OwnerOf::Label(label),
        (_, Some(edge_type), None) => OwnerOf::EdgeType(edge_type),
        _ => return,
    };
    let known_type = |name: &str| known.property_type(owner, name).filter(|known| is_stated(*known));
    let is_end = |name: &str| {
        let mut ends = rule.start.iter().chain(&rule.end);
        ends.any(|end| end.column == ColumnName::Name(name.to_owned()))
    };
    let id = rule.id.as_ref().map(|id| id.column.clone());
    let mut types = Vec::new();
    for word in words {
        let name = name_of(word);
        if let Some(known) = known_type(name)
            && word.trim() == name
            && !is_end(name)
        {
            types.push((name.to_owned(), known));
        }
    }
    for (name, known) in types {
        if id.as_ref() == Some(&ColumnName::Name(name.clone())) {
            let id_type = IdType::new(known).map(|_| known.name().to_owned());
            rule.id.iter_mut().for_each(|id| id.id_type.clone_from(&id_type));
        } else {
            rule.types.insert(name, known.name().to_owned());
        }
    }
}

/// Whether a header can say the type by its name alone.
fn is_stated(value_type: ValueType) -> bool {
    !matches!(value_type, ValueType::Any | ValueType::List | ValueType::Set | ValueType::Map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::import::mapping::rule::{EndColumn, FileFormat};
    use evergraph_graph::value::Value;

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
        let known = Known::of(db.snapshot());
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
}
