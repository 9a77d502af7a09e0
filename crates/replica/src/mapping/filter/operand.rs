//! Operand: the types that a condition compares, and the form in which their values are compared.
//!
//! | types | compared | form |
//! |---|---|---|
//! | smallint, integer, bigint, numeric | with each other, exactly | numbers; NaN is the greatest, as PostgreSQL has it |
//! | real, double precision | with each other and the above, as double precision | the same |
//! | date, timestamp, timestamptz | with each other, in UTC | nanoseconds since 1970; infinite ones at both ends |
//! | text, varchar, name, "char" | `=`, `<>` and `in` | bytes |
//! | char(n) | the same, without blanks at the end; beside varchar, those of both are left out | bytes |
//! | an enum | with itself, in the order of its labels | position of the label |
//! | boolean, bytea, uuid, interval, time | with themselves | |
//! | all others | not: `is null` alone | |
//!
//! An interval's month has 30 days and its day 24 hours, as in PostgreSQL's own comparisons.

use crate::mapping::property::unpadded;
use crate::value::column_type::ColumnType;
use crate::value::unfit::UnfitValue;
use evergraph_files::import::field::cell::read_scalar;
use evergraph_graph::nearest::did_you_mean;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::duration::Duration;
use evergraph_graph::value::number::Decimal;
use evergraph_graph::value::{Value, ValueType};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// The type of a column, as far as comparisons tell types apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OperandType {
    /// `boolean`.
    Bool,
    /// `smallint`.
    I16,
    /// `integer`.
    I32,
    /// `bigint`, and `oid`.
    I64,
    /// `numeric`.
    Numeric,
    /// `real`.
    F32,
    /// `double precision`.
    F64,
    /// `text`, `name`, `"char"`.
    Text,
    /// `varchar`.
    Varchar,
    /// `char(n)`.
    PaddedText,
    /// An enum: its name and its labels in order.
    Enum(Arc<str>, Arc<[Box<str>]>),
    /// `bytea`.
    Bytes,
    /// `uuid`.
    Uuid,
    /// `date`.
    Date,
    /// `timestamp`.
    Timestamp,
    /// `timestamptz`.
    TimestampTz,
    /// `interval`.
    Interval,
    /// `time`.
    Time,
    /// Any other, by its name.
    Other(Arc<str>),
}

/// The form in which two operands are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Bool,
    /// Exact numbers.
    Number,
    /// Numbers as double precision.
    Float,
    Bytes,
    /// Texts without blanks at their ends.
    UnpaddedBytes,
    /// Labels of an enum, in its order.
    Position,
    Uuid,
    Moment,
    Interval,
    Time,
}

/// A value in the form in which it is compared.
#[derive(Clone, Debug)]
pub(super) enum Scalar<'a> {
    Bool(bool),
    Number(Value),
    Bytes(Cow<'a, [u8]>),
    /// A position, or nanoseconds.
    Whole(i128),
}

/// Why the text of a cell is not compared.
#[derive(Clone, PartialEq, Debug)]
pub enum UnreadableCell {
    /// It has no counterpart here.
    Unfit(UnfitValue),
    /// It is a label that its enum didn't have when the mapping was read.
    NewLabel(String),
}

impl OperandType {
    /// The form in which values of both types are compared, if PostgreSQL compares them.
    pub(super) fn common_form(&self, other: &Self) -> Option<Form> {
        use OperandType as T;
        Some(match (self, other) {
            (T::Bool, T::Bool) => Form::Bool,
            (T::I16 | T::I32 | T::I64 | T::Numeric, T::I16 | T::I32 | T::I64 | T::Numeric) => Form::Number,
            (
                T::I16 | T::I32 | T::I64 | T::Numeric | T::F32 | T::F64,
                T::I16 | T::I32 | T::I64 | T::Numeric | T::F32 | T::F64,
            ) => Form::Float,
            // PostgreSQL makes a text of a `char(n)` beside a `text`, and a `char(n)` of a `varchar` beside a `char(n)`.
            (T::Varchar, T::PaddedText) | (T::PaddedText, T::Varchar) => Form::UnpaddedBytes,
            (T::Text | T::Varchar | T::PaddedText, T::Text | T::Varchar | T::PaddedText)
            | (T::Bytes, T::Bytes) => Form::Bytes,
            (T::Enum(one, _), T::Enum(other, _)) if one == other => Form::Position,
            (T::Uuid, T::Uuid) => Form::Uuid,
            (T::Date | T::Timestamp | T::TimestampTz, T::Date | T::Timestamp | T::TimestampTz) => {
                Form::Moment
            }
            (T::Interval, T::Interval) => Form::Interval,
            (T::Time, T::Time) => Form::Time,
            _ => return None,
        })
    }

