//! Notation: how TinkerPop's scenarios write values, in tables and as parameters.
//!
//! ```text
//! d[1].i  .b .s .l .n     int, byte, short, long, bigint     null true false
//! d[1.5].d  .f .m         double, float, decimal             d[NaN] d[Infinity] d[-Infinity]
//! str[ x ]                a text that blanks belong to       dt[2023-08-02T00:00:00Z]  uuid[...]
//! v[marko]                the vertex whose name is marko     v[marko].id  .sid   its id, its id as text
//! e[marko-knows->josh]    the edge between them              e[...].id  .sid
//! vp[marko-age->d[29].i]  a property of a vertex             t[id]  D[OUT]  M[outV]   tokens
//! l[a,b]  s[a,b]  p[a,b]  a list, a set, a path              m[{"a":"d[1].i"}]        a map, in JSON
//! ```
//!
//! Anything else is a text. Inside a map, texts of JSON are read in this notation again, keys as well; its numbers are
//! ints where 32 bits hold them, else longs, or doubles.

use evergraph::Value;
use evergraph::graph::value::ValueType;
use evergraph_query::gremlin::token::{Direction, Merge, T};
use serde_json::Value as Json;

/// A value as a scenario writes it. Elements are names, until somebody looks them up in a graph.
#[derive(Clone, PartialEq, Debug)]
pub enum Notation {
    /// `null`.
    Null,
    /// A number, text, truth, time or identifier.
    Value(Value),
    /// `v[marko]`.
    Vertex(String),
    /// `e[marko-knows->josh]`.
    Edge(String),
    /// The id of an element: `v[marko].id`.
    Id(Box<Notation>),
    /// The id of an element, as a text: `v[marko].sid`.
    IdText(Box<Notation>),
    /// `vp[marko-age->d[29].i]`.
    VertexProperty {
        /// The name of the vertex.
        vertex: String,
        /// The property's key.
        key: String,
        /// Its value.
        value: Box<Notation>,
    },
    /// `l[a,b]`.
    List(Vec<Notation>),
    /// `s[a,b]`.
    Set(Vec<Notation>),
    /// `p[a,b]`.
    Path(Vec<Notation>),
    /// `m[{"a":"b"}]`.
    Map(Vec<(Notation, Notation)>),
    /// `t[id]`.
    Token(T),
    /// `D[OUT]`.
    Direction(Direction),
    /// `M[outV]`.
    Merge(Merge),
}

/// Reads a value.
///
/// # Errors
/// What looks like the notation and isn't: a number that is none, a map that is no JSON.
pub fn parse(text: &str) -> Result<Notation, String> {
    let wrong = |why: &str| format!("{text}: {why}");
    let text_itself = || Ok(Notation::Value(Value::from(text)));
    match text {
        "null" => return Ok(Notation::Null),
        "true" => return Ok(Notation::Value(Value::Bool(true))),
        "false" => return Ok(Notation::Value(Value::Bool(false))),
        _ => {}
    }
    let Some((kind, rest)) = text.split_once('[') else { return text_itself() };
    let Some((inside, ending)) = rest.rsplit_once(']') else { return text_itself() };
    let value = |value_type| {
        let read = Value::parse(inside, value_type);
        read.map(Notation::Value).map_err(|error| wrong(&error.reason))
    };
    Ok(match (kind, ending) {
        ("d", ".b") => value(ValueType::I8)?,
        ("d", ".s") => value(ValueType::I16)?,
        ("d", ".i") => value(ValueType::I32)?,
        ("d", ".l") => value(ValueType::I64)?,
        ("d", ".n") => value(ValueType::BigInteger)?,
        ("d", ".f") => value(ValueType::F32)?,
        ("d", ".d") => value(ValueType::F64)?,
        ("d", ".m") => value(ValueType::Decimal)?,
        ("d", "") => match inside {
            "NaN" => Notation::Value(Value::F64(f64::NAN)),
            "Infinity" => Notation::Value(Value::F64(f64::INFINITY)),
            "-Infinity" => Notation::Value(Value::F64(f64::NEG_INFINITY)),
            _ => return Err(wrong("the type of the number is missing")),
        },
        ("str", "") => Notation::Value(Value::from(inside)),
        ("dt", "") => value(ValueType::DateTime)?,
        ("uuid", "") => value(ValueType::Uuid)?,
        ("v", ending) => {
            of_element(Notation::Vertex(inside.to_owned()), ending).ok_or_else(|| wrong("no such part"))?
        }
        ("e", ending) => {
            of_element(Notation::Edge(inside.to_owned()), ending).ok_or_else(|| wrong("no such part"))?
        }
        ("vp", "") => {
            let parts =
                inside.split_once('-').and_then(|(vertex, rest)| Some((vertex, rest.split_once("->")?)));
            let (vertex, (key, value)) = parts.ok_or_else(|| wrong("expected vp[name-key->value]"))?;
            let value = Box::new(parse(value)?);
            Notation::VertexProperty { vertex: vertex.to_owned(), key: key.to_owned(), value }
        }
        ("l", "") => Notation::List(all(inside)?),
        ("s", "") => Notation::Set(all(inside)?),
        ("p", "") => Notation::Path(all(inside)?),
        ("m", "") => {
            let json: Json = serde_json::from_str(inside).map_err(|error| wrong(&error.to_string()))?;
            of_json(&json)?
        }
        ("t", "") => Notation::Token(T::from_word(inside).ok_or_else(|| wrong("no such token"))?),
        ("D", "") => {
            Notation::Direction(Direction::from_word(inside).ok_or_else(|| wrong("no such direction"))?)
        }
        ("M", "") => Notation::Merge(Merge::from_word(inside).ok_or_else(|| wrong("no such token"))?),
        _ => return text_itself(),
    })
}

