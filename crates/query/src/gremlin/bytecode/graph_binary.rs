//! GraphBinary 1.0: bytecode, and what may be an argument, from the bytes that drivers send.
//!
//! ```text
//! value        type (1)  0x00  content         numbers are big-endian
//!              type (1)  0x01                  null; fe 01 without a type
//! string       length (4)  UTF-8               inside of others without type and flag
//! bytecode     count (4)  { instruction }      steps; then the same for source instructions
//! instruction  string  count (4)  { value }
//!
//! 01 int       08 float    11 vertex        19 operator   23 big integer   2f DT          84 local date
//! 02 long      09 list     14 binding       1a order      24 byte          30 GType       85 local date-time
//! 03 string    0a map      15 bytecode      1b pick       25 bytes         80 char        88 offset date-time
//! 04 date      0b set      16 cardinality   1c pop        26 short         81 duration    8a period
//! 05 timestamp 0c UUID     17 column        1e P          27 boolean       83 instant     8d zoned date-time
//! 06 class     0d edge     18 direction     1f scope      28 TextP
//! 07 double    13 barrier  22 big decimal   20 T          29 strategy, 2e merge
//! ```
//!
//! Lengths are checked before anything is taken, and nothing is reserved for what isn't read yet: what
//! comes back takes at most some 150 times the bytes. What no calls can hold is refused by name.
//!
//! Source: TinkerPop 3.8, "GraphBinary", version 1.0; `GType` (30) stands in its sources only. Differs:
//! local times are moments as if in UTC, as they are in GraphSON here; flags other than 0 and 1 are
//! refused.

use bigdecimal::BigDecimal;
use evergraph_graph::bytes::{DecodeError, Reader as Bytes};
use evergraph_graph::value::Value;
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::duration::Duration;
use evergraph_graph::value::number::{BigInteger, Decimal};
use num_bigint::BigInt;
use uuid::Uuid;

use crate::error::{Span, TextError, quoted};
use crate::gremlin::bytecode::Bytecode;
use crate::gremlin::bytecode::assembly::{self, Around, Levels, Place, ReadError, refused, scalar};
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::parser::ParseLimits;
use crate::gremlin::token::Enumeration;

const NULL: u8 = 0xfe;
const CUSTOM: u8 = 0x00;
const BYTECODE: u8 = 0x15;

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Reads one bytecode, and checks its calls.
///
/// Cost: that of [`parse`] and [`Bytecode::check`].
///
/// # Errors
/// If the bytes are no bytecode, pass a limit, or a call doesn't fit its signature; with the
/// instruction.
pub fn read(bytes: &[u8], limits: &ParseLimits) -> Result<Bytecode, TextError> {
    let mut bytecode = parse(bytes, limits)?;
    bytecode.check()?;
    Ok(bytecode)
}

/// Reads one bytecode; nothing else may follow.
///
/// Cost: one pass.
///
/// # Errors
/// If the bytes are no bytecode, or pass a limit; with the instruction.
pub fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Bytecode, TextError> {
    let mut reader = Reader::new(bytes, limits)?;
    let bytecode = reader.read_bytecode()?;
    reader.finish()?;
    Ok(bytecode)
}

/// Reads what may be an argument, such as the value of a variable; nothing else may follow.
///
/// Cost: one pass.
///
/// # Errors
/// If the bytes are something else, or pass a limit.
pub fn parse_argument(bytes: &[u8], limits: &ParseLimits) -> Result<Argument, TextError> {
    let mut reader = Reader::new(bytes, limits)?;
    let argument = reader.read_argument()?;
    reader.finish()?;
    Ok(argument)
}

