//! Binary reader: headers, lengths, strings and scalar values of GraphBinary.
//!
//! ```text
//! value     type (1)  0x00  content         numbers are big-endian
//!           type (1)  0x01                  null; fe 01 without a type
//! string    length (4)  UTF-8               inside other values without type and flag
//! ```
//!
//! Every length is compared with the bytes that are left before anything is taken, and nothing is allocated for
//! values that are not read yet.
//!
//! Differs from TinkerPop: local times are moments as if in UTC, as they are in GraphSON here; flags other than 0
//! and 1 are refused.

use bigdecimal::BigDecimal;
use evergraph_graph::bytes::{DecodeError, Reader as Bytes};
use evergraph_graph::value::Value;
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::duration::Duration;
use evergraph_graph::value::number::{BigInteger, Decimal};
use evergraph_query::error::{Span, quoted};
use evergraph_query::gremlin::bytecode::instruction_position::ReadError;
use num_bigint::BigInt;
use uuid::Uuid;

use crate::error::MessageError;
use crate::graph_binary::type_code;

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Why bytes cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BinaryError {
    /// They are not GraphBinary.
    Malformed(DecodeError),
    /// They are a value of GraphBinary that has no meaning here.
    Unsupported {
        /// Where the value is.
        span: Span,
        /// Why.
        reason: String,
    },
}

impl From<DecodeError> for BinaryError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl From<BinaryError> for ReadError {
    fn from(error: BinaryError) -> Self {
        match error {
            BinaryError::Malformed(error) => {
                ReadError::malformed(span(error.offset, error.offset), error.to_string())
            }
            BinaryError::Unsupported { span, reason } => ReadError::invalid(span, reason),
        }
    }
}

impl From<BinaryError> for MessageError {
    fn from(error: BinaryError) -> Self {
        match error {
            BinaryError::Malformed(DecodeError { offset, expected }) => {
                MessageError::invalid(offset, expected)
            }
            BinaryError::Unsupported { span, reason } => MessageError::invalid(span.start as usize, reason),
        }
    }
}

/// A position in GraphBinary. A copy is a bookmark.
#[derive(Clone, Debug)]
pub(crate) struct BinaryReader<'a> {
    bytes: Bytes<'a>,
}

