//! Writes bytecode and arguments of queries in GraphBinary, as drivers do; `bytecode_read` reads them back.

use evergraph_graph::value::Value;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::{Argument, ArgumentKind, Call, Test};
use evergraph_query::gremlin::token::{Cardinality, Token};

use crate::error::EncodeError;
use crate::graph_binary::type_code;
use crate::graph_binary::value_write::{
    write_count, write_header, write_null, write_string, write_value, write_word,
};

/// The source instruction that a value with its cardinality is written as.
pub(crate) const CARDINALITY_VALUE: &str = "CardinalityValueTraversal";

/// `bytecode` as a value, with type and flag.
///
/// # Errors
/// If GraphBinary has no form for one of its arguments, such as `now()`, or a duration of months and seconds.
pub fn bytecode(bytecode: &Bytecode) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    write_bytecode(&mut out, bytecode)?;
    Ok(out)
}

/// Appends `bytecode` with type and flag.
///
/// # Errors
/// As [`write_argument`].
pub(crate) fn write_bytecode(out: &mut Vec<u8>, bytecode: &Bytecode) -> Result<(), EncodeError> {
    write_header(out, type_code::BYTECODE);
    let (source, steps) = bytecode.instructions();
    if let Some(operation) = transaction_operation(source) {
        let call = Call::new("tx", [Value::from(operation).into()]);
        return write_instructions(out, &[call], steps);
    }
    write_instructions(out, source, steps)
}

/// The operation of a source that is `tx().commit()` or `tx().rollback()`, which drivers write as one instruction.
pub(crate) fn transaction_operation(source: &[Call]) -> Option<&str> {
    match source {
        [tx, operation] if &*tx.name == "tx" && tx.arguments.is_empty() && operation.arguments.is_empty() => {
            Some(&operation.name)
        }
        _ => None,
    }
}

/// Appends an argument of a query, such as the value of a variable.
///
/// # Errors
/// If GraphBinary has no form for it: what only texts have, such as `now()` or an unresolved word, and a duration of
/// months and seconds. A part of it may be written then.
pub(crate) fn write_argument(out: &mut Vec<u8>, argument: &ArgumentKind) -> Result<(), EncodeError> {
    match argument {
        ArgumentKind::Null => write_null(out),
        ArgumentKind::Scalar(value) => write_value(out, value)?,
        ArgumentKind::List(values) => {
            write_header(out, type_code::LIST);
            write_arguments(out, values)?;
        }
        ArgumentKind::Set(values) => {
            write_header(out, type_code::SET);
            write_arguments(out, values)?;
        }
        ArgumentKind::Map(entries) => {
            write_header(out, type_code::MAP);
            write_count(out, entries.len())?;
            for (key, value) in entries {
                write_argument(out, &key.kind)?;
                write_argument(out, &value.kind)?;
            }
        }
        ArgumentKind::Token(token) => write_token(out, *token)?,
        ArgumentKind::WithCardinality(cardinality, value) => {
            write_cardinality(out, *cardinality, &value.kind)?;
        }
        ArgumentKind::Traversal(calls) => {
            write_header(out, type_code::BYTECODE);
            write_instructions(out, &[], calls)?;
        }
        ArgumentKind::Predicate(predicate) => {
            let is_of_text = predicate.test.class() == "TextP";
            write_header(out, if is_of_text { type_code::TEXT_P } else { type_code::P });
            write_string(out, predicate.test.name())?;
            match (predicate.test, &*predicate.arguments) {
                // A text encloses the collection in another; drivers do not.
                (Test::Within | Test::Without, [Argument { kind: ArgumentKind::List(values), .. }]) => {
                    write_arguments(out, values)?;
                }
                (_, arguments) => write_arguments(out, arguments)?,
            }
        }
        ArgumentKind::Strategy(strategy) => {
            write_header(out, type_code::STRATEGY);
            write_string(out, &strategy.name)?;
            write_count(out, strategy.settings.len())?;
            for (key, value) in &strategy.settings {
                write_value(out, &Value::String(key.clone()))?;
                write_argument(out, &value.kind)?;
            }
        }
        ArgumentKind::Now
        | ArgumentKind::NewUuid
        | ArgumentKind::Query(_)
        | ArgumentKind::Word(_)
        | ArgumentKind::Variable(_) => return Err(EncodeError::only_in_texts()),
    }
    Ok(())
}

fn write_instructions(out: &mut Vec<u8>, source: &[Call], steps: &[Call]) -> Result<(), EncodeError> {
    for calls in [steps, source] {
        write_count(out, calls.len())?;
        for call in calls {
            write_string(out, &call.name)?;
            write_arguments(out, &call.arguments)?;
        }
    }
    Ok(())
}

fn write_arguments(out: &mut Vec<u8>, arguments: &[Argument]) -> Result<(), EncodeError> {
    write_count(out, arguments.len())?;
    arguments.iter().try_for_each(|argument| write_argument(out, &argument.kind))
}

fn write_token(out: &mut Vec<u8>, token: Token) -> Result<(), EncodeError> {
    match type_code::code_of(token.enumeration()) {
        Some(code) => write_word(out, code, token.word()),
        None => Err(EncodeError::only_in_texts()),
    }
}

fn write_cardinality(
    out: &mut Vec<u8>,
    cardinality: Cardinality,
    value: &ArgumentKind,
) -> Result<(), EncodeError> {
    write_header(out, type_code::BYTECODE);
    write_count(out, 0)?;
    write_count(out, 1)?;
    write_string(out, CARDINALITY_VALUE)?;
    write_count(out, 2)?;
    write_token(out, Token::Cardinality(cardinality))?;
    write_argument(out, value)
}
