//! Print: calls as text in one canonical form, which parses as the same calls.
//!
//! ```text
//! tokens with their enumeration     by("name", Order.desc)
//! numbers with the suffix they need 1  1l  1b  1.0  1.0f  1.50m  1n
//! strings in double quotes          "a \"b\""
//! anonymous traversals from __      __.out()
//! predicates from their class       P.gt(1).and(TextP.containing("x"))
//! ```
//!
//! Gremlin has no text for some values that a variable may have (bytes, characters, dates, durations):
//! they are written as strings, and read back as such.

use std::fmt;

use evergraph_graph::value::Value;

use crate::gremlin::call::{Argument, ArgumentKind, Call, Predicate, Query, Strategy, Test};

impl fmt::Display for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_chain(formatter, "g", &self.calls)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}(", self.name)?;
        write_list(formatter, &self.arguments)?;
        formatter.write_str(")")
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(formatter)
    }
}

impl fmt::Display for ArgumentKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Scalar(value) => write_scalar(formatter, value),
            Self::List(values) => {
                formatter.write_str("[")?;
                write_list(formatter, values)?;
                formatter.write_str("]")
            }
            Self::Set(values) => {
                formatter.write_str("{")?;
                write_list(formatter, values)?;
                formatter.write_str("}")
            }
            Self::Map(entries) if entries.is_empty() => formatter.write_str("[:]"),
            Self::Map(entries) => {
                let mut separator = "[";
                for (key, value) in entries {
                    formatter.write_str(separator)?;
                    separator = ", ";
                    match &key.kind {
                        ArgumentKind::Scalar(Value::String(_)) => write!(formatter, "{key}")?,
                        _ => write!(formatter, "({key})")?,
                    }
                    write!(formatter, ": {value}")?;
                }
                formatter.write_str("]")
            }
            Self::Token(token) => write!(formatter, "{}.{}", token.enumeration().name(), token.word()),
            Self::WithCardinality(cardinality, value) => {
                write!(formatter, "Cardinality.{}({value})", cardinality.word())
            }
            Self::Now => formatter.write_str("datetime()"),
            Self::NewUuid => formatter.write_str("UUID()"),
            Self::Traversal(calls) => write_chain(formatter, "__", calls),
            Self::Query(query) => query.fmt(formatter),
            Self::Predicate(predicate) => predicate.fmt(formatter),
            Self::Strategy(strategy) => strategy.fmt(formatter),
            Self::Word(word) => formatter.write_str(word),
            Self::Variable(name) => formatter.write_str(name),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Test::And | Test::Or, [first, rest @ ..]) = (self.test, &*self.arguments) {
            write!(formatter, "{first}")?;
            return rest.iter().try_for_each(|other| write!(formatter, ".{}({other})", self.test.name()));
        }
        write!(formatter, "{}.{}(", self.test.class(), self.test.name())?;
        write_list(formatter, &self.arguments)?;
        formatter.write_str(")")
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "new {}(", self.name)?;
        let mut separator = "";
        for (name, value) in &self.settings {
            write!(formatter, "{separator}{name}: {value}")?;
            separator = ", ";
        }
        formatter.write_str(")")
    }
}

fn write_chain(formatter: &mut fmt::Formatter<'_>, root: &str, calls: &[Call]) -> fmt::Result {
    formatter.write_str(root)?;
    calls.iter().try_for_each(|call| write!(formatter, ".{call}"))
}

fn write_list(formatter: &mut fmt::Formatter<'_>, arguments: &[Argument]) -> fmt::Result {
    let mut separator = "";
    for argument in arguments {
        write!(formatter, "{separator}{argument}")?;
        separator = ", ";
    }
    Ok(())
}

fn write_scalar(formatter: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Bool(truth) => write!(formatter, "{truth}"),
        Value::I8(number) => write!(formatter, "{number}b"),
        Value::I16(number) => write!(formatter, "{number}s"),
        Value::I32(number) => write!(formatter, "{number}"),
        Value::I64(number) => write!(formatter, "{number}l"),
        Value::BigInteger(number) => write!(formatter, "{number}n"),
        Value::F32(number) if !number.is_finite() => write_not_finite(formatter, f64::from(*number)),
        Value::F64(number) if !number.is_finite() => write_not_finite(formatter, *number),
        // The debug form marks a float by its point: 1.0, not 1.
        Value::F32(number) => write!(formatter, "{number:?}f"),
        Value::F64(number) => write!(formatter, "{number:?}"),
        Value::Decimal(number) => write!(formatter, "{number}m"),
        Value::String(text) => write_string(formatter, text),
        Value::DateTime(moment) => write!(formatter, "datetime(\"{moment}\")"),
        Value::Uuid(uuid) => write!(formatter, "UUID(\"{uuid}\")"),
        other => write_string(formatter, &other.to_string()),
    }
}