/// A place in GraphBinary.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: Bytes<'a>,
    levels: Levels,
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of `bytes`.
    ///
    /// # Errors
    /// If there are more than the limits allow for a text.
    pub fn new(bytes: &'a [u8], limits: &ParseLimits) -> Result<Self, TextError> {
        let bytes_max = limits.text_bytes_max.min(u32::MAX as usize);
        if bytes.len() > bytes_max {
            let message = format!("a query of {} bytes is past the limit of {bytes_max}", bytes.len());
            return Err(TextError::limit(Span::default(), message));
        }
        Ok(Self { bytes: Bytes::new(bytes), levels: Levels::new(limits.depth_max) })
    }

    /// Reads a value that is bytecode.
    ///
    /// # Errors
    /// If something else comes next, or it isn't sound.
    pub fn read_bytecode(&mut self) -> Result<Bytecode, TextError> {
        let start = self.bytes.clone();
        let read = match self.read_header() {
            Ok(Some(BYTECODE)) => self.read_instructions(),
            Ok(_) => Err(malformed(start.error("bytecode expected"))),
            Err(error) => Err(error),
        };
        read.map_err(ReadError::told)
    }

    /// Reads a value that may be an argument.
    ///
    /// # Errors
    /// If something else comes next, or it isn't sound.
    pub fn read_argument(&mut self) -> Result<Argument, TextError> {
        self.read_value(Around::Anything).map_err(ReadError::told)
    }

    /// Fails unless everything is read.
    ///
    /// # Errors
    /// If something is left.
    pub fn finish(&self) -> Result<(), TextError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let error = self.bytes.error(format!("the end expected, {} bytes left", self.bytes.remaining()));
        Err(malformed(error).told())
    }

    fn read_instructions(&mut self) -> Result<Bytecode, ReadError> {
        // Of source instructions `g` is all that comes before, and of steps everything.
        let steps = self.read_list_of_instructions(false)?;
        let source = self.read_list_of_instructions(true)?;
        Ok(Bytecode::new(source.into_iter().flat_map(assembly::source_calls).collect(), steps))
    }

    fn read_list_of_instructions(&mut self, of_source: bool) -> Result<Vec<Call>, ReadError> {
        let mut calls = Vec::new();
        for number in 1..=self.count(8)? {
            calls.push(self.read_instruction(of_source, number)?);
        }
        Ok(calls)
    }

    fn read_instruction(&mut self, of_source: bool, number: usize) -> Result<Call, ReadError> {
        let start = self.offset();
        let name = self.string()?;
        let span = self.since(start);
        let place = |argument| Place { of_source, number, name: name.into(), argument };
        self.levels.enter(span).map_err(|error| error.within(place(None)))?;
        let count = self.count(2).map_err(|error| error.within(place(None)))?;
        let mut arguments = Vec::new();
        for argument in 1..=count {
            let value = self.read_value(Around::of_instruction(name));
            arguments.push(value.map_err(|error| error.within(place(Some(argument))))?);
        }
        self.levels.leave();
        let spans: Vec<Span> = arguments.iter().map(|argument| argument.span).collect();
        assembly::call(name, arguments, span)
            .map_err(|(at, reason)| ReadError::invalid(spans[at], reason).within(place(Some(at + 1))))
    }

    /// Reads type and flag; the content comes next, but for null.
    fn read_header(&mut self) -> Result<Option<u8>, ReadError> {
        let start = self.bytes.clone();
        let code = self.bytes.u8().map_err(malformed)?;
        if code == CUSTOM {
            let name = quoted(self.string()?);
            return self.told(Err(refused(&format!("the custom type {name}"))), start.offset());
        }
        match (code, self.bytes.u8().map_err(malformed)?) {
            (_, 1) => Ok(None),
            (code, 0) if code != NULL => Ok(Some(code)),
            (_, flag) => {
                Err(malformed(start.error(format!("flag {flag:#04x} of a value of type {code:#04x}"))))
            }
        }
    }

    fn read_value(&mut self, around: Around) -> Result<Argument, ReadError> {
        let start = self.offset();
        let Some(code) = self.read_header()? else {
            return Ok(Argument { kind: ArgumentKind::Null, span: self.since(start) });
        };
        let kind = match enumeration(code) {
            Some(enumeration) => self.read_token(enumeration, start)?,
            None => match self.read_scalar(code, start)? {
                Some(scalar) => scalar,
                None => self.read_nesting(code, around, start)?,
            },
        };
        Ok(Argument { kind, span: self.since(start) })
    }

    fn read_token(&mut self, enumeration: Enumeration, start: usize) -> Result<ArgumentKind, ReadError> {
        let before = self.bytes.clone();
        if self.bytes.array::<2>().map_err(malformed)? != [0x03, 0x00] {
            return Err(malformed(before.error("a string expected, which names a word of an enumeration")));
        }
        let word = self.string()?;
        self.told(assembly::token(enumeration, word), start)
    }

    /// Reads the content of a type that is a value without others inside; `None` of other types.
    fn read_scalar(&mut self, code: u8, start: usize) -> Result<Option<ArgumentKind>, ReadError> {
        Ok(Some(match code {
            0x01 => scalar(i32::from_be_bytes(self.array()?)),
            0x02 => scalar(i64::from_be_bytes(self.array()?)),
            0x03 => scalar(self.string()?),
            0x04 | 0x05 => {
                let milliseconds = i64::from_be_bytes(self.array()?);
                scalar(self.told(DateTime::from_epoch_milliseconds(milliseconds), start)?)
            }
            0x07 => scalar(f64::from_be_bytes(self.array()?)),
            0x08 => scalar(f32::from_be_bytes(self.array()?)),
            0x0c => scalar(Uuid::from_bytes(self.array()?)),
            0x22 => {
                let scale = i32::from_be_bytes(self.array()?);
                let decimal = BigDecimal::new(self.integer()?, i64::from(scale));
                scalar(self.told(Decimal::new(decimal), start)?)
            }
            0x23 => {
                let integer = self.integer()?;
                scalar(self.told(BigInteger::new(integer), start)?)
            }
            0x24 => scalar(i8::from_be_bytes(self.array()?)),
            0x25 => {
                let length = self.count(1)?;
                scalar(self.bytes.take(length).map_err(malformed)?)
            }
            0x26 => scalar(i16::from_be_bytes(self.array()?)),
            0x27 => match self.array()? {
                [0] => scalar(false),
                [1] => scalar(true),
                [other] => return self.told(Err(format!("{other:#04x} is neither true nor false")), start),
            },
            0x80 => scalar(self.character()?),
            0x81 => {
                let (seconds, nanoseconds) = self.seconds(start)?;
                scalar(self.told(Duration::new(0, 0, seconds, nanoseconds), start)?)
            }
            0x83 => {
                let (seconds, nanoseconds) = self.seconds(start)?;
                scalar(self.told(DateTime::new(seconds, nanoseconds, 0), start)?)
            }
            0x84 => scalar(self.date(start)?),
            0x85 => scalar(self.moment(false, start)?),
            0x88 | 0x8d => scalar(self.moment(true, start)?),
            0x8a => {
                let [years, months, days] =
                    [self.array()?, self.array()?, self.array()?].map(i32::from_be_bytes);
                let months = years.checked_mul(12).and_then(|all| all.checked_add(months));
                let months = self.told(months.ok_or("the months of a period pass 32 bits"), start)?;
                scalar(self.told(Duration::new(months, days, 0, 0), start)?)
            }
            _ => return Ok(None),
        }))
    }

    /// Reads the content of a type that has values inside.
    fn read_nesting(&mut self, code: u8, around: Around, start: usize) -> Result<ArgumentKind, ReadError> {
        self.levels.enter(self.since(start))?;
        let kind = match code {
            0x06 => {
                let name = self.string()?;
                self.told(assembly::class(name), start)?
            }
            0x09 => ArgumentKind::List(self.read_values(around.inside())?),
            0x0a => ArgumentKind::Map(self.read_entries(around.inside())?),
            0x0b => ArgumentKind::Set(self.read_values(around.inside())?),
            0x0d => {
                let id = self.read_edge()?;
                self.told(assembly::edge(id, around), start)?
            }
            0x11 => {
                let id = self.read_value(Around::Element)?;
                self.string()?;
                self.read_value(Around::Element)?;
                self.told(assembly::vertex(id, around, self.since(start)), start)?
            }
            0x0f | 0x12 if around == Around::Element => {
                self.read_property(code == 0x12)?;
                ArgumentKind::Null
            }
            0x14 => {
                self.string()?;
                self.read_value(around)?.kind
            }
            BYTECODE => {
                let bytecode = self.read_instructions()?;
                self.told(assembly::nested(bytecode), start)?
            }
            0x1e | 0x28 => {
                let name = self.string()?;
                let arguments = self.read_values(Around::Predicate)?;
                self.told(assembly::predicate(name, arguments, self.since(start)), start)?
            }
            0x29 => self.read_strategy()?,
            code => {
                let message = name(code).map_or_else(|| format!("there is no type {code:#04x}"), refused);
                return self.told(Err(message), start);
            }
        };
        self.levels.leave();
        Ok(kind)
    }

    fn read_values(&mut self, around: Around) -> Result<Vec<Argument>, ReadError> {
        let mut values = Vec::new();
        for _ in 0..self.count(2)? {
            values.push(self.read_value(around)?);
        }
        Ok(values)
    }

    fn read_entries(&mut self, around: Around) -> Result<Vec<(Argument, Argument)>, ReadError> {
        let mut entries = Vec::new();
        for _ in 0..self.count(4)? {
            entries.push((self.read_value(around)?, self.read_value(around)?));
        }
        Ok(entries)
    }

    fn read_strategy(&mut self) -> Result<ArgumentKind, ReadError> {
        let class = self.string()?;
        let mut settings = Vec::new();
        for _ in 0..self.count(4)? {
            let before = self.bytes.clone();
            let ArgumentKind::Scalar(Value::String(key)) = self.read_value(Around::Anything)?.kind else {
                return Err(malformed(before.error("the name of a setting expected, a string")));
            };
            settings.push((key, self.read_value(Around::Anything)?));
        }
        Ok(assembly::strategy(class, settings))
    }

    /// The id of an edge, the rest of which is left out.
    fn read_edge(&mut self) -> Result<Argument, ReadError> {
        let id = self.read_value(Around::Element)?;
        self.string()?;
        for _ in ["in", "out"] {
            self.read_value(Around::Element)?;
            self.string()?;
        }
        for _ in ["parent", "properties"] {
            self.read_value(Around::Element)?;
        }
        Ok(id)
    }

    /// Reads what an element brings with it and nobody asks for.
    fn read_property(&mut self, of_vertex: bool) -> Result<(), ReadError> {
        if of_vertex {
            self.read_value(Around::Element)?;
        }
        self.string()?;
        for _ in 0..if of_vertex { 3 } else { 2 } {
            self.read_value(Around::Element)?;
        }
        Ok(())
    }

    fn date(&mut self, start: usize) -> Result<Date, ReadError> {
        let year = i32::from_be_bytes(self.array()?);
        let [month, day] = self.array()?;
        self.told(Date::from_calendar(year, month, day), start)
    }

    /// A local date and time, and the offset from UTC if it has one.
    fn moment(&mut self, has_offset: bool, start: usize) -> Result<DateTime, ReadError> {
        let date = self.date(start)?;
        let nanoseconds = i64::from_be_bytes(self.array()?);
        if !(0..SECONDS_PER_DAY * NANOSECONDS_PER_SECOND).contains(&nanoseconds) {
            return self.told(Err(format!("nanosecond {nanoseconds} is outside of a day")), start);
        }
        let offset = if has_offset { i32::from_be_bytes(self.array()?) } else { 0 };
        let local = i64::from(date.days()) * SECONDS_PER_DAY + nanoseconds / NANOSECONDS_PER_SECOND;
        let fraction = u32::try_from(nanoseconds % NANOSECONDS_PER_SECOND).expect("less than a second");
        self.told(DateTime::new(local - i64::from(offset), fraction, offset), start)
    }

    /// Seconds and nanoseconds, of which there may be any number of either sign.
    fn seconds(&mut self, start: usize) -> Result<(i64, u32), ReadError> {
        let seconds = i64::from_be_bytes(self.array()?);
        let nanoseconds = i64::from(i32::from_be_bytes(self.array()?));
        let more = nanoseconds.div_euclid(NANOSECONDS_PER_SECOND);
        let seconds = self.told(seconds.checked_add(more).ok_or("the seconds pass 64 bits"), start)?;
        let rest = nanoseconds.rem_euclid(NANOSECONDS_PER_SECOND);
        Ok((seconds, u32::try_from(rest).expect("less than a second")))
    }

    fn integer(&mut self) -> Result<BigInt, ReadError> {
        let before = self.bytes.clone();
        match self.count(1)? {
            0 => Err(malformed(before.error("an integer of at least one byte expected"))),
            length => Ok(BigInt::from_signed_bytes_be(self.bytes.take(length).map_err(malformed)?)),
        }
    }

    fn character(&mut self) -> Result<char, ReadError> {
        let before = self.bytes.clone();
        let first = self.bytes.u8().map_err(malformed)?;
        // Continuations are told by their first bits, and so is their number by those of the first.
        let more = (first.leading_ones() as usize).saturating_sub(1).min(3);
        let mut text = [first, 0, 0, 0];
        text[1..=more].copy_from_slice(self.bytes.take(more).map_err(malformed)?);
        let text = std::str::from_utf8(&text[..=more]).ok();
        text.and_then(|text| text.chars().next())
            .ok_or_else(|| malformed(before.error("a character in UTF-8 expected")))
    }

    fn string(&mut self) -> Result<&'a str, ReadError> {
        let length = self.count(1)?;
        let before = self.bytes.clone();
        let bytes = self.bytes.take(length).map_err(malformed)?;
        std::str::from_utf8(bytes).map_err(|_| malformed(before.error("a string in UTF-8 expected")))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        self.bytes.array().map_err(malformed)
    }

    /// How many things follow, which have at least `bytes_min` bytes each.
    fn count(&mut self, bytes_min: usize) -> Result<usize, ReadError> {
        let before = self.bytes.clone();
        let count = i32::from_be_bytes(self.array()?);
        let most = self.bytes.remaining() / bytes_min;
        usize::try_from(count).ok().filter(|count| *count <= most).ok_or_else(|| {
            malformed(before.error(format!("a length of at most {most} expected, found {count}")))
        })
    }

    /// What `result` says, of the value that begins at `start`.
    fn told<T, E: ToString>(&self, result: Result<T, E>, start: usize) -> Result<T, ReadError> {
        result.map_err(|reason| ReadError::invalid(self.since(start), reason.to_string()))
    }

    fn offset(&self) -> usize {
        self.bytes.offset()
    }

    fn since(&self, start: usize) -> Span {
        span(start, self.offset())
    }
}

