//! Call: which algorithm a client asks for, with which parameters, on which part of the graph.
//!
//! ```json
//! {"damping": 0.9, "labels": ["Person"], "types": "KNOWS", "where": [["born", ">=", 1990]]}
//! ```
//!
//! Parameters are those of the table, in camelCase; a vertex is its number. `keys` are properties to put beside the rows, and
//! `names` what people call their vertices: by their unique keys, or by the property that it names. Values that JSON has no form for, such as dates in
//! a condition and infinite numbers, are in GraphSON: `{"@type": "gx:LocalDate", "@value": "1990-01-31"}`.

use evergraph::analysis::algorithm::Algorithm;
use evergraph::analysis::arguments::{Argument, Arguments};
use evergraph::analysis::names::{PropertyCondition, ScopeNames, camel_case, comparison};
use evergraph::analysis::parameter::{Kind, direction_name};
use evergraph::analysis::table::{ALGORITHMS, by_name};
use evergraph::graph::filter::Condition;
use evergraph_formats::graphson::value_read::read_value;
use evergraph_formats::json::read::JsonReader;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::nearest::did_you_mean;
use evergraph_graph::value::Value as GraphValue;
use serde_json::{Map, Value};

/// Members beside the parameters.
const SHARED: [&str; 7] = ["labels", "types", "where", "whereEdges", "keys", "names", "summary"];

/// An algorithm, and what was chosen about it.
#[derive(Debug)]
pub struct AlgorithmCall {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Its parameters.
    pub arguments: Arguments,
    /// The part of the graph that it runs on.
    pub scope: ScopeNames,
    /// Properties of vertices to put beside their rows.
    pub keys: Vec<String>,
    /// By what vertices are called beside their rows, if they are.
    pub names: Option<NameKey>,
    /// Whether the answer ends with what a report begins with: a sentence, and the part of the graph that it is about.
    pub with_summary: bool,
}

/// By what vertices are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameKey {
    /// By the unique key of their label, or their number.
    Unique,
    /// By this property.
    Property(String),
}

impl AlgorithmCall {
    /// The algorithm `name` with what `members` choose.
    ///
    /// # Errors
    /// `not_found` for an algorithm that there isn't; `invalid` for unknown members and wrong values, by name.
    pub fn read(name: &str, members: Map<String, Value>) -> Result<Self> {
        let algorithm = by_name(name).ok_or_else(|| {
            let guess = did_you_mean(name, ALGORITHMS.iter().map(|algorithm| algorithm.name));
            let text = format!("there is no algorithm {name:?}{guess}; GET /algorithms lists them");
            Error::new(ErrorKind::NotFound, text)
        })?;
        let mut scope = ScopeNames::default();
        let (mut given, mut keys) = (Vec::new(), Vec::new());
        let (mut names, mut with_summary) = (None, false);
        for (name, value) in members {
            if value.is_null() {
                continue;
            }
            match name.as_str() {
                "labels" => scope.labels = texts(&name, value)?,
                "types" => scope.types = texts(&name, value)?,
                "where" => scope.vertices = conditions(&name, value)?,
                "keys" => keys = texts(&name, value)?,
                "names" => names = name_key(&name, value)?,
                "summary" => {
                    let wrong = || Error::invalid(format!("{name}: expected true or false, found {value}"));
                    with_summary = value.as_bool().ok_or_else(wrong)?;
                }
                "whereEdges" => scope.edges = conditions(&name, value)?,
                _ => {
                    let parameters = algorithm.parameters.iter();
                    let known = parameters.clone().find(|parameter| camel_case(parameter.name) == name);
                    let parameter = known.ok_or_else(|| {
                        let names: Vec<String> =
                            parameters.map(|parameter| camel_case(parameter.name)).collect();
                        let names = names.iter().map(String::as_str).chain(SHARED);
                        let guess = did_you_mean(&name, names.clone());
                        let all = names.collect::<Vec<_>>().join(", ");
                        let text =
                            format!("{} has no parameter {name:?}{guess}; there are {all}", algorithm.name);
                        Error::invalid(text)
                    })?;
                    given.push((parameter.name, argument(&name, parameter.kind, &value)?));
                }
            }
        }
        if names.is_some() && !keys.is_empty() {
            // A property may have the name of a column of theirs.
            return Err(Error::invalid("choose either `names` or `keys`, whose columns stand in one place"));
        }
        let arguments = Arguments::new(algorithm.parameters, given)?;
        Ok(Self { algorithm, arguments, scope, keys, names, with_summary })
    }
}