    /// Whether PostgreSQL's order of these values is known here, and not only which are equal.
    pub(super) const fn has_order(&self) -> bool {
        !matches!(self, Self::Text | Self::Varchar | Self::PaddedText | Self::Other(_))
    }

    /// A literal in quotes, which has this type, in the form in which it is compared.
    ///
    /// # Errors
    /// Why it is no such value.
    pub(super) fn read_literal(&self, text: &str, form: Form) -> Result<Scalar<'static>, String> {
        let scalar = |value_type| read_scalar(text.as_bytes(), value_type);
        Ok(match self {
            Self::Bool => Scalar::Bool(read_bool(text)?),
            Self::I16 => Scalar::Number(in_form(scalar(ValueType::I16)?, form)),
            Self::I32 => Scalar::Number(in_form(scalar(ValueType::I32)?, form)),
            Self::I64 => Scalar::Number(in_form(scalar(ValueType::I64)?, form)),
            Self::Numeric => match special_number(text) {
                Some(number) => Scalar::Number(number),
                None => Scalar::Number(in_form(scalar(ValueType::Decimal)?, form)),
            },
            // The nearest value of the column's own width.
            Self::F32 => Scalar::Number(in_form(scalar(ValueType::F32)?, Form::Float)),
            Self::F64 => Scalar::Number(scalar(ValueType::F64)?),
            Self::Text | Self::Varchar => Scalar::Bytes(Cow::Owned(text.as_bytes().to_vec())),
            Self::PaddedText => Scalar::Bytes(Cow::Owned(unpadded(text.as_bytes()).to_vec())),
            Self::Enum(name, labels) => {
                let position = labels.iter().position(|label| **label == *text).ok_or_else(|| {
                    let all: Vec<String> = labels.iter().map(|label| format!("'{label}'")).collect();
                    let hint = did_you_mean(text, labels.iter().map(|label| &**label));
                    format!("is no label of the enum {name}, which has {}{hint}", all.join(", "))
                })?;
                Scalar::Whole(position as i128)
            }
            Self::Bytes => match scalar(ValueType::Bytes)? {
                Value::Bytes(bytes) => Scalar::Bytes(Cow::Owned(bytes.into_vec())),
                _ => return Err("is no bytea".to_owned()),
            },
            Self::Uuid => match scalar(ValueType::Uuid)? {
                Value::Uuid(uuid) => Scalar::Bytes(Cow::Owned(uuid.into_bytes().to_vec())),
                _ => return Err("is no uuid".to_owned()),
            },
            Self::Date | Self::Timestamp | Self::TimestampTz => Scalar::Whole(self.read_moment(text)?),
            Self::Interval => match scalar(ValueType::Duration)? {
                Value::Duration(duration) => Scalar::Whole(nanoseconds_of(duration)),
                _ => return Err("is no interval".to_owned()),
            },
            Self::Time => Scalar::Whole(read_time(text).ok_or("is no time as in '09:30:00'")?),
            Self::Other(name) => {
                return Err(format!("values of type {name} are compared by rules unknown here"));
            }
        })
    }

    fn read_moment(&self, text: &str) -> Result<i128, String> {
        let text = text.trim();
        if let Some(end) = infinite_moment(text) {
            return Ok(end);
        }
        if matches!(text.to_ascii_lowercase().as_str(), "now" | "today" | "tomorrow" | "yesterday" | "epoch")
        {
            return Err(
                "changes as time goes by, but a row enters and leaves a filter by its own values".to_owned()
            );
        }
        // A bare number would be read as milliseconds.
        if !text.contains('-') || text.starts_with('-') {
            return Err(format!("is no {self} as in '2024-02-29'"));
        }
        let read = |value_type| read_scalar(text.as_bytes(), value_type);
        if matches!(self, Self::Date) {
            return match read(ValueType::Date)? {
                Value::Date(date) => {
                    Ok(i128::from(date.days()) * i128::from(SECONDS_PER_DAY) * NANOSECONDS_PER_SECOND)
                }
                _ => Err("is no date".to_owned()),
            };
        }
        let Value::DateTime(moment) = read(ValueType::DateTime)? else { return Err(format!("is no {self}")) };
        // PostgreSQL leaves out the offset of a `timestamp` without a word.
        let time = text.split_once([' ', 'T', 't']).map_or("", |(_, time)| time);
        if matches!(self, Self::Timestamp) && time.contains(['+', '-', 'Z', 'z']) {
            return Err("has an offset from UTC, and the column has none: leave it out".to_owned());
        }
        Ok(nanoseconds_at(moment))
    }

    /// A literal number, if it is compared with a column of this type.
    ///
    /// # Errors
    /// Why it isn't.
    pub(super) fn read_number(&self, text: &str) -> Result<(Form, Scalar<'static>), String> {
        let form = match self {
            Self::I16 | Self::I32 | Self::I64 | Self::Numeric => Form::Number,
            Self::F32 | Self::F64 => Form::Float,
            Self::Text | Self::Varchar | Self::PaddedText => {
                return Err(format!("is a number, and the column is {self}: write it in quotes, '{text}'"));
            }
            _ => return Err(format!("is a number, and the column is {self}: the two are not compared")),
        };
        // Integers are compared without an allocation.
        let number = match text.parse::<i64>() {
            Ok(number) => Value::I64(number),
            Err(_) => {
                Value::Decimal(text.parse::<Decimal>().map_err(|error| format!("is no number: {error}"))?)
            }
        };
        Ok((form, Scalar::Number(in_form(number, form))))
    }

    /// The text of a cell of this type, in the form in which it is compared.
    ///
    /// # Errors
    /// What has no counterpart here, but numbers and moments without end.
    pub(super) fn read_cell<'a>(&self, text: &'a [u8], form: Form) -> Result<Scalar<'a>, UnreadableCell> {
        let column_type = match self {
            Self::Varchar if form == Form::UnpaddedBytes => {
                return Ok(Scalar::Bytes(Cow::Borrowed(unpadded(text))));
            }
            Self::Text | Self::Varchar => return Ok(Scalar::Bytes(Cow::Borrowed(text))),
            Self::PaddedText => return Ok(Scalar::Bytes(Cow::Borrowed(unpadded(text)))),
            Self::Enum(_, labels) => {
                let position = labels.iter().position(|label| label.as_bytes() == text);
                let new = || UnreadableCell::NewLabel(String::from_utf8_lossy(text).into_owned());
                return Ok(Scalar::Whole(position.ok_or_else(new)? as i128));
            }
            Self::Time => {
                let time = std::str::from_utf8(text).ok().and_then(read_time);
                return time.map(Scalar::Whole).ok_or_else(|| {
                    UnreadableCell::Unfit(UnfitValue {
                        column_type: ColumnType::Text,
                        text: evergraph_graph::value::shortened::Shortened::new(&String::from_utf8_lossy(
                            text,
                        )),
                        cause: crate::value::unfit::UnfitCause::Malformed(
                            "a time as in 09:30:00 expected".to_owned(),
                        ),
                    })
                });
            }
            Self::Numeric => match std::str::from_utf8(text).ok().and_then(special_number) {
                Some(number) => return Ok(Scalar::Number(number)),
                None => ColumnType::Numeric,
            },
            Self::Date | Self::Timestamp | Self::TimestampTz | Self::Interval => {
                if let Some(end) = std::str::from_utf8(text).ok().and_then(infinite_moment) {
                    return Ok(Scalar::Whole(end));
                }
                match self {
                    Self::Date => ColumnType::Date,
                    Self::Timestamp => ColumnType::Timestamp,
                    Self::TimestampTz => ColumnType::TimestampTz,
                    _ => ColumnType::Interval,
                }
            }
            Self::Bool => ColumnType::Bool,
            Self::I16 => ColumnType::I16,
            Self::I32 => ColumnType::I32,
            Self::I64 => ColumnType::I64,
            Self::F32 => ColumnType::F32,
            Self::F64 => ColumnType::F64,
            Self::Bytes => ColumnType::Bytes,
            Self::Uuid => ColumnType::Uuid,
            Self::Other(_) => ColumnType::Text,
        };
        Ok(match column_type.read(text).map_err(UnreadableCell::Unfit)? {
            Value::Bool(truth) => Scalar::Bool(truth),
            Value::Bytes(bytes) => Scalar::Bytes(Cow::Owned(bytes.into_vec())),
            Value::Uuid(uuid) => Scalar::Bytes(Cow::Owned(uuid.into_bytes().to_vec())),
            Value::Date(date) => {
                Scalar::Whole(i128::from(date.days()) * i128::from(SECONDS_PER_DAY) * NANOSECONDS_PER_SECOND)
            }
            Value::DateTime(moment) => Scalar::Whole(nanoseconds_at(moment)),
            Value::Duration(duration) => Scalar::Whole(nanoseconds_of(duration)),
            number => Scalar::Number(in_form(number, form)),
        })
    }
}