fn span(start: usize, end: usize) -> Span {
    let offset = |at| u32::try_from(at).expect("a reader has less than 2^32 bytes");
    Span { start: offset(start), end: offset(end) }
}

/// Bytes that mean nothing, with their place, which helps who writes a driver.
fn malformed(error: DecodeError) -> ReadError {
    ReadError::invalid(span(error.offset, error.offset), error.to_string())
}

/// The enumeration whose words have the type `code`.
fn enumeration(code: u8) -> Option<Enumeration> {
    Some(match code {
        0x13 => Enumeration::Barrier,
        0x16 => Enumeration::Cardinality,
        0x17 => Enumeration::Column,
        0x18 => Enumeration::Direction,
        0x19 => Enumeration::Operator,
        0x1a => Enumeration::Order,
        0x1b => Enumeration::Pick,
        0x1c => Enumeration::Pop,
        0x1f => Enumeration::Scope,
        0x20 => Enumeration::T,
        0x2e => Enumeration::Merge,
        0x2f => Enumeration::DT,
        0x30 => Enumeration::GType,
        _ => return None,
    })
}

/// What a type is called that is no argument.
fn name(code: u8) -> Option<&'static str> {
    Some(match code {
        0x0e => "a path",
        0x0f => "a property",
        0x10 => "a graph",
        0x12 => "a vertex property",
        0x1d => "a lambda",
        0x21 => "a traverser",
        0x2a => "a bulk set",
        0x2b => "a tree",
        0x2c => "metrics",
        0x2d => "the metrics of a traversal",
        0x82 => "an internet address",
        0x86 => "a local time",
        0x87 => "a day of a month",
        0x89 => "a time with an offset",
        0x8b => "a year",
        0x8c => "a month of a year",
        0x8e => "an offset from UTC",
        _ => return None,
    })
}

