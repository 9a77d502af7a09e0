//! GraphBinary 1.0: decodes bytecode and its arguments from the bytes that drivers send.
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
use crate::gremlin::bytecode::assembly::{self, Around, Levels, refused, scalar};
use crate::gremlin::bytecode::place::{Place, ReadError};
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::parser::ParseLimits;
use crate::gremlin::token::Enumeration;
use crate::stack::deeper;

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
                None => deeper(|| self.read_nesting(code, around, start))?,
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
mod tests;
