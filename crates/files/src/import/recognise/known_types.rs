//! Known types: types of the database override guessed ones.
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
