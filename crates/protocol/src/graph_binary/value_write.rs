//! Writes values in GraphBinary 1.0; `binary_reader` reads each back unchanged.
//!
//! ```text
//! bool      27        float, double    08, 07     date      84 local date           list   09
//! byte      24        bigint, decimal  23, 22     datetime  88 offset date-time     set    0b
//! short     26        char, string     80, 03     duration  81 duration,            map    0a
//! int       01        bytes            25                   8a period without
//! long      02        uuid             0c                   hours, minutes, seconds
//! ```
//!
//! A duration of months or days *and* of seconds has no form in GraphBinary.

use evergraph_graph::value::Value;
use evergraph_graph::value::duration::Duration;
use num_bigint::BigInt;

use crate::error::EncodeError;
use crate::graph_binary::type_code;

/// Appends `value` with type and flag.
///
/// # Errors
/// If it has no form in GraphBinary; a part of it may be written then.
pub(crate) fn write_value(out: &mut Vec<u8>, value: &Value) -> Result<(), EncodeError> {
    match value {
        Value::Bool(truth) => write_typed(out, type_code::BOOLEAN, &[u8::from(*truth)]),
        Value::I8(number) => write_typed(out, type_code::BYTE, &number.to_be_bytes()),
        Value::I16(number) => write_typed(out, type_code::SHORT, &number.to_be_bytes()),
        Value::I32(number) => write_typed(out, type_code::INT, &number.to_be_bytes()),
        Value::I64(number) => write_typed(out, type_code::LONG, &number.to_be_bytes()),
        Value::F32(number) => write_typed(out, type_code::FLOAT, &number.to_be_bytes()),
        Value::F64(number) => write_typed(out, type_code::DOUBLE, &number.to_be_bytes()),
        Value::BigInteger(number) => {
            write_header(out, type_code::BIG_INTEGER);
            write_integer(out, number.as_inner())?;
        }
        Value::Decimal(number) => {
            let (digits, scale) = number.as_parts();
            let scale = i32::try_from(scale).expect("the scale of a decimal has 18 bits");
            write_typed(out, type_code::BIG_DECIMAL, &scale.to_be_bytes());
            write_integer(out, &digits)?;
        }
        Value::Char(character) => {
            write_typed(out, type_code::CHAR, character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Value::String(text) => {
            write_header(out, type_code::STRING);
            write_string(out, text)?;
        }
        Value::Bytes(bytes) => {
            write_header(out, type_code::BYTE_BUFFER);
            write_bytes(out, bytes)?;
        }
        Value::Date(date) => {
            let (year, month, day) = date.to_calendar();
            write_typed(out, type_code::LOCAL_DATE, &year.to_be_bytes());
            out.extend([month, day]);
        }
        Value::DateTime(moment) => {
            let (year, month, day) = moment.local_date().to_calendar();
            let second = i64::from(moment.local_second_of_day());
            let nanoseconds = second * 1_000_000_000 + i64::from(moment.nanoseconds());
            write_typed(out, type_code::OFFSET_DATE_TIME, &year.to_be_bytes());
            out.extend([month, day]);
            out.extend(nanoseconds.to_be_bytes());
            out.extend(moment.offset_seconds().to_be_bytes());
        }
        Value::Duration(duration) => write_duration(out, *duration)?,
        Value::Uuid(uuid) => write_typed(out, type_code::UUID, uuid.as_bytes()),
        Value::List(list) => write_values(out, type_code::LIST, list.as_slice())?,
        Value::Set(set) => write_values(out, type_code::SET, set.as_slice())?,
        Value::Map(map) => {
            write_header(out, type_code::MAP);
            write_count(out, map.as_slice().len())?;
            for (key, value) in map.as_slice() {
                write_value(out, key)?;
                write_value(out, value)?;
            }
        }
    }
    Ok(())
}

/// Appends a null.
pub(crate) fn write_null(out: &mut Vec<u8>) {
    out.extend([type_code::NULL, 1]);
}

/// Appends the type `code` and the flag of a value that is not null.
pub(crate) fn write_header(out: &mut Vec<u8>, code: u8) {
    out.extend([code, 0]);
}

/// Appends a word of the enumeration whose type is `code`.
///
/// # Errors
/// Never: words are short.
pub(crate) fn write_word(out: &mut Vec<u8>, code: u8, word: &str) -> Result<(), EncodeError> {
    write_header(out, code);
    write_header(out, type_code::STRING);
    write_string(out, word)
}

/// Appends the length of `text`, and `text`.
///
/// # Errors
/// If it has 2 GiB or more.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) -> Result<(), EncodeError> {
    write_bytes(out, text.as_bytes())
}

/// Appends a number of values or bytes.
///
/// # Errors
/// If 31 bits do not hold it.
pub(crate) fn write_count(out: &mut Vec<u8>, count: usize) -> Result<(), EncodeError> {
    let count = i32::try_from(count).map_err(|_| EncodeError::TooLarge { limit: i32::MAX as usize })?;
    out.extend(count.to_be_bytes());
    Ok(())
}

fn write_typed(out: &mut Vec<u8>, code: u8, content: &[u8]) {
    write_header(out, code);
    out.extend_from_slice(content);
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), EncodeError> {
    write_count(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn write_integer(out: &mut Vec<u8>, integer: &BigInt) -> Result<(), EncodeError> {
    write_bytes(out, &integer.to_signed_bytes_be())
}

fn write_values(out: &mut Vec<u8>, code: u8, values: &[Value]) -> Result<(), EncodeError> {
    write_header(out, code);
    write_count(out, values.len())?;
    values.iter().try_for_each(|value| write_value(out, value))
}

fn write_duration(out: &mut Vec<u8>, duration: Duration) -> Result<(), EncodeError> {
    let (months, days) = (duration.months(), duration.days());
    let (seconds, nanoseconds) = (duration.seconds(), duration.nanoseconds());
    if (months, days) == (0, 0) {
        let nanoseconds = i32::try_from(nanoseconds).expect("less than a second");
        write_typed(out, type_code::DURATION, &seconds.to_be_bytes());
        out.extend(nanoseconds.to_be_bytes());
        return Ok(());
    }
    if (seconds, nanoseconds) != (0, 0) {
        return Err(EncodeError::mixed_duration(duration));
    }
    write_header(out, type_code::PERIOD);
    for part in [months / 12, months % 12, days] {
        out.extend(part.to_be_bytes());
    }
    Ok(())
}