impl<'a> BinaryReader<'a> {
    /// Starts at the beginning of `bytes`, of which there are less than 2^32.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: Bytes::new(bytes) }
    }

    /// Bytes read so far.
    pub(crate) fn offset(&self) -> usize {
        self.bytes.offset()
    }

    /// From `start` to the present position.
    pub(crate) fn since(&self, start: usize) -> Span {
        span(start, self.offset())
    }

    /// The error that the bytes at the present position are not in the format.
    pub(crate) fn malformed(&self, expected: impl Into<String>) -> BinaryError {
        BinaryError::Malformed(self.bytes.error(expected))
    }

    /// The value of `result`, or its error as that of the value that begins at `start`.
    pub(crate) fn supported<T, E: ToString>(
        &self,
        result: Result<T, E>,
        start: usize,
    ) -> Result<T, BinaryError> {
        result.map_err(|reason| BinaryError::Unsupported {
            span: self.since(start),
            reason: reason.to_string(),
        })
    }

    /// Fails unless everything is read.
    pub(crate) fn finish(&self) -> Result<(), BinaryError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(self.malformed(format!("the end expected, {} bytes left", self.bytes.remaining())))
    }

    /// Reads type and flag. The content comes next; `None` of a null, which has none.
    pub(crate) fn read_header(&mut self) -> Result<Option<u8>, BinaryError> {
        let start = self.clone();
        let code = self.read_u8()?;
        if code == type_code::CUSTOM {
            let name = quoted(self.read_string()?);
            return self.supported(Err(format!("the custom type {name} is not supported")), start.offset());
        }
        match (code, self.read_u8()?) {
            (_, 1) => Ok(None),
            (code, 0) if code != type_code::NULL => Ok(Some(code)),
            (_, flag) => Err(start.malformed(format!("flag {flag:#04x} of a value of type {code:#04x}"))),
        }
    }

    /// Reads the type of a value that must be `code` and not null; the content comes next.
    pub(crate) fn require_header(&mut self, code: u8, expected: &str) -> Result<(), BinaryError> {
        let start = self.clone();
        match self.read_header()? {
            Some(found) if found == code => Ok(()),
            Some(found) => {
                Err(start.malformed(format!("{expected} expected, found a value of type {found:#04x}")))
            }
            None => Err(start.malformed(format!("{expected} expected, found null"))),
        }
    }

    /// Reads the flag before content that may be null; whether content follows.
    pub(crate) fn read_nullable(&mut self) -> Result<bool, BinaryError> {
        let start = self.clone();
        match self.read_u8()? {
            0 => Ok(true),
            1 => Ok(false),
            flag => Err(start.malformed(format!("flag 0x00 or 0x01 expected, found {flag:#04x}"))),
        }
    }

    /// Reads the content of a type whose values have no other values inside; `None` of other types, of which nothing
    /// is read. The value begins at `start`.
    pub(crate) fn read_scalar(&mut self, code: u8, start: usize) -> Result<Option<Value>, BinaryError> {
        Ok(Some(match code {
            type_code::INT => i32::from_be_bytes(self.read_array()?).into(),
            type_code::LONG => i64::from_be_bytes(self.read_array()?).into(),
            type_code::STRING => self.read_string()?.into(),
            type_code::DATE | type_code::TIMESTAMP => {
                let milliseconds = i64::from_be_bytes(self.read_array()?);
                self.supported(DateTime::from_epoch_milliseconds(milliseconds), start)?.into()
            }
            type_code::DOUBLE => f64::from_be_bytes(self.read_array()?).into(),
            type_code::FLOAT => f32::from_be_bytes(self.read_array()?).into(),
            type_code::UUID => Uuid::from_bytes(self.read_array()?).into(),
            type_code::BIG_DECIMAL => {
                let scale = i32::from_be_bytes(self.read_array()?);
                let decimal = BigDecimal::new(self.read_integer()?, i64::from(scale));
                self.supported(Decimal::new(decimal), start)?.into()
            }
            type_code::BIG_INTEGER => {
                let integer = self.read_integer()?;
                self.supported(BigInteger::new(integer), start)?.into()
            }
            type_code::BYTE => i8::from_be_bytes(self.read_array()?).into(),
            type_code::BYTE_BUFFER => {
                let length = self.read_count(1)?;
                self.bytes.take(length)?.into()
            }
            type_code::SHORT => i16::from_be_bytes(self.read_array()?).into(),
            type_code::BOOLEAN => match self.read_u8()? {
                0 => false.into(),
                1 => true.into(),
                other => {
                    return self.supported(Err(format!("{other:#04x} is neither true nor false")), start);
                }
            },
            type_code::CHAR => self.read_character()?.into(),
            type_code::DURATION => {
                let (seconds, nanoseconds) = self.read_seconds(start)?;
                self.supported(Duration::new(0, 0, seconds, nanoseconds), start)?.into()
            }
            type_code::INSTANT => {
                let (seconds, nanoseconds) = self.read_seconds(start)?;
                self.supported(DateTime::new(seconds, nanoseconds, 0), start)?.into()
            }
            type_code::LOCAL_DATE => self.read_date(start)?.into(),
            type_code::LOCAL_DATE_TIME => self.read_moment(false, start)?.into(),
            type_code::OFFSET_DATE_TIME | type_code::ZONED_DATE_TIME => self.read_moment(true, start)?.into(),
            type_code::PERIOD => {
                let [years, months, days] =
                    [self.read_array()?, self.read_array()?, self.read_array()?].map(i32::from_be_bytes);
                let months = years.checked_mul(12).and_then(|all| all.checked_add(months));
                let months = self.supported(months.ok_or("the months of a period pass 32 bits"), start)?;
                self.supported(Duration::new(months, days, 0, 0), start)?.into()
            }
            _ => return Ok(None),
        }))
    }

    /// Reads a word of an enumeration, whose type and flag were read.
    pub(crate) fn read_word(&mut self) -> Result<&'a str, BinaryError> {
        let before = self.clone();
        if self.read_array::<2>()? != [type_code::STRING, 0] {
            return Err(before.malformed("a string expected, which names a word of an enumeration"));
        }
        self.read_string()
    }

    /// Reads a length and as many bytes of UTF-8.
    pub(crate) fn read_string(&mut self) -> Result<&'a str, BinaryError> {
        let length = self.read_count(1)?;
        let before = self.clone();
        let bytes = self.bytes.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| before.malformed("a string in UTF-8 expected"))
    }

    pub(crate) fn read_u8(&mut self) -> Result<u8, BinaryError> {
        Ok(self.bytes.u8()?)
    }

    pub(crate) fn read_array<const N: usize>(&mut self) -> Result<[u8; N], BinaryError> {
        Ok(self.bytes.array()?)
    }

    /// Reads the number of values that follow, which have at least `bytes_min` bytes each.
    pub(crate) fn read_count(&mut self, bytes_min: usize) -> Result<usize, BinaryError> {
        let before = self.clone();
        let count = i32::from_be_bytes(self.read_array()?);
        let most = self.bytes.remaining() / bytes_min;
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= most)
            .ok_or_else(|| before.malformed(format!("a length of at most {most} expected, found {count}")))
    }

    fn read_date(&mut self, start: usize) -> Result<Date, BinaryError> {
        let year = i32::from_be_bytes(self.read_array()?);
        let [month, day] = self.read_array()?;
        self.supported(Date::from_calendar(year, month, day), start)
    }

    /// Reads a local date and time, and the offset from UTC if it has one.
    fn read_moment(&mut self, has_offset: bool, start: usize) -> Result<DateTime, BinaryError> {
        let date = self.read_date(start)?;
        let nanoseconds = i64::from_be_bytes(self.read_array()?);
        if !(0..SECONDS_PER_DAY * NANOSECONDS_PER_SECOND).contains(&nanoseconds) {
            return self.supported(Err(format!("nanosecond {nanoseconds} is outside of a day")), start);
        }
        let offset = if has_offset { i32::from_be_bytes(self.read_array()?) } else { 0 };
        let local = i64::from(date.days()) * SECONDS_PER_DAY + nanoseconds / NANOSECONDS_PER_SECOND;
        let fraction = u32::try_from(nanoseconds % NANOSECONDS_PER_SECOND).expect("less than a second");
        self.supported(DateTime::new(local - i64::from(offset), fraction, offset), start)
    }

    /// Reads seconds and nanoseconds, of which there may be any number of either sign.
    fn read_seconds(&mut self, start: usize) -> Result<(i64, u32), BinaryError> {
        let seconds = i64::from_be_bytes(self.read_array()?);
        let nanoseconds = i64::from(i32::from_be_bytes(self.read_array()?));
        let more = nanoseconds.div_euclid(NANOSECONDS_PER_SECOND);
        let seconds = self.supported(seconds.checked_add(more).ok_or("the seconds pass 64 bits"), start)?;
        let rest = nanoseconds.rem_euclid(NANOSECONDS_PER_SECOND);
        Ok((seconds, u32::try_from(rest).expect("less than a second")))
    }

    fn read_integer(&mut self) -> Result<BigInt, BinaryError> {
        let before = self.clone();
        match self.read_count(1)? {
            0 => Err(before.malformed("an integer of at least one byte expected")),
            length => Ok(BigInt::from_signed_bytes_be(self.bytes.take(length)?)),
        }
    }

    fn read_character(&mut self) -> Result<char, BinaryError> {
        let before = self.clone();
        let first = self.read_u8()?;
        // The first bits of the first byte give the number of bytes that continue it.
        let more = (first.leading_ones() as usize).saturating_sub(1).min(3);
        let mut text = [first, 0, 0, 0];
        text[1..=more].copy_from_slice(self.bytes.take(more)?);
        let text = std::str::from_utf8(&text[..=more]).ok();
        text.and_then(|text| text.chars().next())
            .ok_or_else(|| before.malformed("a character in UTF-8 expected"))
    }
}

/// The bytes from `start` to `end`.
pub(crate) fn span(start: usize, end: usize) -> Span {
    let offset = |at| u32::try_from(at).expect("a reader has less than 2^32 bytes");
    Span { start: offset(start), end: offset(end) }
}