fn argument(name: &str, kind: Kind, value: &Value) -> Result<Argument> {
    let wrong = |expected: &str| Error::invalid(format!("{name}: expected {expected}, found {value}"));
    match kind {
        Kind::Boolean => value.as_bool().map(Argument::Boolean).ok_or_else(|| wrong("true or false")),
        Kind::Whole(range) => {
            let number = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
            let number = number.ok_or_else(|| wrong("a whole number"))?;
            Ok(Argument::Whole(range.check(name, number)?))
        }
        Kind::Real(_) => {
            let number = match value {
                Value::Object(_) => typed(name, value)?.as_f64(),
                plain => plain.as_f64(),
            };
            number.map(Argument::Real).ok_or_else(|| wrong("a number"))
        }
        Kind::Direction(choices) => {
            let text = value.as_str().unwrap_or_default();
            let found = choices.iter().find(|(choice, _)| direction_name(*choice) == text);
            let names =
                || choices.iter().map(|(choice, _)| direction_name(*choice)).collect::<Vec<_>>().join(", ");
            found
                .map(|(choice, _)| Argument::Direction(*choice))
                .ok_or_else(|| wrong(&format!("one of {}", names())))
        }
        Kind::Vertex => vertex(value).map(Argument::Vertex).ok_or_else(|| wrong("the number of a vertex")),
        Kind::Vertices => {
            let vertices = match value {
                Value::Array(vertices) => vertices.iter().map(vertex).collect::<Option<Vec<_>>>(),
                one => vertex(one).map(|vertex| vec![vertex]),
            };
            vertices.map(Argument::Vertices).ok_or_else(|| wrong("numbers of vertices"))
        }
        Kind::EdgeProperty => {
            let name = value.as_str().map(str::to_owned);
            name.map(Argument::Property).ok_or_else(|| wrong("the name of a property of edges"))
        }
    }
}

fn vertex(value: &Value) -> Option<VertexId> {
    u32::try_from(value.as_u64()?).ok().map(VertexId)
}

fn texts(name: &str, value: Value) -> Result<Vec<String>> {
    let found = match &value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(texts) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    found.ok_or_else(|| Error::invalid(format!("{name}: expected a text, or a list of texts")))
}

fn name_key(name: &str, value: Value) -> Result<Option<NameKey>> {
    match value {
        Value::Bool(is_unique) => Ok(is_unique.then_some(NameKey::Unique)),
        Value::String(property) => Ok(Some(NameKey::Property(property))),
        other => Err(Error::invalid(format!(
            "{name}: expected true, or the name of the property by which vertices are known, found {other}"
        ))),
    }
}

fn conditions(name: &str, value: Value) -> Result<Vec<PropertyCondition>> {
    let Value::Array(conditions) = value else { return Err(wrong_condition(name)) };
    conditions.iter().map(|one| condition(name, one)).collect()
}

/// A property that must be there, or property, comparison and value.
fn condition(name: &str, value: &Value) -> Result<PropertyCondition> {
    let (key, condition) = match value {
        Value::String(key) => (key, Condition::Exists),
        Value::Array(parts) => match &parts[..] {
            [Value::String(key), Value::String(sign), Value::Array(values)] if sign == "in" => {
                (key, Condition::In(values.iter().map(|value| scalar(name, value)).collect::<Result<_>>()?))
            }
            [Value::String(key), Value::String(sign), value] => {
                let compared =
                    comparison(sign).map_err(|error| Error::invalid(format!("{name}: {error}")))?;
                (key, Condition::Compare(compared, scalar(name, value)?))
            }
            _ => return Err(wrong_condition(name)),
        },
        _ => return Err(wrong_condition(name)),
    };
    Ok(PropertyCondition { key: key.clone(), condition })
}