impl fmt::Display for OperandType {
    /// PostgreSQL's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "boolean",
            Self::I16 => "smallint",
            Self::I32 => "integer",
            Self::I64 => "bigint",
            Self::Numeric => "numeric",
            Self::F32 => "real",
            Self::F64 => "double precision",
            Self::Text => "text",
            Self::Varchar => "varchar",
            Self::PaddedText => "char(n)",
            Self::Enum(name, _) | Self::Other(name) => name,
            Self::Bytes => "bytea",
            Self::Uuid => "uuid",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::TimestampTz => "timestamptz",
            Self::Interval => "interval",
            Self::Time => "time",
        })
    }
}

impl Scalar<'_> {
    /// The order of two values of one form, as PostgreSQL has it.
    pub(super) fn compare(&self, other: &Scalar<'_>) -> Ordering {
        match (self, other) {
            (Self::Bool(one), Scalar::Bool(other)) => one.cmp(other),
            (Self::Number(one), Scalar::Number(other)) => {
                one.compare_numbers(other).expect("numbers of all types are compared")
            }
            (Self::Bytes(one), Scalar::Bytes(other)) => one.cmp(other),
            (Self::Whole(one), Scalar::Whole(other)) => one.cmp(other),
            (one, other) => unreachable!("binding gives both sides one form: {one:?}, {other:?}"),
        }
    }
}

