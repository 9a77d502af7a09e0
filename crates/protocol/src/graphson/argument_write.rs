//! Writes bytecode and arguments of queries in GraphSON 3, as drivers do; `bytecode_read` reads them back.

use evergraph_graph::value::Value;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::{Argument, ArgumentKind, Call, Predicate, Test};
use evergraph_query::gremlin::token::Token;

use crate::error::EncodeError;
use crate::graph_binary::argument_write::{CARDINALITY_VALUE, transaction_operation};
use crate::graphson::result_write::JsonWriter;
use crate::result::result_writer::ResultWriter;

/// `bytecode` as a value of the type `g:Bytecode`.
///
/// # Errors
/// If GraphSON has no form for an argument: what only texts have, such as `now()` or an unresolved word, and a duration of
/// months and seconds.
pub fn bytecode(bytecode: &Bytecode) -> Result<String, EncodeError> {
    let mut writer = JsonWriter::default();
    write_bytecode(&mut writer, bytecode)?;
    Ok(writer.json)
}

pub(crate) fn write_bytecode(writer: &mut JsonWriter, bytecode: &Bytecode) -> Result<(), EncodeError> {
    let (source, steps) = bytecode.instructions();
    match transaction_operation(source) {
        Some(operation) => write_calls(writer, &[Call::new("tx", [Value::from(operation).into()])], steps),
        None => write_calls(writer, source, steps),
    }
}

/// Appends an argument of a query, such as the value of a variable.
///
/// # Errors
/// As [`bytecode`]; a part of it may be written then.
pub(crate) fn write_argument(writer: &mut JsonWriter, argument: &ArgumentKind) -> Result<(), EncodeError> {
    match argument {
        ArgumentKind::Null => writer.null(),
        ArgumentKind::Scalar(value) => writer.plain_value(value)?,
        ArgumentKind::List(values) => write_typed_arguments(writer, "g:List", values)?,
        ArgumentKind::Set(values) => write_typed_arguments(writer, "g:Set", values)?,
        ArgumentKind::Map(entries) => {
            writer.begin_typed("g:Map");
            writer.json.push('[');
            for (key, value) in entries {
                write_argument(writer, &key.kind)?;
                write_argument(writer, &value.kind)?;
            }
            writer.json.push_str("]}");
        }
        ArgumentKind::Token(token) => write_token(writer, *token)?,
        ArgumentKind::WithCardinality(cardinality, value) => {
            let token = ArgumentKind::Token(Token::Cardinality(*cardinality)).into();
            let arguments = vec![token, Argument::clone(value)];
            let call = Call { arguments, ..Call::new(CARDINALITY_VALUE, []) };
            write_calls(writer, &[call], &[])?;
        }
        ArgumentKind::Traversal(calls) => write_calls(writer, &[], calls)?,
        ArgumentKind::Predicate(predicate) => write_predicate(writer, predicate)?,
        ArgumentKind::Strategy(strategy) => {
            writer.begin_typed(&format!("g:{}", strategy.name));
            writer.json.push_str("{\"fqcn\":");
            writer.plain_text(&strategy.name);
            writer.key("conf");
            writer.json.push('{');
            for (key, value) in &strategy.settings {
                writer.key(key);
                write_argument(writer, &value.kind)?;
            }
            writer.json.push_str("}}}");
        }
        ArgumentKind::Now
        | ArgumentKind::NewUuid
        | ArgumentKind::Query(_)
        | ArgumentKind::Word(_)
        | ArgumentKind::Variable(_) => return Err(EncodeError::only_in_texts()),
    }
    Ok(())
}

fn write_calls(writer: &mut JsonWriter, source: &[Call], steps: &[Call]) -> Result<(), EncodeError> {
    writer.begin_typed("g:Bytecode");
    writer.json.push('{');
    for (key, calls) in [("source", source), ("step", steps)] {
        if calls.is_empty() {
            continue;
        }
        writer.key(key);
        writer.json.push('[');
        for call in calls {
            writer.separate();
            writer.json.push('[');
            writer.plain_text(&call.name);
            call.arguments.iter().try_for_each(|argument| write_argument(writer, &argument.kind))?;
            writer.json.push(']');
        }
        writer.json.push(']');
    }
    writer.json.push_str("}}");
    Ok(())
}

fn write_typed_arguments(
    writer: &mut JsonWriter,
    name: &str,
    arguments: &[Argument],
) -> Result<(), EncodeError> {
    writer.begin_typed(name);
    writer.json.push('[');
    arguments.iter().try_for_each(|argument| write_argument(writer, &argument.kind))?;
    writer.json.push_str("]}");
    Ok(())
}

fn write_token(writer: &mut JsonWriter, token: Token) -> Result<(), EncodeError> {
    let enumeration = token.enumeration();
    if !enumeration.has_short_form() {
        return Err(EncodeError::only_in_texts());
    }
    writer.begin_typed(&format!("g:{}", enumeration.name()));
    writer.plain_text(token.word());
    writer.json.push('}');
    Ok(())
}

fn write_predicate(writer: &mut JsonWriter, predicate: &Predicate) -> Result<(), EncodeError> {
    writer.begin_typed(&format!("g:{}", predicate.test.class()));
    writer.json.push_str("{\"predicate\":");
    writer.plain_text(predicate.test.name());
    writer.key("value");
    match (predicate.test, &*predicate.arguments) {
        // A text encloses the collection in another; drivers do not.
        (Test::Within | Test::Without, [Argument { kind: ArgumentKind::List(values), .. }]) => {
            write_typed_arguments(writer, "g:List", values)?;
        }
        (
            Test::Within
            | Test::Without
            | Test::Between
            | Test::Inside
            | Test::Outside
            | Test::And
            | Test::Or,
            arguments,
        ) => write_typed_arguments(writer, "g:List", arguments)?,
        (_, [argument]) => write_argument(writer, &argument.kind)?,
        (_, arguments) => write_typed_arguments(writer, "g:List", arguments)?,
    }
    writer.json.push_str("}}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphson::bytecode_read::parse;
    use crate::strategy::any_calls;
    use evergraph_query::gremlin::parser::ParseLimits;
    use evergraph_query::gremlin::read::read as read_text;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(source in any_calls(0..3), steps in any_calls(0..4)) {
            let expected = Bytecode::new(source, steps);
            let json = bytecode(&expected).expect("bytecode that a driver could send");
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok(), "{}", json);
            prop_assert_eq!(parse(json.as_bytes(), &ParseLimits::default()), Ok(expected), "{}", json);
        }
    }

    #[test]
    fn commit_is_one_source_instruction() {
        let commit = Bytecode::new(vec![Call::new("tx", []), Call::new("commit", [])], Vec::new());
        let json = bytecode(&commit).unwrap();
        assert_eq!(json, r#"{"@type":"g:Bytecode","@value":{"source":[["tx","commit"]]}}"#);
        assert_eq!(parse(json.as_bytes(), &ParseLimits::default()), Ok(commit));
    }

    #[test]
    fn what_only_texts_have_is_an_error() {
        let query = read_text("g.inject(datetime())", &ParseLimits::default(), &Default::default()).unwrap();
        let error = bytecode(&Bytecode::new(Vec::new(), query.calls)).unwrap_err();
        assert!(error.to_string().starts_with("only a text can express this"), "{error}");
    }
}
