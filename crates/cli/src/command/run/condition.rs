//! Condition: a filter as the command line writes it, with a value of the property's own type.
//!
//! ```text
//! age>=18     name = Ada     name != 'Ada L.'     city in Rome, Pisa     email
//! ```
//!
//! Comparisons are `=` `!=` `<` `<=` `>` `>=`; `in` takes values with commas between; a property alone
//! says that it is there. Blanks around a value are dropped, quotes around it ('...' or "...") too, so
//! that a value may begin or end with blanks. The value is read as the property's declared type; a
//! number that isn't of that type, say 18.5 for an integer, is read as a decimal.

use crate::command::run::names::key;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::filter::{Comparison, Condition, Filter};
use evergraph_graph::id::KeyId;
use evergraph_graph::value::{Value, ValueType};

/// The comparisons, the longer ones before what they begin with.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// The filter that `text`, given by `option`, means for properties of `owners`.
///
/// # Errors
/// `not_found` for an unknown property; `invalid` if none of `owners` has it, if they have it with
/// types that a text can't serve both of, or if the value is none of the property's type.
pub fn filter(catalogue: &Catalogue, option: &str, text: &str, owners: &[Owner]) -> Result<Filter> {
    let invalid = |why: String| Error::invalid(format!("{option} {text:?}: {why}"));
    if text.trim().is_empty() {
        return Err(invalid("expected a condition, such as 'age>=18', or a property's name".to_owned()));
    }
    if let Some(key) = catalogue.key(text.trim()) {
        return Ok(Filter { key, condition: Condition::Exists });
    }
    let Some((name, operator, values)) = split(text) else {
        return Ok(Filter { key: key(catalogue, text.trim())?, condition: Condition::Exists });
    };
    if let Some(meant) = mistyped(text, values.trim_start()) {
        let why = format!("did you mean {meant}? Quote a value that begins with such a sign");
        return Err(invalid(why));
    }
    let key = key(catalogue, name)?;
    let types = types_of(catalogue, key, owners);
    if types.is_empty() {
        return Err(invalid(format!("nothing in scope has a property {name}")));
    }
    let read = |text: &str| value(unquoted(text.trim()), &types).map_err(invalid);
    let condition = match operator {
        Some(comparison) => Condition::Compare(comparison, read(values)?),
        None => Condition::In(values.split(',').map(read).collect::<Result<_>>()?),
    };
    Ok(Filter { key, condition })
}

/// Name, comparison (`None` for `in`) and value; `None` for a name alone.
fn split(text: &str) -> Option<(&str, Option<Comparison>, &str)> {
    let sign = text.find(['!', '=', '<', '>']);
    let word = text.find(" in ").filter(|at| sign.is_none_or(|sign| *at < sign));
    if let Some(at) = word {
        return Some((text[..at].trim(), None, &text[at + 4..]));
    }
    let (name, rest) = text.split_at(sign?);
    let (sign, comparison) = COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign))?;
    Some((name.trim(), Some(*comparison), &rest[sign.len()..]))
}

/// The comparison that is likely meant where one sign follows another: `=>`, `=<`, `==`.
fn mistyped(text: &str, value: &str) -> Option<&'static str> {
    let sign = value.chars().next().filter(|sign| "=<>!".contains(*sign))?;
    let before = text[..text.len() - value.len()].trim_end();
    match (before.chars().next_back()?, sign) {
        ('=', '>') | ('>', '=') => Some(">="),
        ('=', '<') | ('<', '=') => Some("<="),
        ('=', '=') => Some("="),
        ('=' | '<', '!') | ('<', '>') => Some("!="),
        _ => None,
    }
}

fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('\'').or_else(|| within('"')).unwrap_or(text)
}

/// The types that `owners` declare for `key`, each once.
fn types_of(catalogue: &Catalogue, key: KeyId, owners: &[Owner]) -> Vec<ValueType> {
    let mut types: Vec<ValueType> =
        owners.iter().filter_map(|owner| catalogue.property_type(*owner, key)).collect();
    types.sort_unstable();
    types.dedup();
    types
}

const NUMBERS: [ValueType; 8] = [
    ValueType::I8,
    ValueType::I16,
    ValueType::I32,
    ValueType::I64,
    ValueType::F32,
    ValueType::F64,
    ValueType::BigInteger,
    ValueType::Decimal,
];