fn wrong_condition(name: &str) -> Error {
    Error::invalid(format!(
        "{name}: expected a list of conditions: the name of a property that must be there, or a list such as \
         [\"born\", \">=\", 1990] or [\"city\", \"in\", [\"Rome\", \"Pisa\"]]"
    ))
}

fn scalar(name: &str, value: &Value) -> Result<GraphValue> {
    match value {
        Value::Bool(value) => Ok((*value).into()),
        Value::String(text) => Ok(text.as_str().into()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Ok(number.into()),
            (None, Some(number)) => Ok(number.into()),
            (None, None) => Err(wrong_condition(name)),
        },
        Value::Object(_) => typed(name, value),
        _ => Err(Error::invalid(format!(
            "{name}: a property is compared with a text, a number, true or false, or with a value in GraphSON, such as \
             {{\"@type\": \"gx:LocalDate\", \"@value\": \"1990-01-31\"}}"
        ))),
    }
}

/// A value in GraphSON.
fn typed(name: &str, value: &Value) -> Result<GraphValue> {
    if !value.get("@type").is_some_and(Value::is_string) {
        return Err(Error::invalid(format!(
            "{name}: expected a value in GraphSON, with `@type` and `@value`, found {value}"
        )));
    }
    if has_lost_digits(value) {
        return Err(Error::invalid(format!(
            "{name}: write the numbers of gx:BigInteger and gx:BigDecimal as texts, which keep all digits"
        )));
    }
    let text = value.to_string();
    let mut reader = JsonReader::new(text.as_bytes());
    let read = read_value(&mut reader).and_then(|value| reader.finish().map(|()| value));
    read.map_err(|error| Error::invalid(format!("{name}: {value}: {error}")))
}

