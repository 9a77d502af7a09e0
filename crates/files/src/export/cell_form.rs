//! Cell form: the text of one property's values in a column, so that an import reads them back.
//!
//! ```text
//! values                                       header                       cells
//! of one scalar type                           born:date                    1815-12-10
//! lists of one scalar type                     tags:string[]                math;poetry
//! texts, some of them empty                    name:string{form:graphson}   "Ada"   ""
//! sets, maps, lists of other values            at:map{form:graphson}        {"@type":"g:Map",...}
//! of several types                             x:any{form:graphson}         {"@type":"g:Int32",...}
//! ```
//!
//! An empty cell is no value in any form. So a column of texts that has an empty one among them is
//! written in GraphSON, where the empty text is `""`: a text that stood for no value instead (`\N`) would
//! have to be told to every reader, and would be one that nobody may use.

use crate::export::facts::Facts;
use crate::import::csv::quoted_name;
use evergraph_formats::graphson::value_write::write_value;
use evergraph_graph::value::{Value, ValueType};
use std::fmt::Write;

/// How the values of one property stand in a column of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellForm {
    /// Scalars of one type, as people write them.
    Scalar(ValueType),
    /// Lists of scalars of one type, `;` between them.
    Array(ValueType),
    /// Values of one type, or of any, in GraphSON 3.
    GraphSon(ValueType),
}

impl CellForm {
    /// The simplest form in which all values come back.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let element = facts.elements.only().filter(|_| facts.lists_are_plain);
        match (facts.value_type(), element) {
            (ValueType::List, Some(element)) => Self::Array(element),
            (ValueType::String | ValueType::Char, _) if facts.texts_are_plain => {
                Self::Scalar(facts.value_type())
            }
            (
                other @ (ValueType::String
                | ValueType::Char
                | ValueType::List
                | ValueType::Set
                | ValueType::Map
                | ValueType::Any),
                _,
            ) => Self::GraphSon(other),
            (scalar, _) => Self::Scalar(scalar),
        }
    }

    /// The word of a header for the property `key`.
    #[must_use]
    pub fn header_word(self, key: &str) -> String {
        format!("{}:{}", quoted_name::write(key), self.type_word())
    }

    /// What stands in a header behind the name.
    #[must_use]
    pub fn type_word(self) -> String {
        match self {
            Self::Scalar(value_type) => value_type.to_string(),
            Self::Array(value_type) => format!("{value_type}[]"),
            Self::GraphSon(value_type) => format!("{value_type}{{form:graphson}}"),
        }
    }

    /// Appends the text of `value`, which is of the facts that the form was chosen by.
    pub fn write(self, text: &mut String, value: &Value) {
        match (self, value) {
            (Self::GraphSon(_), value) => write_value(text, value),
            (Self::Array(_), Value::List(list)) => {
                for (place, element) in list.as_slice().iter().enumerate() {
                    if place > 0 {
                        text.push(';');
                    }
                    push(text, element);
                }
            }
            (Self::Scalar(_) | Self::Array(_), value) => push(text, value),
        }
    }
}

fn push(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => text.push_str(string),
        value => write!(text, "{value}").expect("a string takes all that is written to it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::csv::header::{Header, Meaning};
    use crate::import::field::cell::Cells;
    use evergraph_graph::value::collection::{List, Set};

    /// The header's word of `values`, and their texts, which are read back.
    fn written(values: &[Value]) -> (String, Vec<String>) {
        let mut facts = Facts::default();
        values.iter().for_each(|value| facts.note(value));
        let form = CellForm::of(&facts);
        let word = form.header_word("k");
        let header = Header::parse("a.csv", &["id:ID".to_owned(), word.clone()], b';').unwrap();
        let Meaning::Property { cell_type, .. } = header.fields[1].meaning else { panic!("{word}") };
        let mut cells = Cells::new(cell_type);
        let mut texts = Vec::new();
        for value in values {
            let mut text = String::new();
            form.write(&mut text, value);
            cells.push(text.as_bytes()).unwrap();
            texts.push(text);
        }
        let column = cells.finish();
        assert_eq!(column.value_type, facts.value_type());
        let column = column.column.unwrap();
        for (row, value) in values.iter().enumerate() {
            assert_eq!(column.get(row).as_ref(), Some(value), "{}", texts[row]);
        }
        (word, texts)
    }

    fn list(values: Vec<Value>) -> Value {
        Value::List(List::new(values).unwrap())
    }

    #[test]
    fn scalars_and_plain_lists_stand_as_people_write_them() {
        let (word, texts) = written(&[Value::I32(-5), Value::I32(7)]);
        assert_eq!((word.as_str(), texts[0].as_str()), ("k:int", "-5"));
        let (word, texts) = written(&[list(vec!["a".into(), " b".into()]), list(vec!["c]".into()])]);
        assert_eq!((word.as_str(), texts[0].as_str()), ("k:string[]", "a; b"));
        assert_eq!(written(&[" a ".into(), "b\n\"".into()]).0, "k:string");
    }

    #[test]
    fn what_text_would_change_is_written_in_graphson() {
        let (word, texts) = written(&["".into(), "a".into()]);
        assert_eq!((word.as_str(), texts[0].as_str()), ("k:string{form:graphson}", "\"\""));
        assert_eq!(written(&['\0'.into()]).0, "k:char{form:graphson}");
        assert_eq!(written(&[list(vec![])]).0, "k:list{form:graphson}");
        assert_eq!(written(&[list(vec!["a".into(), true.into()])]).0, "k:list{form:graphson}");
        assert_eq!(written(&[Set::new(vec!["a".into()]).unwrap().into()]).0, "k:set{form:graphson}");
        assert_eq!(written(&["a".into(), 1_i8.into(), f32::NAN.into()]).0, "k:any{form:graphson}");
    }
}