#[cfg(test)]
mod writer;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::bytecode::graph_binary::writer;
    use crate::gremlin::bytecode::samples::SAMPLES;
    use crate::gremlin::call::{Predicate, Strategy as TraversalStrategy, Test};
    use crate::gremlin::read::read as read_text;
    use crate::gremlin::signature::table::signatures;
    use crate::gremlin::token::Token;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;
    use std::thread;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digits: Vec<u8> = hexadecimal.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits are text"));
        pairs.map(|pair| u8::from_str_radix(pair, 16).expect(hexadecimal)).collect()
    }

    fn argument(hexadecimal: &str) -> ArgumentKind {
        parse_argument(&bytes(hexadecimal), &ParseLimits::default()).expect(hexadecimal).kind
    }

    fn refused(bytes: &[u8]) -> String {
        read(bytes, &ParseLimits::default()).expect_err("this is no sound bytecode").to_string()
    }

    /// `g.V().inject(argument)`.
    fn injected(argument: &[u8]) -> Vec<u8> {
        let mut out = bytes("15 00 00000002 00000001 56 00000000 00000006 696e6a656374 00000001");
        out.extend_from_slice(argument);
        out.extend([0; 4]);
        out
    }

    #[test]
    fn what_gremlinpython_writes_is_the_query_of_the_text() {
        let limits = ParseLimits::default();
        let mut bindings = Bindings::new();
        bindings.bind("x", "ann");
        for (text, hexadecimal) in SAMPLES {
            let expected = read_text(text, &limits, &bindings).expect(text);
            let found = read(&bytes(hexadecimal), &limits).expect(text);
            assert_eq!(found.query(), &expected, "{text}");
        }
    }

    #[test]
    fn the_examples_of_the_reference_are_read() {
        let integer = |text: &str| Value::BigInteger(text.parse().unwrap());
        for (hexadecimal, value) in [
            ("01 00 00000101", Value::I32(257)),
            ("02 00 fffffffffffffffe", Value::I64(-2)),
            ("03 00 00000003 616263", Value::from("abc")),
            (
                "04 00 ffffffffffffffff",
                Value::parse("1969-12-31T23:59:59.999Z", "datetime".parse().unwrap()).unwrap(),
            ),
            ("07 00 3fb999999999999a", Value::F64(0.1)),
            ("08 00 3ec00000", Value::F32(0.375)),
            ("23 00 00000001 00", integer("0")),
            ("23 00 00000002 0080", integer("128")),
            ("23 00 00000001 80", integer("-128")),
            ("23 00 00000002 ff7f", integer("-129")),
            ("80 00 61", Value::Char('a')),
            ("80 00 c2a2", Value::Char('¢')),
            ("80 00 e282ac", Value::Char('€')),
            ("80 00 f09f9880", Value::Char('😀')),
        ] {
            assert_eq!(argument(hexadecimal), ArgumentKind::Scalar(value), "{hexadecimal}");
        }
        assert_eq!(argument("01 01"), ArgumentKind::Null);
        assert_eq!(argument("fe 01"), ArgumentKind::Null);
    }

    #[test]
    fn times_of_every_kind_are_values() {
        let value =
            |text: &str, of: &str| ArgumentKind::Scalar(Value::parse(text, of.parse().unwrap()).unwrap());
        for (hexadecimal, expected) in [
            ("83 00 000000000000003c 00000001", value("1970-01-01T00:01:00.000000001Z", "datetime")),
            ("83 00 000000000000003c ffffffff", value("1970-01-01T00:00:59.999999999Z", "datetime")),
            ("84 00 000007e8 02 1d", value("2024-02-29", "date")),
            ("85 00 000007e8 02 1d 0000000000000001", value("2024-02-29T00:00:00.000000001Z", "datetime")),
            (
                "8d 00 000007d7 0c 03 000021966f881400 00000e10",
                value("2007-12-03T10:15:30+01:00", "datetime"),
            ),
            ("81 00 0000000000000005 00001b58", value("PT5.000007S", "duration")),
            ("8a 00 00000001 00000002 00000003", value("P1Y2M3D", "duration")),
        ] {
            assert_eq!(argument(hexadecimal), expected, "{hexadecimal}");
        }
    }

    #[test]
    fn an_element_is_its_id_however_much_it_brings() {
        // A vertex with a property that has one itself, as a detached vertex of Java's is written.
        let vertex = "11 00  01 00 00000007  00000001 61
            09 00 00000001
                12 00  02 00 0000000000000001  00000001 6b  01 00 00000005  fe 01
                    09 00 00000001  0f 00 00000001 6d  03 00 00000001 6e  fe 01";
        assert_eq!(argument(vertex), ArgumentKind::Scalar(Value::I32(7)));
        let edge =
            "0d 00  03 00 00000001 78  00000001 65  01 00 00000001  00000001 61  01 00 00000002  00000001 61
            fe 01  fe 01";
        assert_eq!(argument(edge), ArgumentKind::Scalar("x".into()));
        let predicate = format!("1e 00 00000002 6571 00000001 {vertex}");
        let compared = "step 2 (`inject`), argument 1: a predicate doesn't compare elements: compare their ids, as \
                        with `hasId`";
        assert_eq!(refused(&injected(&bytes(&predicate))), compared);
    }

    #[test]
    fn a_binding_is_its_value() {
        assert_eq!(argument("14 00 00000001 78 01 00 00000007"), ArgumentKind::Scalar(Value::I32(7)));
    }

    #[test]
    fn what_no_calls_can_hold_is_named_with_its_instruction() {
        for (hexadecimal, reason) in [
            (
                "1d 00 0000000e 6772656d6c696e2d67726f6f7679 00000004 69742e78 ffffffff",
                "a lambda isn't data, and can't be run: say it in steps",
            ),
            ("21 00 0000000000000002 01 00 00000001", "a traverser can't be an argument"),
            ("0e 00 09 00 00000000 09 00 00000000", "a path can't be an argument"),
            (
                "12 00 01 00 00000001 00000001 61 01 00 00000002 fe 01 fe 01",
                "a vertex property can't be an argument: give its element, its key or its value",
            ),
            ("2a 00 00000000", "a bulk set can't be an argument: give a list"),
            ("86 00 0000000000000000", "a local time can't be an argument"),
            ("31 00", "there is no type 0x31"),
            ("00 00000003 6f776e 00000000 00 00000000", "the custom type `own` can't be an argument"),
            (
                "06 00 00000011 6a6176612e6c616e672e496e7465676572",
                "the class `java.lang.Integer` can't be an argument: only strategies are told by theirs",
            ),
            ("1a 00 03 00 00000003 617363", ""),
            ("1a 00 03 00 00000003 647363", "`Order` has no `dsc`; did you mean `desc`?"),
            ("1e 00 00000002 7878 00000000", "there is no predicate called `xx`"),
            ("27 00 02", "0x02 is neither true nor false"),
            ("84 00 000007e8 02 1e", "day 30 is outside 1 to 29"),
            (
                "15 00 00000000 00000000",
                "a traversal without steps can't be an argument: `identity` does nothing",
            ),
            (
                "15 00 00000000 00000001 00000008 7769746850617468 00000000",
                "`withPath` stands right after `g`, and a traversal within another begins with `__`",
            ),
            ("01 02 00000000", "at byte 29: flag 0x02 of a value of type 0x01"),
            ("09 00 7fffffff", "at byte 31: a length of at most 2 expected, found 2147483647"),
            ("03 00 ffffffff", "at byte 31: a length of at most 4 expected, found -1"),
            ("03 00 00000001 ff", "at byte 35: a string in UTF-8 expected"),
            ("80 00 ff616161", "at byte 31: a character in UTF-8 expected"),
            ("23 00 00000000", "at byte 31: an integer of at least one byte expected"),
        ] {
            if reason.is_empty() {
                let taken = "`inject` takes (value...), and this is `Order.asc`";
                assert_eq!(
                    refused(&injected(&bytes(hexadecimal))),
                    format!("step 2 (`inject`), argument 1: {taken}")
                );
                continue;
            }
            let expected = format!("step 2 (`inject`), argument 1: {reason}");
            assert_eq!(refused(&injected(&bytes(hexadecimal))), expected, "{hexadecimal}");
        }
        assert_eq!(refused(&[]), "at byte 0: 1 bytes expected, 0 left");
        assert_eq!(refused(&bytes("01 00 00000001")), "at byte 0: bytecode expected");
        assert_eq!(
            refused(&bytes("15 00 00000000 00000000 00")),
            "at byte 10: the end expected, 1 bytes left"
        );
    }

    #[test]
    fn what_the_check_refuses_is_told_with_its_instruction() {
        let written = |text: &str| {
            let query = crate::gremlin::parser::parse(text, &ParseLimits::default()).expect(text);
            let steps = query.calls.iter().position(|call| !call.name.starts_with("with")).unwrap();
            writer::bytecode(&query.calls[..steps], &query.calls[steps..])
        };
        for (text, expected) in [
            ("g.V().otu('a')", "step 2 (`otu`): no step is called `otu`; did you mean `out`?"),
            (
                "g.withPaht().V()",
                "source instruction 1 (`withPaht`): no step is called `withPaht`; did you mean `withPath`?",
            ),
            (
                "g.withPath().withBulk(1).V()",
                "source instruction 2 (`withBulk`), argument 1: `withBulk` takes (boolean), and this is an integer",
            ),
            (
                "g.withBulk(true).V().where(__.out().has('a', within([[b: __.limit('x')]])))",
                "step 2 (`where`), argument 1, step 2 (`has`), argument 2, step 1 (`limit`), argument 1: \
                 `limit` takes (integer) or (Scope, integer), and this is a string",
            ),
            (
                "g.V().is(gt(1, 2))",
                "step 2 (`is`), argument 1: `gt` takes (value), and was given 2 arguments",
            ),
        ] {
            assert_eq!(refused(&written(text)), expected, "{text}");
        }
    }

    #[test]
    fn of_many_places_those_at_both_ends_are_told() {
        let mut calls = vec![Call::new("otu", [])];
        for _ in 0..100 {
            calls = vec![Call::new("where", [ArgumentKind::Traversal(calls)])];
        }
        let place = "step 1 (`where`), argument 1, ";
        let expected = format!(
            "{}…, {}step 1 (`otu`): no step is called `otu`; did you mean `out`?",
            place.repeat(3),
            place.repeat(2)
        );
        assert_eq!(
            refused(&writer::bytecode(&[], &[&[Call::new("V", [])], &*calls].concat()))
                .replace("step 2 (`where`)", "step 1 (`where`)"),
            expected
        );
    }

    /// `open` as often as `count`, around a null.
    fn nested(open: &str, close: &str, count: usize) -> Vec<u8> {
        injected(&[bytes(open).repeat(count), vec![0xfe, 1], bytes(close).repeat(count)].concat())
    }

    #[test]
    fn a_hundred_thousand_levels_are_an_error_and_250_fit_into_half_a_mebibyte_of_stack() {
        let limits = ParseLimits { text_bytes_max: 1 << 26, ..ParseLimits::default() };
        let forms = [
            ("09 00 00000001", ""),
            ("0b 00 00000001", ""),
            ("0a 00 00000001", "fe 01"),
            ("0a 00 00000001 fe 01", ""),
            ("1e 00 00000003 6e6f74 00000001", ""),
            ("15 00 00000001 00000003 6d6170 00000001", "00000000"),
            ("29 00 00000001 53 00000001 03 00 00000001 61", ""),
            ("14 00 00000001 61", ""),
            ("11 00", "00000001 61 fe 01"),
        ];
        let check = move || {
            for (open, close) in forms {
                let deep = parse(&nested(open, close, 100_000), &limits).expect_err(open);
                assert!(deep.message.ends_with(": nested more than 256 deep"), "{open}: {}", deep.message);
                assert_eq!(deep.kind, ErrorKind::Limit, "{open}");
                let count = if open.starts_with("15") { 125 } else { 250 };
                if let Ok(bytecode) = parse(&nested(open, close, count), &limits) {
                    assert_eq!(bytecode.clone(), bytecode, "{open}");
                } else {
                    assert!(open.starts_with("11"), "{open}: only a vertex' id can't be another's");
                }
            }
        };
        thread::Builder::new().stack_size(1 << 19).spawn(check).unwrap().join().unwrap();
        let few = ParseLimits { text_bytes_max: 8, ..ParseLimits::default() };
        let error = parse(&bytes("15 00 00000000 00000000"), &few).unwrap_err();
        assert_eq!(
            (error.kind, &*error.message),
            (ErrorKind::Limit, "a query of 10 bytes is past the limit of 8")
        );
    }

    #[test]
    fn no_sample_that_is_cut_off_or_changed_makes_a_panic() {
        let limits = ParseLimits::default();
        for (_, hexadecimal) in SAMPLES {
            let sound = bytes(hexadecimal);
            for length in 0..sound.len() {
                assert!(parse(&sound[..length], &limits).is_err());
            }
            for at in 0..sound.len() {
                for change in [1, 0x80, 0xff] {
                    let mut changed = sound.clone();
                    changed[at] ^= change;
                    if let Err(error) = read(&changed, &limits) {
                        assert!(!error.message.is_empty());
                    }
                }
            }
        }
    }

    /// What bytecode can say, in the form in which it is read.
    fn any_argument() -> impl Strategy<Value = ArgumentKind> {
        let scalar = any_value().prop_filter_map("collections are arguments of their own", |value| {
            let whole = match &value {
                Value::List(_) | Value::Set(_) | Value::Map(_) => return None,
                // Seconds and days are of two types, and Java's years fit 32 bits.
                Value::Duration(duration) => duration.months() == 0 && duration.days() == 0,
                _ => true,
            };
            whole.then_some(ArgumentKind::Scalar(value))
        });
        let tokens: Vec<Token> = (0..=u8::MAX)
            .filter_map(enumeration)
            .flat_map(|of| of.words().iter().map(move |word| of.token(word).expect("its own word")))
            .collect();
        let leaf = prop_oneof![
            8 => scalar,
            1 => Just(ArgumentKind::Null),
            2 => proptest::sample::select(tokens).prop_map(ArgumentKind::Token),
        ];
        leaf.prop_recursive(5, 40, 4, |inner| {
            let argument = inner.clone().prop_map(Argument::from);
            let values = proptest::collection::vec(argument.clone(), 0..4);
            let entries = proptest::collection::vec((argument.clone(), argument.clone()), 0..3);
            let settings =
                proptest::collection::vec(("[a-c]{1,3}".prop_map(Box::from), argument.clone()), 0..3);
            let cardinality = proptest::sample::select(Enumeration::Cardinality.words().to_vec());
            prop_oneof![
                values.clone().prop_map(ArgumentKind::List),
                values.clone().prop_map(ArgumentKind::Set),
                entries.prop_map(ArgumentKind::Map),
                (cardinality, argument.clone()).prop_map(|(word, value)| {
                    let cardinality =
                        crate::gremlin::token::Cardinality::from_word(word).expect("its own word");
                    ArgumentKind::WithCardinality(cardinality, Box::new(value))
                }),
                proptest::collection::vec(any_call(inner), 1..3).prop_map(ArgumentKind::Traversal),
                any_predicate(argument, values).prop_map(ArgumentKind::Predicate),
                ("[A-Z][a-z]{0,3}Strategy", settings).prop_map(|(name, settings)| {
                    ArgumentKind::Strategy(TraversalStrategy { name: name.into(), settings })
                }),
            ]
        })
    }

    fn any_predicate(
        argument: impl Strategy<Value = Argument> + Clone + 'static,
        values: impl Strategy<Value = Vec<Argument>> + Clone + 'static,
    ) -> impl Strategy<Value = Predicate> + Clone {
        let of = |test, arguments| Predicate { test, arguments, span: Span::default() };
        let tests: Vec<Test> = Test::ALL.to_vec();
        let connective = |test: &Test| matches!(test, Test::And | Test::Or | Test::Not);
        let simple: Vec<Test> = tests.iter().copied().filter(|test| !connective(test)).collect();
        let simple =
            (proptest::sample::select(simple), argument, values).prop_map(move |(test, first, rest)| {
                let arguments = match test {
                    // Alone, a collection is the values.
                    Test::Within | Test::Without => match rest.len() {
                        1 if matches!(rest[0].kind, ArgumentKind::List(_) | ArgumentKind::Set(_)) => {
                            vec![ArgumentKind::List(rest).into()]
                        }
                        _ => rest,
                    },
                    Test::Inside | Test::Outside | Test::Between => vec![first.clone(), first],
                    _ => vec![first],
                };
                of(test, arguments)
            });
        simple.prop_recursive(3, 8, 2, move |inner| {
            let connective = proptest::sample::select(vec![Test::And, Test::Or, Test::Not]);
            (connective, inner.clone(), inner).prop_map(move |(test, first, second)| {
                // A chain of the same test is one list already.
                let test = if first.test == test && test != Test::Not { Test::Not } else { test };
                let argument = |predicate| Argument::from(ArgumentKind::Predicate(predicate));
                let all = if test == Test::Not {
                    vec![argument(first)]
                } else {
                    vec![argument(first), argument(second)]
                };
                of(test, all)
            })
        })
    }

    fn any_call(argument: impl Strategy<Value = ArgumentKind> + 'static) -> impl Strategy<Value = Call> {
        // An option's name would become a word, and `tx` two calls.
        let names =
            signatures().map(|signature| signature.name).filter(|name| !matches!(*name, "with" | "tx"));
        let names = proptest::sample::select(names.collect::<Vec<_>>());
        (names, proptest::collection::vec(argument, 0..4))
            .prop_map(|(name, arguments)| Call::new(name, arguments))
    }

    fn any_calls(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Call>> {
        proptest::collection::vec(any_call(any_argument()), count)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(source in any_calls(0..3), steps in any_calls(0..4)) {
            let expected = Bytecode::new(source.clone(), steps.clone());
            let found = parse(&writer::bytecode(&source, &steps), &ParseLimits::default());
            prop_assert_eq!(found, Ok(expected));
        }

        #[test]
        fn any_bytes_are_an_argument_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse_argument(&bytes, &ParseLimits::default());
            let _ = read(&injected(&bytes), &ParseLimits::default());
        }
    }
}