/// Whether a number of any length is written as a number of JSON, of which 64 bits were kept.
fn has_lost_digits(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            let of_any_length =
                members.get("@type").and_then(Value::as_str).is_some_and(|name| name.starts_with("gx:Big"));
            let number = members.get("@value").filter(|_| of_any_length);
            number.is_some_and(Value::is_f64) || members.values().any(has_lost_digits)
        }
        Value::Array(values) => values.iter().any(has_lost_digits),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::ValueType;
    use serde_json::json;

    fn read(name: &str, members: Value) -> Result<AlgorithmCall> {
        let Value::Object(members) = members else { unreachable!("an object") };
        AlgorithmCall::read(name, members)
    }

    #[test]
    fn parameters_and_the_part_of_the_graph_are_read_and_what_is_wrong_is_named() {
        let members = json!({"damping": 0.9, "iterations": 3, "direction": "in", "labels": "Person",
            "types": ["KNOWS", "LIKES"], "where": ["email", ["born", ">=", 1990], ["city", "in", ["Rome"]]], "tolerance": null});
        let call = read("pagerank", members).unwrap();
        assert_eq!((call.scope.labels.len(), call.scope.types.len(), call.scope.vertices.len()), (1, 2, 3));
        assert!(read("personalized-pagerank", json!({"sources": [1, 2]})).is_ok());
        assert!(read("bfs", json!({"source": 0})).is_ok());
        for (name, members, said) in [
            ("pagerang", json!({}), "pagerank"),
            ("pagerank", json!({"dampng": 0.9}), "damping"),
            ("pagerank", json!({"damping": 2}), "0 to 1"),
            ("pagerank", json!({"damping": "much"}), "a number"),
            ("pagerank", json!({"iterations": -1}), "iterations"),
            ("pagerank", json!({"direction": "up"}), "out, in, both"),
            ("pagerank", json!({"labels": 7}), "labels"),
            ("pagerank", json!({"where": "born"}), "list of conditions"),
            ("pagerank", json!({"where": [["born", "~", 7]]}), "comparison"),
            ("pagerank", json!({"where": [["born", "=", {}]]}), "where"),
            ("bfs", json!({"source": -1}), "number of a vertex"),
            ("bfs", json!({}), "source"),
            ("wcc", json!({"names": 7}), "names"),
            ("wcc", json!({"names": true, "keys": "email"}), "either `names` or `keys`"),
            ("wcc", json!({"summary": "yes"}), "summary"),
        ] {
            let error = read(name, members.clone()).unwrap_err().to_string();
            assert!(error.contains(said), "{name} {members}: {error}");
        }
    }

    #[test]
    fn names_are_by_the_unique_key_or_by_a_property() {
        let names = |names: Value| read("wcc", json!({"names": names, "summary": true})).unwrap();
        assert!(names(json!(true)).with_summary);
        assert_eq!(names(json!(true)).names, Some(NameKey::Unique));
        assert_eq!(names(json!("email")).names, Some(NameKey::Property("email".to_owned())));
        assert_eq!((names(json!(false)).names, names(json!(null)).names), (None, None));
    }

    #[test]
    fn every_parameter_has_a_name_of_its_own_beside_those_of_all() {
        for algorithm in ALGORITHMS {
            for column in algorithm.columns {
                assert!(!["label", "key", "key_number"].contains(&column.name), "{}", column.name);
            }
            for parameter in algorithm.parameters {
                assert!(!SHARED.contains(&&*camel_case(parameter.name)), "{}", parameter.name);
            }
        }
        assert_eq!(camel_case("missing_weight"), "missingWeight");
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for at in (1..2000).filter(|at| at % 7 != 0) {
            let number = f64::from(at) / 7.0;
            let text = format!("{{\"where\": [[\"share\", \"=\", {number}]]}}");
            let call = read("wcc", serde_json::from_str(&text).unwrap()).unwrap();
            let Condition::Compare(_, found) = &call.scope.vertices[0].condition else { unreachable!() };
            assert_eq!(*found, GraphValue::from(number), "{text}");
        }
    }

    #[test]
    fn values_that_json_has_no_form_for_are_in_graphson() {
        let date = json!({"@type": "gx:LocalDate", "@value": "1815-12-10"});
        let big = json!({"@type": "gx:BigInteger", "@value": "123456789012345678901234567890"});
        let members = json!({"where": [["born", "<", date], ["worth", "in", [big, 7, 0.1]]]});
        let call = read("wcc", members).unwrap();
        let Condition::Compare(_, found) = &call.scope.vertices[0].condition else { unreachable!() };
        assert_eq!(*found, GraphValue::parse("1815-12-10", ValueType::Date).unwrap());
        let Condition::In(found) = &call.scope.vertices[1].condition else { unreachable!() };
        assert_eq!(found[0].to_string(), "123456789012345678901234567890");
        let infinite =
            json!({"source": 0, "target": 1, "lengthMax": {"@type": "g:Double", "@value": "Infinity"}});
        assert!(read("shortest_path", infinite).is_ok());
        for (value, said) in [
            (json!({"@type": "gx:LocalDate", "@value": "1815-13-10"}), "1815-13-10"),
            (json!({"@type": "x:own", "@value": 1}), "x:own"),
            (json!({"@value": 1}), "`@type`"),
            (json!({"@type": "gx:BigDecimal", "@value": 0.25}), "as texts"),
            (json!({"@type": "g:List", "@value": [{"@type": "gx:BigDecimal", "@value": 0.25}]}), "as texts"),
        ] {
            let error = read("wcc", json!({"where": [["born", "=", value]]})).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("where"), "{error}");
        }
        let error = read("pagerank", json!({"damping": {"@type": "gx:Char", "@value": "x"}})).unwrap_err();
        assert!(error.to_string().contains("damping: expected a number"), "{error}");
    }
}