/// `number` as it is compared: as double precision, if one of both sides is.
fn in_form(number: Value, form: Form) -> Value {
    match form {
        Form::Float => Value::F64(number.as_f64().expect("numbers of all types have a nearest float")),
        _ => number,
    }
}

/// A numeric that is no number, or has no end.
fn special_number(text: &str) -> Option<Value> {
    let number = match text.trim().to_ascii_lowercase().as_str() {
        "nan" => f64::NAN,
        "infinity" | "+infinity" | "inf" | "+inf" => f64::INFINITY,
        "-infinity" | "-inf" => f64::NEG_INFINITY,
        _ => return None,
    };
    Some(Value::F64(number))
}

/// A moment, or an interval, without end.
fn infinite_moment(text: &str) -> Option<i128> {
    match text {
        "infinity" => Some(i128::MAX),
        "-infinity" => Some(i128::MIN),
        _ => None,
    }
}

fn nanoseconds_at(moment: DateTime) -> i128 {
    i128::from(moment.seconds()) * NANOSECONDS_PER_SECOND + i128::from(moment.nanoseconds())
}

/// With 30 days to a month.
fn nanoseconds_of(duration: Duration) -> i128 {
    let days = i64::from(duration.months()) * 30 + i64::from(duration.days());
    let seconds = i128::from(days) * i128::from(SECONDS_PER_DAY) + i128::from(duration.seconds());
    seconds * NANOSECONDS_PER_SECOND + i128::from(duration.nanoseconds())
}

fn read_bool(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Ok(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Ok(false),
        _ => Err("is neither true nor false".to_owned()),
    }
}

/// Nanoseconds since midnight of `HH:MM[:SS[.fraction]]`.
fn read_time(text: &str) -> Option<i128> {
    let mut parts = text.trim().split(':');
    let part = |part: Option<&str>, most: u32| -> Option<i128> {
        let part = part
            .filter(|part| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        part.parse::<u32>().ok().filter(|number| *number <= most).map(i128::from)
    };
    let (hours, minutes) = (part(parts.next(), 24)?, part(parts.next(), 59)?);
    let (seconds, fraction) =
        parts.next().map_or(("0", ""), |part| part.split_once('.').unwrap_or((part, "")));
    let seconds = part(Some(seconds), 60)?;
    if parts.next().is_some() || fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().ok()?;
    let nanoseconds = ((hours * 60 + minutes) * 60 + seconds) * NANOSECONDS_PER_SECOND + nanoseconds;
    (nanoseconds <= i128::from(SECONDS_PER_DAY) * NANOSECONDS_PER_SECOND).then_some(nanoseconds)
}
