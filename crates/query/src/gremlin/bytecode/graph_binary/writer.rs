//! Writer: calls as GraphBinary, for tests to read back. It writes what the reader's caption says, and
//! shares nothing with the reader but the numbers of types.

use crate::gremlin::call::{Argument, ArgumentKind, Call, Test};
use crate::gremlin::token::Enumeration;
use evergraph_graph::value::Value;

/// Bytecode of its own, with type and flag.
pub fn bytecode(source: &[Call], steps: &[Call]) -> Vec<u8> {
    let mut out = vec![0x15, 0];
    write_instructions(&mut out, source, steps);
    out
}

fn write_instructions(out: &mut Vec<u8>, source: &[Call], steps: &[Call]) {
    for calls in [steps, source] {
        write_count(out, calls.len());
        for call in calls {
            write_string(out, &call.name);
            write_values(out, &call.arguments);
        }
    }
}

/// One value.
pub fn write(out: &mut Vec<u8>, argument: &ArgumentKind) {
    let begin = |out: &mut Vec<u8>, code: u8| out.extend([code, 0]);
    match argument {
        ArgumentKind::Null => out.extend([0xfe, 1]),
        ArgumentKind::Scalar(value) => write_scalar(out, value),
        ArgumentKind::List(values) => {
            begin(out, 0x09);
            write_values(out, values);
        }
        ArgumentKind::Set(values) => {
            begin(out, 0x0b);
            write_values(out, values);
        }
        ArgumentKind::Map(entries) => {
            begin(out, 0x0a);
            write_count(out, entries.len());
            for (key, value) in entries {
                write(out, &key.kind);
                write(out, &value.kind);
            }
        }
        ArgumentKind::Token(token) => {
            begin(out, code(token.enumeration()));
            begin(out, 0x03);
            write_string(out, token.word());
        }
        ArgumentKind::WithCardinality(cardinality, value) => {
            begin(out, 0x15);
            let token = ArgumentKind::Token(crate::gremlin::token::Token::Cardinality(*cardinality));
            let call = Call::new("CardinalityValueTraversal", [token, value.kind.clone()]);
            write_instructions(out, &[call], &[]);
        }
        ArgumentKind::Traversal(calls) => {
            begin(out, 0x15);
            write_instructions(out, &[], calls);
        }
        ArgumentKind::Predicate(predicate) => {
            begin(out, if predicate.test.class() == "TextP" { 0x28 } else { 0x1e });
            write_string(out, predicate.test.name());
            match (predicate.test, &*predicate.arguments) {
                // As drivers do it: values bare, and the collection that a text has around them left out.
                (Test::Within | Test::Without, [Argument { kind: ArgumentKind::List(values), .. }]) => {
                    write_values(out, values);
                }
                (_, arguments) => write_values(out, arguments),
            }
        }
        ArgumentKind::Strategy(strategy) => {
            begin(out, 0x29);
            write_string(out, &format!("org.example.{}", strategy.name));
            write_count(out, strategy.settings.len());
            for (key, value) in &strategy.settings {
                write_scalar(out, &Value::String(key.clone()));
                write(out, &value.kind);
            }
        }
        other => panic!("{other:?} is no bytecode"),
    }
}

fn write_values(out: &mut Vec<u8>, values: &[Argument]) {
    write_count(out, values.len());
    for value in values {
        write(out, &value.kind);
    }
}

fn write_scalar(out: &mut Vec<u8>, value: &Value) {
    let mut put = |code: u8, content: &[u8]| {
        out.extend([code, 0]);
        out.extend_from_slice(content);
    };
    match value {
        Value::Bool(truth) => put(0x27, &[u8::from(*truth)]),
        Value::I8(number) => put(0x24, &number.to_be_bytes()),
        Value::I16(number) => put(0x26, &number.to_be_bytes()),
        Value::I32(number) => put(0x01, &number.to_be_bytes()),
        Value::I64(number) => put(0x02, &number.to_be_bytes()),
        Value::F32(number) => put(0x08, &number.to_be_bytes()),
        Value::F64(number) => put(0x07, &number.to_be_bytes()),
        Value::BigInteger(number) => put(0x23, &sized(&number.as_inner().to_signed_bytes_be())),
        Value::Decimal(number) => {
            let (digits, scale) = number.as_parts();
            let scale = i32::try_from(scale).expect("scales of decimals are small").to_be_bytes();
            put(0x22, &[&scale[..], &sized(&digits.to_signed_bytes_be())].concat());
        }
        Value::Char(character) => put(0x80, character.to_string().as_bytes()),
        Value::String(text) => put(0x03, &sized(text.as_bytes())),
        Value::Bytes(bytes) => put(0x25, &sized(bytes)),
        Value::Date(date) => {
            let (year, month, day) = date.to_calendar();
            put(0x84, &[&year.to_be_bytes()[..], &[month, day]].concat());
        }
        Value::DateTime(moment) => {
            let (year, month, day) = moment.local_date().to_calendar();
            let second = i64::from(moment.local_second_of_day());
            let nanoseconds = second * 1_000_000_000 + i64::from(moment.nanoseconds());
            let offset = moment.offset_seconds();
            let parts =
                [&year.to_be_bytes()[..], &[month, day], &nanoseconds.to_be_bytes(), &offset.to_be_bytes()];
            put(0x88, &parts.concat());
        }
        Value::Duration(duration) if (duration.months(), duration.days()) == (0, 0) => {
            let nanoseconds = i32::try_from(duration.nanoseconds()).expect("less than a second");
            put(0x81, &[&duration.seconds().to_be_bytes()[..], &nanoseconds.to_be_bytes()].concat());
        }
        Value::Duration(duration) => {
            let parts = [duration.months() / 12, duration.months() % 12, duration.days()];
            put(0x8a, &parts.map(i32::to_be_bytes).concat());
        }
        Value::Uuid(uuid) => put(0x0c, uuid.as_bytes()),
        Value::List(_) | Value::Set(_) | Value::Map(_) => panic!("collections are arguments of their own"),
    }
}

fn write_count(out: &mut Vec<u8>, count: usize) {
    out.extend(i32::try_from(count).expect("tests are small").to_be_bytes());
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    out.extend(sized(text.as_bytes()));
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_count(&mut out, bytes.len());
    out.extend_from_slice(bytes);
    out
}

fn code(enumeration: Enumeration) -> u8 {
    match enumeration {
        Enumeration::Barrier => 0x13,
        Enumeration::Cardinality => 0x16,
        Enumeration::Column => 0x17,
        Enumeration::Direction => 0x18,
        Enumeration::Operator => 0x19,
        Enumeration::Order => 0x1a,
        Enumeration::Pick => 0x1b,
        Enumeration::Pop => 0x1c,
        Enumeration::Scope => 0x1f,
        Enumeration::T => 0x20,
        Enumeration::Merge => 0x2e,
        Enumeration::DT => 0x2f,
        Enumeration::GType => 0x30,
        other => panic!("`{}` has no type: its words are strings and numbers", other.name()),
    }
}