/// `text` as a value that can be compared with those of all `types`.
fn value(text: &str, types: &[ValueType]) -> std::result::Result<Value, String> {
    if types.iter().all(|value_type| NUMBERS.contains(value_type)) {
        // As one of the types first: 0.1 means the nearest number that such a property can hold.
        let mut parsed = types.iter().filter_map(|value_type| Value::parse(text, *value_type).ok());
        return match parsed.next() {
            Some(value) => Ok(value),
            None => Value::parse(text, ValueType::Decimal).map_err(|error| error.to_string()),
        };
    }
    match types {
        // Values of several types: a whole number, a decimal one, a truth, or a text.
        [ValueType::Any] => {
            let guesses = [ValueType::I64, ValueType::F64, ValueType::Bool];
            let mut parsed = guesses.iter().filter_map(|guess| Value::parse(text, *guess).ok());
            Ok(parsed.next().unwrap_or_else(|| Value::from(text)))
        }
        [value_type] => Value::parse(text, *value_type).map_err(|error| error.to_string()),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(format!("the property is of the types {}: choose by --label or --type", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::LabelId;
    use evergraph_graph::schema_change::SchemaChange;

    const PERSON: Owner = Owner::Label(LabelId(0));
    const CITY: Owner = Owner::Label(LabelId(1));

    fn catalogue() -> Catalogue {
        let mut catalogue = Catalogue::default();
        let properties = [
            ("age", PERSON, ValueType::I32),
            ("name", PERSON, ValueType::String),
            ("a=b", PERSON, ValueType::String),
            ("size", CITY, ValueType::F32),
            ("mixed", CITY, ValueType::Any),
            ("born", PERSON, ValueType::Date),
        ];
        for (id, (name, owner, value_type)) in properties.into_iter().enumerate() {
            let key = KeyId(id as u16);
            catalogue.apply(&SchemaChange::AddKey { id: key, name: name.into() });
            catalogue.apply(&SchemaChange::DefineProperty { owner, key, value_type });
        }
        let (key, value_type) = (KeyId(1), ValueType::I64);
        catalogue.apply(&SchemaChange::DefineProperty { owner: CITY, key, value_type });
        catalogue
    }

    fn read(text: &str, owners: &[Owner]) -> Result<Condition> {
        filter(&catalogue(), "--where", text, owners).map(|filter| filter.condition)
    }

    fn compare(comparison: Comparison, value: impl Into<Value>) -> Condition {
        Condition::Compare(comparison, value.into())
    }

    #[test]
    fn every_comparison_is_read_with_the_type_of_the_property() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        for (text, want) in [
            ("age=18", compare(Equal, 18_i32)),
            ("age != 18", compare(NotEqual, 18_i32)),
            ("age<18", compare(Less, 18_i32)),
            (" age <=  -18 ", compare(LessOrEqual, -18_i32)),
            ("age>18", compare(Greater, 18_i32)),
            ("age>=18", compare(GreaterOrEqual, 18_i32)),
            ("name=Ada in London", compare(Equal, "Ada in London")),
            ("name = ' Ada=1 '", compare(Equal, " Ada=1 ")),
            ("name=\"it's\"", compare(Equal, "it's")),
            ("name in Ada, 'Bob B.'", Condition::In(vec!["Ada".into(), "Bob B.".into()])),
            ("name", Condition::Exists),
            ("a=b", Condition::Exists),
        ] {
            assert_eq!(read(text, &[PERSON]).unwrap(), want, "{text}");
        }
        assert_eq!(read("size=0.1", &[CITY]).unwrap(), compare(Equal, 0.1_f32));
        assert_eq!(read("mixed=7", &[CITY]).unwrap(), compare(Equal, 7_i64));
        assert_eq!(read("mixed=seven", &[CITY]).unwrap(), compare(Equal, "seven"));
        let Condition::Compare(Less, Value::Decimal(limit)) = read("age<18.5", &[PERSON]).unwrap() else {
            panic!("a number past the type is a decimal")
        };
        assert_eq!(limit.to_f64(), 18.5);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let error = |text: &str, owners: &[Owner]| read(text, owners).unwrap_err();
        assert_eq!(error("agee>1", &[PERSON]).kind(), ErrorKind::NotFound);
        assert_eq!(error("agee", &[PERSON]).kind(), ErrorKind::NotFound);
        let text = |text, owners: &[Owner]| error(text, owners).to_string();
        assert!(
            text("age>young", &[PERSON])
                .starts_with("--where \"age>young\": \"young\" is not a valid decimal")
        );
        assert!(text("born=today", &[PERSON]).contains("no date"));
        for (typed, meant) in [("age=>30", ">="), ("age =< 30", "<="), ("name==Ada", "="), ("age<>1", "!=")] {
            let why = format!("--where {typed:?}: did you mean {meant}?");
            assert!(text(typed, &[PERSON]).starts_with(&why), "{}", text(typed, &[PERSON]));
        }
        assert!(read("name='=Ada'", &[PERSON]).is_ok());
        assert!(text(" ", &[PERSON]).contains("expected a condition, such as 'age>=18'"));
        assert!(text("age>1", &[CITY]).ends_with("nothing in scope has a property age"));
        assert!(text("name=1", &[PERSON, CITY]).contains("string"), "{}", text("name=1", &[PERSON, CITY]));
    }
}