fn of_element(element: Notation, ending: &str) -> Option<Notation> {
    match ending {
        "" => Some(element),
        ".id" => Some(Notation::Id(Box::new(element))),
        ".sid" => Some(Notation::IdText(Box::new(element))),
        _ => None,
    }
}

/// The values between commas, of which those in brackets separate nothing.
fn all(inside: &str) -> Result<Vec<Notation>, String> {
    if inside.is_empty() {
        return Ok(Vec::new());
    }
    let (mut found, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push(parse(inside[start..at].trim())?);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(parse(inside[start..].trim())?);
    Ok(found)
}

fn of_json(json: &Json) -> Result<Notation, String> {
    Ok(match json {
        Json::Null => Notation::Null,
        Json::Bool(truth) => Notation::Value(Value::Bool(*truth)),
        Json::Number(number) => {
            let whole =
                number.as_i64().map(|whole| i32::try_from(whole).map_or(Value::I64(whole), Value::I32));
            let value = whole.or_else(|| number.as_f64().map(Value::F64));
            Notation::Value(value.ok_or_else(|| format!("{number} is no number"))?)
        }
        Json::String(text) => parse(text)?,
        Json::Array(items) => Notation::List(items.iter().map(of_json).collect::<Result<_, _>>()?),
        Json::Object(entries) => {
            let entry = |(key, value): (&String, &Json)| Ok((parse(key)?, of_json(value)?));
            Notation::Map(entries.iter().map(entry).collect::<Result<_, String>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: impl Into<Value>) -> Notation {
        Notation::Value(value.into())
    }

    #[test]
    fn each_form_means_what_it_says() {
        let marko = || Box::new(Notation::Vertex("marko".to_owned()));
        let edge = || Box::new(Notation::Edge("marko-knows->josh".to_owned()));
        for (text, meaning) in [
            ("d[1].b", value(1_i8)),
            ("d[1].s", value(1_i16)),
            ("d[1].i", value(1_i32)),
            ("d[1].l", value(1_i64)),
            ("d[1].f", value(1_f32)),
            ("d[1].d", value(1_f64)),
            ("d[-Infinity]", value(f64::NEG_INFINITY)),
            ("null", Notation::Null),
            ("true", value(true)),
            ("marko", value("marko")),
            ("str[ v[1]]", value(" v[1]")),
            ("a[b]", value("a[b]")),
            ("v[marko].id", Notation::Id(marko())),
            ("v[marko].sid", Notation::IdText(marko())),
            ("e[marko-knows->josh]", *edge()),
            ("e[marko-knows->josh].id", Notation::Id(edge())),
            ("l[]", Notation::List(Vec::new())),
            ("s[a,d[1].i]", Notation::Set(vec![value("a"), value(1_i32)])),
            (
                "p[v[marko],l[a,b]]",
                Notation::Path(vec![*marko(), Notation::List(vec![value("a"), value("b")])]),
            ),
            ("t[id]", Notation::Token(T::Id)),
            ("D[from]", Notation::Direction(Direction::Out)),
            ("M[outV]", Notation::Merge(Merge::OutV)),
        ] {
            assert_eq!(parse(text), Ok(meaning), "{text}");
        }
        for (text, shown) in
            [("d[1].n", "1"), ("d[1.50].m", "1.50"), ("dt[2023-08-02T00:00:00Z]", "2023-08-02T00:00:00Z")]
        {
            let Ok(Notation::Value(value)) = parse(text) else { panic!("{text} is a value") };
            assert_eq!(value.to_string(), shown);
        }
        let property = parse("vp[marko-age->d[29].i]");
        let age = Notation::VertexProperty {
            vertex: "marko".into(),
            key: "age".into(),
            value: Box::new(value(29_i32)),
        };
        assert_eq!(property, Ok(age));
    }

    #[test]
    fn maps_are_json_whose_texts_are_notation() {
        let map =
            parse(r#"m[{"t[id]": "v[marko].id", "age": [27, 3000000000, 0.5], "x": {"y": null}}]"#).unwrap();
        let Notation::Map(entries) = map else { panic!("a map") };
        let get = |key: &Notation| entries.iter().find(|entry| entry.0 == *key).map(|entry| entry.1.clone());
        assert_eq!(get(&Notation::Token(T::Id)), parse("v[marko].id").ok());
        let numbers = Notation::List(vec![value(27_i32), value(3_000_000_000_i64), value(0.5)]);
        assert_eq!(get(&value("age")), Some(numbers));
        assert_eq!(get(&value("x")), Some(Notation::Map(vec![(value("y"), Notation::Null)])));
        assert_eq!(entries.len(), 3);
    }

    #[test]
    fn what_looks_like_the_notation_and_is_not_is_refused() {
        for text in ["d[x].i", "d[300].b", "d[1]", "m[{]", "t[none]", "v[a].name", "dt[today]", "vp[a]"] {
            assert!(parse(text).unwrap_err().starts_with(text), "{text}");
        }
    }
}