fn write_not_finite(formatter: &mut fmt::Formatter<'_>, number: f64) -> fmt::Result {
    formatter.write_str(match number {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    })
}

fn write_string(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    formatter.write_str("\"")?;
    let mut rest = text;
    while let Some(at) = rest.find(|next: char| next.is_ascii_control() || matches!(next, '"' | '\\')) {
        let (plain, escaped) = rest.split_at(at);
        formatter.write_str(plain)?;
        match escaped.as_bytes()[0] {
            b'\n' => formatter.write_str("\\n")?,
            b'\r' => formatter.write_str("\\r")?,
            b'\t' => formatter.write_str("\\t")?,
            mark @ (b'"' | b'\\') => write!(formatter, "\\{}", char::from(mark))?,
            control => write!(formatter, "\\u{control:04x}")?,
        }
        rest = &escaped[1..];
    }
    write!(formatter, "{rest}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::token::{Cardinality, Order, T, Token};

    fn scalar(value: impl Into<Value>) -> ArgumentKind {
        ArgumentKind::Scalar(value.into())
    }

    #[test]
    fn numbers_show_their_width() {
        for (value, text) in [
            (Value::I8(-1), "-1b"),
            (Value::I16(1), "1s"),
            (Value::I32(1), "1"),
            (Value::I64(1), "1l"),
            (Value::F32(1.5), "1.5f"),
            (Value::F64(1e300), "1e300"),
            (Value::F64(-0.0), "-0.0"),
            (Value::F64(f64::NAN), "NaN"),
            (Value::F32(f32::NEG_INFINITY), "-Infinity"),
            (Value::Decimal("12.50".parse().unwrap()), "12.50m"),
            (Value::BigInteger("7".parse().unwrap()), "7n"),
            (Value::from(vec![1_u8]), "\"\\\\x01\""),
        ] {
            assert_eq!(scalar(value).to_string(), text);
        }
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(scalar("é \"q\" \\ \n\u{0}\u{7f}").to_string(), r#""é \"q\" \\ \n\u0000\u007f""#);
    }

    #[test]
    fn everything_else_has_one_form() {
        let predicate = |test, arguments| Predicate { test, arguments, span: crate::error::Span::default() };
        let greater = |number: i32| predicate(Test::Gt, vec![scalar(number).into()]);
        let either = predicate(
            Test::Or,
            vec![
                ArgumentKind::Predicate(greater(1)).into(),
                ArgumentKind::Predicate(predicate(
                    Test::Not,
                    vec![ArgumentKind::Predicate(greater(2)).into()],
                ))
                .into(),
            ],
        );
        let query = Query {
            calls: vec![
                Call::new("has", [scalar("age"), ArgumentKind::Predicate(either)]),
                Call::new("where", [ArgumentKind::Traversal(vec![Call::new("out", [])])]),
                Call::new("by", [ArgumentKind::Token(Token::Order(Order::Desc))]),
                Call::new(
                    "mergeV",
                    [ArgumentKind::Map(vec![
                        (ArgumentKind::Token(Token::T(T::Id)).into(), ArgumentKind::Null.into()),
                        (
                            scalar("k").into(),
                            ArgumentKind::WithCardinality(Cardinality::Set, Box::new(scalar(1).into()))
                                .into(),
                        ),
                    ])],
                ),
                Call::new(
                    "withStrategies",
                    [ArgumentKind::Strategy(Strategy {
                        name: "SeedStrategy".into(),
                        settings: vec![("seed".into(), scalar(7).into())],
                    })],
                ),
            ],
        };
        assert_eq!(
            query.to_string(),
            "g.has(\"age\", P.gt(1).or(P.not(P.gt(2)))).where(__.out()).by(Order.desc)\
             .mergeV([(T.id): null, \"k\": Cardinality.set(1)]).withStrategies(new SeedStrategy(seed: 7))"
        );
    }
}
